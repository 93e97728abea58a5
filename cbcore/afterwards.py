"""What can be done with a result afterwards, from Python: report it, and ask its metrics again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cbcore._build.builder import Builder
from cbcore.components import Component
from cbcore.exceptions import CBError, ResultError
from cbcore.plugins._host import default_host
from cbcore.secrets import blot
from cbcore.specs import Spec
from cbcore.trust import Stranger

if TYPE_CHECKING:
    from cbcore.plugins._host import PluginHost
    from cbcore.results import EvalResult
    from cbcore.runconfig import RunConfig

__all__ = ("metrics_of", "render")


def render(result: EvalResult, reporter: str = "html") -> str:
    """A result as the text of an installed reporter, named as for `--output`."""
    part = Builder(default_host()).build("reporter", reporter)
    if not hasattr(part.value, "render"):
        raise ResultError(f"the format {part.name!r} is not text: it can only write a file")
    document: str = part.value.render(result)
    return blot(document)


def metrics_of(config: RunConfig, host: PluginHost | None = None) -> list[Any]:
    """The metrics that a result records, made again by the plugins that are installed.

    A record gives values and names no program, as a result may come from anywhere. Raises
    `ResultError` where one cannot be made.
    """
    builder = Builder(host or default_host())
    return [_metric(builder, record) for record in config.get("metrics") or ()]


def _metric(builder: Builder, record: Mapping[str, Any]) -> Any:
    name, plugin = record.get("name"), record.get("plugin")
    hint = "set them by hand: result.metrics = [MeanScore(score_field='f1'), …]"
    try:
        component = _component(builder, record)
        if component is None:
            raise ResultError(
                f"the metric {name!r} of this result comes from {plugin}, which does not offer "
                "it here"
                if plugin != "python"
                else f"the metric {name!r} of this result is code of whoever ran it",
                hint=f"install {plugin}, or {hint}" if plugin != "python" else hint,
            )
        spec = Spec(component.qualified_name, params=dict(record.get("params") or {}))
        stranger = Stranger("this result", hint=hint)
        return builder.build("metric", spec, stranger=stranger).value
    except ResultError:
        raise
    except CBError as error:
        raise ResultError(
            f"the metric {name!r} of this result cannot be made again: {error.message}", hint=hint
        ) from error


def _component(builder: Builder, record: Mapping[str, Any]) -> Component | None:
    """The component that a record is of: by its name, or by its class where it was an object."""
    offered = [c for c in builder.host.components("metric") if c.plugin == record.get("plugin")]
    wanted = record.get("component")
    for component in offered:
        if component.name == wanted:
            return component
    for component in offered:
        target = component.load()
        if f"{target.__module__}.{getattr(target, '__qualname__', '')}" == wanted:
            return component
    return None
