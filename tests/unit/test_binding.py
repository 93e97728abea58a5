"""From a spec to an object: types by annotation, mistakes told before anything is called."""

from __future__ import annotations

import collections.abc
import inspect
import itertools
import math
import sys
import typing
from pathlib import Path
from typing import Any, Literal, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.binding import (
    bind,
    convert,
    guess,
    make,
)
from cbcore.exceptions import ParameterError, UsageError
from cbcore.secrets import Secret
from cbcore.specs import Spec
from cbcore.usercode import import_attribute, import_module

EMPTY = inspect.Parameter.empty
unique = itertools.count()


class Truncate:
    def __init__(self, side: str = "head", max_tokens: int = 100, *, seed: int | None = None):
        self.side, self.max_tokens, self.seed = side, max_tokens, seed


def arguments(*given: Any, **offered: Any) -> tuple[list[Any], dict[str, Any]]:
    bound = bind(*given, **offered)
    keywords = dict(bound.arguments)
    return [] if bound.first is None else [keywords.pop(bound.first)], keywords


def keyword_only(*, k: int = 1) -> dict[str, Any]:
    return {"k": k}


def anything(**options: Any) -> dict[str, Any]:
    return options


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory of its own; imports made from it leave no trace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != ""])
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "annotation", "expected"),
    [
        ("512", int, 512),
        ("-3", int, -3),
        ("10_000", int, 10000),
        ("0.5", float, 0.5),
        ("5", float, 5.0),
        ("1e-3", float, 0.001),
        ("true", bool, True),
        ("Yes", bool, True),
        ("on", bool, True),
        ("1", bool, True),
        ("false", bool, False),
        ("no", bool, False),
        ("OFF", bool, False),
        ("0", bool, False),
        ("512", str, "512"),
        ("none", str, "none"),
        ("./x", Path, Path("x")),
        ("head", Literal["head", "tail"], "head"),
        ("2", Literal[1, 2], 2),
        ("none", int | None, None),
        ("Null", Optional[int], None),  # noqa: UP045 - both spellings are met in plugins
        ("5", int | None, 5),
        ("none", str | None, None),
        ("5", str | None, "5"),
        ("5", str | int, 5),
        ("x", str | int, "x"),
        ("0.5", Union[int, float], 0.5),  # noqa: UP007
        ("./x", str | Path, Path("x")),
        ("[a,b]", list[str], ["a", "b"]),
        ("a,b", list[str], ["a", "b"]),
        ("a", list[str], ["a"]),
        ("[]", list[str], []),
        ("['x, y',z]", list[str], ["x, y", "z"]),
        ("[1,2]", list[int], [1, 2]),
        ("[1,b]", list, [1, "b"]),
        ("(1,2,3)", tuple[int, ...], (1, 2, 3)),
        ("1,b", tuple[int, str], (1, "b")),
        ("[1,1]", set[int], {1}),
        ("[1,1]", frozenset[int], frozenset({1})),
        ("[a,b]", collections.abc.Sequence[str], ["a", "b"]),
        ("[a,b]", collections.abc.Iterable[str], ["a", "b"]),
        ("[a,b]", typing.Iterable[str], ["a", "b"]),
        ("[a,b]", collections.abc.Collection[str], ["a", "b"]),
        ("[a,b]", list[str] | None, ["a", "b"]),
        ("math:sqrt", collections.abc.Callable[[float], float], math.sqrt),
        ("math:sqrt", typing.Callable, math.sqrt),
        ("py:math:sqrt", collections.abc.Callable[..., Any] | None, math.sqrt),
        ("math:sqrt", str | collections.abc.Callable[..., Any], "math:sqrt"),
        ("py:math:sqrt", str | collections.abc.Callable[..., Any], math.sqrt),
        ("7", Any, 7),
        ("7", EMPTY, 7),
        ("7", "SomethingUnknown", 7),
        ("7", object, 7),
    ],
)
def test_a_string_gets_the_type_its_parameter_asks_for(text, annotation, expected):
    """The table of conversions."""
    converted = convert(text, annotation)
    assert converted == expected
    assert type(converted) is type(expected)


