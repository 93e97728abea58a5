"""What a plugin adds to a run in `cb_configure`: benchmarks, and components that are built.

def cb_configure(settings: RunSettings, builder: Builder) -> None:
    for file in settings.get("questions") or ():
        scorer = Scorer.of(builder.share(builder.build("evaluator", Mentioned())))
        settings.datasets.append(Benchmark(file, read(file), [scorer], main_score="mentioned"))
"""

from cbcore._build.builder import Builder
from cbcore._build.main_score import tasks_of
from cbcore._run.benchmark import Benchmark
from cbcore._run.parts import Part
from cbcore._run.scorers import Scorer

__all__ = [
    "Benchmark",
    "Builder",
    "Part",
    "Scorer",
    "tasks_of",
]
