"""Sweeps: a parameter with several values is as many components, and together they are a family.

    bm25:max_tokens=50..400/50 | extractive      50, 100, … 400
    needle:length=1000..16000*2                  1000, 2000, … 16000
    truncate:keep=[head,tail],max_tokens=[100,200]

A list is a sweep where the parameter takes a single value; in run files it is a list of YAML.
Several parameters make a grid.
"""

from __future__ import annotations

import inspect
import itertools
import math
import re
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from cbcore import binding, specs, usercode
from cbcore._build.builder import Builder
from cbcore._build.layout import Layout
from cbcore._run.parts import Part
from cbcore.chains import Renamed
from cbcore.exceptions import SpecError, UsageError
from cbcore.introspection import signature_of
from cbcore.specs import Spec

MOST_POINTS = 1_000

_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})([/*])({_NUMBER})\Z")
_LIKE_A_RANGE = re.compile(rf"\s*{_NUMBER}\.\.")
_HOW = "write 50..400/50, or 1000..8000*2"
_MANY = (list, tuple, set, frozenset, Sequence, Collection, Iterable, Mapping, dict)


@attrs.frozen(eq=False, repr=False)
class Point:
    """One point of a sweep: the stages it is made of, and what it has of each swept parameter.

    `family` are the stages without what is swept, by which points belong together, and `first`
    is the number of the stage that is swept first. `spec` is how all of them were asked for.
    """

    stages: list[Spec]
    values: Mapping[str, Any] = attrs.Factory(dict)
    family: tuple[str, ...] = ()
    first: int = 0
    spec: str = ""

    @property
    def told(self) -> str:
        """Its values, as part of a name."""
        return " ".join(str(value) for value in self.values.values())


def swept_systems(builder: Builder, wanted: Iterable[Any]) -> list[Part]:
    """Every system that is asked for, and for one that is swept, all of its points.

    Points are called by what differs: `bm25 150`, or, where two families would be called alike,
    `bm25 150 | extractive`. What they belong to is in their records, as `family`.
    """
    found: list[tuple[Any, Point | None]] = []
    for one in wanted:
        points = _points(builder, "system", one)
        found += [(one, None)] if points is None else [(point.stages, point) for point in points]
    families = {point.family: point for _, point in found if point is not None}
    short = [_short(point) for point in families.values()]
    ambiguous = {name for name in short if short.count(name) > 1}
    parts = []
    for stages, point in found:
        part = builder.system(stages)
        if point is not None:
            is_long = _short(point) in ambiguous
            part = _called(part, _family_name(point, is_long), _point_name(point, is_long), point)
        parts.append(part)
    return parts


def swept_datasets(
    builder: Builder, wanted: Iterable[Any], extra: Mapping[str, Any], layout: Layout
) -> list[Part]:
    """Every dataset that is asked for, and for one that is swept, all of its points.

    Those whose rows would have the tag of another point get its values added.
    """
    parts: list[Part] = []
    for one in wanted:
        points = _points(builder, "dataset", one)
        if points is None:
            parts.append(builder.dataset(one, extra, layout))
            continue
        made = [builder.dataset(point.stages[0], extra, layout) for point in points]
        tags = [part.record["name"] for part in made]
        for part, point in zip(made, points, strict=True):
            if tags.count(part.record["name"]) > 1:
                part.record["name"] = f"{part.record['name']} {point.told}"
            part.record["family"] = _recorded(_family_name(point, is_long=False), point)
        parts += made
    return parts


def _called(part: Part, family: str, name: str, point: Point) -> Part:
    """The part under the name of its point, its record saying what it belongs to."""
    record = {**part.record, "name": name, "family": _recorded(family, point)}
    return Part(Renamed(part.value, name), record, part.component, part.making)


def _recorded(family: str, point: Point) -> dict[str, Any]:
    return {"name": family, "values": dict(point.values), "spec": point.spec}


def _short(point: Point) -> str:
    first = point.stages[point.first]
    own = (first.config or "").rpartition(":")[2] if first.name == "py" else first.name
    return str(point.stages[-1].params.get("name", first.params.get("name", own)))


def _family_name(point: Point, is_long: bool) -> str:
    return " | ".join(point.family) if is_long else _short(point)


def _point_name(point: Point, is_long: bool) -> str:
    if not is_long:
        return f"{_short(point)} {point.told}"
    stages = list(point.family)
    stages[point.first] += f" {point.told}"
    return " | ".join(stages)


# -- from a spec to its points ---------------------------------------------------------------------


def _points(builder: Builder, kind: str, wanted: Any) -> list[Point] | None:
    """The points of what is asked for; None where nothing is swept."""
    stages = _parsed(kind, wanted)
    if stages is None or not any(map(_may_be_swept, stages)):
        return None
    swept = [
        (number, name, values)
        for number, stage in enumerate(stages)
        for name, values in _swept(builder, kind, stage)
    ]
    if not swept:
        return None
    n_points = math.prod(len(values) for _, _, values in swept)
    if n_points > MOST_POINTS:
        raise UsageError(
            f"{' | '.join(map(str, stages))} has more than {MOST_POINTS:,} points",
            hint="take larger steps",
        )
    family = tuple(
        str(_without(stage, [name for n, name, _ in swept if n == number]))
        for number, stage in enumerate(stages)
    )
    names = _labels([(stages[number].name, name or "config") for number, name, _ in swept])
    points = []
    for combination in itertools.product(*(values for _, _, values in swept)):
        made = list(stages)
        for (number, name, _), value in zip(swept, combination, strict=True):
            made[number] = _with(made[number], name, value)
        values = dict(zip(names, combination, strict=True))
        points.append(Point(made, values, family, swept[0][0], " | ".join(map(str, stages))))
    return points


def _parsed(kind: str, wanted: Any) -> list[Spec] | None:
    if isinstance(wanted, str):
        return specs.parse_chain(wanted) if kind == "system" else [specs.parse_dataset(wanted)]
    if isinstance(wanted, Spec):
        return [wanted]
    if isinstance(wanted, list) and wanted and all(isinstance(stage, Spec) for stage in wanted):
        return list(wanted)
    return None


def _labels(swept: Sequence[tuple[str, str]]) -> list[str]:
    """What each swept parameter is called: by its name, and its stage's where two are alike."""
    names = [name for _, name in swept]
    return [f"{stage}.{name}" if names.count(name) > 1 else name for stage, name in swept]


def _may_be_swept(stage: Spec) -> bool:
    return any(_is_several(value) for value in (stage.config, *stage.params.values()))


def _is_several(value: Any) -> bool:
    if isinstance(value, str):
        text = value.strip()
        return bool(_LIKE_A_RANGE.match(text)) or (text.startswith("[") and text.endswith("]"))
    return isinstance(value, list)


def _swept(builder: Builder, kind: str, stage: Spec) -> Iterator[tuple[str | None, list[Any]]]:
    """The parameters of a stage that have several values; None stands for its config."""
    if not _may_be_swept(stage):
        return
    annotation_of = _annotations(builder, kind, stage)
    for name, value in ((None, stage.config), *stage.params.items()):
        if _is_several(value):
            annotation = annotation_of(name)
            values = _values(stage, value, annotation)
            if values is not None:
                yield name, [_converted(one, annotation) for one in values]


def _annotations(builder: Builder, kind: str, stage: Spec) -> Callable[[str | None], Any]:
    if stage.name == "py":
        try:
            target = usercode.import_attribute(stage.config or "")
        except ValueError:
            target = None  # told when it is built
    else:
        target = builder.catalog.find(kind, stage.name).load()
    signature = signature_of(target) if callable(target) else None
    parameters = {} if signature is None else dict(signature.parameters)

    def annotation(name: str | None) -> Any:
        if name is None:
            name = next(iter(parameters), "") if stage.name != "py" else ""
            return _annotation(parameters[name]) if name in parameters else str
        return _annotation(parameters[name]) if name in parameters else inspect.Parameter.empty

    return annotation


def _annotation(parameter: inspect.Parameter) -> Any:
    """What a parameter takes; where it does not say so, what its default is an example of."""
    told = parameter.annotation
    if told is not inspect.Parameter.empty and not isinstance(told, str):
        return told
    kind = type(parameter.default)
    return {int: int | float, float: int | float, str: str}.get(kind, told)


def _values(stage: Spec, value: Any, annotation: Any) -> list[Any] | None:
    """The values of a sweep; None where the parameter takes the whole as its one value."""
    kinds = _kinds(annotation)
    is_open = inspect.Parameter.empty in kinds or Any in kinds
    if isinstance(value, str) and (match := _RANGE.match(value.strip())):
        return _range(stage, value, *match.groups()) if is_open or kinds & {int, float} else None
    if isinstance(value, str) and _LIKE_A_RANGE.match(value):
        if not is_open and kinds & {int, float} and str not in kinds:
            raise SpecError(str(stage), f"{value} is a range without its step", hint=_HOW)
        return None
    if is_open or kinds & set(_MANY):
        return None
    values = value if isinstance(value, list) else specs.split_list(value)
    if not values:
        raise SpecError(str(stage), "a list of values is empty", hint="write [a,b]")
    return list(dict.fromkeys(values)) if all(map(_is_plain, values)) else list(values)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _kinds(annotation: Any) -> set[Any]:
    """What a parameter may be given: the members of a union, without what they are made of."""
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
    """`start..stop/step` or `start..stop*factor`, both ends included where they are met."""
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
    whole = all(number.lstrip("-").isdigit() for number in (start, stop, step))
    return [round(value) if whole else float(f"{value:.12g}") for value in values]


def _converted(value: Any, annotation: Any) -> Any:
    """As the parameter will have it, where that is plain; so it is told, too."""
    try:
        found = binding.convert(value, annotation)
    except ValueError:
        return value  # told when it is bound
    return found if isinstance(found, str | int | float) else value


def _without(stage: Spec, names: Collection[str | None]) -> Spec:
    left = {key: value for key, value in stage.params.items() if key not in names and key != "name"}
    return Spec(stage.name, None if None in names else stage.config, left)


def _with(stage: Spec, name: str | None, value: Any) -> Spec:
    if name is None:
        return Spec(stage.name, str(value), stage.params)
    return Spec(stage.name, stage.config, {**stage.params, name: value})
