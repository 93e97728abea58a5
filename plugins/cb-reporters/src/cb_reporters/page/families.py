"""Families of systems: those that differ in one number only, so that a curve can be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

_LEAST = 3

_Stages: TypeAlias = "list[tuple[str, dict[str, Any]]]"
_Key: TypeAlias = "tuple[int, str]"


class Family(NamedTuple):
    """Systems by the value of the one parameter that sets them apart."""

    name: str
    parameter: str
    systems: tuple[tuple[float, str], ...]


def families_of(records: Sequence[Mapping[str, Any]]) -> list[Family]:
    """Every set of at least three systems that are the same but for one numeric parameter."""
    found: list[Family] = []
    taken: set[str] = set()
    described = [(str(record.get("name")), _stages(record)) for record in records]
    for name, stages in described:
        for key in _numbers(stages):
            if name in taken:
                break
            members = [
                (float(_at(others, key)), other)
                for other, others in described
                if other not in taken and _without(others, key) == _without(stages, key)
            ]
            if len({at for at, _ in members}) >= _LEAST:
                taken |= {other for _, other in members}
                found.append(Family(_named(stages), key[1], tuple(sorted(members))))
    return found


def _stages(record: Mapping[str, Any]) -> _Stages:
    stages = record.get("stages") or [record]
    return [(str(stage.get("component")), dict(stage.get("params") or {})) for stage in stages]


def _numbers(stages: _Stages) -> list[_Key]:
    return [
        (i, name)
        for i, (_, params) in enumerate(stages)
        for name, value in params.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]


def _at(stages: _Stages, key: _Key) -> Any:
    return stages[key[0]][1][key[1]]


def _without(stages: _Stages, key: _Key) -> _Stages | None:
    """The stages without one parameter; None where it is not there, or no number."""
    if key not in _numbers(stages):
        return None
    where, name = key
    return [
        (component, {k: v for k, v in params.items() if (i, k) != (where, name)})
        for i, (component, params) in enumerate(stages)
    ]


def _named(stages: _Stages) -> str:
    return " | ".join(component for component, _ in stages)
