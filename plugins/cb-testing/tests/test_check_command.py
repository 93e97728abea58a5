"""`cb plugins check`: one plugin, a project that is not installed, or all plugins."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.fake_distributions import (
    PACKAGES,
    SYSTEM,
    Workplace,
    write_distribution,
    write_system,
)


def checked(workplace: Workplace, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = workplace.cb("plugins", "check", *arguments, "--json")
    assert done.stdout, done.stderr
    return done.returncode, {report["plugin"]: report for report in json.loads(done.stdout)}


def rules(report: dict[str, Any], severity: str = "error") -> set[str]:
    return {f["rule"] for f in report["findings"] if f["severity"] == severity}


def test_a_first_party_plugin_passes(workplace: Workplace) -> None:
    """Static rules and the kit, which says how long importing took."""
    code, reports = checked(workplace, "cb-metrics")

    report = reports["cb-metrics"]
    assert (code, report["ok"], rules(report)) == (0, True, set())
    assert report["conformance"]["ok"]
    (light,) = [f for f in report["conformance"]["findings"] if f["rule"] == "import-light"]
    assert re.search(r"\d+ modules in \d+ ms", light["message"])


@pytest.mark.parametrize(
    ("package", "rule", "told"),
    [
        ("cb-raises-on-import", "import-works", "the flux is out of order"),
        ("cb-exits-on-import", "import-works", "sys.exit"),
        ("cb-kills-interpreter", "import-works", "ended the interpreter"),
        ("cb-prints-on-import", "import-silent", "hello"),
        ("cb-unknown-hook", "hooks-match", "is not a hook of cb"),
        ("cb-wrong-argument", "hooks-match", "Argument(s)"),
        ("cb-wrong-return", "hooks-match", "not a Component"),
        ("cb-needs-other-core", "core-range", "it requires cbcore"),
        ("cb-broken-entry-point", "import-works", "cb_broken_entry_point.absent"),
    ],
)
@pytest.mark.parametrize("how", ["installed", "folder"])
def test_a_broken_plugin_fails_with_its_cause(
    workplace: Workplace, package: str, rule: str, told: str, how: str
) -> None:
    """Installed or as a project; `cb` itself comes to no harm, and exits with 3."""
    if how == "installed":
        workplace.install(package)
    subject = package if how == "installed" else str(PACKAGES / package)

    code, reports = checked(workplace, subject)

    assert code == 3
    report = reports[package]
    assert not report["ok"]
    assert rule in rules(report)
    assert any(told in finding["problem"] for finding in report["findings"])


def test_network_at_import_is_noticed(workplace: Workplace) -> None:
    """The address is named."""
    source = (
        "import socket\n"
        "try:\n    socket.create_connection(('127.0.0.1', 9), timeout=1)\n"
        "except OSError:\n    pass\n"
    )
    write_system(workplace.site, "cb-caller", "caller", source + SYSTEM.format(name="caller"))

    code, reports = checked(workplace, "cb-caller")

    assert code == 3
    (found,) = [f for f in reports["cb-caller"]["findings"] if f["rule"] == "import-offline"]
    assert "127.0.0.1:9" in found["problem"]


def test_heavy_imports_are_told(workplace: Workplace) -> None:
    """By the names of the packages."""
    (workplace.site / "torch.py").write_text("")
    source = "import torch\n" + SYSTEM.format(name="heavy")
    write_system(workplace.site, "cb-heavy", "heavy", source)

    _, reports = checked(workplace, "cb-heavy")

    (found,) = [f for f in reports["cb-heavy"]["findings"] if f["rule"] == "import-light"]
    assert "torch" in found["problem"]


@pytest.mark.parametrize(
    ("entries", "rule", "fix"),
    [
        ({"cb.system": {"one": "cb_one:System"}}, "entry-point-group", "did you mean cb.systems?"),
        ({"cb.systems": {"one": "cb_one"}}, "entry-point-target", "package.module:attribute"),
        ({"cb.systems": {"one": "cb-one:System"}}, "entry-point-target", "package.module"),
        ({"cb.systems": {"One!": "cb_one:System"}}, "component-name", "lower-case"),
        ({"console_scripts": {"one": "cb_one:main"}}, "entry-points", "entry-points"),
    ],
)
def test_static_rules(
    workplace: Workplace, entries: dict[str, dict[str, str]], rule: str, fix: str
) -> None:
    """Found in the project, before anything is imported, with what to write."""
    trap = workplace.folder / "imported"
    project = workplace.folder / "one"
    project.mkdir()
    (project / "cb_one.py").write_text(f"open({str(trap)!r}, 'w')")
    tables = "".join(
        f'[project.entry-points."{group}"]\n' + "".join(f'"{k}" = "{v}"\n' for k, v in t.items())
        for group, t in entries.items()
    )
    (project / "pyproject.toml").write_text(
        f'[project]\nname = "cb-one"\nversion = "1.0"\ndependencies = ["cbcore>=0.1,<0.2"]\n{tables}'
    )

    code, reports = checked(workplace, "./one")

    assert code == 3
    (found,) = [f for f in reports["cb-one"]["findings"] if f["rule"] == rule]
    assert fix in found["fix"]
    assert not trap.exists()


def test_all_plugins_are_checked_without_a_name(workplace: Workplace) -> None:
    """Not those that are off, and not the core; one failure is enough for CI."""
    write_system(workplace.site, "cb-off", "off")
    workplace.install("cb-raises-on-import")
    only = ("cb-metrics", "cb-raises-on-import", "cb-testing")

    code, reports = checked(workplace, *(f"--only-plugin={name}" for name in only))

    assert code == 3
    assert {name: report["ok"] for name, report in reports.items()} == {
        "cb-metrics": True,
        "cb-raises-on-import": False,
        "cb-testing": True,
    }


def test_check_for_people(workplace: Workplace) -> None:
    """A verdict, what was seen, each finding with its fix, and a count."""
    workplace.install("cb-prints-on-import")

    done = workplace.cb("plugins", "check", "cb-prints-on-import")

    lines = done.stdout.splitlines()
    assert lines[0] == "cb-prints-on-import 1.0: to be fixed"
    assert any(line.startswith("  import: ") for line in lines)
    assert any(line.startswith("  error: import-silent: ") for line in lines)
    assert any(line.startswith("    fix: ") for line in lines)
    assert lines[-1] == "1 checked, 1 to be fixed"


PICKY = """
from cbcore import MissingScoreError

