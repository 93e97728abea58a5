"""A part: a component with what is known of it, and an identity that is looked for once."""

from __future__ import annotations

import pytest

from cb_testing import FakeEvaluator, FakeSystem
from cbcore._run.parts import Part, StoredSystem
from cbcore.components import Owner
from cbcore.exceptions import ProcessError

OWNER = Owner("cb-x", "1")


class Counting:
    """Keeps a number that each call changes."""

    name = "counting"

    def __init__(self):
        self.calls = 0


def test_an_identity_is_of_the_component_as_it_was_when_first_asked():
    """What a run changes in it later does not move its results."""
    part = Part(Counting())
    before = part.identity
    part.value.calls += 1
    assert part.identity == before is not None
    assert part.why_unidentified is None
    assert Part(part.value).identity != before


def test_use_is_no_part_of_what_a_component_is():
    """Once noted, the component is known for the same by the next run."""
    part = Part(Counting())
    before = part.identity
    part.value.calls += 1
    part.note_use()
    assert Part(part.value).identity == before


def test_the_record_is_part_of_the_identity_and_an_empty_one_is_none():
    """Another version may score otherwise."""
    system = FakeSystem()
    record = {"component": "fake", "plugin": "cb-x", "version": "1", "params": {}}
    of_versions = {Part(system, {**record, "version": v}).identity for v in "12"}
    assert len(of_versions | {Part(system).identity, Part(system, {}).identity}) == 3


def test_a_component_typed_at_a_prompt_has_a_reason_instead_of_an_identity():
    """Nothing tells it from another of that name."""
    namespace = {"__name__": "typed_at_a_prompt"}
    exec("class Typed:\n    name = 'typed'", namespace)
    part = Part(namespace["Typed"]())
    assert part.identity is None
    assert "source" in part.why_unidentified


def test_an_identity_that_fails_is_its_reason():
    """It is the component's own code: the run goes on, and stores nothing of it."""

    class Failing(FakeEvaluator):
        def identity(self):
            raise KeyError("model")

    part = Part(Failing())
    assert (part.identity, part.why_unidentified) == (
        None,
        "its identity failed: KeyError: 'model'",
    )


def test_a_stored_system_has_an_identity_and_nothing_else():
    """It answers for an earlier run; what is not stored it cannot say."""
    system = StoredSystem("old", b"\x01" * 16, {})
    assert Part(system).identity == b"\x01" * 16
    with pytest.raises(ProcessError, match="no output is stored for this example"):
        system.process({"context": "c"})


def test_a_part_is_told_from_others_whatever_it_holds():
    """Also by sets, and also where what it holds cannot be hashed, or equals everything."""
    one, other = Part([]), Part([])
    assert one != other
    assert len({one, other, one}) == 2
