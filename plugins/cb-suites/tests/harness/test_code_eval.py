"""`code_eval` in our sandbox: a program is what the harness would run, and nothing is taken from it."""

from __future__ import annotations

import pytest

from cb_suites.engine.code_eval import CodeEval
from cbcore.exceptions import MissingScoreError

TESTS = "assert add(2, 3) == 5"
RIGHT = "def add(a, b):\n    return a + b\n"


def share(*programs, k=1):
    found, _ = CodeEval().compute([TESTS], [list(programs)], k=[k])
    return found[f"pass@{k}"]


@pytest.mark.parametrize(
    ("program", "passes"),
    [
        (RIGHT, 1.0),
        ("def add(a, b):\n    return a * b\n", 0.0),
        (f"{RIGHT}\n```\nDone.", 0.0),
        (f"```python\n{RIGHT}```", 0.0),
        (f"{RIGHT}\ntold = '''\n```\n~~~~~~~~~\n'''\n", 1.0),
        (f"I think so.</think>\n{RIGHT}", 0.0),
        ("", 0.0),
    ],
    ids=["right", "wrong", "text behind", "a fence", "fences in a text", "thoughts", "nothing"],
)
def test_a_program_is_run_as_it_is(program, passes):
    """What is no Python fails, though a reader would see the code in it."""
    assert share(program) == passes


def test_what_cannot_be_told_apart_has_no_number():
    """Rather than that of another program."""
    with pytest.raises(MissingScoreError, match="ends what a model thought"):
        share(f"{RIGHT}\nmark = '</think>'\n")


def test_pass_at_k_counts_samples():
    """Two of four right: one of two drawn is right in five cases of six."""
    wrong = "def add(a, b): pass"
    assert share(RIGHT, wrong, RIGHT, wrong, k=2) == pytest.approx(5 / 6)
