"""Import plugins in another process, where a plugin may exit, hang or print without harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

import attrs

from cbcore.components import Component, Owner
from cbcore.exceptions import CBError, PluginLoadError
from cbcore.names import canonical
from cbcore.plugins import Catalog, Distribution, read_distributions
from cbcore.secrets import notice_environment

_TIME_LIMIT_S = 60.0
_START = """\
import json, sys
sys.path = json.loads(sys.argv[1])[0]
from cb_manage.trials import main
main()
"""
_READY = "null"


@attrs.frozen
class Trial:
    """The outcome of importing everything that a plugin names. `reason` is empty if it works.

    `offers` are the kind, name and target of its components, those of its hook modules included.
    """

    reason: str = ""
    hint: str | None = None
    import_ms: float | None = None
    offers: Sequence[tuple[str, str, str]] = ()


def try_plugins(catalog: Catalog, *, timeout_s: float = _TIME_LIMIT_S) -> dict[str, Trial]:
    """Import all usable plugins in a child process, and mark those that fail as broken.

    Returns a trial for each by name. If a plugin ends the child or takes longer than `timeout_s`,
    another child imports the plugins after it. The catalog then has the components of all
    plugins, and the outcomes are recorded for `cb list-plugins`.
    """
    usable = {plugin.name: plugin for plugin in catalog.plugins if plugin.is_usable}
    trials: dict[str, Trial] = {}
    while waiting := [name for name in usable if name not in trials]:
        answers, ending = _run_child(waiting, timeout_s)
        trials.update(zip(waiting, answers, strict=False))
        if len(answers) < len(waiting):
            trials[waiting[len(answers)]] = Trial(f"importing it {ending}")
    for name, trial in trials.items():
        plugin = usable[name]
        error = PluginLoadError(name, trial.reason, hint=trial.hint) if trial.reason else None
        catalog.note_trial(plugin, error, has_ended=trial.import_ms is None)
        if error is None:
            plugin.components = [
                Component(kind=kind, name=offer, target=target, owner=Owner(name, plugin.version))
                for kind, offer, target in trial.offers
            ]
    return trials


def _run_child(names: Sequence[str], timeout_s: float) -> tuple[list[Trial], str]:
    """The trials that a child finished, in the order of the names, and how it ended."""
    # A file, not a pipe: a process that a plugin leaves behind would hold a pipe open.
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(  # noqa: S603 - this interpreter and its own import path
            [sys.executable, "-c", _START, json.dumps([sys.path, list(names)])],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
        )
        try:
            ending = _wait(child, output.fileno(), timeout_s)
        finally:
            child.kill()
            child.wait()
        output.seek(0)
        complete, _, _ = output.read().decode().rpartition("\n")
    ready, *lines = complete.split("\n")
    if ready != _READY:
        raise CBError(f"Plugins cannot be checked: a new interpreter {ending}.")
    return [Trial(**json.loads(line)) for line in lines], ending


def _wait(child: subprocess.Popen[bytes], output: int, timeout_s: float) -> str:
    """Wait until the child ends, or writes nothing for `timeout_s`; return which of them."""
    size, deadline = 0, time.monotonic() + timeout_s
    while (left_s := deadline - time.monotonic()) > 0:
        try:
            return f"ended the interpreter (exit code {child.wait(min(left_s, timeout_s / 10))})"
        except subprocess.TimeoutExpired:
            if (current := os.fstat(output).st_size) > size:
                size, deadline = current, time.monotonic() + timeout_s
    return f"took more than {timeout_s:g} s"


# -- in the child -------------------------------------------------------------------------------


def main() -> None:
    """Import the plugins that the last argument names, and write one line for each."""
    process = os.getpid()
    notice_environment()  # an error message may contain a key
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of plugins is of no use here
    distributions = read_distributions()
    print(_READY, file=output, flush=True)
    for name in json.loads(sys.argv[1])[1]:
        trial = _load_plugin(name, distributions)
        if os.getpid() != process:
            os._exit(0)  # a plugin forked; the copy must not answer
        print(json.dumps(attrs.asdict(trial)), file=output, flush=True)
    os._exit(0)  # threads of a plugin must not delay the end


def _load_plugin(name: str, distributions: Sequence[Distribution]) -> Trial:
    mine = [d for d in distributions if canonical(d.name) == canonical(name)][:1]
    catalog = Catalog(mine, kinds_from=distributions)
    (plugin,) = catalog.plugins
    started = time.perf_counter()
    catalog.load_all([plugin])
    import_ms = round((time.perf_counter() - started) * 1000, 1)
    if not plugin.is_usable:
        return Trial(plugin.reason, plugin.remedy or None, import_ms)
    offers = [(c.kind, c.name, str(c.target)) for c in plugin.components]
    return Trial(import_ms=import_ms, offers=offers)
