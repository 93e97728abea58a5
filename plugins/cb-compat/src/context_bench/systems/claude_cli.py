"""Claude Code as a system: one call of `claude -p` for each example."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

from cbcore.contexts import context_of
from cbcore.exceptions import ProcessError
from cbcore.introspection import attributes_without
from cbcore.texts import context_twin

_SHOWN_CHARACTERS = 300


class ClaudeCLI:
    """Asks the `claude` command, which has to be installed.

    `model`, `max_turns`, `allowed_tools` and `system_prompt` are passed on to it; `timeout` is
    in seconds. `build_prompt` is a function from an example to the prompt. A command that
    fails or takes too long raises `ProcessError`, so that the row has an error and no answer.
    """

    identity = attributes_without("name")

    def __init__(
        self,
        name: str = "claude",
        model: str | None = None,
        max_turns: int | None = None,
        allowed_tools: str | None = None,
        system_prompt: str | None = None,
        timeout: float = 120.0,
        build_prompt: Callable[[dict[str, Any]], str] | None = None,
    ) -> None:
        self.name = name
        self.model = model
        self.max_turns = max_turns
        self.allowed_tools = allowed_tools
        self.system_prompt = system_prompt
        self.timeout = timeout
        self.build_prompt = build_prompt

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """The example with what the command printed as `response`."""
        prompt = (self.build_prompt or _prompt)(example)
        return {**example, "response": self._printed(prompt)}

    def _printed(self, prompt: str) -> str:
        try:
            claude = subprocess.Popen(  # noqa: S603 - the command is fixed, the prompt is its input
                self._command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise ProcessError(
                "there is no command 'claude'", hint="install Claude Code, or adjust PATH"
            ) from error
        try:
            printed, complained = claude.communicate(prompt, timeout=self.timeout)
        except subprocess.TimeoutExpired as error:
            raise ProcessError(f"claude gave no answer within {self.timeout:g} s") from error
        finally:
            _end(claude)
        if claude.returncode != 0:
            told = (complained.strip() or printed.strip())[-_SHOWN_CHARACTERS:]
            raise ProcessError(f"claude ended with exit code {claude.returncode}: {told}")
        return printed.strip()

    def _command(self) -> list[str]:
        options = {
            "--model": self.model,
            "--max-turns": self.max_turns,
            "--allowedTools": self.allowed_tools,
            "--system-prompt": self.system_prompt,
        }
        given = [(option, str(value)) for option, value in options.items() if value is not None]
        return ["claude", "-p", "--print", *(part for pair in given for part in pair)]


def _end(claude: subprocess.Popen[str]) -> None:
    """End the command and all it started, where that still runs."""
    if claude.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(claude.pid, signal.SIGKILL)
        claude.communicate()


def _prompt(example: dict[str, Any]) -> str:
    context = None if context_twin(example) else context_of(example)
    parts = [str(text) for text in (context, example.get("question")) if text]
    return "\n\n".join(parts)
