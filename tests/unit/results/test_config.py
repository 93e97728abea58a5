"""The config of a result holds what is declared, and nothing else."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import pytest

from cbcore import evaluate
from cbcore.exceptions import RunStoppedError
from cbcore.results import RunConfig
from cbcore.settings import RunSettings
from cbcore.settings.options import options_of
from cbcore.store.saved_runs import list_runs

DATA = [{"id": n, "context": "c", "question": "Who?", "answer": "me"} for n in (1, 2)]


class Answering:
    name = "answering"

    def process(self, example):
        if example["id"] == 2:
            raise ValueError("no")
        return {**example, "response": "me"}


def fits(value, hint):
    """Whether a value is of a type, for the types that the declarations use."""
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if is_typeddict(hint):
        return not undeclared(value, hint)
    if origin is Annotated:
        return fits(value, inside[0])
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inside)
    if origin is Literal:
        return value in inside
    if origin in (Mapping, dict):
        return isinstance(value, Mapping) and all(
            fits(k, inside[0]) and fits(v, inside[1]) for k, v in value.items()
        )
    if origin in (Sequence, list):
        return isinstance(value, list) and all(fits(item, inside[0]) for item in value)
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, (int, float) if hint is float else hint)


def undeclared(value, declared):
    """The keys of a value that are not declared, or not of the declared type."""
    hints = get_type_hints(declared, include_extras=True)
    return {k: v for k, v in value.items() if k not in hints or not fits(v, hints[k])}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_examples": 1, "seed": 3, "timeout_s": 5, "budget_tokens": 10**6, "budget_usd": 2.5},
        {"text_fields": ("context", "question"), "max_errors": 0.5, "max_workers": 2},
        {"fail_fast": True},
    ],
)
def test_a_run_writes_what_is_declared(settings, tmp_path):
    """Whatever it was asked for, and however it ended; its record in the store has the same."""
    try:
        result = evaluate(
            systems=[Answering()], dataset=DATA, progress=False, cache_dir=tmp_path, **settings
        )
    except RunStoppedError as stopped:
        result = stopped.result
        assert result.config["state"] == "failed"
    assert undeclared(result.config, RunConfig) == {}
    assert undeclared(result.filter(system="answering").config, RunConfig) == {}
    [run] = list_runs(tmp_path)
    assert run.config == result.config


def test_a_whole_run_has_every_key_but_those_of_a_failure():
    """What is declared is there to be read; what was spent, in a run with a budget."""
    result = evaluate(systems=[Answering()], dataset=DATA, progress=False, budget_tokens=10**6)
    missing = set(get_type_hints(RunConfig)) - set(result.config)
    of_others = {
        *("options", "rescored_from", "failures", "stopped", "repeated_calls"),
    }
    assert missing == {"state_reason", "filter", *of_others}


def test_the_settings_of_a_result_are_those_recorded():
    """As they were given, by the names of their fields."""
    result = evaluate(systems=[Answering()], dataset=DATA, progress=False, max_workers=2)
    recorded = {name for name, option in options_of(RunSettings).items() if option.recorded}
    assert set(result.config["settings"]) == recorded
    assert result.config["settings"]["concurrency"] == 2


@pytest.mark.parametrize(
    ("value", "hint", "fit"),
    [
        (1, int, True),
        (True, int, False),
        (1, float, True),
        ("1", float, False),
        (None, int | None, True),
        (["a"], list[str], True),
        ([1], list[str], False),
        ({"a": 1}, Mapping[str, Any], True),
        ({1: 1}, Mapping[str, Any], False),
        ("a", Literal["a"], True),
        ("b", Annotated[Literal["a"], "why"], False),
    ],
)
def test_the_reader_of_types_tells_what_fits(value, hint, fit):
    """So that the tests above can fail."""
    assert fits(value, hint) is fit
