"""Log lines on standard error: for people by default, as JSON when asked.

Nothing is configured globally: a program that uses structlog itself keeps its own settings.
"""

from __future__ import annotations

import sys
from collections.abc import MutableMapping
from typing import Any

import attrs

from cbcore.secrets import visible as without_secrets
from cbcore.texts import visible, visible_json

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
    _show_plugin_loggers()


def _show_plugin_loggers() -> None:
    """Show what plugins tell the standard loggers below `cb`, such as `cb.openai`, as our own."""
    import logging

    class Forward(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            level = min(max(record.levelno // 10 - 1, 0), 3)
            getattr(get_logger(), _LEVELS[level])(record.getMessage())

    shown = logging.getLogger("cb")
    shown.handlers = [Forward()]
    shown.setLevel((settings.threshold + 1) * 10)
    shown.propagate = False


def log_info(message: str) -> None:
    """Tell what few want to know; where nobody asked, it costs nothing."""
    if settings.threshold <= _LEVELS.index("info"):
        get_logger().info(message)


def log_said(example_id: str | int, text: str) -> None:
    """Show what components printed in another process, with the example they were at."""
    if not is_quiet():
        for line in text.splitlines():
            get_logger(anyway=True).info(f"{example_id}: {line}")


def is_verbose() -> bool:
    """Whether more than usual is to be told."""
    return settings.threshold < LogSettings().threshold


def is_quiet() -> bool:
    """Whether nothing but errors is to be told."""
    return settings.threshold > LogSettings().threshold


def log_progress(message: str) -> None:
    """Tell how far something is; whoever wants to know nothing has asked for no progress."""
    if not is_quiet():
        get_logger(anyway=True).info(message)


def get_logger(*, anyway: bool = False) -> Any:
    """The logger of `cb`; with `anyway`, one that leaves out no line.

    structlog is imported here, so that light commands never pay for it.
    """
    import structlog

    processors: list[Any] = [_redact] if anyway else [_drop_quiet, _redact]
    if settings.as_json:
        processors += [
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.JSONRenderer(ensure_ascii=False),
            _as_safe_json,
        ]
    else:
        processors.append(_as_line)
    return structlog.wrap_logger(
        # Not a PrintLogger, which takes for standard output what that was when it was imported:
        # in a run, standard error.
        structlog.WriteLogger(sys.stderr),
        processors=[structlog.processors.add_log_level, *processors],
    )


def _drop_quiet(_: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if _LEVELS.index(method) < settings.threshold:
        import structlog

        raise structlog.DropEvent
    return event


def _redact(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {key: without_secrets(key, value) for key, value in event.items()}


def _as_line(_: Any, __: str, event: MutableMapping[str, Any]) -> str:
    level, text = event.pop("level"), event.pop("event")
    facts = "".join(f" {key}={value}" for key, value in event.items())
    return visible(f"cb: {level}: {text}{facts}", keep="\n")


def _as_safe_json(_: Any, __: str, line: str) -> str:
    return visible_json(line)
