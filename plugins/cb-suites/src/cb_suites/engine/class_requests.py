"""Tasks that are a class and ask in a way of their own: `construct_requests` of the harness.

The class says what is asked of each document and what is made of the answers; here its requests
become examples. A document is put to a system in one way, so that a class which wants a text and
likelihoods of the same document is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import attrs

from cb_suites.engine.class_tasks import ClassDocuments, ClassSays
from cb_suites.engine.data import make_unusable
from cb_suites.engine.filters import Filter, make_filter, over_all
from cb_suites.engine.metrics import Metric
from cb_suites.engine.model import FIRST_RESPONSE, TaskConfig
from cb_suites.engine.task import DOCUMENT, GENERATION, REQUESTS, Task
from cb_suites.engine.values import Values
from cbcore.boundary import at_boundary
from cbcore.exceptions import DataError, UsageError
from cbcore.introspection import signature_of

_TEXT, _LIKELIHOOD, _ROLLING = "generate_until", "loglikelihood", "loglikelihood_rolling"


@attrs.frozen(eq=False)
class OwnExamples:
    """The examples of a task's object, made anew each time they are iterated."""

    key: str
    task: Any
    config: TaskConfig
    seed: int
    system_instruction: str | None = None

    def __iter__(self) -> Iterator[Any]:
        self._begin()
        for index, document in enumerate(islice(self._documents(), self.config.limit)):
            try:
                example, _ = self.asked(document, index)
            except DataError as error:
                yield make_unusable(index, error)
                continue
            yield {"id": index, "dataset": self.key, **example}

    def output_type(self) -> str:
        """How its first document is asked. Raises `UsageError` for a way that there is not here."""
        self._begin()
        first = next(self._documents(), None)
        if first is None:
            raise DataError(f"the class of {self.config.name!r} has no documents")
        return self.asked(first, 0)[1]

    def _begin(self) -> None:
        """Worked examples are drawn from the beginning."""
        if callable(seeded := getattr(self.task, "set_fewshot_seed", None)):
            seeded(seed=self.seed)

    def _documents(self) -> Iterator[Any]:
        with at_boundary(f"the documents of {self.config.name}", DataError):
            own = getattr(self.task, "eval_docs", None)
            if own is not None and self.config.split is None:
                return iter(own)
            return iter(ClassDocuments(self.task, self.config.split))

    def asked(self, document: Any, index: int) -> tuple[dict[str, Any], str]:
        """A document as an example, and how it is asked."""
        with at_boundary(f"construct_requests of {self.config.name}", DataError):
            made = self.task.construct_requests(
                doc=document,
                ctx=self._context(document),
                metadata=(self.config.name, index, self.config.repeats),
                apply_chat_template=False,
                chat_template=None,
            )
        requests = made if isinstance(made, list) else [made]
        requests = sorted(requests, key=lambda request: int(getattr(request, "idx", 0)))
        kinds = list(dict.fromkeys(str(request.request_type) for request in requests))
        check_kinds(self.config.name, kinds, len(requests))
        example = {DOCUMENT: dict(document), **_put(kinds[0], [r.arguments for r in requests])}
        return example, kinds[0]

    def _context(self, document: Any) -> Any:
        """The prompt: as the class makes it, which may be without worked examples."""
        if not callable(make := getattr(self.task, "fewshot_context", None)):
            return self.task.doc_to_text(document)
        prefix = getattr(self.task, "doc_to_prefix", None)
        offered = {
            "num_fewshot": self._num_fewshot,
            "system_instruction": self.system_instruction,
            "apply_chat_template": False,
            "fewshot_as_multiturn": False,
            "chat_template": None,
            "gen_prefix": prefix(document) if callable(prefix) else None,
        }
        taken = signature_of(make).parameters
        takes_all = any(p.kind is p.VAR_KEYWORD for p in taken.values())
        return make(document, **{k: v for k, v in offered.items() if takes_all or k in taken})

    @property
    def _num_fewshot(self) -> int:
        if self.config.num_fewshot is not None:
            return self.config.num_fewshot
        own = getattr(getattr(self.task, "config", None), "num_fewshot", None)
        return int(own or 0)


def check_kinds(name: str, kinds: Sequence[str], n_requests: int) -> None:
    """Refuse a document that cannot be asked as its class wants it."""
    if not kinds:
        raise UsageError(f"the class of {name!r} asks nothing of a document")
    unknown = [kind for kind in kinds if kind not in (_TEXT, _LIKELIHOOD, _ROLLING)]
    if unknown:
        raise UsageError(f"the class of {name!r} asks for {unknown[0]!r}, which no system gives")
    if len(kinds) > 1:
        raise UsageError(
            f"the class of {name!r} asks of one document both {' and '.join(kinds)}, "
            "and a document is put to a system in one way"
        )
    if kinds[0] == _TEXT and n_requests > 1:
        raise UsageError(
            f"the class of {name!r} asks for {n_requests} texts of one document, "
            "and a system answers one"
        )


def _put(kind: str, arguments: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """What a system is given, for requests that are all of one kind."""
    if kind == _ROLLING:
        return {"question": str(arguments[0][0]), REQUESTS: [["", str(a[0])] for a in arguments]}
    if kind == _LIKELIHOOD:
        pairs = [[str(context), str(continuation)] for context, continuation in arguments]
        return {"question": pairs[0][0], REQUESTS: pairs}
    (prompt, *more), *_ = arguments
    if len(more) > 1:
        raise UsageError("its class asks about images or sounds, and only text is put to systems")
    if not isinstance(prompt, str):
        raise DataError(f"construct_requests gave the prompt {prompt!r:.200}, which is no text")
    wanted = dict(more[0]) if more and isinstance(more[0], Mapping) else {}
    until = wanted.pop("until", None) or []
    stops = [until] if isinstance(until, str) else [str(stop) for stop in until]
    return {"question": prompt, GENERATION: {"until": stops, **wanted}}


def own_task(config: TaskConfig, task: Any, says: ClassSays, output_type: str) -> Task:
    """What is measured: by `process_results` of the class, summed up as it says."""

    def results(document: Mapping[str, Any], answers: list[Any]) -> Any:
        return task.process_results(document, answers)

    names = dict.fromkeys([*says.higher_is_better, *says.aggregations])
    nothing = Values({}, lambda key: config.origins.get(key, config.origin))
    return Task(
        config,
        output_type,
        values=nothing,
        shot_values=nothing,
        metrics=[
            Metric(
                name,
                aggregation=says.aggregations.get(name, "mean"),
                higher_is_better=says.higher_is_better.get(name),
            )
            for name in names
        ],
        process_results=results,
        functions=(type(task),),
        asks_itself=True,
    )


def own_filters(task: Any, config: TaskConfig) -> list[Filter]:
    """The filters that the object holds; without any, the first response counts."""
    held = getattr(task, "_filters", None) or ()
    made = [
        Filter(str(one.name), tuple(partial(over_all, step().apply) for step in one.filters))
        for one in held
    ]
    return made or [make_filter(FIRST_RESPONSE, config.origin)]
