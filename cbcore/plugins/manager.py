"""The hooks of one run."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

import attrs
import pluggy

from cbcore import hookspecs, names
from cbcore._logging import get_logger
from cbcore.boundary import at_boundary, contained
from cbcore.components import Component, Owner
from cbcore.exceptions import CBError, PluginContractError, PluginError
from cbcore.texts import visible

_OFF = ("", "0", "false", "no", "off")
_UNMARKED: pluggy.HookimplOpts = vars(hookspecs.hookimpl(lambda: None))["cb_impl"]
"""The options of a function without the decorator."""


class HookManager(pluggy.PluginManager):
    """The hooks of one run.

    Every function named `cb_…` of a registered object is an implementation. An implementation of
    a contained hook that raises, wrappers included, is reported once and then left out.
    `failed` has the reason of each plugin whose `cb_configure` raised anything but a `CBError`.
    """

    def __init__(self) -> None:
        super().__init__(hookspecs.PROJECT)
        self.failed: dict[str, str] = {}
        self.add_hookspecs(hookspecs)
        if os.environ.get("CB_TRACE", "").strip().lower() not in _OFF:
            self._trace_calls()

    def get_canonical_name(self, plugin: object) -> str:
        """The name of a plugin that is registered without one; for an object, its class."""
        of_class = f"{type(plugin).__module__}.{type(plugin).__qualname__}"
        name = getattr(plugin, "__name__", None) or of_class
        return f"{name}:{id(plugin)}" if self.has_plugin(name) else name

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        """The options of a function; pluggy's own defaults if it is named `cb_…` and unmarked."""
        options = super().parse_hookimpl_opts(plugin, name)
        if options is None and name.startswith("cb_") and inspect.isroutine(getattr(plugin, name)):
            return _UNMARKED.copy()
        return options

    def register(self, plugin: object, name: str | None = None) -> str | None:
        """Register a plugin; its implementations of contained hooks cannot raise.

        Raises `PluginContractError` for a function that cannot implement its hook.
        """
        name = name or self.get_canonical_name(plugin)
        for attribute in dir(plugin):
            options = self.parse_hookimpl_opts(plugin, attribute)
            if options and (problem := _find_problem(plugin, attribute, options)):
                target = getattr(plugin, "__name__", None) or type(plugin).__qualname__
                reason = f"{target}.{attribute} {problem[0]}"
                raise PluginContractError(name.partition(":")[0], reason, hint=problem[1])
        try:
            registered = super().register(plugin, name)
        except pluggy.PluginValidationError as error:
            reason = " ".join(str(error).splitlines()[1:])
            hint = "`cb hooks` shows every hook with its arguments"
            raise PluginContractError(name.partition(":")[0], reason, hint=hint) from error
        for caller in self.get_hookcallers(plugin) or ():
            for impl in caller.get_hookimpls():
                if impl.plugin is plugin:
                    self._contain(caller.name, impl)
        return registered

    def leave_out(self, plugin: str) -> None:
        """Unregister the hook modules of a plugin."""
        for name, module in self.list_name_plugin():
            if name.partition(":")[0] == plugin:
                self.unregister(module)

    def _contain(self, hook: str, impl: pluggy.HookImpl) -> None:
        """Let an implementation of a contained hook report its exception instead of raising it."""
        if hook == "cb_configure":  # a `CBError` refuses the run
            note = functools.partial(self.failed.__setitem__, impl.plugin_name.partition(":")[0])
            contain = _Contained(impl.function, note, CBError)
        elif hook in hookspecs.CONTAINED:
            note = functools.partial(_warn, f"{hook} of {impl.plugin_name}")
            contain = _Contained(impl.function, note, ())
        else:
            return
        impl.function = contain.wrap if impl.wrapper else contain.call  # type: ignore[misc]

    def _trace_calls(self) -> None:
        """Print every call of a hook on standard error: implementations, duration, outcome."""
        started: list[float] = []

        def before(hook: str, impls: Iterable[pluggy.HookImpl], arguments: Any) -> None:
            started.append(time.perf_counter())

        def after(
            outcome: Any, hook: str, impls: Iterable[pluggy.HookImpl], arguments: Any
        ) -> None:
            took_ms = (time.perf_counter() - started.pop()) * 1000
            ended = "ok" if outcome.exception is None else f"raised {outcome.exception!r}"
            if plugins := ", ".join(impl.plugin_name for impl in reversed(list(impls))):
                line = f"cb: trace: {hook} {took_ms:.2f} ms {ended} ({plugins})"
                print(visible(line), file=sys.stderr)  # noqa: T201 - asked for by the user

        self.add_hookcall_monitoring(before, after)


