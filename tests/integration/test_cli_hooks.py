"""`cb hooks` and `CB_TRACE`: what a plugin can implement, who does, and when it is called."""

from __future__ import annotations

import inspect
import re

import pytest

from cbcore import hookspecs
from tests.fake_distributions import Workplace, write_hooks, write_system

OBSERVER = """
from cbcore import Component

def cb_datasets():
    yield Component(kind="dataset", name="two", target=two)

def two():
    return [{"id": i, "context": "c"} for i in range(2)]

def cb_row_finished(row):
    if row.example_id == 1:
        raise RuntimeError("enough")
"""
HOOKS = {name: spec for name, spec in vars(hookspecs).items() if name.startswith("cb_")}


def by_name(workplace: Workplace, *arguments: str):
    return {record["hook"]: record for record in workplace.json("hooks", *arguments)}


def test_json_of_hooks(workplace: Workplace) -> None:
    """Every hook, in the order of the specification; the shape is pinned."""
    records = workplace.json("hooks")

    assert [record["hook"] for record in records] == list(HOOKS)
    assert next(record for record in records if record["hook"] == "cb_row_finished") == {
        "hook": "cb_row_finished",
        "signature": "(run: Run, row: EvalRow, attempt: Attempt) -> None",
        "summary": "Observe one finished row: processed and scored, or failed.",
        "called": (
            "Called once per row, in dataset order for each system, in the thread that collects "
            "the rows. `attempt` has the example, the whole output and what was raised. Hand slow work to a thread of your own. Contained."
        ),
        "plugins": [],
    }
    for record in records:
        assert record["called"].startswith("Called ")
        parameters = inspect.signature(HOOKS[record["hook"]]).parameters
        assert all(f"{name}: " in record["signature"] for name in parameters)


def test_who_implements_a_hook(workplace: Workplace) -> None:
    """A plugin that is broken or disabled does not."""
    write_hooks(workplace.site, "cb-observing", OBSERVER)
    write_hooks(workplace.site, "cb-torn", OBSERVER + "\nraise RuntimeError")
    write_hooks(workplace.site, "cb-off", OBSERVER)

    records = by_name(workplace, "--no-plugin", "cb-off")

    assert records["cb_row_finished"]["plugins"] == ["cb-observing"]
    assert records["cb_run_started"]["plugins"] == ["cbcore"]
    assert "cb-observing" in records["cb_datasets"]["plugins"]
    assert not {"cb-torn", "cb-off"} & {p for r in records.values() for p in r["plugins"]}


def test_hooks_for_people(workplace: Workplace) -> None:
    """Signature, when it is called, and by whom it is implemented."""
    write_hooks(workplace.site, "cb-observing", OBSERVER)

    printed = workplace.cb("hooks").stdout

    (block,) = [b for b in printed.split("\n\n") if b.startswith("cb_row_finished(")]
    assert "Called once per row" in block
    assert "implemented by: cb-observing" in block


# -- CB_TRACE ----------------------------------------------------------------------------------


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    write_hooks(workplace.site, "cb-observing", OBSERVER)
    write_system(workplace.site, "cb-one", "one")
    return workplace


RUN = ("run", "-s", "one", "-d", "two", "-o", "csv", "--no-cache")


def traced_lines(stderr: str) -> list[str]:
    lines = [line for line in stderr.splitlines() if line.startswith("cb: trace: ")]
    return [re.sub(r" \d+\.\d\d ms ", " T ", line.removeprefix("cb: trace: ")) for line in lines]


def test_a_trace_shows_every_call(place: Workplace) -> None:
    """Hook, milliseconds, outcome, and the plugins that implement it."""
    lines = traced_lines(place.cb(*RUN, CB_TRACE="1").stderr)

    assert "cb_datasets T ok (cb-observing:cb-observing)" in lines
    assert [line for line in lines if line.startswith("cb_row_finished")] == [
        "cb_row_finished T ok (cbcore.builtin.progress.Progress, cb-observing:cb-observing)"
    ] * 2
    assert "cb_run_started T ok (cbcore:debugging, cbcore:log_file, cbcore:progress)" in lines


def test_a_trace_changes_nothing_else(place: Workplace) -> None:
    """Standard output and what is reported of a failing observer are the same."""
    quiet, traced = place.cb(*RUN), place.cb(*RUN, CB_TRACE="1")

    def stable(text: str) -> str:
        return re.sub(r"\d\.\d+(e-\d+)?", "T", text)

    assert (quiet.returncode, traced.returncode) == (7, 7)
    assert stable(quiet.stdout) == stable(traced.stdout)
    rest = [line for line in traced.stderr.splitlines() if "cb: trace:" not in line]
    assert rest == quiet.stderr.splitlines()
    assert any("cb_row_finished of cb-observing:cb-observing failed" in line for line in rest)


@pytest.mark.parametrize("value", ["", "0", "false", "no", "OFF"])
def test_no_trace_unless_asked_for(place: Workplace, value: str) -> None:
    """The values that mean no."""
    assert not traced_lines(place.cb(*RUN, CB_TRACE=value).stderr)


def test_a_failing_offer_is_traced_and_contained(workplace: Workplace) -> None:
    """The outcome is the exception."""
    write_hooks(workplace.site, "cb-torn", "def cb_datasets(): raise LookupError('lost')\n")
    write_system(workplace.site, "cb-one", "one")

    done = workplace.cb("info", "one", CB_TRACE="1")

    assert done.returncode == 0
    assert "cb_datasets T raised LookupError('lost') (cb-torn:cb-torn)" in traced_lines(done.stderr)
