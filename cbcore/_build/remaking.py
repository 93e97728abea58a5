"""Components made again from what a result says of them."""

from __future__ import annotations

from typing import Any

from cbcore._build.builder import Builder
from cbcore.exceptions import CBError
from cbcore.plugins._host import PluginHost, default_host
from cbcore.runconfig import RunConfig
from cbcore.specs import Spec


def metrics_of(config: RunConfig, host: PluginHost | None = None) -> tuple[list[Any], list[str]]:
    """The metrics that a run was made with, and what could not be made of them."""
    builder = Builder(host or default_host())
    made, problems = [], []
    for record in config.get("metrics", ()):
        name = str(record.get("component") or record.get("name"))
        if record.get("plugin") == "python" or name == "py":
            # Whose code that is, the file of a stranger must not decide.
            problems.append(f"the metric {name!r} is left out: it is nobody's plugin")
            continue
        params = {k: v for k, v in dict(record.get("params", {})).items() if v is not None}
        try:
            made.append(builder.build("metric", Spec(name, params=params)).value)
        except CBError as error:
            problems.append(f"the metric {name!r} is left out: {error.message}")
    return made, problems
