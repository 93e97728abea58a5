"""Stand-ins for the other half of a test: systems, datasets and evaluators that behave as told.

None of them sleeps or talks to anybody. What waits, waits for the test to let it go on.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from cbcore.exceptions import MissingScoreError
from cbcore.introspection import attributes_without
from cbcore.protocols import Scores

Example: TypeAlias = dict[str, Any]

_WAIT_S = 60.0
"""After so long a test that forgot to let a call go on fails instead of hanging."""


class FakeSystem:
    """Answers with a text, or with what a function makes of the example; remembers its calls."""

    identity = attributes_without("name")

    def __init__(
        self, response: str | Callable[[Example], str] = "Paris", *, name: str = "fake"
    ) -> None:
        self.name = name
        self._response = response
        self._calls: list[Example] = []

    @property
    def calls(self) -> list[Example]:
        """The examples it was given, in the order of the calls."""
        return self._calls

    def process(self, example: Example) -> dict[str, Any]:
        self._calls.append(example)
        output: dict[str, Any] = self._answer(example)
        return output

    def _answer(self, example: Example) -> Any:
        """What the kinds of fakes differ in."""
        response = self._response
        return {"response": response if isinstance(response, str) else response(example)}


class FaultySystem(FakeSystem):
    """Raises for some examples, by id, or for all of them."""

    def __init__(
        self,
        ids: Collection[str | int] | None = None,
        error: BaseException | None = None,
        *,
        name: str = "faulty",
    ) -> None:
        super().__init__(name=name)
        self.ids = ids
        self.error = error or RuntimeError("a fault on purpose")

    def _answer(self, example: Example) -> Any:
        if self.ids is None or example.get("id") in self.ids:
            raise self.error
        return super()._answer(example)


class WrongSystem(FakeSystem):
    """Returns whatever it is told to, such as a list or None where a dict is due."""

    def __init__(self, output: Any = None, *, name: str = "wrong") -> None:
        super().__init__(name=name)
        self.output = output

    def _answer(self, example: Example) -> Any:
        return self.output


class MutatingSystem(FakeSystem):
    """Changes the example it is given, outside and inside, and returns that same example."""

    def __init__(self, *, name: str = "mutating") -> None:
        super().__init__(name=name)

    def _answer(self, example: Example) -> Any:
        for value in example.values():
            if isinstance(value, list):
                value.append("changed")
            elif isinstance(value, dict):
                value["changed"] = True
        example["context"] = "changed"
        return example


class SlowSystem(FakeSystem):
    """Takes as long as the test wants: every call waits until `release` lets it go on."""

    def __init__(self, *, name: str = "slow") -> None:
        super().__init__(name=name)
        self._changed = threading.Condition()
        self._waiting = self._released = 0

    def _answer(self, example: Example) -> Any:
        with self._changed:
            self._waiting += 1
            self._changed.notify_all()
            self._await(lambda: self._released > 0, "no test released this call")
            self._released -= 1
            self._waiting -= 1
        return super()._answer(example)

    def wait_for(self, calls: int) -> None:
        """Return once so many calls are waiting."""
        with self._changed:
            self._await(lambda: self._waiting >= calls, f"{calls} calls never waited at once")

    def release(self, calls: int = 1) -> None:
        """Let so many calls go on, those waiting first."""
        with self._changed:
            self._released += calls
            self._changed.notify_all()

    def _await(self, condition: Callable[[], bool], failure: str) -> None:
        if not self._changed.wait_for(condition, _WAIT_S):
            raise TimeoutError(failure)


class AsyncFakeSystem:
    """An awaited system. `most_at_once` tells how many calls were under way together.

    A call ends once `together` of them have begun, and at once from then on.
    """

    identity = attributes_without("name")

    def __init__(
        self, response: str = "Paris", *, together: int = 1, name: str = "async-fake"
    ) -> None:
        self.name = name
        self.response = response
        self.together = together
        self._running = self._most = 0
        self._met: asyncio.Event | None = None

    @property
    def most_at_once(self) -> int:
        return self._most

    async def aprocess(self, example: Example) -> dict[str, Any]:
        if self._met is None:
            self._met = asyncio.Event()
        self._running += 1
        self._most = max(self._most, self._running)
        if self._running >= self.together:
            self._met.set()
        await asyncio.wait_for(self._met.wait(), _WAIT_S)
        self._running -= 1
        return {"response": self.response}


class FakeDataset:
    """Questions with answers, as many as wanted; endless with `n=None`.

    `pulled` tells how many examples were taken, over all iterations.
    """

    tasks = ("qa",)

    def __init__(self, n: int | None = 3, *, name: str = "fake") -> None:
        self.n = n
        self.name = name
        self._pulled = 0

    @property
    def pulled(self) -> int:
        return self._pulled

    def __iter__(self) -> Iterator[Example]:
        number = 0
        while self.n is None or number < self.n:
            self._pulled += 1
            yield {
                "id": number,
                "context": f"City {number} is the capital of country {number}. It is large.",
                "question": f"What is the capital of country {number}?",
                "answer": f"City {number}",
            }
            number += 1


class BrokenDataset(FakeDataset):
    """Yields a few examples and then raises."""

    def __init__(
        self, after: int = 2, error: Exception | None = None, *, name: str = "broken"
    ) -> None:
        super().__init__(after, name=name)
        self.error = error or OSError("the data broke off on purpose")

    def __iter__(self) -> Iterator[Example]:
        yield from super().__iter__()
        raise self.error


class FakeEvaluator:
    """Gives every output the same scores; remembers what it was given."""

    applies_to = ("*",)

    def __init__(self, scores: Mapping[str, float] | None = None, *, name: str = "fake") -> None:
        self.name = name
        self.scores = dict(scores or {"f1": 1.0})
        self.emits = tuple(self.scores)
        self._calls: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []

    @property
    def calls(self) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """The examples and outputs it was given, in the order of the calls."""
        return self._calls

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        self._calls.append((original, processed))
        return self._scores()

    def _scores(self) -> Scores:
        return dict(self.scores)


class FaultyEvaluator(FakeEvaluator):
    """Gives no score but raises: by default `MissingScoreError`, as for an example without gold."""

    def __init__(
        self,
        error: BaseException | None = None,
        *,
        emits: Iterable[str] = ("f1",),
        name: str = "faulty",
    ) -> None:
        super().__init__(name=name)
        self.emits = tuple(emits)
        self.error = error or MissingScoreError("no score on purpose")

    def _scores(self) -> Scores:
        raise self.error
