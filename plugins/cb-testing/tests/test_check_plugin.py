"""`check_plugin`: what it can be given, what it is told of components, and what it reports."""

from __future__ import annotations

import json
import socket
import sys
import threading
from types import SimpleNamespace

import pytest

from cb_testing import Report, Verdict, check_plugin
from cbcore import Component, DataError, MissingScoreError
from cbcore.exceptions import MissingExtraError, UsageError
from tests.components import (
    CallsOut,
    Dataset,
    Elsewhere,
    Evaluator,
    NeedsOneOf,
    NeedsTools,
    System,
    component,
)
from tests.fake_distributions import PACKAGES, write_distribution

SOURCE = """
class Length:
    '''The length of the response.'''

    name = "length"
    emits = ("length",)

    def score(self, original, processed):
        return {"length": float(len(processed.get("response") or ""))}
"""


# -- what is checked -----------------------------------------------------------------------------


def test_an_installed_plugin_is_found_by_name(site):
    """However its name is spelt."""
    entries = {"cb.evaluators": {"length": "cb_length:Length"}}
    write_distribution(site, "cb-length", entries, {"cb_length.py": SOURCE})
    report = check_plugin("CB_length")
    report.assert_ok()
    assert (report.plugin, report.version) == ("cb-length", "1.0")
    assert {finding.component for finding in report.findings} == {"", "length"}


def test_an_unknown_name_is_refused_with_a_suggestion(site):
    """A misspelt name is no plugin without faults."""
    write_distribution(site, "cb-length", {"cb.evaluators": {"length": "cb_length:Length"}})
    with pytest.raises(UsageError, match="no installed plugin is called") as caught:
        check_plugin("cb-lenght")
    assert caught.value.hint == "did you mean cb-length?"


@pytest.mark.parametrize("as_text", [False, True])
def test_a_project_need_not_be_installed(as_text, monkeypatch):
    """Its folder is importable meanwhile, and forgotten after."""
    folder = PACKAGES / "cb-good-hooks"
    monkeypatch.chdir(PACKAGES)
    report = check_plugin("./cb-good-hooks" if as_text else folder)
    assert {f.component for f in report.findings if f.kind == "dataset"} == {
        "good-letters",
        "good-digits",
    }
    report.assert_ok()
    assert str(folder / "src") not in sys.path
    assert not {name for name in sys.modules if name.startswith("cb_good_hooks")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "pyproject.toml"),
        ("[project", "not valid TOML"),
        ('[project]\nname = "x"\n', "no entry points for cb"),
    ],
)
def test_a_folder_without_a_plugin_is_refused(tmp_path, text, message):
    """The message names the file and what it lacks."""
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        check_plugin(tmp_path)


def test_other_code_of_the_same_name_is_not_checked_in_place_of_the_project(tmp_path, monkeypatch):
    """A module that is loaded already would be."""
    monkeypatch.setitem(sys.modules, "cb_good_static", SimpleNamespace(__file__="/elsewhere.py"))
    with pytest.raises(UsageError, match=r"was imported from /elsewhere\.py"):
        check_plugin(PACKAGES / "cb-good-static")


def test_hooks_may_be_methods_of_any_object():
    """Nothing has to be importable."""

    class Hooks:
        def cb_evaluators(self):
            return [component("evaluator", Evaluator)]

    report = check_plugin(Hooks())
    report.assert_ok()
    assert {finding.component for finding in report.findings} == {"", "subject"}


def test_a_hook_module_is_imported_elsewhere_too(site):
    """The rules about importing hold for it."""
    (site / "my_hooks.py").write_text("print('hello')\ndef cb_dataset(): pass\n")
    import my_hooks

    assert {f.rule for f in check_plugin(my_hooks).failures} == {"import-silent", "hooks-match"}


# -- what is said of components ------------------------------------------------------------------


class Scaled(Evaluator):
    """Needs to be told something."""

    def __init__(self, model: str, mode: str = "a") -> None:
        super().__init__()
        if (model, mode) not in {("m", "a"), ("m", "z")}:
            raise ValueError("no such model or mode")
        self.model = model
        self.mode = mode


def findings(report, status):
    return {
        finding.rule: finding.message for finding in report.findings if finding.status == status
    }


def test_a_component_that_needs_parameters_is_unchecked_until_it_is_given_them():
    """It is no failure, but a test that wants everything checked does not pass."""
    subject = component("evaluator", Scaled)
    report = check_plugin(subject)
    assert report.failures == []
    assert findings(report, "unchecked") == {
        "component-made": "give it parameters: examples={'subject': {'params': {'model': …}}}"
    }
    with pytest.raises(AssertionError, match="give it parameters"):
        report.assert_ok()
    check_plugin(subject, examples={"subject": {"params": {"model": "m"}}}).assert_ok()