@pytest.mark.parametrize(
    ("text", "annotation", "reason"),
    [
        ("many", int, "'many' is not a whole number"),
        ("1.5", int, "'1.5' is not a whole number"),
        ("many", float, "'many' is not a number"),
        ("maybe", bool, "'maybe' is neither true nor false"),
        ("middle", Literal["head", "tail"], "'middle' is not one of head, tail"),
        ("many", int | None, "'many' is not a whole number"),
        ("[1,b]", list[int], "'b' is not a whole number"),
        ("1,2,3", tuple[int, int], "does not have 2 items"),
        ("[(]", list[str], "is not a list"),
        ("nothing", collections.abc.Callable[..., Any], "not module:Name"),
        ("5..10/5", int, "'5..10/5' is not a whole number"),
        ("5..10/5", EMPTY, "'5..10/5' is a range, not a single value"),
    ],
)
def test_a_string_of_the_wrong_kind_is_refused(text, annotation, reason):
    """The message repeats the value and says what was wanted."""
    with pytest.raises(ValueError) as caught:
        convert(text, annotation)
    assert reason in str(caught.value)


@given(st.none() | st.booleans() | st.integers() | st.lists(st.integers()))
def test_what_is_not_a_string_is_left_alone(value):
    """Values from Python and YAML have their types already."""
    assert convert(value, list[int]) is value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", 5),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("none", None),
        ("null", None),
        ("gpt-4", "gpt-4"),
        ("yes", "yes"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("", ""),
        ("[1,a,[b,true]]", [1, "a", ["b", True]]),
        ("[(]", "[(]"),
    ],
)
def test_without_an_annotation_the_type_is_guessed(text, expected):
    """Numbers, true and false, none and lists are recognised; the rest is text."""
    assert guess(text) == expected
    assert type(guess(text)) is type(expected)


@given(st.text())
def test_guessing_never_fails(text):
    """Whatever text it is given."""
    guess(text)


def test_a_secret_stays_one_when_it_is_converted():
    """A string that came from the environment reaches the constructor as it is."""
    secret = Secret("hunter2", "${KEY}")
    for annotation in (str, str | None, EMPTY):
        assert convert(secret, annotation) is secret


def test_parameters_are_bound_by_name_and_the_config_first():
    """`truncate:tail,max_tokens=5` calls `Truncate("tail", max_tokens=5)`."""
    spec = Spec("truncate", "tail", {"max_tokens": "5"})
    assert arguments(spec, Truncate) == (["tail"], {"max_tokens": 5})


def test_values_the_core_offers_are_passed_only_where_they_are_taken():
    """`n` and `seed` go to parameters of that name, and a value in the spec wins."""
    offered = {"seed": 7, "n": 3}
    assert arguments(Spec("t"), Truncate, extra=offered) == ([], {"seed": 7})
    assert arguments(Spec("t", None, {"seed": "1"}), Truncate, extra=offered) == ([], {"seed": 1})
    assert arguments(Spec("t"), anything, extra=offered) == ([], {})


def test_an_offered_value_gives_way_to_the_config():
    """When the config fills the parameter that was offered, it is passed once."""
    assert arguments(Spec("t", "tail"), Truncate, extra={"side": "head"}) == (["tail"], {})


