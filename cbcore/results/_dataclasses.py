"""What functions of `dataclasses` look for, on classes of attrs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    import dataclasses


def _dataclass_fields(cls: type) -> dict[str, dataclasses.Field[Any]]:
    """The fields of an attrs class in the form that functions of `dataclasses` look for."""
    import dataclasses

    wanted = []
    for field in attrs.fields(cls):
        default: Any = field.default
        options: dict[str, Any] = {"compare": bool(field.eq), "repr": bool(field.repr)}
        if hasattr(default, "factory"):
            options["default_factory"] = default.factory
        elif default is not attrs.NOTHING:
            options["default"] = default
        wanted.append((field.name, field.type, dataclasses.field(kw_only=field.kw_only, **options)))
    twin: Any = dataclasses.make_dataclass(cls.__name__, wanted, init=False, repr=False, eq=False)
    return dict(twin.__dataclass_fields__)


class WhenAsked:
    """`__dataclass_fields__` of a class, made when it is first asked for: few ever do."""

    def __get__(self, _: object, owner: type) -> dict[str, dataclasses.Field[Any]]:
        found = _dataclass_fields(owner)
        setattr(owner, "__dataclass_fields__", found)  # noqa: B010 - in the place of this
        return found
