"""What a memory system is fed with, asked, and answers: the nouns of `MemorySystem`.

    from cb_memory import QueryResult, Retrieved

    class Last:
        name = "last"

        def reset(self): self.turns = []
        def ingest(self, items): self.turns += items
        def query(self, question, budget=None):
            return QueryResult(contexts=[Retrieved(t.text, id=t.id) for t in self.turns[-5:]])

Each item has an `id`, a `time` where the data has one, and a `text`, so that a memory that only
wants texts need not know the kinds. Times are as ISO 8601 writes them (`2023-05-08T13:56`) where
they could be read, and otherwise as the data has them.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import attrs

from cbcore.exceptions import DataError
from cbcore.json_data import to_json

__all__ = (
    "ConversationTurn",
    "Declaration",
    "DocumentChunk",
    "Event",
    "History",
    "IngestResult",
    "Item",
    "MemorySystem",
    "QueryResult",
    "Question",
    "Retrieved",
    "by_session",
    "item_from",
)


@attrs.frozen(kw_only=True)
class ConversationTurn:
    """What somebody said: in which `session`, as whom (`speaker`), in which chat `role`."""

    kind: ClassVar[str] = "turn"
    content: str
    id: str = ""
    speaker: str = ""
    role: str = ""
    session: str = ""
    time: str | None = None

    @property
    def text(self) -> str:
        """What was said, and who said it."""
        who = self.speaker or self.role
        return f"{who}: {self.content}" if who else self.content


@attrs.frozen(kw_only=True)
class DocumentChunk:
    """A piece of a `document`, at its `position` there; `source` says where that is from."""

    kind: ClassVar[str] = "document"
    content: str
    id: str = ""
    document: str = ""
    position: int = 0
    source: str = ""
    session: str = ""
    time: str | None = None

    @property
    def text(self) -> str:
        """The text of the piece."""
        return self.content


@attrs.frozen(kw_only=True)
class Event:
    """Something that happened on a `platform`, by its `author`, in a `channel`."""

    kind: ClassVar[str] = "event"
    content: str
    id: str = ""
    platform: str = ""
    author: str = ""
    channel: str = ""
    event_type: str = ""
    session: str = ""
    time: str | None = None

    @property
    def text(self) -> str:
        """What happened, and where."""
        where = " ".join(filter(None, (self.platform, self.channel, self.author)))
        return f"[{where}] {self.content}" if where else self.content


@attrs.frozen(kw_only=True)
class Declaration:
    """A fact that was stated outright: `key` is `value`, as the item `source` said."""

    kind: ClassVar[str] = "declaration"
    key: str
    value: str
    id: str = ""
    source: str = ""
    session: str = ""
    time: str | None = None

    @property
    def content(self) -> str:
        """The fact as a text."""
        return f"{self.key}: {self.value}"

    @property
    def text(self) -> str:
        """The fact as a text."""
        return self.content


Item: TypeAlias = ConversationTurn | DocumentChunk | Event | Declaration
"""Anything a memory is fed with."""

_KINDS: dict[str, Any] = {c.kind: c for c in (ConversationTurn, DocumentChunk, Event, Declaration)}


class Question(str):
    """The text of a question, with the `time` at which it is asked where the data has one."""

    time: str | None

    def __new__(cls, text: str, time: str | None = None) -> Question:  # noqa: PYI034 - 3.10
        self = super().__new__(cls, text)
        self.time = time
        return self


@attrs.frozen
class Retrieved:
    """A piece of what a memory found: its `text`, and whose it is.

    `id` is that of the item it is, `sources` those of the items it was made from: a fact that a
    model wrote has sources and no id. Without either, what was found cannot be compared with the
    evidence, and that is what the scores of retrieval then say.
    """

    text: str
    id: str | None = None
    score: float | None = None
    sources: tuple[str, ...] = attrs.field(default=(), converter=tuple)

    @property
    def ids(self) -> tuple[str, ...]:
        """Every item that is behind it."""
        own = () if self.id is None else (self.id,)
        return tuple(dict.fromkeys((*own, *self.sources)))


@attrs.frozen(kw_only=True)
class IngestResult:
    """What taking items in took, as far as the memory knows; latency is measured by the run.

    `usage` has `prompt_tokens` and `completion_tokens` of the models it asked.
    """

    usage: Mapping[str, Any] | None = None
    cost_usd: float | None = None
    details: Mapping[str, Any] = attrs.Factory(dict)


@attrs.frozen(kw_only=True)
class QueryResult:
    """What a memory knows of a question: an `answer`, the `contexts` it found, or both.

    `contexts` are best first; None means that it does not tell them, and an empty list that it
    found nothing. `usage` and `cost_usd` are those of the query alone. `latency_s` is for a
    memory that knows its own time better than who waits for it.
    """

    answer: str | None = None
    contexts: Sequence[Retrieved] | None = None
    usage: Mapping[str, Any] | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    details: Mapping[str, Any] = attrs.Factory(dict)


class History(str):
    """What a memory is fed with before it is asked: items in their order.

    It is kept in the field `history` of an example. As a text it is its own address, a digest of
    all items, so that two examples about the same history are known by it, nothing is copied for
    each of them, and a store knows by it whether anything changed.
    """

    items: tuple[Item, ...]

    def __new__(cls, items: Iterable[Item], name: str = "") -> History:  # noqa: PYI034 - 3.10
        kept = tuple(items)
        plain = [{"kind": item.kind, **attrs.asdict(item)} for item in kept]
        digest = blake2b(to_json(plain, sort_keys=True), digest_size=16).hexdigest()
        return _interned(f"{name}#{digest}", kept)

    def __deepcopy__(self, memo: Any) -> History:
        return self  # all of it is frozen

    def __copy__(self) -> History:
        return self

    def __reduce__(self) -> Any:
        return _interned, (str(self), self.items)

    @functools.cached_property
    def positions(self) -> Mapping[str, int]:
        """Where each item is, by its id."""
        return {item.id: position for position, item in enumerate(self.items) if item.id}


_known: weakref.WeakValueDictionary[str, History] = weakref.WeakValueDictionary()


def _interned(text: str, items: tuple[Item, ...]) -> History:
    """The history of that address: one object, however many examples are read back from disk."""
    found = _known.get(text)
    if found is None:
        found = str.__new__(History, text)
        found.items = items
        _known[text] = found
    return found


def item_from(value: Any, where: str = "an item") -> Item:
    """An item from plain data, whose `kind` is `turn` unless it says otherwise.

    Raises `DataError`, with the field, for anything that is none.
    """
    if isinstance(value, ConversationTurn | DocumentChunk | Event | Declaration):
        return value
    if not isinstance(value, Mapping):
        raise DataError(f"{where} is a {type(value).__name__}, not an object with `content`")
    made = _KINDS.get(value.get("kind", "turn"))
    if made is None:
        raise DataError(f"{where} is of the kind {value['kind']!r}; known: {', '.join(_KINDS)}")
    known = {field.name: field for field in attrs.fields(made)}
    given = {key: item for key, item in value.items() if key in known and item is not None}
    for name, item in given.items():
        if not isinstance(item, str) and name != "position":
            given[name] = str(item)
    lacking = [n for n, field in known.items() if field.default is attrs.NOTHING and n not in given]
    if lacking:
        has = ", ".join(map(str, value)) or "nothing"
        raise DataError(f"{where} has no {lacking[0]!r} (it has {has})")
    return made(**given)  # type: ignore[no-any-return]


def by_session(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """The items in runs of the same session, in their order; without sessions, all at once."""
    begin = 0
    for position in range(1, len(items) + 1):
        if position == len(items) or items[position].session != items[begin].session:
            yield items[begin:position]
            begin = position


@runtime_checkable
class MemorySystem(Protocol):
    """A system that is fed with a history and then asked about it.

    One instance serves one history: `reset`, then `ingest` session by session in their order,
    then `query`. Histories run beside each other, each with an instance of its own. Any of the
    methods may be `async`.

    With `save(folder)` and `load(folder)` it writes what it knows into an empty folder and reads
    it back, so that a run that was interrupted does not feed it twice. With `warm_up()` it loads
    what only its first call would, and with `close()` it lets go of what it holds. An object that
    sets `one_at_a_time` is not copied: it serves one history after another.
    """

    @property
    def name(self) -> str: ...

    def reset(self) -> Any:
        """Forget everything."""

    def ingest(self, items: Sequence[Item]) -> Any:
        """Take in turns, documents, events or declarations. Returns an `IngestResult` or None."""

    def query(self, question: str, budget: int | None = None) -> Any:
        """Answer from what was taken in, from at most `budget` tokens of it.

        Returns a `QueryResult`, or just the answer. The question is a `Question`, which knows
        when it is asked.
        """
