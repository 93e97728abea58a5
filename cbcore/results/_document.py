"""A result without its rows as plain data: what files say beside them, and the store keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from cbcore.exceptions import ResultError
from cbcore.json_data import to_json_safe
from cbcore.results._sections import sections_of

if TYPE_CHECKING:
    from cbcore.results import EvalResult, EvalRow

_SCHEMA_VERSION = 1
"""Version of the JSON form. A reader refuses a newer one."""


def document_of(result: EvalResult) -> dict[str, Any]:
    """What `to_dict` says of a result beside its rows."""
    from cbcore.results._estimates import written

    return {
        "schema": _SCHEMA_VERSION,
        "config": to_json_safe(result.config),
        "summary": to_json_safe(result.summary),
        "estimates": {
            system: {metric: written(estimate) for metric, estimate in found.items()}
            for system, found in result.estimates.items()
        },
        "undecided": to_json_safe(result.undecided),
        "verdicts": [
            {**to_json_safe(attrs.asdict(verdict)), "sentence": verdict.sentence}
            for verdict in result.verdicts
        ],
        "timing": to_json_safe(result.timing),
        "problems": list(result.problems),
        "sections": {
            name: to_json_safe(attrs.asdict(section)) for name, section in result.sections.items()
        },
    }


def result_of(document: Mapping[str, Any], rows: Sequence[EvalRow]) -> EvalResult:
    """The result of what `document_of` gave, and the rows."""
    from cbcore.results import EvalResult
    from cbcore.results._checks import check_config, check_parts
    from cbcore.results._estimates import read

    if document.get("schema") != _SCHEMA_VERSION:
        raise ResultError(
            f"this result has schema {document.get('schema')!r}; "
            f"this version reads {_SCHEMA_VERSION}",
            hint="update cbcore",
        )
    check_parts(document)
    names = ("summary", "timing", "config", "estimates", "undecided")
    parts: dict[str, Any] = {name: document.get(name) or {} for name in names}
    parts |= {name: document.get(name) or [] for name in ("problems", "verdicts")}
    check_config(parts["config"])
    parts["estimates"], parts["verdicts"] = read(parts["estimates"], parts["verdicts"])
    return EvalResult(rows=rows, sections=sections_of(document), **parts)
