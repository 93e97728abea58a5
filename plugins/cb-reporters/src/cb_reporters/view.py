"""The content of every report about a result, before a format decides on its look."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from cb_reporters import formats
from cb_reporters.formats import ABSENT, UNBOUNDED, Format
from cbcore.names import plural
from cbcore.results import Counts, EvalResult
from cbcore.results.causes import causes_of
from cbcore.stats import Estimate

if TYPE_CHECKING:
    from cb_reporters.sections import SectionView

_DATASET = "dataset:"
_MOST_REASONS = 3
_QUALIFIED = re.compile(r"(?P<key>.+)\[(?P<parameters>\w+=.*)\]'*", re.DOTALL)


class Display(NamedTuple):
    """How the values of one metric are shown.

    `precise` is the header when the parameters it names are known, `header` otherwise;
    `metric` is the component that the values come from. Values that rest on a score have
    `of_score` set.
    """

    header: str
    format: Format
    better: Literal["higher", "lower"] | None = None
    detail: bool = False
    precise: str = ""
    metric: str = ""
    of_score: bool = False

    def bounds(self, low: float, high: float) -> str:
        """An interval of such values."""
        told = _BOUNDS.get(self.format)
        return told(low, high) if told else f"[{self.format(low)}, {self.format(high)}]"


_BOUNDS: dict[Format, Callable[[float, float], str]] = {
    formats.score: formats.score_bounds,
    formats.percent: formats.percent_bounds,
}

KNOWN: dict[str, Display] = {
    "mean_score": Display(
        *("quality", formats.score, "higher", False, "quality ({score_field})", "mean_score"),
        of_score=True,
    ),
    "pass_rate": Display(
        *("pass rate", formats.percent, "higher", False, "pass ≥{threshold}", "pass_rate"),
        of_score=True,
    ),
    "compression_ratio": Display("tokens saved", formats.percent, "higher"),
    "quality_retained": Display("quality kept", formats.percent, "higher", of_score=True),
    "prompt_saved": Display("prompt saved", formats.percent, "higher"),
    "mean_prompt_tokens": Display("prompt tokens", formats.average),
    "cost_of_pass": Display("tokens / pass", formats.average, "lower", of_score=True),
    "cost_usd": Display("cost $", formats.general),
    "scoring_usd": Display("judging $", formats.general),
    "billed_tokens": Display("billed tokens", formats.count, "lower"),
    "cache_hit_rate": Display("cached", formats.percent, "higher"),
    "raw_usd": Display("raw $", formats.general),
    "net_usd": Display("net $", formats.general, "lower"),
    "net_usd_of_pass": Display("net $ / pass", formats.general, "lower", of_score=True),
    "answer_agreement": Display("agreement", formats.score, "higher"),
    "latency_median": Display("latency p50", formats.duration, "lower"),
    "first_token_median": Display("first token p50", formats.duration, "lower"),
    "first_token_p95": Display("first token p95", formats.duration, "lower"),
    "latency_p95": Display("latency p95", formats.duration, "lower"),
    "pareto_rank": Display("pareto", formats.count, "lower", of_score=True),
    "net_pareto_rank": Display("pareto net $", formats.count, "lower", of_score=True),
    "score_mean": Display("mean", formats.score, "higher", of_score=True),
    "score_median": Display("median", formats.score, "higher", of_score=True),
    "score_std": Display("std", formats.score),
    "score_min": Display("min", formats.score),
    "score_max": Display("max", formats.score),
    "score_scored": Display("count scored", formats.count),
    "score_missing": Display("count missing", formats.count),
    "score_coverage": Display("coverage", formats.percent, "higher"),
    "num_passing": Display("passing", formats.count, detail=True),
    "mean_input_tokens": Display("input tokens", formats.average, detail=True),
    "mean_output_tokens": Display("output tokens", formats.average, detail=True),
    "latency_mean": Display("latency mean", formats.duration, "lower", detail=True),
    "latency_p99": Display("latency p99", formats.duration, "lower", detail=True),
}
"""Metrics whose meaning is known, in the order shown. Others follow, under their own keys."""

_ORDER = {key: position for position, key in enumerate(KNOWN)}


class Column(NamedTuple):
    """One figure for every system, in the order of `View.systems`.

    `best` says where the best value stands, `alike` which others the examples do not tell from
    it, and `sure` in words how sure each value is. `brief` are the cells without their intervals,
    of what can do without them where there is no room.
    """

    key: str
    header: str
    values: tuple[float | None, ...]
    cells: tuple[str, ...]
    best: frozenset[int] = frozenset()
    detail: bool = False
    alike: frozenset[int] = frozenset()
    sure: tuple[str, ...] = ()
    brief: tuple[str, ...] = ()


class View(NamedTuple):
    """A result, ready to be laid out.

    `columns` are the metrics that compare systems, `details` those that explain them (less
    the missing rows that `counts` already shows), `datasets` the quality on each dataset, and
    `counts` what all of them rest on. `sections` are the tables of plugins, `verdicts` what
    to make of each system.
    `status` is empty for a run that finished, and no alarm where it is `running`. A run of which
    the baseline is right on no example is `blank`: its verdicts belong before its numbers.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    status: str
    systems: tuple[str, ...]
    columns: tuple[Column, ...]
    details: tuple[Column, ...]
    datasets: tuple[Column, ...]
    counts: tuple[Column, ...]
    notes: tuple[str, ...]
    sections: tuple[SectionView, ...] = ()
    verdicts: tuple[str, ...] = ()
    running: bool = False
    blank: bool = False

    @classmethod
    def of(cls, result: EvalResult, counted: Mapping[str, Counts] | None = None) -> View:
        """Read everything a report shows from the result.

        Where its rows were `counted` already, none is read: notes then say nothing of scores
        that are missing. Nothing counted means that it is not known yet.
        """
        notes = list(map(str, result.problems))
        if counted is None:
            counted = result.counts(result.config.get("score_field"))
            notes += _missing_reasons(result)
        systems = tuple(counted or result.summary)
        counts = list(counted.values())
        keys = dict.fromkeys(key for values in result.summary.values() for key in values)
        metrics = [_metric_column(result, systems, key) for key in sorted(keys, key=_position)]
        if 0 < sum(c.cached for c in counts) < sum(c.total - c.errored for c in counts):
            metrics = [_without_rank(column, result.config) for column in metrics]
        shown = [column for column in metrics if not column.key.startswith(_DATASET)]
        missing = tuple(float(c.missing) for c in counts)
        details = [
            c for c in shown if c.detail and not (_is_missing(c.key) and c.values == missing)
        ]
        if result.timing:
            times = tuple(formats.finite(result.timing.get(system)) for system in systems)
            details.append(_column("timing", Display("run time", formats.duration), times))
        if any(c.cached for c in counts):
            display = Display("from the store", formats.count)
            details.append(_column("cached", display, tuple(c.cached for c in counts)))
        return cls(
            title=_title(result, systems),
            facts=tuple(_facts(result, counts)),
            status=_status(result.config),
            systems=systems,
            columns=tuple(column for column in shown if not column.detail),
            details=tuple(details),
            datasets=tuple(column for column in metrics if column.key.startswith(_DATASET)),
            counts=tuple(_count_columns(counts) if counts else ()),
            notes=tuple(notes),
            sections=_sections_of(result, systems),
            verdicts=tuple(f"{verdict.sentence}." for verdict in result.verdicts),
            running=result.config.get("state") == "running",
            blank=any(verdict.is_blank for verdict in result.verdicts),
        )

    @property
    def compared(self) -> tuple[Column, ...]:
        """Every column in which a system can be best."""
        return (*self.columns, *self.datasets)

    @property
    def has_brackets(self) -> bool:
        """Whether any value is shown with its interval."""
        in_cells = any("[" in cell for column in self.compared for cell in column.cells)
        return in_cells or any(section.has_intervals for section in self.sections)

    def first(self, key: str) -> Column | None:
        """The column of a metric, if the run computed it."""
        return next((c for c in (*self.columns, *self.details) if c.key == key), None)


