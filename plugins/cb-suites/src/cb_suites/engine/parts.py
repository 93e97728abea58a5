"""The components of a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cb_suites.engine.untrusted import Check
from cbcore.assembly import Builder, Built


def build_part(
    builder: Builder,
    kind: str,
    wanted: Any,
    extra: Mapping[str, Any] | None = None,
    check: Check | None = None,
) -> Built:
    """As `Builder.build`. The record has no spec, since the user asked for the suite."""
    part = builder.build(kind, wanted, extra, check)
    part.record.pop("spec", None)
    return part
