"""`cb hooks` and `CB_TRACE`: what a plugin can implement, who does, and when it is called."""

from __future__ import annotations

import inspect
import re

import pytest

from cbcore.plugins._hook_checks import HOOKS
from tests.fake_distributions import Workplace, write_hooks, write_system

OBSERVER = """
from cbcore import Component

def cb_datasets():
    yield Component(kind="dataset", name="two", target=two)

def two():
    return [{"id": i, "context": "c"} for i in range(2)]

def cb_row_finished(event):
    if event.index == 1:
        raise RuntimeError("enough")
"""


def by_name(workplace: Workplace, *arguments: str):
    return {record["hook"]: record for record in workplace.json("hooks", *arguments)}


def test_json_of_hooks(workplace: Workplace) -> None:
    """Every hook of the core, in the order of the specification; the shape is pinned."""
    records = [record for record in workplace.json("hooks") if not record["brought_by"]]

    assert [record["hook"] for record in records] == list(HOOKS)
    assert next(record for record in records if record["hook"] == "cb_row_finished") == {
        "hook": "cb_row_finished",
        "signature": "(event: RowFinished) -> None",
        "summary": "Observe one finished row.",
        "called": "Called once per row, in the order of rows, from the thread that collects them.",
        "since": "0.1",
        "brought_by": None,
        "deprecated": None,
        "plugins": [],
    }
    for record in records:
        assert record["called"].startswith("Called ")
        assert record["signature"].startswith(
            "(" + ", ".join(inspect.signature(HOOKS[record["hook"]]).parameters)
        )


def test_who_implements_a_hook(workplace: Workplace) -> None:
    """By a hook module or by a static entry point; one that is broken or off does not."""
    write_hooks(workplace.site, "cb-observing", OBSERVER)
    write_system(workplace.site, "cb-one", "one")
    write_hooks(workplace.site, "cb-torn", OBSERVER + "\nraise RuntimeError")
    write_hooks(workplace.site, "cb-off", OBSERVER)

    records = by_name(workplace, "--no-plugin", "cb-off")

    assert records["cb_row_finished"]["plugins"] == ["cb-observing"]
    assert "cb-observing" in records["cb_datasets"]["plugins"]
    assert "cb-one" in records["cb_systems"]["plugins"]
    assert not {"cb-torn", "cb-off"} & {p for r in records.values() for p in r["plugins"]}


def test_hooks_for_people(workplace: Workplace) -> None:
    """Signature, when it is called, since when, and by whom."""
    write_hooks(workplace.site, "cb-observing", OBSERVER)

    printed = workplace.cb("hooks").stdout

    (block,) = [b for b in printed.split("\n\n") if b.startswith("cb_row_finished(")]
    assert "Called once per row" in block
    assert "since 0.1; implemented by: cb-observing" in block


def test_hooks_import_no_plugin(cold_workplace: Workplace) -> None:
    """Not even the first time."""
    write_hooks(cold_workplace.site, "cb-observing", OBSERVER)

    _, processes = cold_workplace.traced("hooks")

    assert not any(name.startswith("cb_observing") for name in processes[0]["modules"])


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


def test_a_trace_tells_of_every_call(place: Workplace) -> None:
    """Hook, plugin, milliseconds, outcome; a generator counts with the work it does."""
    done = place.cb(*RUN, CB_TRACE="1")

    lines = traced_lines(done.stderr)
    assert "cb_datasets cb-observing T ok, 1 offered" in lines
    assert "cb_systems cb-one T ok, 1 offered" in lines
    assert [line for line in lines if line.startswith("cb_row_finished")] == [
        "cb_row_finished cb-observing T ok",
        "cb_row_finished cb-observing T raised RuntimeError: enough",
    ]


def test_a_trace_changes_nothing_else(place: Workplace) -> None:
    """Standard output and what is reported of a failing observer are the same."""
    quiet, traced = place.cb(*RUN), place.cb(*RUN, CB_TRACE="1")

    def stable(text: str) -> str:
        return re.sub(r"\d\.\d+(e-\d+)?", "T", text)

    assert (quiet.returncode, traced.returncode) == (7, 7)
    assert stable(quiet.stdout) == stable(traced.stdout)
    rest = [line for line in traced.stderr.splitlines() if "cb: trace:" not in line]
    assert rest == quiet.stderr.splitlines()
    assert any("an observer of 'cb-observing' failed" in line for line in rest)


@pytest.mark.parametrize("value", ["", "0", "false", "no", "OFF"])
def test_no_trace_unless_asked_for(place: Workplace, value: str) -> None:
    """The values that mean no."""
    assert not traced_lines(place.cb(*RUN, CB_TRACE=value).stderr)


def test_a_failing_offer_is_traced_and_contained(workplace: Workplace) -> None:
    """The outcome is the exception."""
    write_hooks(workplace.site, "cb-torn", "def cb_datasets(): return 3\n")
    write_system(workplace.site, "cb-one", "one")

    done = workplace.cb("info", "one", CB_TRACE="1")

    assert done.returncode == 0
    assert any("cb_datasets cb-torn T raised TypeError" in x for x in traced_lines(done.stderr))
