"""`python -m benchmarks [NAME …] [--quick]`; names are those of `BENCHMARKS`."""

from __future__ import annotations

import argparse
from importlib import import_module

from benchmarks import machine
from benchmarks.environments import ROOT
from benchmarks.report import Table

BENCHMARKS = (
    *("startup", "default_run", "overhead", "scale", "shards", "simulation", "processes", "ray"),
    *("ragas_precision", "requests", "page", "statistics"),
)
RESULTS = ROOT / "benchmarks" / "results"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, smaller sizes")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in BENCHMARKS:
            parser.error(f"no benchmark is called {name!r}; there are {', '.join(BENCHMARKS)}")
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or BENCHMARKS:
        described = machine.describe()
        report = import_module(f"benchmarks.{name}").run(quick=arguments.quick)
        described["load average after"] = machine.load_average()
        report.notes.append(
            f"load average {described['load average before']} before and "
            f"{described['load average after']} after, on {described['cores']} cores"
        )
        if arguments.quick:
            report.notes.append("measured with --quick: fewer repetitions and smaller sizes")
        report.write(RESULTS, described, machine.versions())
        print(report.markdown())
        write_summary(described)


def write_summary(described: dict[str, str]) -> None:
    """Join the newest result of every benchmark that was run."""
    facts = [[name, value] for name, value in {**described, **machine.versions()}.items()]
    parts = ["# Benchmark results", Table("Machine", ["what", "value"], facts).markdown()]
    for name in BENCHMARKS:
        path = RESULTS / f"{name}.md"
        if path.exists():
            parts.append(path.read_text(encoding="utf-8"))
    (RESULTS / "summary.md").write_text("\n\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
