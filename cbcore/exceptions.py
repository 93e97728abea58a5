"""Every error `cb` raises on purpose.

CBError                          exit 1   message, hint, exit_code
├── UsageError                   exit 2   the user can fix it
│   ├── SpecError                         a spec string that cannot be read
│   ├── UnknownComponentError             a name nothing installed offers
│   ├── ParameterError                    a component refuses what it was given
│   ├── ConfigError                       a run file or [tool.cb] that cannot be used
│   └── MissingExtraError                 an optional dependency is not installed
├── PluginError                  exit 3   the plugin's author can fix it
│   ├── PluginLoadError                   it cannot be imported, or needs another core
│   ├── PluginContractError               it returned something of the wrong shape
│   └── DuplicateNameError                two plugins claim one name
├── RunError                     exit 4   it happened while examples were processed
│   ├── DataError                         the dataset or one example is unusable
│   ├── ProcessError                      a system failed on an example
│   ├── ScoringError                      an evaluator failed on an example
│   │   └── MissingScoreError             no score can be given, for a stated reason
│   │       └── ColumnError               a column mapping does not fit the data
│   ├── NothingScoredError       exit 7   not one row has the score that quality means
│   └── RunStoppedError                   the run ended early; what is done is kept
│       └── RunInterruptedError  exit 130 the same, by Ctrl-C, SIGTERM or SIGHUP
├── ResultError                  exit 5   a result that cannot be read or used
├── StoreError                   exit 6   the store cannot be opened, read or written
├── ReportError                  exit 8   a report cannot be written
└── GateError                    exit 9   a result breaks a rule that it was held to

A message says what was tried, with which value; the hint says what to do next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cbcore.names import plural, suggest
from cbcore.secrets import redact

if TYPE_CHECKING:
    from cbcore.results import EvalResult


class CBError(Exception):
    """Base of all errors raised on purpose; the command line shows it without a traceback.

    Secrets are redacted in its message and its hint.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        message = redact(str(message))
        super().__init__(message)
        self.message = message
        self.hint = hint if hint is None else redact(hint)

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses take facts, not messages, so that the default way of copying would fail.
        return _restore, (type(self), self.args, self.__dict__.copy())


def _restore(kind: type[CBError], arguments: tuple[Any, ...], state: dict[str, Any]) -> CBError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(state)
    return error


class UsageError(CBError):
    """Something the user asked for cannot be done as asked."""

    exit_code = 2


class SpecError(UsageError):
    """A spec string does not follow `name[:config][,key=value…]`."""

    def __init__(self, spec: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"cannot read the spec {spec!r}: {reason}",
            hint=hint or "write name, name:config, name:key=value or name:config,key=value",
        )
        self.spec = spec
        self.reason = reason


class UnknownComponentError(UsageError):
    """No installed plugin, and nothing registered, offers this name."""

    def __init__(
        self, kind: str, name: str, near: Sequence[str] = (), *, hint: str | None = None
    ) -> None:
        if hint is None:
            hint = suggest(near, then=f"`cb list {plural(kind)}` shows what is installed")
        super().__init__(f"no {kind} is called {name!r}", hint=hint)
        self.kind = kind
        self.name = name
        self.near = tuple(near)


class ParameterError(UsageError):
    """A component does not take a parameter, or not with this value."""

    def __init__(self, component: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{component}: {reason}", hint=hint)
        self.component = component
        self.reason = reason


class ConfigError(UsageError):
    """A run file, an environment variable or `[tool.cb]` cannot be used."""

    def __init__(self, source: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{source}: {reason}", hint=hint)
        self.source = source
        self.reason = reason


class MissingExtraError(UsageError):
    """An optional dependency is needed and absent."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the package {package!r}, which is not installed",
            hint=f"pip install {extra!r}",
        )


class PluginError(CBError):
    """A plugin is at fault; `plugin` names its distribution."""

    exit_code = 3

    def __init__(self, plugin: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"plugin {plugin!r}: {reason}", hint=hint)
        self.plugin = plugin
        self.reason = reason


class PluginLoadError(PluginError):
    """The plugin cannot be imported, is disabled, or requires another core."""


class PluginContractError(PluginError):
    """The plugin was imported but does not keep the contract."""


class DuplicateNameError(PluginError):
    """One bare name is claimed by more than one plugin."""

    def __init__(self, kind: str, name: str, owners: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.owners = tuple(owners)
        choices = " or ".join(f"{owner}/{name}" for owner in self.owners)
        write = "" if kind == "option" else f"write {choices}, or "
        CBError.__init__(
            self,
            f"the {kind} name {name!r} is claimed by {' and '.join(self.owners)}",
            hint=f"{write}disable one of them with --no-plugin",
        )
        self.plugin = self.owners[0]
        self.reason = self.message


class RunError(CBError):
    """Something failed while examples were being processed.

    `cost` is what a failed call cost all the same, for the row's metadata and the budget:
    `cost_usd` in dollars, `spent_tokens`, and `requests_of_unknown_cost`, the number of requests
    that may have been billed. `requests` may list all requests without their messages, as outputs
    do.
    """

    exit_code = 4

    def __init__(
        self, message: str, *, hint: str | None = None, cost: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.cost: Mapping[str, Any] = cost or {}


class DataError(RunError):
    """The dataset, or one of its examples, cannot be used.

    Raised by a dataset, it ends the run. Yielded in place of an example, it becomes one failed
    row, and the run goes on. `example_id` is the id of that example, if it is known.
    """

    example_id: str | int | None = None


class ProcessError(RunError):
    """A system failed on an example."""


class ScoringError(RunError):
    """An evaluator failed on an example."""


class MissingScoreError(ScoringError):
    """Raised by an evaluator: this example has no score, and why.

    The row keeps its other scores; the reason is stored in `row.missing`.
    """


class ColumnError(MissingScoreError):
    """A column mapping does not fit a row, or leads to a value of another type."""


class NothingScoredError(RunError):
    """Rows were made, but none of them has the score that quality means."""

    exit_code = 7


class RunStoppedError(RunError):
    """The run ended before its dataset did. `result` holds every finished row."""

    def __init__(
        self, message: str, *, result: EvalResult | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.result = result


class RunInterruptedError(RunStoppedError):
    """The user stopped the run. `result` holds every finished row."""

    exit_code = 130


class ResultError(CBError):
    """A result cannot be read, or cannot answer what it was asked."""

    exit_code = 5


class StoreError(CBError):
    """The store of outputs and scores cannot be opened, read or written."""

    exit_code = 6


class ReportError(CBError):
    """A run came to its end, but a report of it could not be written. Its rows are stored."""

    exit_code = 8


class GateError(CBError):
    """A result breaks a rule of a gate."""

    exit_code = 9
