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
from cbcore.components import Built, Component
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

    @property
    def scores(self) -> list[str]:
        """The scores that evaluators declare."""
        return [score for evaluator in self.evaluators for score in evaluator.emits]

    def may_have(self, score: str) -> bool:
        """Whether rows may have a score: it is declared, or some evaluator declares none."""
        return score in self.scores or not all(one.emits for one in self.evaluators)

    def require(self, score: str, where: str) -> None:
        """Refuse a score that no evaluator emits."""
        if not self.may_have(score):
            near = names.near_matches(score, self.scores, limit=1)
            listed = ", ".join(self.scores) or "none, as no evaluator applies"
            raise UsageError(
                f"{where}: no evaluator of this run emits a score called {score!r}",
                hint=names.suggest(near, then=f"emitted: {listed}"),
            )

    def check_metrics(self, metrics: Iterable[Any]) -> None:
        """Refuse a metric of a score that no evaluator emits."""
        for metric in metrics if self.evaluators else ():  # without one, that was said already
            field = getattr(metric, "score_field", None)
            if isinstance(field, str):
                self.require(field, f"metric {metric.name}")


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


def choose_score(wanted: str | None, data: Data, builder: Builder, *, automatic: bool) -> str:
    """The score that quality means: the one wanted, or that of the data, or F1.

    Where evaluators were chosen automatically, each dataset has its own: the one it names, or
    the first of the only evaluator that names its main task. Where they agree, it is theirs. A
    run of benchmarks alone is judged by theirs.
    """
    if wanted is not None:
        data.require(wanted, "--score")
        return wanted
    is_known = DEFAULT_SCORE_FIELD in data.scores or not data.scores
    default = DEFAULT_SCORE_FIELD if is_known else None
    if not automatic or not data.datasets:
        named = Counter(one.main_score for one in data.added if automatic and one.main_score)
        for main, _ in named.most_common(1):
            if data.may_have(main):
                return main
        first = data.evaluators[0].emits if data.evaluators else ()
        return default or next(iter(first), DEFAULT_SCORE_FIELD)
    own = [_main_score(dataset, data, default, builder.warn) for dataset in data.datasets]
    chosen = own[0]
    if len(set(own)) > 1:
        chosen = default or next(score for score in own if score is not None)
    if chosen is None:
        return _only_one([one for wired in data.wired for one in wired.evaluators], builder.catalog)
    for wired in data.wired:
        _check_one_emits(chosen, wired.evaluators)
    return chosen


def scores_of_task(tasks: Sequence[str], evaluators: Iterable[Component | Built]) -> list[str]:
    """The first score of each evaluator that names the first of these tasks."""
    task = next(iter(tasks), "")
    return [one.emits[0] for one in evaluators if task in one.applies_to and one.emits]


def _main_score(
    dataset: Built, data: Data, default: str | None, warn: Callable[[str], None]
) -> str | None:
    """The score one dataset is judged by; None where nothing is emitted that could be meant."""
    named = dataset.main_score
    called = dataset.record["name"] or "the dataset"
    if not named:
        of_plugins = [one for one in data.evaluators if one.component and one.component.owner]
        of_task = list(dict.fromkeys(scores_of_task(dataset.tasks, of_plugins)))
        if len(of_task) == 1:
            return of_task[0]
        if dataset.tasks and default and default not in of_task:
            reason = f"several scores ({', '.join(of_task)})" if of_task else "no score"
            warn(
                f"installed evaluators have {reason} for the task {dataset.tasks[0]!r} of "
                f"{called}: quality means {default} instead"
            )
        return default
    if data.may_have(named):
        return named
    if data.scores:
        instead = f"quality means {default} instead" if default else "choose one with --score"
        warn(f"{called} is judged by {named}, which no installed evaluator emits: {instead}")
    return default


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
