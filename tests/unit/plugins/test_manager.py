"""The hooks of one run: which functions count, in which order, and what one that raises costs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cbcore import hookimpl, hookspecs
from cbcore.exceptions import PluginContractError
from cbcore.plugins import Catalog, read_distributions
from cbcore.plugins.manager import HookManager
from cbcore.results import EvalResult, Section
from tests.fake_distributions import write_hooks

HOOKS = {name: spec for name, spec in vars(hookspecs).items() if name.startswith("cb_")}


class Plugin:
    """An object with hooks, given as keyword arguments."""

    def __init__(self, **hooks: Callable[..., Any]) -> None:
        self.__dict__.update(hooks)


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the manager reports."""
    messages: list[str] = []

    class Logger:
        warning = messages.append

    monkeypatch.setattr("cbcore.plugins.manager.get_logger", Logger)
    return messages


def make_hooks(**plugins: Plugin) -> HookManager:
    """Plugins are called in the order given."""
    hooks = HookManager()
    for name, plugin in reversed(plugins.items()):
        hooks.register(plugin, name)
    hooks.check_pending()
    return hooks


# -- the specs ---------------------------------------------------------------------------------


def test_every_hook_offers_configures_or_is_contained() -> None:
    assert set(HOOKS) == {*hookspecs.OFFERING, "cb_configure", *hookspecs.CONTAINED}


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_documents_when_it_is_called_and_what_an_exception_does(hook: str) -> None:
    text = inspect.getdoc(HOOKS[hook]) or ""
    assert "Called once" in text
    outcome = "refuses the run" if hook == "cb_configure" else "exception disables"
    assert ("Contained." if hook in hookspecs.CONTAINED else outcome) in text
    assert all(
        p.annotation is not p.empty for p in inspect.signature(HOOKS[hook]).parameters.values()
    )


# -- which functions count ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("implementation", "expected"),
    [
        (lambda run, row, attempt: (run, row, attempt), ("RUN", "ROW", "ATTEMPT")),
        (lambda row, run: (row, run), ("ROW", "RUN")),
        (lambda row: row, "ROW"),
        (lambda: "none", "none"),
        (lambda row, other=5: (row, other), ("ROW", 5)),
    ],
)
def test_an_implementation_takes_the_arguments_it_names(implementation: Any, expected: Any) -> None:
    """Without a decorator, as every function named `cb_…`."""
    hooks = make_hooks(one=Plugin(cb_row_finished=implementation))
    assert hooks.hook.cb_row_finished(run="RUN", row="ROW", attempt="ATTEMPT") == [expected]


def test_specname_and_optionalhook_work_as_in_pluggy() -> None:
    called = []

    @hookimpl(specname="cb_run_started")
    def watch(run: str) -> None:
        called.append(run)

    @hookimpl(optionalhook=True)
    def cb_of_tomorrow(anything: str) -> None:
        raise AssertionError

    hooks = make_hooks(one=Plugin(watch=watch, cb_of_tomorrow=cb_of_tomorrow))
    hooks.hook.cb_run_started(run="RUN")
    assert called == ["RUN"]


@hookimpl
def marked() -> None:
    """Not a hook, although it is marked."""


@hookimpl(wrapper=True)
def no_generator(run: object) -> None:
    """A wrapper has to yield."""


SEE_HOOKS = "`cb hooks` shows every hook with its arguments"


@pytest.mark.parametrize(
    ("hooks", "problem", "hint"),
    [
        ({"cb_dataset": lambda: None}, "cb_dataset is not a hook", "did you mean cb_datasets?"),
        ({"cb_run_start": lambda run: None}, "cb_run_start is not", "did you mean cb_run_started?"),
        ({"cb_zzz": lambda: None}, "cb_zzz is not a hook", "`cb hooks` shows every hook"),
        ({"marked": marked}, "marked is not a hook", "`cb hooks` shows every hook"),
        ({"cb_row_finished": lambda event: None}, "Argument(s) {'event'}", SEE_HOOKS),
        ({"cb_datasets": lambda config: []}, "Argument(s) {'config'}", SEE_HOOKS),
        ({"cb_run_started": no_generator}, "not a generator", SEE_HOOKS),
    ],
)
def test_a_function_that_cannot_implement_its_hook_is_refused(
    hooks: dict[str, Any], problem: str, hint: str | None
) -> None:
    with pytest.raises(PluginContractError) as caught:
        make_hooks(**{"cb-x": Plugin(**hooks)})
    assert problem in caught.value.message
    assert caught.value.plugin == "cb-x"
    assert caught.value.hint == hint


# -- order -------------------------------------------------------------------------------------


def test_plugins_are_called_by_name_after_tryfirst_and_before_trylast(site: Path) -> None:
    options = {"a": "(trylast=True)", "b": "", "c": "", "d": "(tryfirst=True)"}
    for name, option in options.items():
        source = (
            f"from cbcore import hookimpl\n@hookimpl{option}\n"
            f"def cb_run_started(run): run.append({name!r})\n"
        )
        write_hooks(site, f"cb-{name}", source)
    called: list[str] = []
    Catalog(read_distributions([str(site)])).new_hooks().hook.cb_run_started(run=called)
    assert called == ["d", "b", "c", "a"]


