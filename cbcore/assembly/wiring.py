"""How data is wired: the evaluators that score it, and the score that quality means.

The main score follows from the command and its data alone. Installing an evaluator adds columns to
a report and never changes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from cbcore import names
from cbcore.components import Built
from cbcore.exceptions import UsageError
from cbcore.plugins import Catalog
from cbcore.run.examples import Benchmark

if TYPE_CHECKING:
    from cbcore.assembly.builder import Builder

DEFAULT_SCORE_FIELD = "f1"


class Data(NamedTuple):
    """The data of a run: datasets, and all benchmarks with the evaluators that are recorded.

    `wired` are the benchmarks of `datasets`, `added` those that came as benchmarks.
    """

    datasets: Sequence[Built]
    wired: Sequence[Benchmark]
    added: Sequence[Benchmark]
    evaluators: Sequence[Built]


def wire(
    dataset: Built, builder: Builder, named: Sequence[Built] = (), *, automatic: bool = True
) -> Benchmark:
    """A dataset with its evaluators: the `named` ones, and those that apply if `automatic`.

    An evaluator that another dataset of the run has already is shared.
    """
    name = dataset.record["name"]
    chosen = builder.automatic_evaluators(dataset.tasks, dataset) if automatic else []
    if automatic and not chosen and not named:
        builder.warn(
            f"no installed evaluator applies to {name or 'the dataset'}: "
            "its rows will not be scored"
        )
    shared = [builder.share(part) for part in chosen]
    asked = [part for part in map(builder.share, named) if part not in shared]
    joined = [attrs.evolve(part, is_automatic=True) for part in shared]
    return Benchmark(name=name, examples=dataset.value, evaluators=[*joined, *asked])


# -- the main score ------------------------------------------------------------------------------


class Emitted(NamedTuple):
    """The score names that evaluators declare; `complete` if every one of them does.

    `first` are those of the first evaluator.
    """

    scores: tuple[str, ...]
    complete: bool
    first: tuple[str, ...] = ()

    @classmethod
    def by(cls, evaluators: Iterable[Built]) -> Emitted:
        found = [part.emits for part in evaluators]
        scores = tuple(score for of_one in found for score in of_one)
        return cls(scores, all(found), next(iter(found), ()))

    @property
    def default(self) -> str | None:
        """F1 where it is declared, or nothing is."""
        known = DEFAULT_SCORE_FIELD in self.scores or not self.scores
        return DEFAULT_SCORE_FIELD if known else None

    def may_have(self, score: str) -> bool:
        """Whether a score may be among them, as far as they say."""
        return score in self.scores or not self.complete

    def require(self, score: str, where: str) -> None:
        """Refuse a score that no evaluator emits."""
        if self.may_have(score):
            return
        listed = ", ".join(self.scores) if self.scores else "none, as no evaluator applies"
        raise UsageError(
            f"{where}: no evaluator of this run emits a score called {score!r}",
            hint=names.suggest(
                names.near_matches(score, self.scores, limit=1), then=f"emitted: {listed}"
            ),
        )


def choose_score(wanted: str | None, data: Data, builder: Builder, *, automatic: bool) -> str:
    """The score that quality means: the one wanted, or that of the data, or F1.

    Where evaluators were chosen automatically, each dataset has its own: the one it names, or
    the first of the only evaluator that names its main task. Where they agree, it is theirs. A
    run of benchmarks alone is judged by theirs.
    """
    emitted = Emitted.by(data.evaluators)
    if wanted is not None:
        emitted.require(wanted, "--score")
        return wanted
    if automatic and not data.datasets:
        named = Counter(benchmark.main_score for benchmark in data.added if benchmark.main_score)
        for main, _ in named.most_common(1):
            if emitted.may_have(main):
                return main
    if not automatic or not data.datasets:
        return _default_or_first(emitted)
    own = [_main_score(one, data.evaluators, emitted, builder.warn) for one in data.datasets]
    chosen = own[0]
    if len(set(own)) > 1:
        chosen = emitted.default or next(score for score in own if score is not None)
    if chosen is None:
        return _only_one([one for wired in data.wired for one in wired.evaluators], builder.catalog)
    for wired in data.wired:
        _check_one_emits(chosen, wired.evaluators)
    return chosen


def _default_or_first(emitted: Emitted) -> str:
    """F1 where it is declared, else the first score of the first evaluator.

    Where that evaluator declares none, it is F1 until rows have scores.
    """
    if DEFAULT_SCORE_FIELD in emitted.scores or not emitted.first:
        return DEFAULT_SCORE_FIELD
    return emitted.first[0]


def is_guess(score: str, evaluators: Sequence[Built]) -> bool:
    """Whether only the rows can tell what quality means: the evaluators do not declare it."""
    emitted = Emitted.by(evaluators)
    return score not in emitted.scores and not emitted.complete


def scores_of_task(
    tasks: Sequence[str], evaluators: Iterable[tuple[Sequence[str], Sequence[str]]]
) -> list[str]:
    """The first score of each evaluator that names the first of these tasks.

    `evaluators` are the `applies_to` and the `emits` of each.
    """
    task = next(iter(tasks), "")
    return [emits[0] for applies_to, emits in evaluators if task in applies_to and emits]


def _scores_of_task(dataset: Built, evaluators: Iterable[Built]) -> list[str]:
    declared = [
        (evaluator.declared("applies_to") or (), evaluator.emits)
        for evaluator in evaluators
        if evaluator.component and evaluator.component.owner  # a plugin's
    ]
    return list(dict.fromkeys(scores_of_task(dataset.tasks, declared)))


def _main_score(
    dataset: Built, evaluators: Sequence[Built], emitted: Emitted, warn: Callable[[str], None]
) -> str | None:
    """The score one dataset is judged by; None where nothing is emitted that could be meant."""
    named = dataset.main_score
    if not named:
        of_task = _scores_of_task(dataset, evaluators)
        if len(of_task) == 1:
            return of_task[0]
        task = next(iter(dataset.tasks), None)
        if task and emitted.default and emitted.default not in of_task:
            reason = f"several scores ({', '.join(of_task)})" if of_task else "no score"
            warn(
                f"installed evaluators have {reason} for the task {task!r} of "
                f"{dataset.record['name'] or 'the dataset'}: quality means {emitted.default} instead"
            )
        return emitted.default
    if emitted.may_have(named):
        return named
    if emitted.scores:
        instead = "choose one with --score"
        if emitted.default:
            instead = f"quality means {emitted.default} instead"
        warn(
            f"{dataset.record['name'] or 'the dataset'} is judged by {named}, which no installed "
            f"evaluator emits: {instead}"
        )
    return emitted.default


def _only_one(evaluators: Sequence[Built], catalog: Catalog) -> str:
    """The first score of the evaluators named by the user, or of the only evaluator.

    Of several that were merely installed, which comes first is nothing a number may rest on.
    """
    asked = [emits for one in evaluators if not one.is_automatic and (emits := one.emits)]
    if asked:
        return asked[0][0]
    by_name = {one.name: emits for one in evaluators if (emits := one.emits)}
    if len(by_name) < 2:
        return next(iter(by_name.values()), (DEFAULT_SCORE_FIELD,))[0]
    listed = ", ".join(score for emits in by_name.values() for score in emits)
    packages = catalog.packages_offering("score", DEFAULT_SCORE_FIELD)
    install = "".join(f"cb install {package}, or " for package in packages[:1])
    raise UsageError(
        f"{len(by_name)} installed evaluators apply, and none emits {DEFAULT_SCORE_FIELD}: "
        "say which score quality means",
        hint=f"{install}--score, with one of {listed}",
    )


def _check_one_emits(score: str, evaluators: Iterable[Built]) -> None:
    """Refuse two automatic evaluators that both emit the main score."""
    counted = Counter(e.name for e in evaluators if e.is_automatic and score in e.emits)
    if len(counted) > 1:
        raise UsageError(
            f"the score {score!r} is emitted by {' and '.join(counted)}, and quality can mean "
            "only one of them",
            hint="name evaluators with --evaluator, or leave a plugin out with --no-plugin",
        )


def check_score_fields(metrics: Sequence[Any], evaluators: Sequence[Built]) -> None:
    """Refuse a metric of a score that no evaluator emits."""
    if not evaluators:
        return  # nothing is scored at all, which was said already
    emitted = Emitted.by(evaluators)
    for metric in metrics:
        field = getattr(metric, "score_field", None)
        if isinstance(field, str):
            emitted.require(field, f"metric {metric.name}")
