"""How long light commands and a run of one row take: `cb` with few and many plugins, beside others.

Every measurement is a fresh process, with warm file caches and the memory of `cb` filled.
`cb` is installed from wheels, as a user has it, in an environment of its own like the peers.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import environments, fake_plugins
from benchmarks.measuring import Samples, SkippedError, interleaved, run_command
from benchmarks.report import Report, Table

PLUGINS = (20, 100, 300)
PEER_COMMANDS = {
    "pytest --version": ("pytest", "pytest", "--version"),
    "llm plugins": ("llm", "llm", "plugins"),
    "datasette plugins": ("datasette", "datasette", "plugins"),
    "inspect --help": ("inspect", "inspect", "--help"),
    "lm-eval ls tasks": ("lm-eval", "lm-eval", "ls", "tasks"),
}
LISTING = "cb list-plugins, 20 more plugins"
CB_COMMANDS = ("--version", "--help", "list-plugins")
SMALL_RUN = (
    *("run", "--system", "bm25:max_tokens=150 | extractive", "--dataset", "hotpotqa:sample"),
    *("-n", "1", "--output", "html=r.html", "--cache-dir", ".cb"),
)
RUN_NAME = "cb run, one row"
_COUNT_MODULES = """
import sys
before = set(sys.modules)
from cbcore.cli import main
try:
    main({arguments!r})
except SystemExit:
    pass