@pytest.mark.parametrize(
    ("spec", "target", "reason", "hint"),
    [
        (Spec("t", None, {"max_token": "5"}), Truncate, "no parameter 'max_token'", "max_tokens?"),
        (Spec("t", None, {"zz": "5"}), Truncate, "no parameter 'zz'", "side, max_tokens, seed"),
        (Spec("t", None, {"k": "5"}), lambda: None, "no parameter 'k'", "takes no parameters"),
        (Spec("t", "x", {"side": "y"}), Truncate, "'side' is given twice: as 'x'", None),
        (Spec("t", "x"), keyword_only, "takes no config, but 'x' was given", None),
        (Spec("t", "x"), anything, "takes no config, but 'x' was given", None),
        (Spec("t", "x"), lambda: None, "takes no config, but 'x' was given", None),
        (Spec("t", None, {"max_tokens": "x"}), Truncate, "'max_tokens': 'x' is not a", None),
    ],
)
def test_parameters_that_do_not_fit_are_refused(spec, target, reason, hint):
    """Before the component is called; the message names it, and the hint suggests."""
    with pytest.raises(ParameterError) as caught:
        bind(spec, target)
    assert reason in caught.value.message
    assert caught.value.component == "t"
    assert hint is None or hint in caught.value.hint


def test_a_target_that_takes_anything_gets_guessed_types():
    """`**options` accepts every name."""
    assert arguments(Spec("t", None, {"a": "1", "b": "x"}), anything) == ([], {"a": 1, "b": "x"})


def test_arguments_are_told_by_name():
    """What a component was made with, the config under the parameter it fills."""
    spec = Spec("t", "tail", {"max_tokens": "5"})
    assert bind(spec, Truncate, extra={"seed": 3}).arguments == {
        "side": "tail",
        "max_tokens": 5,
        "seed": 3,
    }
    assert bind(Spec("t"), Truncate).arguments == {}


def test_a_component_is_made():
    """The usual way, with converted values."""
    made = make(Spec("truncate", "tail", {"max_tokens": "5"}), Truncate, extra={"seed": 1})
    assert (made.side, made.max_tokens, made.seed) == ("tail", 5, 1)


def test_a_missing_parameter_is_named():
    """A required parameter that nobody gave is told before the call."""

    def factory(path: str) -> None:
        raise AssertionError("not to be called")

    with pytest.raises(
        ParameterError, match="missing 1 required positional argument: 'path'"
    ) as caught:
        make(Spec("reader"), factory)
    assert "cb info reader" in caught.value.hint


@pytest.mark.parametrize("kind", [ValueError, TypeError])
def test_what_a_constructor_refuses_is_a_parameter_error(kind):
    """Constructors say that a value is wrong by `ValueError`; the user reads which component."""

    def factory(k: int) -> None:
        raise kind("k must be positive")

    with pytest.raises(ParameterError, match="thing: k must be positive") as caught:
        make(Spec("thing", None, {"k": "-1"}), factory)
    assert isinstance(caught.value.__cause__, kind)


@pytest.mark.parametrize("error", [UsageError("as it is"), RuntimeError("broken")])
def test_other_errors_of_a_constructor_pass(error):
    """Errors of `cb` keep their kind, and a defect of the component stays visible as one."""

    def factory() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        make(Spec("thing"), factory)
    assert caught.value is error


def test_the_users_own_module_is_imported_from_the_working_directory(folder):
    """`module:Name`, also for names inside packages and classes."""
    name = f"own_{next(unique)}"
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("")
    (folder / name / "code.py").write_text("class A:\n    class B:\n        value = 5\n")
    assert import_attribute(f"{name}.code:A.B.value") == 5


def test_a_name_of_a_file_and_of_another_module_is_refused(folder):
    """The installed module would be imported, not the file that the user sees."""
    (folder / "colorsys.py").write_text("class System: ...\n")
    with pytest.raises(ValueError, match=r"'colorsys' is a module of Python .*\./colorsys\.py"):
        import_module("colorsys")
    assert import_attribute("./colorsys.py:System").__name__ == "System"


def test_the_users_own_file_is_imported_once(folder):
    """`./file.py:Name`; the second import gives the same objects."""
    (folder / "mine.py").write_text("made = object()\n")
    first = import_attribute("./mine.py:made")
    assert import_attribute(f"{folder / 'mine.py'}:made") is first


