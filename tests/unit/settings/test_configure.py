"""`cb_configure`: what plugins may change before a run, and what their failures cost."""

from __future__ import annotations

import pytest

from cb_testing import FakeEvaluator
from cbcore import hookimpl
from cbcore.assembly import Benchmark
from cbcore.exceptions import PluginContractError, UsageError
from cbcore.plugins import default_catalog
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose

DATA = [{"id": "1", "question": "q", "answer": "a"}]


class Answers:
    """A system that always says the same."""

    def __init__(self, name="answers"):
        self.name = name

    def process(self, example):
        return {"response": "a"}


class Hooks:
    """A plugin whose `cb_configure` is the function it is made with."""

    def __init__(self, configure):
        self.configure = configure

    def cb_configure(self, settings, builder):
        self.configure(settings, builder)


@pytest.fixture
def compose_with(monkeypatch):
    """Compose a run on `DATA` with the `cb_configure` of some plugins, by their names."""

    def compose_run(warn=lambda text: None, *, given=None, **plugins):
        catalog = default_catalog()
        new_hooks = catalog.new_hooks

        def hooks_with_plugins():
            hooks = new_hooks()
            for name, configure in plugins.items():
                hooks.register(Hooks(configure), name.replace("_", "-"))
            return hooks

        monkeypatch.setattr(catalog, "new_hooks", hooks_with_plugins)
        settings = given or RunSettings(systems=[Answers()], datasets=[DATA], metrics=[])
        return compose(settings, catalog, warn=warn)

    return compose_run


def test_a_plugin_adds_systems_and_evaluators(compose_with):
    """In the run, and not in the settings of whoever asked for it."""
    asked = RunSettings(systems=[Answers()], datasets=[DATA], metrics=[])
    run = compose_with(
        given=asked, plugin=lambda settings, builder: settings.systems.append(Answers("added"))
    )
    assert [part.name for part in run.systems] == ["answers", "added"]
    assert len(asked.systems) == 1


def test_the_main_score_of_a_benchmark_counts_if_only_it_knows_its_evaluator(compose_with):
    """A plugin need not share an evaluator for its score to be what quality means."""

    def add(settings, builder):
        keeping = builder.build("evaluator", FakeEvaluator({"kept": 0.5}, name="keeping"))
        settings.datasets = [Benchmark("own", DATA, [keeping], main_score="kept")]

    run = compose_with(plugin=add)
    result = run.run()
    assert result.config["score_field"] == "kept"
    assert [one["name"] for one in result.config["evaluators"]] == ["keeping"]
    assert result.counts()["answers"].scored == 1


def test_settings_are_frozen_afterwards(compose_with):
    """A plugin that keeps them cannot change a run under way."""
    kept = []
    compose_with(plugin=lambda settings, builder: kept.append(settings))
    with pytest.raises(UsageError, match="fixed"):
        kept[0].seed = 5


def test_an_object_with_hooks_is_registered_for_this_run_only(compose_with):
    """State of one run lives in an object, not in a module."""
    finished = []

    class Watches:
        def cb_run_finished(self, run):
            finished.append(run.run_id)

    run = compose_with(plugin=lambda settings, builder: builder.hooks.register(Watches()))
    run.run()
    assert finished == [run.run_id]


def test_an_object_with_a_misspelt_hook_refuses_the_run(compose_with):
    """It would never be called."""

    class Watches:
        def cb_row_finish(self, row): ...

    with pytest.raises(PluginContractError, match="cb_row_finish is not a hook") as caught:
        compose_with(plugin=lambda settings, builder: builder.hooks.register(Watches()))
    assert caught.value.hint == "did you mean cb_row_finished?"


def test_a_refusal_of_a_plugin_refuses_the_run(compose_with):
    """With its own message."""

    def refuse(settings, builder):
        raise UsageError("not with me")

    with pytest.raises(UsageError, match="not with me"):
        compose_with(plugin=refuse)


