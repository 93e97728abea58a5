"""`cb doctor`: everything that can be wrong with an environment, and what to do about it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import cbcore
from tests.fake_distributions import SYSTEM, Workplace, write_distribution, write_system


def examined(workplace: Workplace, *arguments: str, **environ: str) -> tuple[int, dict[str, Any]]:
    done = workplace.cb("doctor", *arguments, "--json", **environ)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def found(report: dict[str, Any], rule: str, subject: str) -> dict[str, Any]:
    (finding,) = [f for f in report["findings"] if (f["rule"], f["subject"]) == (rule, subject)]
    return finding


def plain(workplace: Workplace, name: str = "cb-one", **keywords: Any) -> Any:
    """A distribution in good order."""
    module = name.replace("-", "_")
    keywords.setdefault("requires", ["cbcore>=0.1,<0.2"])
    return write_distribution(
        workplace.site,
        name,
        {"cb.systems": {name: f"{module}:System"}},
        {f"{module}.py": SYSTEM.format(name=name)},
        **keywords,
    )


def test_an_environment_in_good_order(workplace: Workplace) -> None:
    """Versions of everything it rests on, no errors, exit 0."""
    plain(workplace)

    code, report = examined(workplace)

    assert (code, report["ok"]) == (0, True)
    assert list(report) == ["ok", "environment", "plugins", "findings"]
    environment = report["environment"]
    assert environment["cbcore"] == cbcore.__version__
    assert all(environment[key] for key in ("python", "platform", "pluggy", "click"))
    (one,) = [p for p in report["plugins"] if p["name"] == "cb-one"]
    assert one["import_ms"] > 0
    assert not [f for f in report["findings"] if f["subject"] == "cb-one"]


def test_a_broken_plugin(workplace: Workplace) -> None:
    """The cause and the fix; exit 3."""
    workplace.install("cb-raises-on-import")

    code, report = examined(workplace)

    assert (code, report["ok"]) == (3, False)
    finding = found(report, "broken", "cb-raises-on-import")
    assert "the flux is out of order" in finding["problem"]
    assert finding["fix"]


@pytest.mark.parametrize(
    ("requires", "severity", "problem"),
    [
        ([], "warning", "no requirement on cbcore"),
        (["cbcore"], "warning", "no upper bound (cbcore)"),
        (["cbcore>=0.1"], "warning", "no upper bound (cbcore >=0.1)"),
        (["cbcore>=9"], "error", "it requires cbcore >=9"),
    ],
)
def test_the_range_of_cores(
    workplace: Workplace, requires: list[str], severity: str, problem: str
) -> None:
    """Open ranges are worth a word; a range that excludes this core is told once."""
    plain(workplace, requires=requires)

    code, report = examined(workplace)

    finding = found(report, "core-range", "cb-one")
    assert finding["severity"] == severity
    assert problem in finding["problem"]
    assert code == (3 if severity == "error" else 0)
    assert sum("requires cbcore" in f["problem"] for f in report["findings"]) <= 1


@pytest.mark.parametrize("bounded", [">=0.1,<0.2", "~=0.1", "==0.1.*"])
def test_bounded_ranges_are_fine(workplace: Workplace, bounded: str) -> None:
    """However they are written."""
    plain(workplace, requires=[f"cbcore{bounded}"])

    _, report = examined(workplace)

    assert not [f for f in report["findings"] if f["subject"] == "cb-one"]


@pytest.mark.parametrize(
    ("requirement", "problem"),
    [
        ("click>=999", "it requires click>=999; installed is"),
        ("not-there-at-all", "it requires not-there-at-all, which is not installed"),
        ("click>=999; extra == 'x'", None),
        ("Click>=7", None),
        ("click[x]>=7", None),
    ],
)
def test_versions_in_conflict(workplace: Workplace, requirement: str, problem: str | None) -> None:
    """What a plugin requires and does not have; optional requirements do not count."""
    plain(workplace, requires=["cbcore>=0.1,<0.2", requirement])

    code, report = examined(workplace)

    if problem is None:
        assert code == 0
    else:
        assert problem in found(report, "requirement", "cb-one")["problem"]
        assert code == 3


def test_names_in_conflict(workplace: Workplace) -> None:
    """Both owners, and what to write instead."""
    write_system(workplace.site, "cb-one", "same")
    write_system(workplace.site, "cb-two", "same")

    code, report = examined(workplace)

    assert code == 3
    assert "cb-one/same or cb-two/same" in found(report, "name-conflict", "cb-one, cb-two")["fix"]


@pytest.mark.parametrize("where", ["same folder", "another folder"])
def test_copies_of_a_distribution(workplace: Workplace, where: str) -> None:
    """Two versions side by side, or one that hides another."""
    plain(workplace)
    other = workplace.site if where == "same folder" else workplace.folder / "other"
    write_distribution(other, "cb-one", {"cb.systems": {"x": "cb_one:System"}}, version="2.0")

    path = f"{workplace.site}:{other}"
    code, report = examined(workplace, PYTHONPATH=path)

    assert code == 3
    assert "hides" in found(report, "duplicate", "cb-one")["problem"]


def test_a_distribution_whose_files_are_gone(workplace: Workplace) -> None:
    """Half of it was removed."""
    plain(workplace)
    (workplace.site / "cb_one.py").unlink()

    code, report = examined(workplace)

    assert code == 3
    assert "such as cb_one.py" in found(report, "stale", "cb-one")["problem"]


@pytest.mark.parametrize("exists", [True, False])
def test_an_editable_project_that_was_moved(workplace: Workplace, exists: bool) -> None:
    """It points nowhere."""
    info = plain(workplace)
    folder = workplace.folder if exists else workplace.folder / "gone"
    (info / "direct_url.json").write_text(
        json.dumps({"url": folder.as_uri(), "dir_info": {"editable": True}})
    )

    code, report = examined(workplace)

    assert code == (0 if exists else 3)
    if not exists:
        assert str(folder) in found(report, "stale", "cb-one")["problem"]


@pytest.mark.parametrize(
    ("group", "meant"),
    [("cb.dataset", "cb.datasets"), ("cb_systems", "cb.systems"), ("cb.plugin", "cb.plugins")],
)
def test_a_misspelt_group(workplace: Workplace, group: str, meant: str) -> None:
    """A plugin that offers nothing, by mistake: reported once here, and in the list."""
    write_distribution(
        workplace.site, "cb-odd", {group: {"x": "cb_odd:X"}}, requires=["cbcore>=0.1,<0.2"]
    )

    code, report = examined(workplace)

    assert code == 3
    assert found(report, "entry-point-group", "cb-odd")["fix"] == f"did you mean {meant}?"
    assert [f["subject"] for f in report["findings"]].count("cb-odd") == 1
    listed = workplace.plugins()["cb-odd"]
    assert (listed["state"], listed["remedy"]) == ("broken", f"did you mean {meant}?")


def test_a_slow_plugin(workplace: Workplace) -> None:
    """It is a warning."""
    source = "import time; time.sleep(1.1)\n" + SYSTEM.format(name="one")
    write_system(workplace.site, "cb-one", "one", source)

    code, report = examined(workplace)

    assert code == 0
    assert found(report, "slow", "cb-one")["problem"].startswith("importing it took 1.")


def test_a_cache_that_cannot_be_written(cold_workplace: Workplace) -> None:
    """The folder is named; doctor leaves nothing behind in the others."""
    occupied = cold_workplace.write("occupied", "")

    code, report = examined(cold_workplace, XDG_CACHE_HOME=str(occupied))

    assert code == 3
    assert found(report, "unwritable", str(occupied / "cb"))["fix"]
    assert [path.name for path in cold_workplace.folder.iterdir()] == ["occupied"]


def test_missing_tools_are_notes(workplace: Workplace) -> None:
    """What for, and how to get it; nothing needs fixing."""
    code, report = examined(workplace, PATH="")

    git = found(report, "optional", "git")
    assert (code, git["severity"]) == (0, "note")


@pytest.mark.parametrize("manifest", [b"nonsense", b"[cb.systems]\none = caf\xe9:One\n"])
def test_a_malformed_plugin_needs_fixing(workplace: Workplace, manifest: bytes) -> None:
    """It is called as plugins are, or offers something: what is listed as broken is an error."""
    info = write_distribution(workplace.site, "cb-torn")
    (info / "entry_points.txt").write_bytes(manifest)

    code, report = examined(workplace)

    assert code == 3
    told = [f["problem"] for f in report["findings"] if f["subject"] == "cb-torn"]
    assert any("its entry_points.txt cannot be read" in problem for problem in told)
    assert workplace.cb("list-plugins", "--strict-plugins").returncode == 3


def test_a_requirement_on_the_core_that_cannot_be_read(workplace: Workplace) -> None:
    """It is no permission to be used with any core."""
    plain(workplace, "cb-banana", requires=["cbcore>=banana"])

    code, report = examined(workplace)

    assert code == 3
    told = [f["problem"] for f in report["findings"] if f["subject"] == "cb-banana"]
    assert f"it requires cbcore >=banana; installed is {cbcore.__version__}" in told


def test_remains_of_an_interrupted_installation(workplace: Workplace) -> None:
    """The folder to delete is named."""
    info = plain(workplace, "cb-half")
    info.rename(info.with_name("~b_half-1.0.dist-info"))

    _, report = examined(workplace)

    assert "~b_half" in found(report, "leftover", "~b_half-1.0.dist-info")["fix"]


def test_doctor_for_people(workplace: Workplace) -> None:
    """Environment, findings worst first, each with its fix, and a count."""
    write_system(workplace.site, "cb-open", "open")
    workplace.install("cb-raises-on-import")

    done = workplace.cb("doctor")

    assert done.returncode == 3
    assert done.stdout.startswith("python ")
    lines = done.stdout.splitlines()
    severities = [x.partition(":")[0] for x in lines if x.startswith(("error", "warning", "note"))]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert lines[-1] == "1 thing needs fixing"
    assert workplace.cb("doctor", "--no-plugin", "cb-raises-on-import").stdout.endswith(
        "nothing needs fixing\n"
    )


def test_timings_are_sorted(workplace: Workplace) -> None:
    """The slowest plugin comes first."""
    source = "import time; time.sleep(0.5)\n" + SYSTEM.format(name="one")
    write_system(workplace.site, "cb-one", "one", source)

    lines = workplace.cb("doctor", "--timings").stdout.splitlines()

    header = next(n for n, line in enumerate(lines) if line.split() == ["PLUGIN", "IMPORT"])
    rows = [line.split() for line in lines[header + 1 : lines.index("", header)]]
    timings = {name: float(ms) for name, ms, _ in rows}
    assert timings["cb-one"] > 500
    assert list(timings.values()) == sorted(timings.values(), reverse=True)


def test_outcomes_are_recorded_for_the_list(workplace: Workplace) -> None:
    """`cb list-plugins` imports nothing, and shows what doctor found."""
    plain(workplace)
    workplace.install("cb-raises-on-import", "cb-kills-interpreter")
    assert workplace.plugins()["cb-one"]["status"] == "not loaded yet"

    examined(workplace)

    listed = workplace.plugins()
    assert listed["cb-one"]["status"] == "ok"
    assert listed["cb-raises-on-import"]["status"] == "broken"
    assert "the flux is out of order" in listed["cb-raises-on-import"]["reason"]
    assert "ended the interpreter" in listed["cb-kills-interpreter"]["reason"]


def test_plugins_are_imported_again_although_they_are_known(workplace: Workplace) -> None:
    """A plugin can break without a change of its own files."""
    source = "import needed\n" + SYSTEM.format(name="one")
    write_system(workplace.site, "cb-one", "one", source)
    (workplace.site / "needed.py").write_text("")
    assert workplace.cb("plugins", "show", "cb-one").returncode == 0

    (workplace.site / "needed.py").unlink()
    _, report = examined(workplace)

    assert "No module named 'needed'" in found(report, "broken", "cb-one")["problem"]


@pytest.mark.parametrize("command", ["doctor", "init --no-input"])
def test_a_policy_that_the_environment_does_not_meet(workplace: Workplace, command: str) -> None:
    """Doctor reports a required plugin that is absent; other commands refuse to work without it."""
    done = workplace.cb(*command.split(), CB_REQUIRE_PLUGINS="cb-absent")

    assert done.returncode == 3
    said = done.stdout if command == "doctor" else done.stderr
    assert "is required but not installed" in said


def test_doctor_works_where_every_plugin_must(workplace: Workplace) -> None:
    """Whatever --strict-plugins refuses is what doctor is for."""
    workplace.install("cb-raises-on-import")

    code, report = examined(workplace, CB_STRICT_PLUGINS="1")

    assert code == 3
    assert found(report, "broken", "cb-raises-on-import")
