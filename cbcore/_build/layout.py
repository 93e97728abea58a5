"""How the columns of a dataset become the fields of its examples, as specs and run files say it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from cbcore.columns import SUFFIX
from cbcore.columns._fields import check_own_data, is_own_data, with_fields
from cbcore.exceptions import ParameterError
from cbcore.specs import Spec

_FIELDS, _UNIQUE_IDS = "fields", "unique_ids"


def _columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {str(field): _column(column) for field, column in fields.items()}


def _column(value: Any) -> Any:
    if isinstance(value, bool):  # as YAML reads a column called no, off, yes or on
        words = "yes or on" if value else "no or off"
        raise ParameterError("fields", f"a column called {words} is written in quotes in YAML")
    return str(value) if isinstance(value, int | float) else value


@attrs.frozen(eq=False, repr=False)
class Layout:
    """Fields with the columns they are read from, and whether ids that come again are numbered."""

    fields: Mapping[str, Any] = attrs.field(factory=dict, converter=_columns)
    unique_ids: bool = False

    @classmethod
    def taken_from(cls, spec: Spec, signature: inspect.Signature | None) -> tuple[Spec, Layout]:
        """A dataset's spec without what the dataset does not take itself, and the layout in it."""
        own = signature.parameters if signature is not None else {}
        fields: dict[str, Any] = {}
        left: dict[str, Any] = {}
        unique_ids = False
        for name, value in spec.params.items():
            if name in own:
                left[name] = value
            elif name.endswith(SUFFIX) and name != SUFFIX:
                fields[name.removesuffix(SUFFIX)] = value
            elif name == _FIELDS:
                fields |= _written_fields(spec, value)
            elif name == _UNIQUE_IDS:
                unique_ids = _truth(spec, value)
            else:
                left[name] = value
        return attrs.evolve(spec, params=left), cls(fields, unique_ids)

    @property
    def parameters(self) -> dict[str, Any]:
        """The layout as parameters of a spec: what a result records of it."""
        columns = {f"{field}{SUFFIX}": column for field, column in self.fields.items()}
        return {**columns, **({_UNIQUE_IDS: True} if self.unique_ids else {})}

    def applied_to(self, dataset: Any, name: str) -> Any:
        """The dataset with these fields. Raises `ParameterError` for what is no column."""
        try:
            return with_fields(dataset, self.fields, unique_ids=self.unique_ids)
        except (ValueError, TypeError) as error:
            raise ParameterError(name or "the dataset", str(error)) from error

    @staticmethod
    def check(dataset: Any, name: str, warn: Callable[[str], None]) -> None:
        """Refuse the user's own data if no system can read it; warn about gold answers."""
        # Plugins know the layout of their data, and a generator can be read only once.
        if is_own_data(dataset):
            check_own_data(dataset, name, warn)


def _written_fields(spec: Spec, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ParameterError(
            spec.name,
            f"{_FIELDS} is {value!r}, not fields with their columns",
            hint="write context_column=COLUMN, or in a run file fields: {context: COLUMN}",
        )
    return dict(value)


def _truth(spec: Spec, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise ParameterError(spec.name, f"{_UNIQUE_IDS} is {value!r}, neither true nor false")
