"""Rules for memories: what they return, that they forget, and that no instance knows another's items."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cb_memory.nouns import ConversationTurn, IngestResult, Item, QueryResult, Question, Retrieved
from cb_testing import Case, Unchecked, rule
from cbcore.boundary import contained
from cbcore.exceptions import RunError, UsageError

_CODE_WORDS = ("quillfeather", "ottermarsh")
"""Words that no model and no other history would come up with, one for each of two histories."""
_QUESTION = "Which code word did Ada choose?"
_BUDGET = 12


def _history(word: str) -> list[Item]:
    """Two sessions in which a code word is told once."""
    said = (
        ("first", "Ada", "Hello Max, I am back from the coast."),
        ("first", "Max", "Welcome home! How was the weather on the coast?"),
        ("second", "Ada", f"The code word that I chose is {word}, do tell nobody."),
        ("second", "Max", "Nobody will ever hear of it from me."),
    )
    return [
        ConversationTurn(
            content=text,
            id=f"{session}:{number}",
            speaker=who,
            role="user" if who == "Ada" else "assistant",
            session=session,
            time="2024-05-01T10:00",
        )
        for number, (session, who, text) in enumerate(said)
    ]


def _fed(case: Case, memory: Any, word: str) -> list[Any]:
    """Feed it as a run does, session by session; what `ingest` returned for each."""
    case.outcome(memory.reset)
    items = _history(word)
    return [case.outcome(memory.ingest, part) for part in (items[:2], items[2:])]


@contextlib.contextmanager
def _instances(case: Case, n: int) -> Iterator[list[Any]]:
    """So many more of it, closed in the end."""
    made = [case.make() for _ in range(n)]
    try:
        yield made
    finally:
        for memory in made:
            if hasattr(memory, "close"):
                case.outcome(memory.close)


def _asked(case: Case, memory: Any, budget: int | None = None) -> Any:
    return case.outcome(memory.query, Question(_QUESTION, "2024-05-02T10:00"), budget)


def use(case: Case) -> BaseException | None:
    """Feed it and query it once. Returns the exception that it raised."""
    with contained() as tried:
        _fed(case, case.value, _CODE_WORDS[0])
        _asked(case, case.value)
    return tried.error


def _texts(told: Any) -> str:
    """All that an answer says."""
    if isinstance(told, QueryResult):
        found = [one.text for one in told.contexts or () if isinstance(one, Retrieved)]
        return "\n".join([told.answer or "", *found])
    return str(told)


@rule("memory-answers", "memory")
def answers(case: Case) -> Iterator[str]:
    """After `reset` and `ingest`, `query` returns a `QueryResult` or a text."""
    with contained() as tried:
        for told in _fed(case, case.value, _CODE_WORDS[0]):
            if told is not None and not isinstance(told, IngestResult):
                yield f"return an IngestResult or None from ingest(), not a {type(told).__name__}"
        found = _asked(case, case.value)
    if isinstance(tried.error, RunError | UsageError):  # an endpoint, a key or a package is missing
        yield Unchecked(f"{tried.error.message}: give it parameters that work here")
    elif tried.error is not None:
        yield f"take in a history and answer: it raised {tried.reason}"
    elif isinstance(found, QueryResult):
        yield from _wrong_with(found)
    elif not isinstance(found, str):
        yield f"return a QueryResult or a text from query(), not a {type(found).__name__}"


def _wrong_with(found: QueryResult) -> Iterator[str]:
    if found.answer is None and found.contexts is None:
        yield "return an answer, contexts, or both: this QueryResult has neither"
    strange = [type(one).__name__ for one in found.contexts or () if not isinstance(one, Retrieved)]
    if strange:
        yield f"make contexts of Retrieved, not of {strange[0]}"


@rule("memory-isolated", "memory")
def isolated(case: Case) -> Iterator[str]:
    """Of two instances, neither knows what the other was told, whoever was fed first."""
    with contained() as tried, _instances(case, 2) as (one, other):
        case.outcome(one.reset)
        case.outcome(other.reset)
        histories = [_history(word) for word in _CODE_WORDS]
        for begin in (0, 2):  # in turn, as histories that run beside each other do
            for memory, items in zip((one, other), histories, strict=True):
                case.outcome(memory.ingest, items[begin : begin + 2])
        told = [_texts(_asked(case, memory)) for memory in (one, other)]
    if tried.error is not None:
        return  # told by `memory-answers`
    for text, foreign in zip(told, reversed(_CODE_WORDS), strict=True):
        if foreign in text:
            yield (
                "keep what was taken in apart for each instance: a memory knows what only another "
                "was told; is it kept in a class attribute, a global, or one shared database?"
            )
            return


@rule("memory-forgets", "memory")
def forgets(case: Case) -> Iterator[str]:
    """`reset` forgets everything."""
    with contained() as tried:
        _fed(case, case.value, _CODE_WORDS[0])
        _fed(case, case.value, _CODE_WORDS[1])
        told = _texts(_asked(case, case.value))
    if tried.error is None and _CODE_WORDS[0] in told:
        yield "forget everything in reset(): it still knows what it was told before"


@rule("memory-budget", "memory")
def within_budget(case: Case) -> Iterator[str]:
    """What it found fits into the budget that it is given."""
    with contained() as tried:
        _fed(case, case.value, _CODE_WORDS[0])
        found = _asked(case, case.value, _BUDGET)
    if tried.error is not None:
        return
    contexts: Sequence[Any] = (found.contexts or ()) if isinstance(found, QueryResult) else ()
    # Words are never more than tokens, whatever counts these.
    n_words = sum(len(one.text.split()) for one in contexts if isinstance(one, Retrieved))
    if n_words > _BUDGET:
        yield f"keep contexts within the budget: {n_words} words for {_BUDGET} tokens"


@rule("memory-snapshot", "memory")
def snapshot(case: Case) -> Iterator[str]:
    """What is saved is known again after it was loaded by another instance."""
    methods = [method for method in ("save", "load") if hasattr(case.value, method)]
    if len(methods) == 1:
        yield f"give it save() and load(), or neither: it has only {methods[0]}()"
    if len(methods) < 2:
        return
    made = _instances(case, 2)
    with contained() as tried, tempfile.TemporaryDirectory() as folder, made as (memory, other):
        _fed(case, memory, _CODE_WORDS[0])
        before = _texts(_asked(case, memory))
        case.outcome(memory.save, Path(folder))
        case.outcome(other.load, Path(folder))
        after = _texts(_asked(case, other))
    if tried.error is not None:
        if use(case) is None:
            yield f"save into an empty folder and load from it: it raised {tried.reason}"
    elif before != after:
        yield "answer alike before save() and after load()"


@rule("memory-name-stable", "memory")
def name_stable(case: Case) -> Iterator[str]:
    """The name depends on the parameters alone, and does not change with use."""
    with _instances(case, 2) as made:
        one, other = (memory.name for memory in made)
    if one != other:
        yield f"two instances with the same parameters are called {one!r} and {other!r}"
        return
    use(case)
    if case.value.name != one:
        yield f"its name changed from {one!r} to {case.value.name!r} by being used"
