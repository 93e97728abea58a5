"""Every rule fails what breaks it, that rule alone, with a message that helps; and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cb_testing import cases, check_plugin
from cb_testing.rule_registry import RULES, STORED, rules_for
from cb_testing.rules.reporters import _Page
from cb_testing.samples import HOSTILE_TAG
from cbcore.components import KINDS
from tests.components import GOOD, WRONG, Labeled, Undocumented, component
from tests.fake_distributions import PACKAGES

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "conformance.md"

BY_PACKAGE = [
    ("hooks-match", "cb-unknown-hook", "did you mean cb_datasets?"),
    ("hooks-match", "cb-wrong-argument", "can not be found in the hookspec"),
    ("hooks-match", "cb-wrong-return", "not a Component of kind"),
    ("hooks-match", "cb-hook-raises", "failed"),
    ("import-works", "cb-raises-on-import", "the flux is out of order"),
    ("import-works", "cb-exits-on-import", "sys.exit"),
    ("import-works", "cb-kills-interpreter", "it ended the interpreter"),
    ("import-silent", "cb-prints-on-import", "the printing plugin says hello"),
    ("core-supported", "cb-needs-other-core", "it requires cbcore >=99"),
]
BY_OBJECT = [
    ("component-resolves", component("evaluator", "json:absent"), "correct its entry point"),
    ("component-resolves", component("evaluator", "json:__name__"), "cannot be called"),
    ("component-described", component("evaluator", Undocumented, summary=""), "docstring"),
    ("component-made", component("evaluator", lambda: 1 / 0), "making it failed"),
    ("component-protocol", component("evaluator", dict), "dict has no score() or ascore()"),
    ("component-protocol", component("dataset", lambda: 3), "an iterable of examples, not a int"),
    ("component-protocol", component("suite", lambda: "/nowhere"), "the path of a suite"),
    ("component-protocol", component("command", lambda: print), "click.Command"),
]


OWN = {id_: rule for id_, rule in RULES.items() if rule.check.__module__.startswith("cb_testing.")}
"""Without the rules that plugins bring for their kinds."""


def failed(report):
    return {finding.rule for finding in report.failures}


@pytest.fixture(autouse=True)
def few_calls(monkeypatch):
    """A dataset that reads endlessly is noticed sooner."""
    monkeypatch.setattr(cases, "MOST_CALLS", 100_000)


@pytest.mark.parametrize(("kind", "target"), GOOD, ids=lambda value: getattr(value, "__name__", ""))
def test_what_keeps_the_contract_passes(kind, target):
    """Nothing fails, and nothing is left unchecked."""
    report = check_plugin([component(kind, target)])
    report.assert_ok()
    assert {finding.rule for finding in report.findings} >= {rule.id for rule in rules_for(kind)}


@pytest.mark.parametrize(
    ("rule", "kind", "target", "message"),
    WRONG,
    ids=[f"{rule}-{target.__name__}" for rule, _, target, _ in WRONG],
)
def test_what_breaks_a_rule_fails_that_rule_alone(rule, kind, target, message):
    """The message says what to fix."""
    report = check_plugin([component(kind, target)])
    assert failed(report) == {rule}, str(report)
    assert message in report.failures[0].message


@pytest.mark.parametrize(("rule", "package", "message"), BY_PACKAGE)
def test_a_package_that_breaks_a_rule_fails_that_rule_alone(rule, package, message):
    """The rules of the plugin as a whole, on real packages that are not installed."""
    report = check_plugin(PACKAGES / package)
    assert failed(report) == {rule}, str(report)
    assert message in report.failures[0].message


@pytest.mark.parametrize(("rule", "subject", "message"), BY_OBJECT)
def test_a_component_that_cannot_be_used_fails_at_the_first_obstacle(rule, subject, message):
    """What follows would only repeat it."""
    report = check_plugin(subject)
    assert failed(report) == {rule}, str(report)
    assert message in report.failures[0].message


def test_a_parameter_that_changes_nothing_is_named_as_a_label():
    """Unless it is named, a parameter that is not a part of the key is taken to be forgotten."""
    subject = [component("evaluator", Labeled)]
    report = check_plugin(subject)
    assert failed(report) == {"identity-distinguishes"}
    assert "add 'note' to `identity`" in report.failures[0].message
    check_plugin(subject, examples={"subject": {"labels": ["note"]}}).assert_ok()


def project(tmp_path, entries, source="", package="cb_made"):
    """A project folder with one module."""
    sections = [f'[project.entry-points."{group}"]\n{lines}\n' for group, lines in entries.items()]
    text = f'[project]\nname = "{package}"\nversion = "1"\ndependencies = ["cbcore"]\n'
    (tmp_path / "pyproject.toml").write_text(text + "".join(sections))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / f"{package}.py").write_text(source)
    return tmp_path


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('Loud = "cb_made:A"', "rename the entry point 'Loud'"),
        ('a-b = "cb_made:A"\na_b = "cb_made:B"', "two components called"),
    ],
)
def test_names_that_cannot_be_used_fail(tmp_path, lines, message):
    """Before anything is imported."""
    source = "class A:\n    '''A.'''\n    name = 'a'\nB = A\nraise SystemExit"
    report = check_plugin(project(tmp_path, {"cb.evaluators": lines}, source))
    assert failed(report) == {"names-valid"}
    assert message in report.failures[0].message


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import rich", "loads rich: import inside the function"),
        (
            "import sys, types\nfor n in range(200): sys.modules[f'made_{n}'] = types.ModuleType('m')",
            "150 are allowed",
        ),
    ],
)
def test_an_import_that_costs_much_fails(tmp_path, source, message):
    """Heavy packages by name, everything else by number of modules."""
    source += "\ndef a_list():\n    'A dataset.'\n    return [{'id': 1, 'context': 'c'}]\n"
    report = check_plugin(project(tmp_path, {"cb.datasets": 'made = "cb_made:a_list"'}, source))
    assert failed(report) == {"import-light"}, str(report)
    assert message in report.failures[0].message


def test_an_import_that_is_light_says_what_it_costs(tmp_path):
    """The time is told and not judged."""
    report = check_plugin(project(tmp_path, {"cb.plugins": 'made = "cb_made"'}))
    (light,) = [finding for finding in report.findings if finding.rule == "import-light"]
    assert light.ok
    assert re.fullmatch(r"importing it loads 1 modules in \d+ ms", light.message)


@pytest.mark.parametrize(
    ("source", "others"),
    [
        ("import json, pluggy, cbcore.results\nfrom cbcore.assembly import Benchmark", None),
        ("import cb_made.own", None),
        ("import cb_metrics", "cb_metrics"),
        ("import cb_made.borrowing", "cb_cost, cb_metrics"),
        ("def cb_configure(settings):\n    import cb_metrics", None),
    ],
)
def test_a_hook_module_that_imports_other_packages_fails(tmp_path, source, others):
    """Also through a module of its own. Whatever else the plugin offers is imported when used."""
    entries = {
        "cb.datasets": 'made = "cb_made.borrowing:a_list"',
        "cb.plugins": 'made = "cb_made.hooks"',
    }
    folder = project(tmp_path, entries)
    package = folder / "src" / "cb_made"
    package.mkdir()
    (folder / "src" / "cb_made.py").rename(package / "__init__.py")
    (package / "hooks.py").write_text(source)
    (package / "own.py").write_text("import csv")
    body = "import cb_cost, cb_metrics\ndef a_list():\n    'A dataset.'\n    return [{'id': 1}]\n"
    (package / "borrowing.py").write_text(body)
    report = check_plugin(folder)
    (light,) = [finding for finding in report.findings if finding.rule == "hooks-light"]
    assert light.ok == (others is None)
    if others:
        assert f"importing cb_made.hooks loads {others}, in every run" in light.message


def test_modules_after_one_that_ends_the_interpreter_are_tried(tmp_path):
    """In another process: what works is told from what does not."""
    entries = {"cb.systems": 'one = "cb_made:A"\ntwo = "cb_other:A"'}
    folder = project(tmp_path, entries, "import os; os._exit(3)")
    (folder / "src" / "cb_other.py").write_text("class A:\n    name = 'a'\n")
    report = check_plugin(folder)
    assert [f.message for f in report.failures if f.rule == "import-works"] == [
        "importing cb_made failed: it ended the interpreter (exit code 3)"
    ]
    assert {f.component for f in report.findings} == {"", "two"}


def test_every_rule_is_broken_by_something_above():
    """A rule without a test for it would be a promise nobody keeps."""
    tried = {rule for rule, *_ in [*WRONG, *BY_PACKAGE, *BY_OBJECT]}
    elsewhere = {
        "names-valid",
        "import-light",
        "hooks-light",
        "import-offline",
        "component-offline",
    }
    assert tried | elsewhere == set(OWN)


def test_every_rule_says_what_it_requires_and_of_what():
    """Its title is a sentence; its kinds exist."""
    for rule in OWN.values():
        assert rule.title.endswith(".")
        assert set(rule.kinds) <= {*KINDS, "plugin", "component", STORED}


def test_every_rule_is_documented_under_its_id():
    """The anchor in a finding leads to a heading with the rule's own words below it."""
    page = DOCS.read_text(encoding="utf-8")
    documented = dict(re.findall(r"^### (\S+)\n\n(.+)$", page, re.MULTILINE))
    assert [rule_id for rule_id in documented if not rule_id.startswith("memory-")] == list(OWN)
    for rule_id, rule in OWN.items():
        assert documented[rule_id].startswith(rule.title), rule_id


def test_hostile_markup_is_noticed_inside_attributes_and_scripts():
    """Wherever a text can end what it stands in."""
    for page in (
        f'<a title=""><{HOSTILE_TAG}>"></a>',
        f"<script></script><{HOSTILE_TAG}></script>",
    ):
        assert HOSTILE_TAG in _Page(page).tags
    assert HOSTILE_TAG not in _Page(f'<a title="&quot;&gt;&lt;{HOSTILE_TAG}&gt;">x</a>').tags
