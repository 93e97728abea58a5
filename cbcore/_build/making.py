"""How a component was made, kept beside it, so that it can be made again somewhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from cbcore.specs import Spec

if TYPE_CHECKING:
    from cbcore._build.builder import Builder


@attrs.frozen(eq=False, repr=False)
class Making:
    """A kind and the spec of one of its components; several are the stages of a chain.

    `offered` is what the builder had for every component that takes it. Names in it are those of
    plugins, where there is one, so that no policy is needed to tell whose component is meant.
    """

    kind: str
    stages: tuple[Spec, ...]
    offered: Mapping[str, Any] = attrs.Factory(dict)

    def made(self, builder: Builder) -> Any:
        """The component, made by a builder that offers what the first one did."""
        builder = type(builder)(builder.catalog, offered=self.offered)
        if len(self.stages) > 1:
            return builder.system(list(self.stages)).value
        return builder.build(self.kind, self.stages[0]).value
