"""Tests as people write them: as a script, for pytest, for unittest, as a `check` to be called.

Each kind gives 1.0 to right code and 0.0 to wrong code; what measures nothing is missing.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from cb_code_execution import CodeExecution, SandboxError
from cb_code_execution.limits import Limits
from cb_code_execution.machine import MECHANISMS, find

RIGHT, WRONG = "def add(a, b):\n    return a + b\n", "def add(a, b):\n    return 0\n"
CASE = """
import unittest
class TestAdd(unittest.TestCase):
    def setUp(self):
        self.three = 3
    def test_add(self):
        with self.subTest("sum"):
            self.assertEqual(add(1, 2), self.three)
"""
TESTS = {
    "script": "assert add(1, 2) == 3",
    "pytest function": "def test_add():\n    assert add(1, 2) == 3",
    "pytest function beside a call": "def test_add():\n    assert add(1, 2) == 3\nprint(add(0, 0))",
    "function called by one that is not": "def test_add():\n    assert add(1, 2) == 3\ndef main():\n    test_add()",
    "async function": "async def test_add():\n    assert add(1, 2) == 3",
    "pytest class": "class TestAdd:\n    three = 3\n    def test_add(self):\n        assert add(1, 2) == self.three",
    "TestCase": CASE,
    "TestCase and main": f"{CASE}\nunittest.main()",
    "TestCase and guarded main": f"{CASE}\nif __name__ == '__main__':\n    unittest.main(verbosity=2)",
    "TestCase and result": f"{CASE}\nassert unittest.main(exit=False).result.wasSuccessful()",
    "TestCase and a runner that tells nobody": (
        f"{CASE}\nunittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(TestAdd))"
    ),
    "TestCase in a class of the tests": f"{CASE}\nclass TestMore(TestAdd):\n    pass",
    "set up by module": f"{CASE}\ndef setUpModule():\n    global add\n    add = add",
    "check that nobody calls": "def check(candidate):\n    assert candidate(1, 2) == 3",
    "check that calls a test": (
        "def test_add(f):\n    assert f(1, 2) == 3\ndef check(candidate):\n    test_add(candidate)"
    ),
    "import of the solution": "from solution import add as plus\nassert plus(1, 2) == 3",
    "exit at the end": "import sys\nassert add(1, 2) == 3\nsys.exit(0)",
}
NOTHING = {
    "a comment": "# to be written",
    "only set-up": "import random\nrandom.seed(0)\nEXPECTED = 3\ndef helper(x):\n    return x",
    "main without a TestCase": "import unittest\nunittest.main()",
    "skipped": CASE.replace("def test_add", "@unittest.skip('later')\n    def test_add"),
    "no Python": "assert add(1, 2 == 3",
    "a generator": "def test_add():\n    yield add(1, 2) == 3",
}


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    """Each mechanism; skipped, with the reason, where one does not work."""
    try:
        find(Limits(), mechanisms=(request.param,))
    except SandboxError as error:
        pytest.skip(error.message)
    return request.param


@pytest.fixture
def code(mechanism):
    return CodeExecution(mechanism=mechanism, timeout_s=60)


@pytest.fixture(scope="module")
def environment():
    """A virtual environment that anybody can read, with a package of its own; its interpreter."""
    try:
        base = find(Limits()).python
    except SandboxError as error:
        pytest.skip(error.message)
    with tempfile.TemporaryDirectory(prefix="cb-environment-") as folder:
        Path(folder).chmod(0o755)
        subprocess.run([base, "-m", "venv", "--without-pip", f"{folder}/plain"], check=True)
        (site,) = Path(folder).glob("plain/lib/python*/site-packages")
        (site / "sums.py").write_text("def close(a, b):\n    return abs(a - b) < 1e-6\n")
        yield f"{folder}/plain/bin/python"


@pytest.fixture(scope="module")
def environment_with_pytest(environment):
    """The same with the pytest that runs this, where the other interpreter can use it."""
    folder = Path(environment).parent.parent
    with_pytest = folder.with_name("with-pytest")
    shutil.copytree(folder, with_pytest, symlinks=True)
    (site,) = with_pytest.glob("lib/python*/site-packages")
    needed = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
    for name in (*needed, "exceptiongroup", "tomli"):  # the last two with older versions of Python
        found = importlib.util.find_spec(name)
        if found and found.submodule_search_locations:
            shutil.copytree(found.submodule_search_locations[0], site / name)
        elif found:
            shutil.copy(str(found.origin), site)
    python = with_pytest / "bin" / "python"
    usable = subprocess.run([python, "-c", "import pytest"], capture_output=True, check=False)
    if usable.returncode:
        pytest.skip(f"pytest cannot be used by {python.resolve()}")
    return str(python)


def score(code, tests, response):
    return code.score({"tests": tests, "entry_point": "add"}, {"response": response})


@pytest.mark.parametrize("kind", TESTS)
def test_every_kind_of_tests_tells_right_from_wrong(code, kind):
    """Also those that are defined and never called: they are called."""
    found = [score(code, TESTS[kind], response) for response in (RIGHT, WRONG)]
    assert [scored.scores.get("pass_at_1") for scored in found] == [1.0, 0.0], found


@pytest.mark.parametrize("kind", NOTHING)
def test_tests_that_run_nothing_measure_nothing(code, kind):
    """Neither a pass nor a fail, but missing with a reason."""
    scored = score(code, NOTHING[kind], RIGHT)
    assert scored.scores == {}
    assert scored.missing.keys() == {"pass_at_1", "pass_at_k"}
    assert "tests" in scored.missing["pass_at_1"] or "yields" in scored.missing["pass_at_1"]
    assert scored.details["outcomes"][0]["status"] == "not measured"


def test_a_check_that_nothing_can_be_given_to_measures_nothing(code):
    """Without an entry point there is no candidate."""
    scored = code.score({"tests": TESTS["check that nobody calls"]}, {"response": RIGHT})
    assert "no entry_point is named" in scored.missing["pass_at_1"]


@pytest.mark.parametrize(
    "response",
    [
        f"{WRONG}def test_add():\n    pass\n",
        f"{WRONG}def check(candidate):\n    pass\n",
        f"import sys\n{WRONG}sys.exit(0)\n",
        "import sys\ndef add(a, b):\n    sys.exit(0)\n",
    ],
)
@pytest.mark.parametrize("kind", ["script", "pytest function", "TestCase and main"])
def test_what_a_solution_defines_is_no_test_and_its_leaving_no_pass(code, kind, response):
    """Only the tests are."""
    assert score(code, TESTS[kind], response).scores["pass_at_1"] == 0.0


@pytest.mark.parametrize(
    "more",
    [
        "def test_add():\n    assert add(1, 1) == 3\n",
        "import unittest\nclass TestMine(unittest.TestCase):\n    def test_it(self):\n        self.fail()\n",
        "if __name__ == '__main__':\n    print(add(int(input()), 1))\n",
        "if __name__ == '__main__':\n    import unittest\n    unittest.main()\n",
    ],
)
@pytest.mark.parametrize("kind", ["script", "pytest function", "TestCase and main"])
def test_what_a_solution_does_as_a_program_is_left_out(code, kind, more):
    """Models add tests and a main part; HumanEval's own harness runs neither."""
    assert score(code, TESTS[kind], RIGHT + more).scores["pass_at_1"] == 1.0