@attrs.define
class _Contained:
    """An implementation of a hook that is left out once it has failed.

    `note` gets what it raised, but for errors in `through`, which are raised.
    """

    function: Callable[..., Any]
    note: Callable[[str], None]
    through: type[Exception] | tuple[()]
    has_failed: bool = False

    def call(self, *arguments: Any) -> Any:
        if self.has_failed:
            return None
        with contained() as attempt:
            return self.function(*arguments)
        self._fail(attempt)
        return None

    def wrap(self, *arguments: Any) -> Generator[None, Any, Any]:
        """The function as a wrapper: if it fails, before or after, the inner result is passed on."""
        wrapper = None
        with contained() as attempt:
            if not self.has_failed:
                wrapper = self.function(*arguments)
                next(wrapper)
        result = yield
        if wrapper is not None and attempt.error is None:
            with contained() as attempt:
                try:
                    wrapper.send(result)
                except StopIteration as stop:
                    return stop.value
                raise RuntimeError("it yields twice")
        if attempt.error is not None:
            self._fail(attempt)
        return result

    def _fail(self, attempt: contained) -> None:
        if isinstance(attempt.error, self.through):
            raise attempt.error
        self.has_failed = True
        self.note(attempt.reason)


def _warn(what: str, reason: str) -> None:
    get_logger().warning(f"{what} failed and is left out for the rest of the run: {reason}")


def _find_problem(
    plugin: object, name: str, options: pluggy.HookimplOpts
) -> tuple[str, str] | None:
    """Why a function cannot implement its hook, and what to write instead."""
    function, hook = getattr(plugin, name), options["specname"] or name
    specs = [key for key in vars(hookspecs) if key.startswith("cb_")]
    if hook not in specs:
        hint = names.hint(hook, specs, "`cb hooks` shows every hook")
        return None if options["optionalhook"] else ("is not a hook of cb", hint)
    if options["hookwrapper"]:
        return "is a wrapper of the older kind", "write wrapper=True, not hookwrapper"
    if inspect.iscoroutinefunction(function):
        return "is async, and a hook cannot be async", "write def, not async def"
    is_generator = inspect.isgeneratorfunction(function)
    if is_generator and not options["wrapper"] and hook in hookspecs.WITHOUT_RESULT:
        return "yields and is not a wrapper", "write hookimpl(wrapper=True)"
    return None


def collect_offers(owner: Owner, modules: Sequence[tuple[str, object]]) -> list[Component]:
    """The components that the named hook modules of one plugin offer. Raises `PluginError`."""
    plugin = owner.distribution
    broken = functools.partial(PluginContractError, plugin)
    hooks = HookManager()
    with at_boundary("reading its hook module", broken, through=PluginError):
        for name, module in reversed(modules):  # pluggy calls the last one first
            hooks.register(module, name)
    offers: list[Component] = []
    for hook, kind in hookspecs.OFFERING.items():
        with at_boundary(hook, broken, through=PluginError), contextlib.redirect_stdout(sys.stderr):
            returned = [one for batch in getattr(hooks.hook, hook)() for one in batch]
        for component in returned:
            if not isinstance(component, Component) or component.kind != kind:
                raise PluginContractError(
                    plugin,
                    f"{hook} returned {component!r}, not a Component of kind {kind!r}",
                    hint=f"return Component(kind={kind!r}, name=…, target=…)",
                )
            offers.append(attrs.evolve(component, owner=owner))
    return offers
