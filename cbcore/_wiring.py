"""Who scores what: datasets wired to evaluators, and the score that quality means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cbcore import names
from cbcore._building import Builder, Built
from cbcore._runner import Source
from cbcore._scoring import Wired
from cbcore.exceptions import UsageError

DEFAULT_SCORE_FIELD = "f1"


def wire(
    dataset: Built,
    builder: Builder,
    evaluators: dict[str | int, Built],
    *,
    asked: Sequence[Any] | None,
    added: Sequence[Any],
    warn: Callable[[str], None],
) -> Source:
    """Wire a dataset to its evaluators; those already made for another dataset are shared.

    Without any `asked` for, those that apply to the dataset's tasks are chosen; `added` ones
    join either way.
    """
    n_automatic = 0
    if asked is None:
        wired = builder.automatic_evaluators(tasks_of(dataset))
        n_automatic = len(wired)
        wired += [builder.build("evaluator", wanted) for wanted in added]
        if not wired:
            warn(
                f"no installed evaluator applies to {dataset.record['name'] or 'the dataset'}: "
                "its rows will not be scored"
            )
    elif evaluators:
        wired = list(evaluators.values())
    else:
        wired = [builder.build("evaluator", wanted) for wanted in (*asked, *added)]
    # Those made from a name are equal when their records are; an object is only itself.
    shared = [
        evaluators.setdefault(built.record["digest"] if built.component else id(built.value), built)
        for built in wired
    ]
    return Source(
        tag=dataset.record["name"],
        examples=dataset.value,
        evaluators=[
            Wired.of(b.value, automatic=i < n_automatic, record=b.record)
            for i, b in enumerate(shared)
        ],
    )


def _emitted(evaluators: Mapping[str | int, Built]) -> list[str] | None:
    """Every score name the evaluators declare; None when one of them does not say."""
    found: list[str] = []
    for built in evaluators.values():
        emits = getattr(built.value, "emits", None)
        if not emits and built.component is not None:
            emits = built.component.emits
        if not emits:
            return None
        found.extend(emits)
    return found


def tasks_of(dataset: Built) -> Sequence[str]:
    """The tasks of a dataset, its main one first."""
    described = dataset.component.described() if dataset.component else None
    return getattr(dataset.value, "tasks", None) or (described.tasks if described else ())


def choose_score_field(
    wanted: str | None,
    datasets: Sequence[Built],
    evaluators: Mapping[str | int, Built],
    *,
    automatic: bool,
    main_of_suites: str | None = None,
) -> str:
    """The score that quality means: the one wanted, or that of the data, or F1.

    Where evaluators were chosen automatically, data of one main task means the first score of
    the evaluator made for it, and suites alone mean what most of their tasks are scored by.
    """
    emitted = _emitted(evaluators)
    if wanted is not None:
        _check_emitted(wanted, emitted, "--score-field")
        return wanted
    if automatic:
        own = {_own_score(dataset, evaluators) for dataset in datasets}
        if len(own) == 1 and (field := own.pop()) is not None:
            return field
        main = None if datasets else main_of_suites
        if main is not None and (emitted is None or main in emitted):
            return main
    if not emitted or DEFAULT_SCORE_FIELD in emitted:
        return DEFAULT_SCORE_FIELD
    return emitted[0]


def _own_score(dataset: Built, evaluators: Mapping[str | int, Built]) -> str | None:
    """The first score of the evaluator made for a dataset's main task; None where none is."""
    main = next(iter(tasks_of(dataset)), None)
    for built in evaluators.values():
        if main in getattr(built.value, "applies_to", ()):
            return next(iter(getattr(built.value, "emits", ())), None)
    return None


def check_score_fields(metrics: Sequence[Any], evaluators: Mapping[str | int, Built]) -> None:
    """Refuse a metric of a score that nobody emits."""
    emitted = _emitted(evaluators)
    if not evaluators:
        return  # nothing is scored at all, which was said already
    for metric in metrics:
        field = getattr(metric, "score_field", None)
        if isinstance(field, str):
            _check_emitted(field, emitted, f"metric {metric.name}")


def _check_emitted(field: str, emitted: list[str] | None, where: str) -> None:
    if emitted is None or field in emitted:
        return
    near = names.near_matches(field, emitted, limit=1)
    listed = ", ".join(emitted) if emitted else "none, as no evaluator applies"
    raise UsageError(
        f"{where}: no evaluator of this run emits a score called {field!r}",
        hint=(f"did you mean {near[0]}? " if near else "") + f"emitted: {listed}",
    )
