"""`--shard`: a part of the examples of a run, by their content."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cbcore.protocols import Run
    from cbcore.results import EvalResult
    from cbcore.settings import RunSettings


def cb_configure(settings: RunSettings) -> None:
    """Select the examples of the shard."""
    if text := settings.get("shard"):
        from cb_compare.sharding import Shard

        settings.select.append(Shard.read(text).holds)


def cb_summarize(run: Run, result: EvalResult) -> None:
    """Report that this is a shard. Record the named evaluators, on which tables may depend."""
    if text := run.settings.get("shard"):
        from cbcore.secrets import redact
        from cbcore.specs import Spec

        number, _, count = text.partition("/")
        result.problems.append(f"this is shard {number} of {count}: `cb merge` joins all of them")
        if (named := run.settings.evaluators) is not None:
            specs = [redact(str(one)) for one in named if isinstance(one, Spec)]
            result.config["named_evaluators"] = specs  # type: ignore[typeddict-unknown-key]
