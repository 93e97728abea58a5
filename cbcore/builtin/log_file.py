"""Log lines of other libraries go to a file of the run, not between the lines of its progress."""

from __future__ import annotations

import contextlib
import logging
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cbcore._logging import log_progress
from cbcore.secrets import redact

if TYPE_CHECKING:
    from cbcore.protocols import Run


class LogFile(logging.Handler):
    """Writes log records of level INFO and above to a file, which is made for the first of them.

    Warnings of plugins of `cb` are shown as without this handler.
    """

    def __init__(self, folder: str | Path | None, run_id: str) -> None:
        """`folder` is that of the store; None for a run without one."""
        super().__init__(logging.INFO)
        self._folder = folder
        self._run_id = run_id
        self._n_lines = 0
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    @cached_property
    def _path(self) -> Path:
        import tempfile

        folder = Path(self._folder or Path(tempfile.gettempdir(), "cb"), "logs")
        return folder / f"{self._run_id}.log"

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(Exception):  # a log line is not worth a row
            if record.name.startswith("cb."):
                if logging.getLogger().handlers[0] is self and record.levelno >= logging.WARNING:
                    logging.lastResort.handle(record)  # type: ignore[union-attr]
                return
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8", errors="replace") as file:
                file.write(redact(self.format(record)) + "\n")
            self._n_lines += 1

    def cb_run_finished(self) -> None:
        """Write no more."""
        logging.getLogger().removeHandler(self)
        logging.captureWarnings(False)
        if self._n_lines:
            log_progress(f"{self._n_lines:,} log lines of other libraries are in {self._path}.")


def cb_run_started(run: Run) -> None:
    """Collect the log lines of this run."""
    handler = LogFile(run.settings.cache_dir, run.run_id)
    logging.getLogger().addHandler(handler)
    logging.captureWarnings(True)
    run.hooks.register(handler)
