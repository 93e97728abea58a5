"""From specs to what is run: components built and checked, data wired to its evaluators.

A plugin uses this in `cb_configure`:

    def cb_configure(settings: RunSettings, builder: Builder) -> None:
        for file in settings.get("questions") or ():
            evaluator = builder.share(builder.build("evaluator", Mentioned()))
            benchmark = Benchmark(file, read(file), [evaluator], main_score="mentioned")
            settings.datasets.append(benchmark)
"""

from cbcore.assembly.builder import Builder
from cbcore.components import Built
from cbcore.run.examples import Benchmark

__all__ = [
    "Benchmark",
    "Builder",
    "Built",
]
