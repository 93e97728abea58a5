"""Importing a plugin: that it works, costs little and prints nothing. Tried in another process."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from cbcore._manage.rules import HEAVY_PACKAGES
from cbcore.components import describe_exception
from cbcore.plugins._children import ask_child
from cbcore.testing._rule import Note, rule

MOST_MODULES = 150
"""Modules that importing a plugin may load beyond those of the core's contract."""

_TIME_LIMIT_S = 120
_CONTRACT = ("cbcore.hookspecs", "cbcore.protocols", "cbcore.hf", "cbcore.tokens", "cbcore.specs")


@attrs.frozen
class Import:
    """What importing one module did. `problem` is set when it failed."""

    name: str
    loaded: tuple[str, ...] = ()
    seconds: float = 0.0
    printed: str = ""
    problem: str = ""


def import_each(modules: Sequence[str]) -> list[Import]:
    """Import modules, in order, in a new process that has this one's import path.

    One that ends the process is charged; those after it are tried in another.
    """
    done: list[Import] = []
    waiting = list(modules)
    while waiting:
        lines, ending = ask_child(__name__, waiting, timeout_s=_TIME_LIMIT_S)
        done += [Import(**line) for line in lines]
        waiting = waiting[len(lines) :]
        if waiting:
            done.append(Import(waiting.pop(0), problem=f"it ended the interpreter ({ending})"))
    return done


def main() -> None:
    """In the child: read names on standard input, write a line after each import."""
    import importlib

    wanted = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for name in _CONTRACT:
        importlib.import_module(name)
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
        for name in wanted:
            print(json.dumps(_imported(name, printed)), file=out, flush=True)
    os._exit(0)  # threads that a plugin started do not keep anybody waiting


def _imported(name: str, printed: Any) -> dict[str, Any]:
    import importlib

    before, start, problem = set(sys.modules), printed.tell(), ""
    began = time.perf_counter()
    try:
        importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001 - the plugin boundary
        problem = describe_exception(error)
    seconds = time.perf_counter() - began
    sys.stdout.flush()
    printed.seek(start)
    return {
        "name": name,
        "loaded": sorted(set(sys.modules) - before),
        "seconds": seconds,
        "printed": printed.read(1000).decode("utf-8", "replace"),
        "problem": problem,
    }


@rule("import-works", "plugin")
def works(imports: Sequence[Import]) -> Iterator[str]:
    """Every module that an entry point names can be imported."""
    for done in imports:
        if done.problem:
            yield f"importing {done.name} failed: {done.problem}"


@rule("import-light", "plugin")
def light(imports: Sequence[Import]) -> Iterator[str]:
    """Importing the plugin loads no heavy package and few modules."""
    loaded = [module for done in imports for module in done.loaded]
    for done in imports:
        heavy = sorted({module.partition(".")[0] for module in done.loaded} & HEAVY_PACKAGES)
        if heavy:
            yield (
                f"importing {done.name} loads {', '.join(heavy)}: import inside the function "
                "that needs it"
            )
    if len(loaded) > MOST_MODULES:
        yield f"importing it loads {len(loaded)} modules, {MOST_MODULES} are allowed"
    milliseconds = sum(done.seconds for done in imports) * 1000
    yield Note(f"importing it loads {len(loaded)} modules in {milliseconds:.0f} ms")


@rule("import-silent", "plugin")
def silent(imports: Sequence[Import]) -> Iterator[str]:
    """Importing the plugin prints nothing to standard output."""
    for done in imports:
        if done.printed:
            first = done.printed.strip().partition("\n")[0][:60]
            yield f"importing {done.name} prints {first!r}: remove it, or use the logging module"
