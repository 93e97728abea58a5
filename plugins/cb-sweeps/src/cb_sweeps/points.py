"""From a spec that sweeps parameters to one spec for each point.

    bm25:max_tokens=50..400/50 | extractive      50, 100, … 400
    needle:length=1000..16000*2                  1000, 2000, … 16000
    truncate:keep=[head,tail],max_tokens=[100,200]

A list is a sweep if the parameter takes a single value. Several parameters make a grid.
"""

from __future__ import annotations

import inspect
import itertools
import math
import re
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs

from cb_sweeps.hooks import may_be_sweep
from cb_sweeps.sweeps import TAG
from cbcore.assembly import Builder
from cbcore.binding import convert, parts_of
from cbcore.exceptions import SpecError, UnknownComponentError, UsageError
from cbcore.specs import Spec

MOST_POINTS = 1_000

_ONE = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_ONE})\.\.({_ONE})([/*])({_ONE})\Z")
"""`50..400/50` and `1000..8000*2`: start, end, the sign, and the step or factor."""
_HOW = "Write 50..400/50 or 1000..8000*2."
_COLLECTIONS = {list, tuple, set, frozenset, Sequence, Collection, Iterable, Mapping, dict}


@attrs.frozen
class _Swept:
    """A swept parameter of a stage, by their positions and names. The name None is the config."""

    stage: int
    name: str | None
    values: list[Any]


def expand(builder: Builder, kind: str, wanted: Iterable[Any]) -> list[Any]:
    """The systems or datasets, with one list of stages, or one spec, for each point of a sweep.

    Points are named by what differs, such as `bm25 150`, or by all stages if two sweeps would have
    the same name. The label and the tag of a point are those of its last swept stage.
    """
    sweeps: list[tuple[Any, list[Spec], list[_Swept]]] = []
    for one in wanted:
        stages = _stages_of(kind, one)
        sweeps.append((one, stages, _find_swept(builder, kind, stages)))
    names = [_short_name(kind, stages, swept) for _, stages, swept in sweeps if swept]
    expanded: list[Any] = []
    for one, stages, swept in sweeps:
        if not swept:
            expanded.append(one)
            continue
        is_long = names.count(_short_name(kind, stages, swept)) > 1
        points = _points(kind, stages, swept, is_long=is_long)
        expanded += points if kind == "system" else [stage for (stage,) in points]
    return expanded


def _stages_of(kind: str, wanted: Any) -> list[Spec]:
    """The stages of a system or dataset; none if one of them is an object."""
    if isinstance(wanted, str):
        return Spec.parse_chain(wanted) if kind == "system" else [Spec.parse_dataset(wanted)]
    stages = wanted if isinstance(wanted, list) else [wanted]
    return stages if all(isinstance(stage, Spec) for stage in stages) else []


def _points(
    kind: str, stages: Sequence[Spec], swept: Sequence[_Swept], *, is_long: bool
) -> list[list[Spec]]:
    if math.prod(len(one.values) for one in swept) > MOST_POINTS:
        raise UsageError(
            f"{' | '.join(map(str, stages))} has more than {MOST_POINTS:,} points.",
            hint="Take larger steps.",
        )
    rest = [
        _without(stage, [s.name for s in swept if s.stage == n]) for n, stage in enumerate(stages)
    ]
    sweep = " | ".join(map(str, rest)) if is_long else _short_name(kind, stages, swept)
    parameters = _parameter_names(stages, swept)
    points = []
    for values in itertools.product(*(one.values for one in swept)):
        point = list(stages)
        for one, value in zip(swept, values, strict=True):
            point[one.stage] = _with(point[one.stage], one.name, value)
        shown = " ".join(map(str, values))
        label = f"{sweep} {shown}"
        if is_long:
            named = [
                f"{stage} {shown}" if n == swept[0].stage else str(stage)
                for n, stage in enumerate(rest)
            ]
            label = " | ".join(named)
        tag = {
            "name": sweep,
            "values": dict(zip(parameters, values, strict=True)),
            "spec": " | ".join(map(str, stages)),
        }
        last = swept[-1].stage
        point[last] = attrs.evolve(point[last], label=label, tags={TAG: tag})
        points.append(point)
    return points


def _short_name(kind: str, stages: Sequence[Spec], swept: Sequence[_Swept]) -> str:
    first = stages[swept[0].stage]
    if kind == "dataset":
        return _without(first, [one.name for one in swept]).default_label
    own = (first.config or "").rpartition(":")[2] if first.name == "py" else first.name
    return str(stages[-1].params.get("name", first.params.get("name", own)))


def _parameter_names(stages: Sequence[Spec], swept: Sequence[_Swept]) -> list[str]:
    """The names of the swept parameters; with that of the stage if two have the same."""
    names = [one.name or "config" for one in swept]
    return [
        f"{stages[one.stage].name}.{name}" if names.count(name) > 1 else name
        for one, name in zip(swept, names, strict=True)
    ]


def _find_swept(builder: Builder, kind: str, stages: Sequence[Spec]) -> list[_Swept]:
    found: list[_Swept] = []
    for number, stage in enumerate(stages):
        given: list[tuple[str | None, Any]] = [(None, stage.config), *stage.params.items()]
        several = [(name, value) for name, value in given if may_be_sweep(value)]
        try:
            parameters = builder.parameters(kind, stage) if several else {}
        except UnknownComponentError:  # reported with all others that are missing
            return []
        for name, value in several:
            annotation = _annotation_of(stage, parameters, name)
            values = _values(stage, value, annotation)
            if values is not None:
                found.append(_Swept(number, name, [_convert(one, annotation) for one in values]))
    return found


def _annotation_of(
    stage: Spec, parameters: Mapping[str, inspect.Parameter], name: str | None
) -> Any:
    """The type of a parameter. Without an annotation, the default is an example."""
    if name is None:
        name = next(iter(parameters), "") if stage.name != "py" else ""
        if name not in parameters:
            return str
    if name not in parameters:
        return inspect.Parameter.empty
    annotation = parameters[name].annotation
    if annotation is not inspect.Parameter.empty and not isinstance(annotation, str):
        return annotation
    default = type(parameters[name].default)
    return {int: int | float, float: int | float, str: str}.get(default, annotation)


def _values(stage: Spec, value: Any, annotation: Any) -> list[Any] | None:
    """The values of a sweep; None if the parameter takes the whole as its single value."""
    kinds = _kinds(annotation)
    is_open = inspect.Parameter.empty in kinds or Any in kinds
    is_number = bool(kinds & {int, float})
    if isinstance(value, str) and (match := _RANGE.match(value.strip())):
        return _range(stage, value, *match.groups()) if is_open or is_number else None
    if isinstance(value, str) and not value.strip().startswith("["):
        if is_number and not is_open and str not in kinds:
            raise SpecError(str(stage), f"{value} is a range without its step", hint=_HOW)
        return None
    if is_open or kinds & _COLLECTIONS:
        return None
    try:
        values = convert(value, list[str])
    except ValueError as error:
        raise SpecError(str(stage), str(error), hint=_HOW) from error
    if not values:
        raise SpecError(str(stage), "a list of values is empty", hint="Write [a,b].")
    is_plain = all(isinstance(one, str | int | float) for one in values)
    return list(dict.fromkeys(values)) if is_plain else list(values)


def _kinds(annotation: Any) -> set[Any]:
    """The types that a parameter takes: the members of a union, without their own arguments."""
    if hasattr(annotation, "__metadata__"):
        return _kinds(annotation.__origin__)
    if isinstance(annotation, str):
        return {inspect.Parameter.empty}
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return {kind for member in typing.get_args(annotation) for kind in _kinds(member)}
    return {origin or annotation}


def _range(
    stage: Spec, text: str, start: str, stop: str, sign: str, step: str
) -> list[int | float]:
    """`start..stop/step` or `start..stop*factor`, with the end if a step meets it."""
    first, last, by = float(start), float(stop), float(step)
    grows = by > 1 and first > 0 if sign == "*" else by > 0
    if not grows or last < first:
        raise SpecError(str(stage), f"{text} has no values", hint=_HOW)
    slack = 1e-9 * max(1.0, abs(last))
    if sign == "/":
        n = int((last - first + slack) / by) + 1
        values = (first + i * by for i in range(min(n, MOST_POINTS + 1)))
    else:
        n = int(math.log(last / first, by) + 1e-9) + 1
        values = (first * by**i for i in range(min(n, MOST_POINTS + 1)))
    is_whole = all(number.lstrip("-").isdigit() for number in (start, stop, step))
    return [round(value) if is_whole else float(f"{value:.12g}") for value in values]


def _convert(value: Any, annotation: Any) -> Any:
    """The value as the parameter gets it, if that is plain, so that names show it."""
    if Callable in parts_of(annotation):
        return value  # a text may name a function, which is not imported here
    try:
        converted = convert(value, annotation)
    except ValueError:
        return value  # reported when it is bound
    return converted if isinstance(converted, str | int | float) else value


def _without(stage: Spec, names: Collection[str | None]) -> Spec:
    left = {key: value for key, value in stage.params.items() if key not in names and key != "name"}
    return Spec(stage.name, None if None in names else stage.config, left)


def _with(stage: Spec, name: str | None, value: Any) -> Spec:
    if name is None:
        return attrs.evolve(stage, config=str(value))
    return attrs.evolve(stage, params={**stage.params, name: value})