def test_objects_without_a_name_are_named_after_their_class() -> None:
    """Two objects of one class can be registered, the same object cannot."""
    hooks = HookManager()
    plugin = Plugin()
    assert hooks.register(plugin) == f"{__name__}.Plugin"
    assert (hooks.register(Plugin()) or "").startswith(f"{__name__}.Plugin:")
    with pytest.raises(ValueError, match="already registered"):
        hooks.register(plugin)


# -- containment -------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError("no luck"), SystemExit(3), BaseException("any")])
@pytest.mark.parametrize("hook", hookspecs.CONTAINED)
def test_an_observer_that_raises_is_reported_once_and_left_out(
    warnings: list[str], hook: str, error: BaseException
) -> None:
    """The others are called every time."""
    calls: list[str] = []

    def fail() -> None:
        calls.append("fails")
        raise error

    good = {n: Plugin(**{hook: lambda n=n: calls.append(n)}) for n in ("before", "after")}
    hooks = make_hooks(before=good["before"], fails=Plugin(**{hook: fail}), after=good["after"])
    arguments = dict.fromkeys(inspect.signature(HOOKS[hook]).parameters)
    for _ in range(3):
        getattr(hooks.hook, hook)(**arguments)
    assert calls == ["before", "fails", "after", *["before", "after"] * 2]
    (warning,) = warnings
    assert warning.startswith(f"{hook} of fails failed and is left out for the rest of the run: ")


def test_an_interrupt_ends_the_call() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    hooks = make_hooks(one=Plugin(cb_run_started=interrupt))
    with pytest.raises(KeyboardInterrupt):
        hooks.hook.cb_run_started(run=None)


def test_a_failure_in_one_run_does_not_count_in_the_next(warnings: list[str]) -> None:
    """Each run has a manager of its own."""
    plugin = Plugin(cb_run_started=lambda: 1 / 0)
    for _ in range(2):
        make_hooks(one=plugin).hook.cb_run_started(run=None)
    assert len(warnings) == 2


@hookimpl(wrapper=True)
def double(run: object) -> Iterator[None]:
    sections = yield
    return [*sections, *sections]


@hookimpl(wrapper=True)
def raise_before(run: object) -> Iterator[None]:
    raise ValueError("too early")
    yield


@hookimpl(wrapper=True)
def raise_after(run: object) -> Iterator[None]:
    yield
    raise ValueError("too late")


@hookimpl(hookwrapper=True)
def old_kind(run: object) -> Iterator[None]:
    yield


@hookimpl(wrapper=True)
def yield_twice(run: object) -> Iterator[None]:
    yield
    yield


@pytest.mark.parametrize(
    ("wrapper", "sections", "report"),
    [
        (double, 2, ""),
        (raise_before, 1, "too early"),
        (raise_after, 1, "too late"),
        (yield_twice, 1, "it yields twice"),
    ],
)
def test_a_wrapper_that_raises_passes_the_inner_result_on(
    warnings: list[str], wrapper: Any, sections: int, report: str
) -> None:
    """A wrapper is contained before and after its `yield`."""
    section = Section("Inner", [{"task": "a"}])
    inner = Plugin(cb_summarize=lambda: section)
    hooks = make_hooks(outer=Plugin(cb_summarize=wrapper), inner=inner)
    for _ in range(2):
        returned = hooks.hook.cb_summarize(run=None, result=EvalResult([]))
        assert returned == [section] * sections
    assert len(warnings) == bool(report)
    assert report in "".join(warnings)


# -- tracing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["1", "", "0", "off"])
def test_cb_trace_prints_every_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    monkeypatch.setenv("CB_TRACE", value)
    plugin = Plugin(cb_run_started=lambda: None)
    make_hooks(one=plugin, two=Plugin()).hook.cb_run_started(run=None)
    captured = capsys.readouterr()
    assert captured.out == ""
    is_traced = (
        captured.err.startswith("cb: trace: cb_run_started ") and " ok (one)" in captured.err
    )
    assert is_traced is (value == "1")


def test_the_older_kind_of_wrapper_is_refused() -> None:
    """One form is enough, and it is not ignored silently."""
    with pytest.raises(PluginContractError, match="write wrapper=True"):
        make_hooks(one=Plugin(cb_summarize=old_kind))


def test_an_async_hook_is_refused() -> None:
    """Nothing awaits it."""

    async def observe(run: Any) -> None: ...

    with pytest.raises(PluginContractError, match="cannot be async"):
        make_hooks(one=Plugin(cb_run_started=observe))


def test_a_hook_that_yields_is_a_wrapper_or_returns_what_it_yields() -> None:
    """The body of any other one would never run."""

    def observe(run: Any) -> Iterator[None]:
        yield

    def offer() -> Iterator[None]:
        yield

    with pytest.raises(PluginContractError, match="wrapper=True"):
        make_hooks(one=Plugin(cb_run_started=observe))
    plugin = Plugin(cb_run_started=hookimpl(wrapper=True)(observe), cb_datasets=offer)
    make_hooks(one=plugin)
