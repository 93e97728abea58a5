"""The tree of errors: as drawn, with exit codes, facts as attributes, and copies that work."""

from __future__ import annotations

import copy
import inspect
import pickle
import re

import pytest

from cbcore import exceptions
from cbcore.exceptions import (
    CBError,
    ConfigError,
    DataError,
    DuplicateNameError,
    MissingExtraError,
    ParameterError,
    PluginLoadError,
    RunInterruptedError,
    RunStoppedError,
    SpecError,
    UnknownComponentError,
    UsageError,
)
from cbcore.results import EvalResult, EvalRow

CLASSES = {
    name: value
    for name, value in inspect.getmembers(exceptions, inspect.isclass)
    if value.__module__ == exceptions.__name__
}
EXAMPLES = [
    CBError("message"),
    UsageError("message", hint="do this"),
    SpecError("a:", "nothing follows"),
    UnknownComponentError("system", "bm52", ["bm25"]),
    ParameterError("bm25", "has no parameter 'k'", hint="k1"),
    ConfigError("bench.yaml", "unknown key"),
    MissingExtraError("reading x", "pyarrow", "cbcore[parquet]"),
    PluginLoadError("cb-x", "cannot be imported"),
    DuplicateNameError("system", "bm25", ["cb-x", "cb-y"]),
    DataError("bad line"),
    RunStoppedError("stopped", result=EvalResult([EvalRow("s", 1)]), hint="mend it"),
]


def drawn():
    """Name, parent and exit code (None where it is the parent's) of each line of the drawing."""
    parents = []
    for line in exceptions.__doc__.splitlines():
        match = re.match(r"(?P<indent>[│├└─ ]*)(?P<name>\w+Error)\s+(?:exit (?P<code>\d+))?", line)
        if match:
            depth = len(match["indent"]) // 4
            parents[depth:] = [match["name"]]
            parent = parents[depth - 1] if depth else "Exception"
            yield match["name"], parent, match["code"] and int(match["code"])


def test_the_drawing_shows_every_error_under_its_parent():
    """The tree in the documentation is the tree of classes."""
    assert {(name, parent) for name, parent, _ in drawn()} == {
        (name, value.__base__.__name__) for name, value in CLASSES.items()
    }


def test_the_drawing_shows_the_exit_codes():
    """An error has the drawn code; where none is drawn, its parent's."""
    for name, parent, code in drawn():
        expected = code if code is not None else CLASSES[parent].exit_code
        assert CLASSES[name].exit_code == expected, name


def test_exit_codes_tell_whose_fault_it_is():
    """Scripts rely on them."""
    assert {
        name: CLASSES[name].exit_code
        for name in ("CBError", "UsageError", "PluginError", "RunError", "ResultError")
    } == {"CBError": 1, "UsageError": 2, "PluginError": 3, "RunError": 4, "ResultError": 5}
    assert RunInterruptedError.exit_code == 130


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (CBError("message"), "message"),
        (CBError("message", hint="do this"), "message\nhint: do this"),
        (
            UnknownComponentError("system", "bm52", ["bm25"]),
            (
                "no system is called 'bm52'\n"
                "hint: did you mean bm25? `cb list systems` shows what is installed"
            ),
        ),
        (
            MissingExtraError("reading x", "pyarrow", "cbcore[parquet]"),
            (
                "reading x needs the package 'pyarrow', which is not installed\n"
                "hint: pip install 'cbcore[parquet]'"
            ),
        ),
        (PluginLoadError("cb-x", "is broken"), "plugin 'cb-x': is broken"),
        (
            DuplicateNameError("system", "bm25", ["cb-x", "cb-y"]),
            (
                "the system name 'bm25' is claimed by cb-x and cb-y\n"
                "hint: write cb-x/bm25 or cb-y/bm25, or disable one of them with --no-plugin"
            ),
        ),
    ],
)
def test_the_text_is_derived_from_the_facts(error, text):
    """What was tried, with which value, and what to do next."""
    assert str(error) == text


@pytest.mark.parametrize(
    ("error", "facts"),
    [
        (SpecError("a:", "why"), {"spec": "a:", "reason": "why"}),
        (UnknownComponentError("system", "x", ["y"]), {"kind": "system", "near": ("y",)}),
        (ParameterError("bm25", "why"), {"component": "bm25", "reason": "why"}),
        (ConfigError("f.yaml", "why"), {"source": "f.yaml", "reason": "why"}),
        (PluginLoadError("cb-x", "why"), {"plugin": "cb-x", "reason": "why"}),
        (DuplicateNameError("system", "x", ["a", "b"]), {"owners": ("a", "b"), "plugin": "a"}),
    ],
)
def test_facts_are_attributes(error, facts):
    """A program need not take messages apart."""
    assert {name: getattr(error, name) for name in facts} == facts


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("duplicate", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
def test_errors_can_be_copied_and_sent_to_another_process(error, duplicate):
    """Every fact, the text and the exit code arrive."""
    copied = duplicate(error)
    assert type(copied) is type(error)
    assert copied.__dict__ == error.__dict__
    assert (str(copied), copied.args, copied.exit_code) == (
        str(error),
        error.args,
        error.exit_code,
    )


def test_a_stopped_run_carries_what_is_done():
    """The rows that were finished are not lost."""
    result = EvalResult([EvalRow("s", 1)])
    assert RunStoppedError("stopped", result=result).result is result
    assert RunInterruptedError("stopped").result is None