def test_two_files_of_one_name_are_two_modules(folder):
    """Files are told apart by their path."""
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "mine.py").write_text(f"where = {name!r}\n")
    assert [import_attribute(f"{name}/mine.py:where") for name in "aba"] == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "is not module:Name"),
        ("module", "is not module:Name"),
        ("module:", "is not module:Name"),
        (":Name", "is not module:Name"),
        ("./absent.py:Name", "there is no file './absent.py'"),
        ("absent_module:Name", "there is no module 'absent_module'"),
        ("json.absent:Name", "there is no module 'json.absent'"),
        ("./mine.py:MySytem", "./mine.py has no 'MySytem'; did you mean MySystem?"),
        ("./mine.py:zzzzzz", "./mine.py has no 'zzzzzz'"),
        ("./raises.py:X", "importing it failed: ZeroDivisionError: division by zero"),
        ("./exits.py:X", "importing it failed: it called sys.exit(3)"),
        ("./needs.py:X", "importing it failed: ModuleNotFoundError: No module named 'absent_"),
        ("./typo.py:X", "importing it failed: SyntaxError"),
        ("raising_module:X", "importing it failed: ZeroDivisionError"),
        ("./lazy.py:X", "importing it failed: it called sys.exit('no X')"),
    ],
)
def test_what_cannot_be_imported_is_told_apart(folder, path, reason):
    """Nothing there, nothing of that name in it, and code that fails, are different mistakes."""
    (folder / "mine.py").write_text("class MySystem: ...\n")
    (folder / "raises.py").write_text("1 / 0\n")
    (folder / "raising_module.py").write_text("1 / 0\n")
    (folder / "exits.py").write_text("raise SystemExit(3)\n")
    (folder / "needs.py").write_text("import absent_dependency\n")
    (folder / "typo.py").write_text("def\n")
    (folder / "lazy.py").write_text("def __getattr__(name): raise SystemExit(f'no {name}')\n")
    with pytest.raises(ValueError) as caught:
        import_attribute(path)
    assert reason in str(caught.value)


def test_a_module_whose_dependency_is_missing_is_not_said_to_be_missing(folder):
    """Even when the names of the two begin alike."""
    name = f"needy_{next(unique)}x"
    (folder / f"{name}.py").write_text(f"import {name[:-1]}\n")
    with pytest.raises(ValueError, match=f"importing it failed: .*'{name[:-1]}'"):
        import_module(name)


def test_a_file_that_failed_can_be_mended_and_imported(folder):
    """A failed import leaves nothing half-made behind."""
    source = folder / "mine.py"
    source.write_text("value = 1\n1 / 0\n")
    with pytest.raises(ValueError):
        import_attribute("./mine.py:value")
    source.write_text("value = 'a different length'\n")
    assert import_attribute("./mine.py:value") == "a different length"


def test_errors_of_cb_pass_through_an_import(folder):
    """A module that registers a name twice gets the error that says so."""
    (folder / "mine.py").write_text(
        "from cbcore.exceptions import UsageError\nraise UsageError('registered twice')\n"
    )
    with pytest.raises(UsageError, match="registered twice"):
        import_module("./mine.py")


def test_an_interrupt_during_an_import_is_an_interrupt(folder):
    """Ctrl-C is not turned into an error of the module."""
    (folder / "mine.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        import_module("./mine.py")


def test_a_callable_parameter_that_cannot_be_imported_is_a_parameter_error(folder):
    """Code named as a value fails as that parameter, whatever it does."""
    (folder / "raises.py").write_text("1 / 0\n")

    def factory(client: collections.abc.Callable[..., Any]) -> None: ...

    with pytest.raises(ParameterError, match="parameter 'client': importing it failed: ZeroDiv"):
        make(Spec("thing", None, {"client": "./raises.py:X"}), factory)