def test_variants_are_used_where_no_other_value_can_be_guessed():
    """What was not varied is said."""
    subject, params = component("evaluator", Scaled), {"model": "m"}
    guessed = check_plugin(subject, examples={"subject": {"params": params}})
    assert "not varied" in findings(guessed, "passed")["identity-distinguishes"]
    given = {"params": params, "variants": {"mode": "z"}}
    told = check_plugin(subject, examples={"evaluator/subject": given})
    assert findings(told, "passed")["identity-distinguishes"].endswith("another value: model")


class NeedsCode(Evaluator):
    """Scores code only."""

    emits = ("runs",)

    def score(self, original, processed):
        if "tests" not in original:
            raise MissingScoreError("the example has no tests")
        return {"runs": 1.0}


def test_an_evaluator_that_scores_nothing_made_up_is_given_examples():
    """Until then its scores are unchecked, and nothing is assumed."""
    subject = component("evaluator", NeedsCode)
    assert set(findings(check_plugin(subject), "unchecked")) == {
        "evaluator-emits",
        "evaluator-finite",
    }
    pair = ({"id": 1, "tests": ["assert f()"]}, {"response": "def f(): ..."})
    check_plugin(subject, examples={"subject": {"examples": [pair]}}).assert_ok()


def test_a_system_for_other_examples_is_given_some():
    """Refusing those made up, with the reason, is no failure; refusing its author's is one."""
    subject = component("system", NeedsTools)
    report = check_plugin(subject)
    assert report.failures == []
    assert "no 'tools'" in findings(report, "unchecked")["system-returns-dict"]
    example = {"id": 1, "context": "a b", "tools": []}
    check_plugin(subject, examples={"subject": {"examples": [example]}}).assert_ok()
    del example["tools"]
    refused = check_plugin(subject, examples={"subject": {"examples": [example]}})
    assert "it raised DataError" in findings(refused, "failed")["system-returns-dict"]


def test_a_component_that_refuses_its_defaults_is_unchecked_until_it_is_given_parameters():
    """Each of two parameters may be left out, and not both."""
    subject = component("evaluator", NeedsOneOf)
    report = check_plugin(subject)
    assert report.failures == []
    assert "a judge needs model or judge" in findings(report, "unchecked")["component-made"]
    check_plugin(subject, examples={"subject": {"params": {"model": "m"}}}).assert_ok()
    refused = check_plugin(subject, examples={"subject": {"params": {"model": ""}}})
    assert "a judge needs model or judge" in findings(refused, "failed")["component-made"]


def test_a_rule_can_be_skipped_with_a_reason():
    """The reason is in the report, and the report is good."""

    class Judge(Evaluator):
        """Asks."""

        n = 0

        def score(self, original, processed):
            Judge.n += 1
            return {"exact": float(Judge.n)} if super().score(original, processed) else {}

    skip = {"evaluator-deterministic": "it asks a model"}
    report = check_plugin([component("evaluator", Judge)], examples={"subject": {"skip": skip}})
    report.assert_ok()
    assert findings(report, "skipped") == skip


@pytest.mark.parametrize(
    ("examples", "message", "hint"),
    [
        ({"subjekt": {}}, "offers no such component", "did you mean subject?"),
        ({"system/subject": {}}, "offers no such component", "did you mean subject?"),
        ({"subject": {"parms": {}}}, "unknown field 'parms'", "did you mean params?"),
        ({"subject": {"skip": {"emits": ""}}}, "no rule", "did you mean evaluator-emits?"),
    ],
)
def test_what_is_said_of_nothing_is_refused(examples, message, hint):
    """A misspelt name does not pass for a check that was made."""
    with pytest.raises(UsageError, match=message) as caught:
        check_plugin([component("evaluator", Evaluator)], examples=examples)
    assert caught.value.hint == hint


def test_examples_for_a_kind_that_takes_none_are_refused():
    """They would not be used."""
    with pytest.raises(UsageError, match="the kit tries no dataset on examples"):
        check_plugin([component("dataset", Dataset)], examples={"subject": {"examples": [{}]}})


def test_a_dataset_with_a_config_called_sample_is_checked_with_it():
    """It needs no network, so that anybody can check it."""
    made = []

    def dataset(config="full"):
        made.append(config)
        return Dataset()

    check_plugin([component("dataset", dataset, configs=("full", "sample"))]).assert_ok()
    assert set(made) == {"sample"}


