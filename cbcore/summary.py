"""From rows to the summary: one pass of every metric over every system's rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from cbcore.components import describe_exception
from cbcore.introspection import public_attributes

if TYPE_CHECKING:
    from cbcore.results import EvalRow

Summary: TypeAlias = dict[str, dict[str, "float | None"]]
"""System → metric value. None stands for "no finite value": nothing scored, nothing passed."""


def summarize(
    rows_by_system: Mapping[str, Sequence[EvalRow]], metrics: Sequence[Any]
) -> tuple[Summary, list[str]]:
    """Compute every metric for every system. Returns the summary and what went wrong.

    A metric that raises loses its own values only. When two instances of a metric emit the
    same key, the first keeps it and the later ones are qualified by what sets them apart:
    `mean_score`, `mean_score[score_field=recall]`.
    """
    summary: Summary = {system: {} for system in rows_by_system}
    problems: list[str] = []
    taken: set[str] = set()
    for position, metric in enumerate(metrics):
        values_by_system, problem = _values(metric, rows_by_system)
        if problem:
            problems.append(problem)
        # A key means the same for every system, also where an earlier metric left a system out.
        unique: dict[str, str] = {}
        for key in dict.fromkeys(key for values in values_by_system.values() for key in values):
            name = key if key not in taken else _qualified(key, metric, metrics[:position])
            while name in taken:
                name += "'"
            unique[key] = name
            taken.add(name)
        for system, values in values_by_system.items():
            for key, value in values.items():
                finite = value is not None and math.isfinite(value)
                summary[system][unique[key]] = value if finite else None
    return summary, problems


def _values(
    metric: Any, rows_by_system: Mapping[str, Sequence[EvalRow]]
) -> tuple[dict[str, dict[str, float | None]], str | None]:
    try:
        if hasattr(metric, "compare"):
            compared = metric.compare(rows_by_system)
            values = {system: dict(compared.get(system, {})) for system in rows_by_system}
        else:
            values = {system: dict(metric.compute(rows)) for system, rows in rows_by_system.items()}
        for per_system in values.values():
            for key, value in per_system.items():
                if not isinstance(key, str):
                    raise TypeError(f"a key is {key!r}, not a string")
                if value is not None:
                    per_system[key] = float(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the plugin boundary
        name = getattr(metric, "name", type(metric).__name__)
        return {}, f"metric {name!r} failed: {describe_exception(error)}"
    return values, None


def _qualified(key: str, metric: Any, earlier: Sequence[Any]) -> str:
    mine = public_attributes(metric)
    rivals = [public_attributes(m) for m in earlier if type(m) is type(metric)]
    different = {
        name: value
        for name, value in sorted(mine.items())
        if any(rival.get(name, value) != value for rival in rivals)
    }
    if not different:
        return f"{key}[{getattr(metric, 'name', type(metric).__name__)}]"
    return f"{key}[{','.join(f'{name}={value}' for name, value in different.items())}]"