def test_a_plugin_that_fails_is_named_in_a_warning(compose_with):
    """The others are still called."""
    warnings = []

    def fail(settings, builder):
        raise ValueError("broken")

    run = compose_with(
        warnings.append,
        a_failing=fail,
        b_working=lambda settings, builder: settings.systems.append(Answers("added")),
        c_failing=fail,
    )
    assert [part.name for part in run.systems] == ["answers", "added"]
    assert sorted(text.partition(" failed")[0] for text in warnings) == [
        "cb_configure of a-failing",
        "cb_configure of c-failing",
    ]
    assert "ValueError: broken" in warnings[0]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_wrapper_that_fails_is_named_in_a_warning(monkeypatch, when):
    """Before or after the plugins that it wraps; these are called all the same."""

    class Wrapper:
        @hookimpl(wrapper=True)
        def cb_configure(self, settings):
            if when == "before":
                raise ValueError("broken")
            yield
            raise ValueError("broken")

    catalog, warnings = default_catalog(), []
    hooks = catalog.new_hooks()
    hooks.register(Hooks(lambda settings, builder: settings.systems.append(Answers("added"))), "b")
    hooks.register(Wrapper(), "a-wrapper")
    monkeypatch.setattr(catalog, "new_hooks", lambda: hooks)
    asked = RunSettings(systems=[Answers()], datasets=[DATA], metrics=[])
    run = compose(asked, catalog, warn=warnings.append)
    assert [part.name for part in run.systems] == ["answers", "added"]
    assert [text for text in warnings if "a-wrapper" in text and "ValueError: broken" in text]


def test_a_plugin_that_fails_refuses_the_run_if_its_option_is_given(compose_with):
    """What the user asked for would be missing."""

    def fail(settings, builder):
        raise ValueError("broken")

    asked = RunSettings(
        systems=[Answers()],
        datasets=[DATA],
        metrics=[],
        plugin_options={"cache_model": "openai"},
    )
    with pytest.raises(PluginContractError, match="cb_configure failed: ValueError: broken"):
        compose_with(given=asked, cb_cost_extra=fail, **{"cb_cost:other": fail})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge_model": "m"}, "--judge-model is given without --judge-url"),
        ({"judge_url": "http://localhost:1"}, "--judge-url is given without --judge-model"),
        ({"name": ["x"]}, "--name is given 1 times and --proxy 0 times"),
        ({"proxy": ["http://x"], "name": ["a", "b"]}, "--name is given 2 times and --proxy 1"),
    ],
)
def test_options_that_do_not_fit_each_other_are_refused(options, message):
    """By the plugin that declares them."""
    with pytest.raises(UsageError, match=message):
        compose(RunSettings(systems=[Answers()], datasets=[DATA], plugin_options=options))


def test_an_option_that_is_not_recorded_is_not_in_the_record():
    """A flag that stands for components is told by their records."""
    options = {"cache_model": "openai", "allow_unsandboxed": True}
    settings = RunSettings(systems=[Answers()], datasets=[DATA], plugin_options=options)
    recorded = compose(settings, warn=lambda text: None).config["settings"]
    assert recorded["allow_unsandboxed"] is True
    assert "cache_model" not in recorded


def test_a_plugin_that_fails_is_left_out_of_the_run(compose_with):
    """Its other hooks would act on settings that it did not finish."""
    finished = []

    class Fails:
        def cb_configure(self, settings):
            raise KeyError("lost")

        def cb_run_finished(self, run):
            finished.append(run.run_id)

    catalog = default_catalog()
    new_hooks = catalog.new_hooks

    def hooks_with_plugin():
        hooks = new_hooks()
        hooks.register(Fails(), "cb-x:hooks")
        return hooks

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "new_hooks", hooks_with_plugin)
        warnings = []
        settings = RunSettings(systems=[Answers()], datasets=[DATA], metrics=[])
        compose(settings, catalog, warn=warnings.append).run()
    assert finished == []
    assert any("cb-x" in text and "lost" in text for text in warnings)