class Score:
    '''A score of something else.'''

    name = "picky"
    emits = ("picky",)

    def score(self, original, processed):
        raise MissingScoreError("nothing to score")
"""


def test_rules_with_one_problem_are_told_together(workplace: Workplace) -> None:
    """The cause is read once, with the rules that it keeps from being tried."""
    entries = {"cb.evaluators": {"picky": "cb_picky:Score"}}
    write_distribution(workplace.site, "cb-picky", entries, {"cb_picky.py": PICKY})

    done = workplace.cb("plugins", "check", "cb-picky")

    told = [line for line in done.stdout.splitlines() if line.startswith("  note: ")]
    assert len(told) == 1, done.stdout
    assert "evaluator-emits, evaluator-finite picky: it scores none" in told[0]


@pytest.mark.parametrize(
    ("subject", "told"),
    [("cb-not-there", "no plugin called"), ("./not-there", "is no project"), (".", "no project")],
)
def test_nothing_to_check(workplace: Workplace, subject: str, told: str) -> None:
    """A usage error, not a failed check."""
    done = workplace.cb("plugins", "check", subject)

    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


@pytest.mark.parametrize("package", ["cb-good-static", "cb-good-hooks"])
def test_the_plugins_that_stand_for_good_ones_conform(workplace: Workplace, package: str) -> None:
    """Checked from their folders, as an author would before anything is installed."""
    done = workplace.cb("plugins", "check", str(PACKAGES / package))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_check_tells_of_names_that_others_have_too(workplace: Workplace) -> None:
    """As the doctor does: a run could not tell them apart."""
    evaluator = "class E:\n    name = 'same'\n    def score(self, original, processed): return {}\n"
    for name in ("cb-one", "cb-two"):
        module = name.replace("-", "_")
        write_distribution(
            workplace.site,
            name,
            {"cb.evaluators": {"same": f"{module}:E"}},
            {f"{module}.py": evaluator},
        )
    done = workplace.cb("plugins", "check", "cb-one")
    assert done.returncode == 3
    assert "both offer the evaluator 'same'" in done.stdout + done.stderr
