"""The parts of a run: components that are made and checked, with all that is known of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from cbcore.boundary import contained
from cbcore.components import Component
from cbcore.exceptions import ProcessError
from cbcore.identity import UnidentifiableError, identify
from cbcore.identity._descriptions import note_use
from cbcore.secrets import blot


class StoredSystem:
    """Stands for a system of an earlier run: its stored outputs, and nothing else."""

    def __init__(self, name: str, stored_identity: bytes, record: dict[str, Any]) -> None:
        self.name = name
        self.record = record
        self._stored_identity = stored_identity

    @property
    def stored_identity(self) -> bytes:
        return self._stored_identity

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        raise ProcessError("no output is stored for this example")


class StoredData:
    """Stands for a dataset of an earlier run: the examples that the store has of it, in order.

    `read` gives them anew each time, and a `DataError` in the place of one that could not be made.
    """

    def __init__(
        self, record: dict[str, Any], main_score: str | None, read: Callable[[], Iterator[Any]]
    ) -> None:
        self.name = record["name"]
        self.record = record
        self.main_score = main_score
        self._read = read

    def __iter__(self) -> Iterator[Any]:
        return self._read()


@attrs.frozen(eq=False, repr=False)
class _Identified:
    """What came of looking for an identity: one, or the reason why there is none.

    `described` are the objects it rests on, as they were then.
    """

    identity: bytes | None
    reason: str | None = None
    described: tuple[Any, ...] = ()


# Two parts are never equal: what they hold may be compared in ways of its own, or not at all.
# So they can be kept in sets, and the same part is found again by being that part.
@attrs.define(eq=False, repr=False)
class Part:
    """A component ready to use.

    `record` is what a result says of it; it is empty for what no result tells of. `component`
    is the one it was made from by name, where it was. `making` says how a worker makes it again;
    without that, it is sent as it is.
    """

    value: Any
    record: dict[str, Any] = attrs.Factory(dict)
    component: Component | None = None
    making: Any = None
    _found: _Identified | None = attrs.field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        return blot(self.value.name)

    @property
    def identity(self) -> bytes | None:
        """What keys its results in a store; None where `why_unidentified` says why."""
        return self._identified().identity

    @property
    def why_unidentified(self) -> str | None:
        """The reason why it has no identity; None where it has one."""
        return self._identified().reason

    # Looked for once, when it is first asked for: what a component keeps may change with its
    # first call, and its results have to be found by what it was before.
    def _identified(self) -> _Identified:
        if self._found is None:
            self._found = _identify(self.value, self.record or None)
        return self._found

    def note_use(self) -> None:
        """At the end of a run: what it changed in the component is no part of what that is."""
        if self._found is not None:
            note_use(list(self._found.described))


def _identify(value: Any, record: Mapping[str, Any] | None) -> _Identified:
    if isinstance(value, StoredSystem):
        return _Identified(value.stored_identity)
    with contained() as tried:  # what it declares is the component's own code
        identity, parts = identify(value, record)
        return _Identified(identity, described=tuple(parts))
    if isinstance(tried.error, UnidentifiableError):
        return _Identified(None, str(tried.error))
    return _Identified(None, f"its identity failed: {tried.reason}")
