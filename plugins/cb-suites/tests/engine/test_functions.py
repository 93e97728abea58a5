"""`!function`: only next to the file that says so, only where trusted, never by reading alone."""

from __future__ import annotations

import pytest

from cb_suites.engine.documents import FunctionReference
from cb_suites.engine.functions import Functions, UnloadableError
from cb_suites.engine.model import Origin
from cbcore.exceptions import ConfigError


@pytest.fixture
def refer(tmp_path):
    """Make a reference that stands on line 3 of a suite file in a folder."""

    def make(text, folder=tmp_path):
        return FunctionReference(text, Origin(str(folder / "suite.yaml"), 3))

    return make


def test_a_function_next_to_the_file_is_found(tmp_path, refer):
    """By module and name, and the module runs once."""
    (tmp_path / "utils.py").write_text("runs = []\nruns.append(1)\ndef double(x): return 2 * x\n")
    functions = Functions([tmp_path])
    assert functions.resolve(refer("utils.double"))(4) == 8
    assert functions.resolve(refer("utils.double")) is functions.resolve(refer("utils.double"))


def test_two_files_of_one_name_are_two_modules(tmp_path, refer):
    """Each folder has its own `utils`."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "utils.py").write_text(f"def who(): return {name!r}\n")
    functions = Functions([tmp_path])
    found = [functions.resolve(refer("utils.who", tmp_path / name))() for name in ("one", "two")]
    assert found == ["one", "two"]


def test_a_changed_file_is_run_anew(tmp_path, refer):
    """A change is noticed within one process."""
    (tmp_path / "utils.py").write_text("def who(): return 1\n")
    assert Functions([tmp_path]).resolve(refer("utils.who"))() == 1
    (tmp_path / "utils.py").write_text("def who(): return 'changed'\n")
    assert Functions([tmp_path]).resolve(refer("utils.who"))() == "changed"


@pytest.mark.parametrize(
    "text",
    [
        "os.path.join",
        "../up.f",
        "/tmp/x.f",
        "utils",
        "utils.",
        ".f",
        "a b.c",
        "utils.f()",
        "ütils.f",
    ],
)
def test_paths_and_packages_are_refused(tmp_path, refer, text):
    """A module is one name, and so is what is in it."""
    with pytest.raises(ConfigError, match=r"is not module\.attribute|there is no file") as caught:
        Functions([tmp_path]).resolve(refer(text))
    assert caught.value.source == f"{tmp_path / 'suite.yaml'}:3"


def test_an_installed_module_is_not_reached(tmp_path, refer):
    """`os.system` is looked for in `os.py` next to the file, and nowhere else."""
    with pytest.raises(ConfigError, match="there is no file"):
        Functions([tmp_path]).resolve(refer("os.system"))


def test_a_file_nobody_vouched_for_runs_nothing(tmp_path, refer):
    """Code next to a file outside the trusted folders is refused, with what would allow it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "utils.py").write_text("raise SystemExit('it ran')\ndef f(): ...\n")
    with pytest.raises(ConfigError, match="nobody vouched for") as caught:
        Functions([tmp_path / "trusted"]).resolve(refer("utils.f", elsewhere))
    assert str(elsewhere) in caught.value.hint


def test_checking_runs_nothing(tmp_path, refer):
    """A name is looked for in the source."""
    (tmp_path / "utils.py").write_text(
        "raise SystemExit('it ran')\n"
        "from x import y as imported\n"
        "if True:\n    def inside(): ...\n"
        "made = other = 1\n"
    )
    functions = Functions([tmp_path])
    for name in ("imported", "inside", "made", "other"):
        assert functions.check(refer(f"utils.{name}"))
    with pytest.raises(ConfigError, match="has no 'insid'") as caught:
        functions.check(refer("utils.insid"))
    assert caught.value.hint == "did you mean inside?"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def g(): ...\n", "has no 'f'"),
        ("f = 3\n", "is a int and cannot be called"),
        ("import nothing_of_the_kind\n", "importing .* failed: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", r"sys\.exit\(3\)"),
        ("def f(:\n", "SyntaxError"),
    ],
)
def test_what_is_wrong_with_the_code_is_told(tmp_path, refer, source, says):
    """As an error of the line that names it."""
    (tmp_path / "broken.py").write_text(source)
    with pytest.raises(ConfigError, match=says) as caught:
        Functions([tmp_path]).resolve(refer("broken.f"))
    assert caught.value.source.endswith("suite.yaml:3")


def test_what_a_module_prints_stays_off_standard_output(tmp_path, refer, capsys):
    """The output of `cb` is for machines to read."""
    (tmp_path / "loud.py").write_text("print('noise')\ndef f(): ...\n")
    Functions([tmp_path]).resolve(refer("loud.f"))
    captured = capsys.readouterr()
    assert (captured.out, "noise" in captured.err) == ("", True)


def test_an_included_file_elsewhere_gives_values_but_no_code(suites, tmp_path):
    """What lies outside of what the user named is data."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "utils.py").write_text("raise SystemExit('it ran')\n")
    (outside / "base").write_text("dataset: qa\nprocess_docs: !function utils.f\n")
    suites.write("a.yaml", "task: a\ninclude: ../outside/base\n")
    with pytest.raises(ConfigError, match="nobody vouched for") as caught:
        suites.load("a")
    assert caught.value.source == f"{outside / 'base'}:2"
    (outside / "base").write_text("dataset: qa\nlimit: 2\n")
    assert suites.load("a").leaves()[0].config.limit == 2


def test_a_package_that_is_not_installed_is_not_an_error_of_the_file(tmp_path, refer):
    """It cannot be judged here; whoever runs it is told which package it is."""
    functions = Functions([tmp_path])
    reference = refer("no_such_package.tasks.utils.score")
    assert functions.check(reference) is reference
    assert functions.unchecked == [reference]
    with pytest.raises(UnloadableError, match="the package no_such_package is not installed"):
        functions.resolve(reference)
