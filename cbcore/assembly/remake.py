"""How a component was built from specs, so that a worker can build it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cbcore.specs import Spec


@attrs.frozen(eq=False, repr=False)
class Remake:
    """Builds a component of a kind from the specs of its stages, in any process.

    The specs name plugins, so that no policy is needed to tell whose component is meant. `offered`
    is what the builder of the run had for every component that takes it.
    """

    kind: str
    stages: tuple[Spec, ...]
    offered: Mapping[str, Any] = attrs.Factory(dict)

    def __call__(self) -> Any:
        from cbcore.assembly.builder import Builder
        from cbcore.plugins import Catalog, read_distributions
        from cbcore.plugins.policy import PluginPolicy

        named = [stage.name for stage in self.stages if stage.name != "py"]
        plugins = {name.partition("/")[0] for name in named}
        catalog = Catalog(read_distributions(), PluginPolicy(only=frozenset(plugins)))
        builder = Builder(catalog, offered=self.offered)
        if len(self.stages) > 1:
            return builder.system(list(self.stages)).value
        return builder.build(self.kind, self.stages[0]).value
