"""pass@1 and pass@k: what counts as passed, and when there is nothing to count."""

from __future__ import annotations

import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_code_execution import CodeExecution, SandboxError, evaluator, machine, pass_at_k
from cb_code_execution.limits import Limits
from cb_code_execution.machine import find
from cbcore.exceptions import MissingScoreError

ONE = {"id": 1, "entry_point": "one", "tests": "assert one() == 1"}
RIGHT, WRONG = "def one():\n    return 1", "def one():\n    return 2"
HUMANEVAL = {
    "prompt": 'def double(x):\n    """Twice x."""\n',
    "entry_point": "double",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
}
MBPP = {"test_list": ["assert dist(3, 4) == 5", "assert dist(0, 0) == math.inf - math.inf or True"]}


@pytest.fixture
def code():
    """The evaluator, where this machine can lock code up."""
    try:
        find(Limits())
    except SandboxError as error:
        pytest.skip(error.message)
    return CodeExecution()


@pytest.mark.parametrize(
    ("example", "response", "score"),
    [
        (ONE, RIGHT, 1.0),
        (ONE, WRONG, 0.0),
        (ONE, f"```python\n{RIGHT}\n```", 1.0),
        (ONE, "I do not know.", 0.0),
        (ONE, "", 0.0),
        (HUMANEVAL, " \n", 0.0),
        (ONE, "import sys; sys.exit(0)", 0.0),
        (HUMANEVAL, "    return 2 * x", 1.0),
        (HUMANEVAL, "    return 3 * x", 0.0),
        (HUMANEVAL, "def double(x):\n    return x + x", 1.0),
        (
            MBPP | {"test_imports": ["import math"]},
            "def dist(a, b):\n    return math.hypot(a, b)",
            1.0,
        ),
        (MBPP | {"test_setup_code": "import math"}, "def dist(a, b):\n    return 0", 0.0),
        (MBPP, "def dist(a, b):\n    return (a * a + b * b) ** 0.5", 0.0),
    ],
)
def test_a_response_passes_when_its_tests_do(code, example, response, score):
    """As HumanEval and MBPP publish their tests, and as cb-datasets hands them on."""
    scored = code.score(example, {"response": response})
    assert scored.scores == {"pass_at_1": score, "pass_at_k": score}


def test_the_row_says_what_ran_it_and_what_came_of_it(code):
    """Which sandbox, which interpreter, which error."""
    details = code.score(ONE, {"response": "def one():\n    raise OSError('disk')"}).details
    assert details["sandbox"] in machine.MECHANISMS
    assert details["python"].startswith("/")
    assert details["outcomes"] == [{"status": "failed", "message": "OSError: disk"}]


def test_several_samples_are_counted_together(code):
    """pass@1 is the share that passes; pass@k the chance that one of k does."""
    output = {"responses": [RIGHT, WRONG, WRONG, RIGHT]}
    assert code.score(ONE, output).scores == {"pass_at_1": 0.5, "pass_at_k": 1.0}
    two = CodeExecution(k=2).score(ONE, output)
    assert two.scores["pass_at_k"] == pytest.approx(5 / 6)


def test_an_empty_sample_is_one_that_fails(code):
    """A model that wrote nothing solved nothing; the other samples still count."""
    assert code.score(ONE, {"responses": [RIGHT, ""]}).scores["pass_at_1"] == 0.5


def test_too_few_samples_for_k_are_missing_with_the_reason(code):
    """pass@1 is still given."""
    scored = CodeExecution(k=5).score(ONE, {"response": RIGHT})
    assert scored.scores == {"pass_at_1": 1.0}
    assert scored.missing == {"pass_at_k": "pass@5 needs 5 samples, the output has 1"}


SUMS = {"tests": [{"input": "1 2\n", "output": "3\n"}, {"input": "-1 1", "output": "0"}]}


@pytest.mark.parametrize(
    ("response", "score"),
    [
        ("print(sum(map(int, input().split())))", 1.0),
        (
            "def main():\n    print(sum(map(int, input().split())))\nif __name__ == '__main__':\n    main()",
            1.0,
        ),
        (
            "import sys\nprint(sum(map(int, sys.stdin.read().split())), ' ')\nprint()\nsys.exit()",
            1.0,
        ),
        ("print(sum(map(int, open(0).read().split())))", 1.0),
        (
            "import sys\nsys.stdout.buffer.write(b'%d\\n' % sum(map(int, sys.stdin.buffer.read().split())))",
            1.0,
        ),
        ("print(3)", 0.0),
        ("print(sum(map(int, input().split())), 'or so')", 0.0),
        ("print(sum(map(int, input().split())))\nraise SystemExit(1)", 0.0),
        ("import os\nos._exit(0)", 0.0),
        ("print(input() + input())", 0.0),
    ],
)
def test_programs_are_given_input_and_print_output(code, response, score):
    """Each case by a process of its own. What is to be printed is not where the program is."""
    found = CodeExecution(timeout_s=20).score(SUMS, {"response": response})
    assert found.scores == {"pass_at_1": score, "pass_at_k": score}, found


def test_a_case_without_output_measures_nothing():
    """Nobody knows what is to be printed."""
    with pytest.raises(MissingScoreError, match="no input or no output"):
        CodeExecution().score({"tests": [{"input": "1"}]}, {"response": RIGHT})


@pytest.mark.parametrize(
    ("example", "output", "reason"),
    [
        (ONE, {}, "no response"),
        (ONE, {"response": None}, "no response"),
        (ONE, {"response": 1}, "no response"),
        (ONE, {"responses": [RIGHT, None]}, "no response"),
        ({"id": 1}, {"response": RIGHT}, "no tests"),
        ({"tests": ""}, {"response": RIGHT}, "no tests"),
        ({"tests": [1]}, {"response": RIGHT}, "no tests"),
    ],
)
def test_what_cannot_be_run_is_missing(example, output, reason):
    """Never a zero: nothing was wrong about the code."""
    with pytest.raises(MissingScoreError, match=reason):
        CodeExecution().score(example, output)


def test_without_a_sandbox_code_is_refused_unless_allowed(monkeypatch):
    """Never silently weaker: the message says what was tried, and the row what was used."""
    monkeypatch.setattr(evaluator.machine, "MECHANISMS", ())
    with pytest.raises(SandboxError, match="code is not run without one") as refused:
        CodeExecution().score(ONE, {"response": RIGHT})
    assert "--allow-unsandboxed" in refused.value.message
    allowed = CodeExecution(allow_unsandboxed=True).score(ONE, {"response": RIGHT})
    assert allowed.scores["pass_at_1"] == 1.0
    assert allowed.details["sandbox"] == "none"


@pytest.mark.parametrize(
    "arguments", [{"timeout_s": 0}, {"k": 0}, {"memory_mb": 1}, {"mechanism": "hope"}]
)
def test_parameters_are_checked(arguments):
    """With the value and what is allowed."""
    with pytest.raises(ValueError, match=str(next(iter(arguments.values())))):
        CodeExecution(**arguments)


@given(st.integers(1, 7), st.data())
def test_pass_at_k_is_the_mean_over_all_choices_of_k_samples(n, data):
    """The closed form equals counting: of all sets of k samples, the share with one that passes."""
    passed, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    samples = [True] * passed + [False] * (n - passed)
    counted = statistics.fmean(any(chosen) for chosen in itertools.combinations(samples, k))
    assert pass_at_k(n, passed, k) == pytest.approx(counted)