def test_data_that_cannot_be_had_here_is_unchecked():
    """Not having it is not the dataset's fault."""
    report = check_plugin([component("dataset", Elsewhere)])
    assert report.failures == []
    assert "cannot load it from the hub" in findings(report, "unchecked")["dataset-examples"]


def test_an_extra_that_is_not_installed_leaves_a_component_unchecked():
    """Its message says what to install."""

    def needs_extra():
        raise MissingExtraError("scoring", "torch", "cb-x[torch]")

    report = check_plugin([component("evaluator", needs_extra)])
    assert "cb-x[torch]" in findings(report, "unchecked")["component-made"]


# -- the network ---------------------------------------------------------------------------------


def test_a_component_that_calls_out_is_refused_and_unchecked():
    """Nobody pays for made-up examples; what it did without its network is not told."""
    report = check_plugin([component("system", CallsOut)])
    assert report.failures == []
    unchecked = findings(report, "unchecked")
    assert list(unchecked) == ["component-offline"]
    assert "service.example:443" in unchecked["component-offline"]


def test_a_stand_in_on_this_machine_can_be_reached():
    """So that a system with an endpoint can be checked against a local server."""
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def serve():
        while True:
            try:
                server.accept()[0].close()
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()

    class Local(System):
        """Asks a server."""

        def process(self, example):
            socket.create_connection(("localhost", port)).close()
            return super().process(example)

    try:
        check_plugin([component("system", Local)]).assert_ok()
    finally:
        server.close()


def test_the_network_is_as_before_after_a_check():
    """Also when a component fails."""
    before = (socket.socket.connect, socket.getaddrinfo)
    check_plugin([component("system", CallsOut)])
    assert (socket.socket.connect, socket.getaddrinfo) == before


# -- the report ----------------------------------------------------------------------------------

REPORT = Report(
    "cb-x",
    "1.0",
    (
        Verdict("evaluator-emits", "evaluator", "x", "failed", "add 'a' to `emits`"),
        Verdict("names-valid", "plugin", "", "passed", "fine"),
        Verdict("component-made", "dataset", "y", "unchecked", "give it parameters"),
        Verdict("evaluator-pure", "evaluator", "x", "skipped", "it must"),
    ),
)


def test_a_report_tells_people_what_to_fix_and_where_it_is_explained():
    """Failures first, then what was not checked; what is fine is only counted."""
    assert str(REPORT) == (
        "cb-x 1.0: 1 failed, 1 passed, 1 unchecked, 1 skipped\n"
        "FAILED evaluator x: evaluator-emits\n  add 'a' to `emits`\n"
        "  see docs/reference/conformance.md#evaluator-emits\n"
        "UNCHECKED dataset y: component-made\n  give it parameters\n"
        "  see docs/reference/conformance.md#component-made\n"
        "SKIPPED evaluator x: evaluator-pure\n  it must\n"
        "  see docs/reference/conformance.md#evaluator-pure"
    )


def test_a_report_is_plain_data_for_machines():
    """What JSON holds is what the report says."""
    data = json.loads(json.dumps(REPORT.to_dict()))
    assert {key: data[key] for key in ("plugin", "version", "ok")} == {
        "plugin": "cb-x",
        "version": "1.0",
        "ok": False,
    }
    assert data["findings"][0] == {
        "rule": "evaluator-emits",
        "kind": "evaluator",
        "component": "x",
        "status": "failed",
        "message": "add 'a' to `emits`",
        "ok": False,
        "docs": "docs/reference/conformance.md#evaluator-emits",
    }


def test_a_good_report_asserts_nothing():
    """Skipped rules do not spoil it: somebody gave a reason."""
    good = Report("cb-x", findings=REPORT.findings[1:2] + REPORT.findings[3:])
    good.assert_ok()
    assert [good.failures, good.unchecked] == [[], []]


def test_what_components_print_stays_off_standard_output(capsys):
    """So that a report can be piped."""

    class Prints(System):
        """Prints."""

        def process(self, example):
            print("noise")
            return super().process(example)

    check_plugin([component("system", Prints)]).assert_ok()
    assert capsys.readouterr().out == ""


def test_commands_and_suites_are_checked(tmp_path):
    """A ready-made command is not run; a suite's path has to exist."""
    import click

    @click.command()
    def greet():
        """Greet."""
        raise DataError("it was run")

    suite = Component(kind="suite", name="mine", target=lambda: tmp_path, summary="Mine")
    check_plugin([component("command", greet), suite]).assert_ok()