@pytest.mark.parametrize(
    ("tests", "response", "who"),
    [
        ("import sums\nassert sums.close(add(1, 2), 3)", RIGHT, "tests need"),
        ("import sums\nassert sums.close(add(1, 2), 3)", WRONG, "tests need"),
        ("def test_add():\n    import sums.more\n    assert sums", RIGHT, "tests need"),
        (CASE.replace("self.three = 3", "import sums"), RIGHT, "tests need"),
        ("assert add(1, 2) == 3", f"import sums\n{RIGHT}", "solution needs"),
        ("assert add(1, 2) == 3", "def add(a, b):\n    from sums import plus\n", "solution needs"),
    ],
)
def test_a_package_that_is_not_there_makes_the_score_missing(code, tests, response, who):
    """Whether the tests need it or the solution: nothing was measured. The reason names both."""
    scored = score(code, tests, response)
    assert scored.scores == {}
    python = scored.details["python"]
    lacking = f"the {who} the package sums, which {python} does not have"
    wanted = f"{lacking}; python=PATH names another interpreter"
    assert scored.missing == dict.fromkeys(("pass_at_1", "pass_at_k"), wanted)


@pytest.mark.parametrize(
    "response",
    [
        "import os.nothing",
        "from math import nothing",
        "from . import nothing",
        "raise ModuleNotFoundError('sums')",
        f"try:\n    import sums\nexcept ImportError:\n    pass\n{WRONG}",
    ],
)
def test_other_wrong_imports_are_wrong(code, response):
    """The package is there, or was not needed."""
    assert score(code, TESTS["script"], response).scores["pass_at_1"] == 0.0


def test_one_sample_that_was_not_measured_leaves_all_without_a_score(code):
    """The share that passes is not known then."""
    output = {"responses": [RIGHT, f"import sums\n{RIGHT}"]}
    scored = code.score({"tests": TESTS["script"]}, output)
    assert scored.scores == {}
    assert scored.missing["pass_at_1"].startswith("1 of 2 samples: the solution needs the package")


