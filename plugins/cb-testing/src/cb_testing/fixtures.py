"""Fixtures for tests of plugins: `cb_runner` runs the command, `tmp_plugin` makes a plugin.

Loaded by `pytest_plugins = ["cb_testing"]`. Nothing to rewrite: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import attrs
import pytest

from cb_testing.distributions import write_distribution
from cbcore.plugins import default_catalog

_TIME_LIMIT_S = 120
_KEPT = ("PATH", "SYSTEMROOT", "LANG", "VIRTUAL_ENV", "PYTHONPATH")


@attrs.frozen
class Completed:
    """How a command ended, and what it wrote."""

    exit_code: int
    stdout: str
    stderr: str


@attrs.frozen
class CbRunner:
    """Runs `cb` in an empty folder, with an empty cache and none of the user's settings."""

    folder: Path
    cache: Path
    site: Path

    def __call__(
        self, *arguments: str, process: bool = False, env: Mapping[str, str] | None = None
    ) -> Completed:
        """Run `cb` with these arguments, here or in a new process, `env` on top of its variables.

        In this process it is fast, and fakes can be used; a process of its own shares nothing
        with the test.
        """
        environment = {**self._environment(), **(env or {})}
        if process:
            return self._in_a_process(arguments, environment)
        return self._here(arguments, environment)

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        return {**kept, "XDG_CACHE_HOME": str(self.cache), "HOME": str(self.cache)}

    def _in_a_process(self, arguments: Iterable[str], environment: dict[str, str]) -> Completed:
        path = [str(self.site), environment.get("PYTHONPATH", "")]
        done = subprocess.run(  # noqa: S603 - this interpreter, arguments of the test
            [sys.executable, "-m", "cbcore", *arguments],
            cwd=self.folder,
            env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, path))},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_TIME_LIMIT_S,
            check=False,
        )
        return Completed(done.returncode, done.stdout, done.stderr)

    def _here(self, arguments: Iterable[str], environment: dict[str, str]) -> Completed:
        code: object = 0
        with pytest.MonkeyPatch.context() as patch:
            for name in set(os.environ) - set(environment):
                patch.delenv(name)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", ["cb", *arguments])
            out, err = io.StringIO(), io.StringIO()
            with (
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
                _same_signal_handlers(),
            ):
                try:
                    # Under another name than "__main__", it leaves the process as it is.
                    runpy.run_module("cbcore", run_name="cbcore.__main__")
                except SystemExit as exit_:
                    code = exit_.code
        return Completed(int(str(code or 0)), out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _same_signal_handlers() -> Iterator[None]:
    """Restore the handlers that a command sets, as a process of its own has no need to do."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


@attrs.frozen
class TmpPlugin:
    """Makes plugins that discovery finds, as if they had been installed."""

    site: Path

    def __call__(
        self,
        name: str,
        entries: Mapping[str, Mapping[str, str]],
        modules: Mapping[str, str] | None = None,
        *,
        version: str = "1.0",
        requires: Iterable[str] = ("cbcore",),
    ) -> str:
        """Make a distribution and return its name.

        `entries` maps entry-point groups (`cb.evaluators`) to names and targets, `modules`
        file paths (`mine.py`) to sources; what the targets name may also be importable already.
        """
        write_distribution(self.site, name, entries, modules, version=version, requires=requires)
        importlib.invalidate_caches()
        default_catalog.cache_clear()
        return name


@pytest.fixture
def cb_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that `tmp_plugin` installs into; what was imported from it is forgotten after."""
    site = tmp_path / "cb-site"
    site.mkdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(site)
    yield site
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(site)):
            del sys.modules[name]
    default_catalog.cache_clear()


@pytest.fixture
def tmp_plugin(cb_site: Path) -> TmpPlugin:
    """Install plugins made for the test: `tmp_plugin(name, entries, modules)`."""
    return TmpPlugin(cb_site)


@pytest.fixture
def cb_runner(tmp_path: Path, cb_site: Path) -> CbRunner:
    """Run `cb` apart from the user's settings: `cb_runner("run", …)`; it sees `tmp_plugin`s."""
    folder, cache = tmp_path / "cb-work", tmp_path / "cb-cache"
    folder.mkdir()
    cache.mkdir()
    return CbRunner(folder, cache, cb_site)