def _sections_of(result: EvalResult, systems: Sequence[str]) -> tuple[SectionView, ...]:
    if not result.sections:
        return ()
    from cb_reporters.sections import sections_of

    return sections_of(result, systems)


def _missing_reasons(result: EvalResult) -> list[str]:
    """Why rows lack the score that quality means, most frequent first."""
    field = result.config.get("score_field")
    causes = [one for one in causes_of(result.rows, field) if field and one.kind == "missing"]
    common = causes[:_MOST_REASONS]
    notes = [f"{field} is missing in {_n_rows(one.count)}: {one.reason}" for one in common]
    if rest := sum(one.count for one in causes[_MOST_REASONS:]):
        notes.append(f"{field} is missing in {_n_rows(rest)} more, for other reasons")
    return notes


def _n_rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def components(config: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """The records of the components of one kind, such as `systems`."""
    found = config.get(kind)
    return [c for c in found if isinstance(c, Mapping)] if isinstance(found, list | tuple) else []


def _metric_column(result: EvalResult, systems: Sequence[str], key: str) -> Column:
    values = tuple(formats.finite(result.summary.get(system, {}).get(key)) for system in systems)
    if _is_missing(key):
        values = tuple(value or 0.0 for value in values)
    display = _display(key, result.config)
    left_out = _unranked(result, display)
    ranked = [None if s in left_out else v for s, v in zip(systems, values, strict=True)]
    column = _column(key, display, values)._replace(best=_best(ranked, display.better))
    estimates = [result.estimates.get(system, {}).get(key) for system in systems]
    of_all = [one for s in systems for one in result.estimates.get(s, {}).values()]
    known = estimates if any(estimates) or not display.of_score else of_all
    if not all(estimate is None or estimate.is_testable for estimate in known):
        column = column._replace(best=frozenset())  # too few independent units to compare systems
    if not any(estimates):
        return column
    undecided = result.undecided.get(key, ())
    return column._replace(
        cells=tuple(map(functools.partial(_with_interval, display), column.cells, estimates)),
        brief=column.cells if display.format is formats.duration else (),
        alike=frozenset(i for i, s in enumerate(systems) if s in undecided) - column.best,
        sure=tuple(map(_sure, estimates)),
    )


def _without_rank(column: Column, config: Mapping[str, Any]) -> Column:
    """A column of times, without marks: latencies of cached and of new rows do not compare."""
    if _display(column.key, config).format is not formats.duration:
        return column
    return column._replace(best=frozenset(), alike=frozenset())


def _unranked(result: EvalResult, display: Display) -> frozenset[str]:
    by_score = display.of_score
    return frozenset(one.system for one in result.verdicts if not one.is_ranked(by_score=by_score))


def _with_interval(display: Display, cell: str, estimate: Estimate | None) -> str:
    if estimate is None or estimate.interval is None:
        return cell
    if not estimate.is_bounded:
        return f"{cell} {UNBOUNDED}"
    if display.format is formats.duration:
        return f"{cell} {formats.duration_bounds(estimate.value, *estimate.interval)}"
    return f"{cell} {display.bounds(*estimate.interval)}"


def _sure(estimate: Estimate | None) -> str:
    """How sure a value is, in words."""
    if estimate is None or estimate.stderr is None:
        return ""
    best = f", interval of the best of {estimate.best_of}" if estimate.best_of else ""
    of = (
        f" in {estimate.clusters:,} clusters" if estimate.clusters not in (None, estimate.n) else ""
    )
    return f"standard error {estimate.stderr:.3g}, {estimate.n:,} examples{of}{best}"


def _position(key: str) -> int:
    """Where a metric stands: the known ones in their order, then the others in theirs."""
    name = key.partition("[")[0]
    return _ORDER.get(name, _ORDER.get(name.partition("_missing")[0], len(_ORDER)))


def _is_missing(key: str) -> bool:
    """Whether this counts the rows that a known metric had to leave out."""
    metric, found, _ = key.partition("_missing")
    return bool(found) and metric in KNOWN


def _column(key: str, display: Display, values: tuple[float | None, ...]) -> Column:
    return Column(
        key=key,
        header=display.header,
        values=values,
        cells=tuple(ABSENT if value is None else display.format(value) for value in values),
        best=_best(values, display.better),
        detail=display.detail,
    )


def _best(values: Sequence[float | None], better: str | None) -> frozenset[int]:
    """Where the best value stands; nowhere when there is nothing to tell apart."""
    present = {value for value in values if value is not None}
    if better is None or len(present) < 2:
        return frozenset()
    best = max(present) if better == "higher" else min(present)
    return frozenset(i for i, value in enumerate(values) if value == best)


def _display(key: str, config: Mapping[str, Any]) -> Display:
    """How to show a metric, with what is known of its parameters put into the header."""
    qualified = _QUALIFIED.fullmatch(key)
    base, qualifier = (qualified["key"], qualified["parameters"]) if qualified else (key, "")
    if base.startswith(_DATASET):
        display = Display(base.removeprefix(_DATASET), formats.score, "higher", of_score=True)
    elif base in KNOWN:
        display = KNOWN[base]
    elif _is_missing(base):
        about = _display(key.replace("_missing", "", 1), config)
        return Display(f"{about.header}: missing", formats.count, detail=True)
    else:
        return Display(key, formats.general)
    own = dict(part.split("=", 1) for part in qualifier.split(",") if "=" in part)
    given = config.get("settings") or {}
    known = {**config, **given, **_parameters(config, display.metric), **own}
    header = display.header
    used = {name for name in ("score_field", "threshold") if f"{{{name}}}" in display.precise}
    if used and all(known.get(name) is not None for name in used):
        header = display.precise.format_map(known)
    if own.keys() - used:
        header += f" [{qualifier}]"
    return display._replace(header=header)


def _parameters(config: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """The parameters of the first metric of that name."""
    for component in components(config, "metrics"):
        if metric in (component.get("name"), str(component.get("component")).split("/")[-1]):
            found = component.get("params")
            return dict(found) if isinstance(found, Mapping) else {}
    return {}


def _count_columns(counts: Sequence[Counts]) -> Iterable[Column]:
    yield Column(
        key="scored",
        header="scored",
        values=tuple(c.scored for c in counts),
        cells=tuple(f"{c.scored:,} of {c.total:,}" for c in counts),
    )
    display = Display("errored", formats.count)
    yield _column("errored", display, tuple(c.errored for c in counts))
    if any(c.missing for c in counts):
        display = Display("missing", formats.count)
        yield _column("missing", display, tuple(c.missing for c in counts))


def _title(result: EvalResult, systems: Sequence[str]) -> str:
    recorded = components(result.config, "datasets")
    datasets = [str(c.get("name")) for c in recorded]
    settings = result.config.get("settings") or {}
    options = {plural(name): name for name in settings}
    for name, section in result.sections.items():
        if not section.names_data:
            continue
        values = settings.get(options.get(name, ""))
        asked = [str(one) for one in values] if isinstance(values, list | tuple) else []
        members = {str(line.get("key")) for line in section.lines}
        datasets = [*asked, *(name for name in datasets if not (asked and name in members))]
    datasets = datasets or sorted({row.dataset for row in result.rows if row.dataset})
    listed = ", ".join(datasets[:3]) + (f" and {len(datasets) - 3} more" if datasets[3:] else "")
    subject = systems[0] if len(systems) == 1 else f"{len(systems)} systems"
    return f"{subject} on {listed}" if listed else subject


def _facts(result: EvalResult, counts: Sequence[Counts]) -> Iterable[tuple[str, str]]:
    config = result.config
    if config.get("started"):
        yield "started", formats.moment(str(config["started"]))
    yield "rows", f"{len(result.rows):,}"
    if cached := sum(c.cached for c in counts):
        yield "from the store", f"{cached:,}"
    if counts:
        yield "scored", f"{sum(c.scored for c in counts):,}"
        yield "errored", f"{sum(c.errored for c in counts):,}"
    if missing := sum(c.missing for c in counts):
        yield "missing", f"{missing:,}"
    if config.get("score_field"):
        yield "score", str(config["score_field"])
    if config.get("rescored_from"):
        yield "rescored from", str(config["rescored_from"])
    if config.get("settings", {}).get("no_examples"):
        yield "texts", "not stored"
    if config.get("run_id"):
        yield "run", str(config["run_id"])


def _status(config: Mapping[str, Any]) -> str:
    state = config.get("state") or "finished"
    if state == "finished":
        return ""
    reason = config.get("state_reason")
    if state == "running":
        return f"The run is still going: {reason}. The numbers cover only these."
    told = f"Run {state}: {reason}" if reason else f"Run {state}"
    return f"{told.rstrip('.')}. The numbers cover only the rows that were done."
