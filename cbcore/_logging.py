"""Log lines on standard error: for people by default, as JSON when asked.

Nothing is configured globally: a program that uses structlog itself keeps its own settings.
"""

from __future__ import annotations

import sys
from collections.abc import MutableMapping
from typing import Any

import attrs

from cbcore.secrets import redact, redact_value
from cbcore.texts import visible, visible_json

Event = MutableMapping[str, Any]
_LEVELS = ("debug", "info", "warning", "error")


@attrs.define(eq=False, repr=False)
class LogSettings:
    """How log lines look and which are shown. `threshold` indexes debug, info, warning, error."""

    threshold: int = 2
    as_json: bool = False


settings = LogSettings()


def configure(*, verbosity: int = 0, as_json: bool = False) -> None:
    """`verbosity` 0 shows warnings, 1 information, 2 everything, -1 errors only."""
    settings.threshold = min(max(2 - verbosity, 0), 3)
    settings.as_json = as_json


def show_plugin_loggers() -> None:
    """Show what plugins log to standard loggers below `cb`, such as `cb.openai`, as our own."""
    import logging

    class Forward(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            level = min(max(record.levelno // 10 - 1, 0), 3)
            getattr(get_logger(), _LEVELS[level])(record.getMessage())

    shown = logging.getLogger("cb")
    shown.handlers = [Forward()]
    shown.setLevel((settings.threshold + 1) * 10)
    shown.propagate = False


def is_verbose() -> bool:
    """Whether `--verbose` was given."""
    return settings.threshold < LogSettings().threshold


def is_quiet() -> bool:
    """Whether `--quiet` was given."""
    return settings.threshold > LogSettings().threshold


def log_info(message: str) -> None:
    """Log what few users want to know. Without `--verbose` it costs nothing."""
    if is_verbose():
        get_logger().info(message)


def log_progress(message: str) -> None:
    """Log how far something is, unless `--quiet` was given."""
    if is_quiet():
        return
    if settings.as_json:
        get_logger(anyway=True).info(message)
    else:  # not worth the import of structlog
        sys.stderr.write(_format_line(None, "", {"level": "info", "event": redact(message)}) + "\n")


def get_logger(*, anyway: bool = False) -> Any:
    """The logger of `cb`. With `anyway`, it drops no line.

    structlog is imported here, so that light commands do not pay for it.
    """
    import structlog

    def drop_quiet(_: Any, method: str, event: Event) -> Event:
        if not anyway and _LEVELS.index(method) < settings.threshold:
            raise structlog.DropEvent
        return event

    processors: list[Any] = [structlog.processors.add_log_level, drop_quiet, _redact]
    if settings.as_json:
        processors += [
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.JSONRenderer(ensure_ascii=False),
            lambda _, __, line: visible_json(line),
        ]
    else:
        processors.append(_format_line)
    # Not a PrintLogger, which takes for standard output what that was when it was imported.
    return structlog.wrap_logger(structlog.WriteLogger(sys.stderr), processors=processors)


def _redact(_: Any, __: str, event: Event) -> Event:
    return {key: redact_value(key, value) for key, value in event.items()}


def _format_line(_: Any, __: str, event: Event) -> str:
    return visible(f"cb: {event['level']}: {event['event']}", keep="\n")
