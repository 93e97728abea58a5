"""The boundary: what code of others raises becomes an error of `cb`, or a value."""

from __future__ import annotations

import asyncio
import functools

import pytest

from cbcore.boundary import at_boundary, contained, describe_exception
from cbcore.exceptions import CBError, DataError, PluginContractError, PluginError, UsageError


class UnspeakableError(Exception):
    """Its message and its representation are code that fails."""

    def __str__(self):
        raise RuntimeError("no message")

    __repr__ = __str__


class NoTextError(Exception):
    def __str__(self):
        return 7  # noqa: PLE0307 - that is the point


class Unspeakable:
    def __repr__(self):
        raise RuntimeError("no representation")


def of_others(name):
    return functools.partial(PluginContractError, name)


FOREIGN = [
    (ValueError("no\nluck"), "ValueError: no luck"),
    (KeyError("id"), "KeyError: 'id'"),
    (ValueError(), "ValueError"),
    (RecursionError("too deep"), "RecursionError: too deep"),
    (StopIteration(3), "StopIteration: 3"),
    (SystemExit(3), "it called sys.exit(3)"),
    (SystemExit(), "it called sys.exit(None)"),
    (SystemExit(Unspeakable()), "it called sys.exit(<Unspeakable>)"),
    (UnspeakableError(), "UnspeakableError: (its message cannot be had: RuntimeError)"),
    (NoTextError(), "NoTextError: (its message cannot be had: TypeError)"),
]
FROM_OUTSIDE = [KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()]


@pytest.mark.parametrize(("error", "expected"), FOREIGN)
def test_any_error_can_be_told_on_one_line(error, expected):
    """Type and message, an exit by what it is, and no harm from an error that cannot be read."""
    assert describe_exception(error) == expected


@pytest.mark.parametrize("make", [ValueError, SystemExit])
def test_a_message_without_end_is_cut(make):
    """A whole document in an error would fill reports and logs; its length is told instead."""
    told = describe_exception(make("a long story " * 1_000_000))
    assert told.startswith(("ValueError: a long story a", "it called sys.exit('a long story a"))
    assert "…" in told
    assert len(told) < 5000
    assert len(told) < 5_000


@pytest.mark.parametrize(("error", "expected"), FOREIGN)
def test_what_others_raise_becomes_an_error_of_the_project(error, expected):
    """The text says what was being done, and the cause is kept for who wants the traceback."""
    with (
        pytest.raises(PluginContractError) as told,
        at_boundary("making the system 'x'", of_others("cb-x")),
    ):
        raise error
    assert told.value.plugin == "cb-x"
    assert told.value.reason == f"making the system 'x' failed: {expected}"
    assert told.value.__cause__ is error


@pytest.mark.parametrize("error", [*FROM_OUTSIDE, UsageError("on purpose"), DataError("bad row")])
def test_what_was_raised_on_purpose_or_from_outside_passes(error):
    """Errors of `cb` say what they mean; interrupts and cancellations are not the code's doing."""
    with pytest.raises(type(error)) as told, at_boundary("it", DataError):
        raise error
    assert told.value is error


def test_which_errors_pass_can_be_said():
    """Where only some are meant for the caller, the others are converted too."""
    meant = PluginError("cb-x", "as meant")
    with (
        pytest.raises(PluginError, match="as meant"),
        at_boundary("cb_systems", of_others("cb-x"), through=PluginError),
    ):
        raise meant
    with (
        pytest.raises(PluginContractError, match="cb_systems failed: UsageError: not here"),
        at_boundary("cb_systems", of_others("cb-x"), through=PluginError),
    ):
        raise UsageError("not here")


def test_where_nothing_is_raised_nothing_happens():
    """A boundary lets everything else pass."""
    with at_boundary("it", DataError):
        pass
    with contained() as tried:
        pass
    assert (tried.error, tried.reason) == (None, "")


@pytest.mark.parametrize(("error", "expected"), [*FOREIGN, (CBError("wrong"), "CBError: wrong")])
def test_what_others_raise_can_be_kept(error, expected):
    """The code after it goes on, with the error and what to say of it."""
    with contained() as tried:
        raise error
    assert tried.error is error
    assert tried.reason == expected


@pytest.mark.parametrize("error", FROM_OUTSIDE)
def test_what_comes_from_outside_is_not_kept(error):
    """Ctrl-C ends the program, and a cancelled task is cancelled."""
    with pytest.raises(type(error)), contained():
        raise error


def test_a_generator_can_be_closed_inside():
    """An early end of who reads it is no failure of what it reads."""

    def read():
        with contained():
            yield 1
            yield 2
        yield "went on"

    reading = read()
    assert next(reading) == 1
    reading.close()
    assert list(reading) == []