@pytest.mark.parametrize(("response", "passed"), [(RIGHT, 1.0), (WRONG, 0.0)])
def test_an_interpreter_brings_its_packages(mechanism, environment, response, passed):
    """As the tests of HumanEval+ need them: they import what only that environment has."""
    tests = "from sums import close\ndef check(candidate):\n    assert close(candidate(1, 2), 3)\n"
    code = CodeExecution(python=environment, mechanism=mechanism)
    scored = score(code, tests, response)
    assert scored.scores["pass_at_1"] == passed
    assert scored.details["python"] == environment


def test_the_rest_of_an_environment_is_not_seen(mechanism, environment):
    """Only what is Python's of the folder that it is installed in."""
    secret = Path(environment).parent.parent / "secret"
    secret.write_text("secret")
    code = CodeExecution(python=environment, mechanism=mechanism)
    assert score(code, f"open({str(secret)!r}).read()", RIGHT).scores["pass_at_1"] == 0.0


@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/sh", "no-such-command"])
def test_an_interpreter_that_is_none_is_named(python):
    """Before anything runs."""
    with pytest.raises(SandboxError, match=f"python={python}"):
        CodeExecution(python=python).score({"tests": "assert f"}, {"response": "f = 1"})


FOR_PYTEST = """
import pytest

@pytest.fixture
def three():
    return 3

@pytest.mark.parametrize(("a", "b"), [(1, 2), (2, 1)])
def test_add(a, b, three):
    assert add(a, b) == pytest.approx(three)

class TestMore:
    def setup_method(self):
        self.one = 1

    async def test_raises(self, tmp_path):
        with pytest.raises(TypeError):
            add(self.one, "2")
        assert add(self.one, self.one) == 2

if __name__ == "__main__":
    pytest.main([__file__])
""".replace("[__file__]", "['tests.py']")
WITH_FIXTURE = (
    "def test_add(capsys):\n    print(add(1, 2))\n    assert capsys.readouterr().out == '3\\n'\n"
)


@pytest.mark.parametrize("tests", [FOR_PYTEST, WITH_FIXTURE])
def test_tests_that_need_pytest_are_missing_without_it(mechanism, environment, tests):
    """That environment has none."""
    scored = score(CodeExecution(python=environment, mechanism=mechanism), tests, RIGHT)
    assert "the tests need the package pytest" in scored.missing["pass_at_1"]


@pytest.mark.parametrize("tests", [FOR_PYTEST, WITH_FIXTURE])
def test_tests_that_need_pytest_are_run_by_it(mechanism, environment_with_pytest, tests):
    """Fixtures, parameters, set-up and what comes with the package."""
    code = CodeExecution(python=environment_with_pytest, mechanism=mechanism, timeout_s=60)
    found = [score(code, tests, response) for response in (RIGHT, WRONG)]
    assert [scored.scores.get("pass_at_1") for scored in found] == [1.0, 0.0], found


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        ("def test_add(no_such_fixture):\n    assert add(1, 2) == 3", "need a fixture"),
        ("import pytest\n@pytest.mark.skip\ndef test_add():\n    assert 0", "nothing in the tests"),
        ("import pytest\ndef test_add():\n    import sums2", "need the package sums2"),
    ],
)
def test_what_pytest_cannot_run_measures_nothing(mechanism, environment_with_pytest, tests, reason):
    """A fixture that is nowhere, tests that are all skipped, a package that is not there."""
    code = CodeExecution(python=environment_with_pytest, mechanism=mechanism, timeout_s=60)
    assert reason in score(code, tests, RIGHT).missing["pass_at_1"]


THREADS = """
import threading
together = threading.Barrier(32)
def work():
    together.wait(60)
    sums.append(add(1, 2))
sums = []
threads = [threading.Thread(target=work) for _ in range(32)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sums == [3] * 32
"""


def test_thirty_two_threads_run_at_once(code):
    """They reserve address space, which is not memory: it takes all of them to pass the barrier."""
    assert [score(code, THREADS, r).scores["pass_at_1"] for r in (RIGHT, WRONG)] == [1.0, 0.0]


def test_a_thread_may_recurse_as_deep_as_the_interpreter_lets_it(code):
    """Its stack is smaller than that of the program, but not too small."""
    deep = (
        "def add(a, b):\n    return sorted([a], key=lambda x: add(a - 1, b))[0] + b if a else b\n"
        "import threading\nfound = []\ndef top():\n    try:\n        add(10**6, 1)\n"
        "    except RecursionError:\n        found.append(1)\n"
        "def deep():\n    t = threading.Thread(target=top)\n    t.start()\n    t.join()\n    return found\n"
    )
    tests = "assert deep() == [1]"
    assert score(code, tests, deep).scores["pass_at_1"] == 1.0
