"""The conformance rules for memories: what keeps them passes, what breaks one fails that one."""

from __future__ import annotations

import itertools
import pickle
import re
import weakref
from pathlib import Path
from typing import ClassVar

import pytest

from cb_memory import IngestResult, QueryResult, Retrieved, conformance
from cb_testing import check_plugin
from cbcore import Component

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "conformance.md"


class Memory:
    """Gives back the last of what it was told that fits."""

    name = "memory"

    def __init__(self, most: int = 10):
        self.most = most
        self._items = []

    def reset(self):
        self._items = []

    def ingest(self, items):
        self._items += items

    def query(self, question, budget=None):
        found, left = [], 10**6 if budget is None else budget
        for item in reversed(self._items[-self.most :]):
            left -= len(item.text.split())
            if left < 0:
                break
            found.append(Retrieved(item.text, id=item.id))
        return QueryResult(contexts=found)

    def save(self, folder):
        (folder / "items").write_bytes(pickle.dumps(self._items))

    def load(self, folder):
        self._items = pickle.loads((folder / "items").read_bytes())


class AsyncMemory:
    """Waits for what it does, and answers by itself."""

    name = "async-memory"

    def __init__(self):
        self._said = ""

    async def reset(self):
        self._said = ""

    async def ingest(self, items):
        self._said += " ".join(item.text for item in items)
        return IngestResult(usage={"prompt_tokens": 3, "completion_tokens": 1})

    async def query(self, question, budget=None):
        return self._said


class Numbers(Memory):
    """Returns what is no answer."""

    def query(self, question, budget=None):
        return 42


class Leaks(Memory):
    """Keeps what every instance was told in one place, but forgets its own."""

    _all: ClassVar = {}

    def reset(self):
        Leaks._all = {key: v for key, v in Leaks._all.items() if v[0]() not in (None, self)}
        super().reset()

    def ingest(self, items):
        super().ingest(items)
        Leaks._all[id(self)] = (weakref.ref(self), self._items)

    def query(self, question, budget=None):
        if budget is not None:
            return super().query(question, budget)
        told = " ".join(item.text for _, items in Leaks._all.values() for item in items)
        return QueryResult(answer=told)


class Remembers(Memory):
    """Does not forget."""

    def reset(self):
        pass


class Lavish(Memory):
    """Has no eye for budgets."""

    def query(self, question, budget=None):
        return super().query(question, None)


class LoadsNothing(Memory):
    """Writes a snapshot that it cannot use."""

    def load(self, folder):
        self._items = []


class OnlySaves(Memory):
    """Has one half of a snapshot."""

    @property
    def load(self):
        raise AttributeError("load")


class CountedMemory(Memory):
    """Is called otherwise each time."""

    _made = itertools.count()

    def __init__(self):
        super().__init__()
        self.name = f"memory-{next(self._made)}"


WRONG = [
    ("memory-answers", Numbers, "a QueryResult or a text from query(), not a int"),
    ("memory-isolated", Leaks, "a memory knows what only another was told"),
    ("memory-forgets", Remembers, "it still knows what it was told before"),
    ("memory-budget", Lavish, "words for 12 tokens"),
    ("memory-snapshot", LoadsNothing, "answer alike before save() and after load()"),
    ("memory-snapshot", OnlySaves, "it has only save()"),
    ("memory-name-stable", CountedMemory, "are called 'memory-"),
]


def check(target):
    return check_plugin([Component("memory", "tested", target, summary="A memory.")])


@pytest.mark.parametrize("target", [Memory, AsyncMemory])
def test_what_keeps_the_rules_passes(target):
    report = check(target)
    report.assert_ok()
    assert {"memory-answers", "identity-stable", "secrets-hidden"} <= {
        finding.rule for finding in report.findings
    }


@pytest.mark.parametrize(("rule", "target", "message"), WRONG, ids=lambda v: str(v)[:40])
def test_what_breaks_a_rule_fails_that_rule_alone(rule, target, message):
    report = check(target)
    assert {finding.rule for finding in report.failures} == {rule}, str(report)
    assert message in report.failures[0].message


def test_a_skipped_rule_may_be_one_of_memories():
    given = {"tested": {"skip": {"memory-budget": "it has none"}}}
    component = Component("memory", "tested", Lavish, summary="A memory.")
    assert not check_plugin([component], examples=given).failures


def test_every_rule_is_documented_under_its_id():
    page = DOCS.read_text(encoding="utf-8")
    documented = dict(re.findall(r"^### (memory-\S+)\n\n(.+)$", page, re.MULTILINE))
    assert set(documented) == {rule for rule, *_ in WRONG}
    titles = [vars(conformance)[name].__doc__ for name in ("answers", "isolated", "forgets")]
    assert all(any(text.startswith(title) for text in documented.values()) for title in titles)