print(len(set(sys.modules) - before), len(before), file=sys.stderr)
"""


def run(*, quick: bool) -> Report:
    report = Report("startup")
    cb = environments.installed_cb()
    if cb.problem:
        report.notes.append(f"cb could not be installed from wheels: {cb.problem}")
        return report
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            "XDG_CACHE_HOME": f"{folder}/cache",
            "LLM_USER_PATH": f"{folder}/llm",
            "HF_HUB_OFFLINE": "1",
        }
        crowds = {
            number: str(fake_plugins.write(Path(folder) / f"plugins-{number}", number))
            for number in (PLUGINS[:2] if quick else PLUGINS)
        }
        light, slow = _cases(cb, crowds, environ, folder)
        times = interleaved(light, 5 if quick else 20)
        slow_times = interleaved(slow, 1 if quick else 3)
        times |= {name: values for name, values in slow_times.items() if name not in times}
        _tabulate(report, times)
        _add_targets(report, times, slow_times)
        _add_modules(report, cb.python, environ, folder)
        _add_imports(report, cb.python, environ, folder, "cb list-plugins", ["list-plugins"])
        _add_imports(report, cb.python, environ, folder, RUN_NAME, list(SMALL_RUN))
    return report


def _cases(
    cb: environments.Environment, crowds: Mapping[int, str], environ: dict[str, str], folder: str
) -> tuple[dict[str, Callable[[], float]], dict[str, Callable[[], float]]]:
    """What is timed: commands of a tenth of a second often, those of seconds a few times."""
    measure = functools.partial(run_command, folder=folder)
    cb_command = cb.command("cb")
    light: dict[str, Callable[[], float]] = {
        "python -c pass": functools.partial(measure, [cb.python, "-c", "pass"], environ)
    }
    for command in CB_COMMANDS:
        light[f"cb {command}"] = functools.partial(measure, [cb_command, command], environ)
    light[RUN_NAME] = functools.partial(_measure_run, cb_command, environ)
    for number, path in crowds.items():
        # A memory of its own each: the fake plugins of one crowd are those of the next.
        crowded = environ | {"PYTHONPATH": path, "XDG_CACHE_HOME": f"{folder}/cache-{number}"}
        light[f"cb list-plugins, {number} more plugins"] = functools.partial(
            measure, [cb_command, "list-plugins"], crowded
        )
    # Measured again among the slow ones, so that the ratio to them is of the same rounds.
    slow = {LISTING: light[LISTING]}
    for name, (peer, *command) in PEER_COMMANDS.items():
        cases = light if peer == "pytest" else slow
        cases[name] = functools.partial(_measure_peer, peer, command, environ, folder)
    developed = str(Path(sys.executable).with_name("cb"))
    light["cb list-plugins, editable install"] = functools.partial(
        measure, [developed, "list-plugins"], environ
    )
    light[f"{RUN_NAME}, editable install"] = functools.partial(_measure_run, developed, environ)
    return light, slow


def _measure_run(cb_command: str, environ: dict[str, str]) -> float:
    """In an empty folder each time: nothing is stored yet."""
    with tempfile.TemporaryDirectory() as folder:
        return run_command([cb_command, *SMALL_RUN], environ, folder=folder)


def _measure_peer(name: str, command: list[str], environ: dict[str, str], folder: str) -> float:
    environment = environments.peer(name)
    if environment.problem:
        raise SkippedError(environment.problem)
    return run_command([environment.command(command[0]), *command[1:]], environ, folder=folder)


def _samples(times: Mapping[str, list[Any]], name: str) -> Samples | None:
    values = times.get(name) or [SkippedError("not measured")]
    return None if isinstance(values[0], SkippedError) else Samples(tuple(values))


def _tabulate(report: Report, times: Mapping[str, list[Any]]) -> None:
    table = Table("Start-up", ["command", "min ms", "median ms", "× pytest --version", "runs"])
    unit = _samples(times, "pytest --version")
    for name, values in times.items():
        if isinstance(values[0], SkippedError):
            table.rows.append([name, "–", "–", f"skipped: {values[0]}", "0"])
            continue
        samples = Samples(tuple(values))
        ratio = f"{samples.minimum / unit.minimum:.2f}" if unit else "–"
        shown = [f"{samples.minimum * 1000:.1f}", f"{samples.median * 1000:.1f}", ratio]
        table.rows.append([name, *shown, str(len(values))])
        report.data[name] = {"seconds": values}
    report.tables.append(table)


def _add_targets(
    report: Report, times: Mapping[str, list[Any]], slow_times: Mapping[str, list[Any]]
) -> None:
    for peer, share, rounds in (
        ("pytest --version", 1.3, times),
        ("llm plugins", 0.2, slow_times),
    ):
        listing, other = _samples(rounds, LISTING), _samples(rounds, peer)
        if listing and other:
            value, middle = listing.minimum / other.minimum, listing.median / other.median
            report.limit(LISTING, f"÷ {peer}", value, share, "×", median=middle)
        else:
            report.limit(LISTING, f"÷ {peer}", None, share, "×")
    few, many = PLUGINS[1:]
    small = _samples(times, f"cb list-plugins, {few} more plugins")
    large = _samples(times, f"cb list-plugins, {many} more plugins")
    work, per_plugin = f"each plugin between {few} and {many}", 1000 / (many - few)
    if small and large:
        value = (large.minimum - small.minimum) * per_plugin
        middle = (large.median - small.median) * per_plugin
        report.limit(work, "cost", value, 0.3, " ms", median=middle)
    else:
        report.limit(work, "cost", None, 0.3, " ms")


def _add_modules(report: Report, python: str, environ: dict[str, str], folder: str) -> None:
    table = Table("Modules imported", ["command", "by the command", "by the interpreter"])
    commands = {f"cb {command}": [command] for command in CB_COMMANDS}
    for name, arguments in {**commands, RUN_NAME: list(SMALL_RUN)}.items():
        done = _python(python, ["-c", _COUNT_MODULES.format(arguments=arguments)], environ, folder)
        added, before = done.stderr.split()[-2:]
        table.rows.append([name, added, before])
        report.data[f"modules: {name}"] = int(added)
    report.tables.append(table)


def _add_imports(
    report: Report,
    python: str,
    environ: dict[str, str],
    folder: str,
    name: str,
    arguments: list[str],
) -> None:
    """Where importing spends its time: the dearest modules of a command by own time."""
    code = f"from cbcore.cli import main; main({arguments!r})"
    done = _python(python, ["-X", "importtime", "-c", code], environ, folder)
    costs = []
    for line in done.stderr.splitlines():
        own, _, rest = line.removeprefix("import time:").partition("|")
        if own.strip().isdigit():
            cumulative, _, module = rest.partition("|")
            costs.append((int(own), int(cumulative), module.strip()))
    table = Table(f"Imports of {name}", ["module", "own ms", "with what it imports ms"])
    table.rows = [
        [module, f"{own / 1000:.1f}", f"{cumulative / 1000:.1f}"]
        for own, cumulative, module in sorted(costs, reverse=True)[:20]
    ]
    total = sum(own for own, _, _ in costs) / 1000
    table.rows.append([f"all {len(costs)}, as slowed by the tracing", f"{total:.1f}", ""])
    report.tables.append(table)


def _python(
    python: str, arguments: list[str], environ: dict[str, str], folder: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *arguments], capture_output=True, text=True, env=environ, cwd=folder, check=True
    )
