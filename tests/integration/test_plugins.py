"""Good and broken plugins in real `cb` processes: listed, harmless, and fatal where needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fake_distributions import (
    PACKAGES,
    Workplace,
    write_distribution,
    write_hooks,
    write_system,
)

BROKEN = {
    "cb-raises-on-import": (
        "broken",
        "RuntimeError: the flux is out of order",
        "reinstall or update",
    ),
    "cb-exits-on-import": ("broken", "it called sys.exit(0)", "reinstall or update"),
    "cb-kills-interpreter": ("broken", "ended the interpreter (exit code 0)", "update or"),
    "cb-broken-entry-point": ("broken", "cb_broken_entry_point", "reinstall or update"),
    "cb-needs-other-core": ("incompatible", "requires cbcore >=99", "pip install -U"),
    "cb-unknown-hook": ("broken", "cb_dataset is not a hook", "did you mean cb_datasets?"),
    "cb-wrong-argument": ("broken", "Argument(s) {'event'}", "`cb hooks` shows"),
    "cb-wrong-return": ("broken", "returned 'wrong-data'", "return Component("),
    "cb-hook-raises": (
        "broken",
        "LookupError: the table of metrics is lost",
        "update or uninstall",
    ),
}
"""Plugin → state, part of the reason, part of the remedy."""

WORKING = (
    *("cb-good-static", "cb-good-hooks", "cb-prints-on-import", "cb-duplicate-name"),
    "cb-third-party",
)

SYSTEM = """
from pathlib import Path

class Recorder:
    name = "recorder"

    def process(self, example):
        with Path("calls.txt").open("a") as calls:
            calls.write("called\\n")
        return {"response": "word"}
"""


def write_malformed(site: Path) -> None:
    """Distributions no build tool would make, of which two are not plugins."""
    for name, manifest, metadata in (
        ("unrelated_torn", b"torn", b"Name: unrelated-torn\nVersion: 1\n\n"),
        ("unrelated_bytes", b"[x]\ny = \xff\xfe", b"Name: unrelated-bytes\nVersion: 1\n\n"),
        ("cb_no_metadata", b"[cb.systems]\nbare = m:System\n", None),
        (
            "cb_torn",
            b"[cb.systems]\ntorn = m:System\ntorn apart\n",
            b"Name: cb-torn\nVersion: 1\n\n",
        ),
    ):
        info = site / f"{name}-1.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_bytes(manifest)
        if metadata is not None:
            (info / "METADATA").write_bytes(metadata)


@pytest.fixture
def crowded(workplace: Workplace) -> Workplace:
    """Every good and every broken plugin at once."""
    workplace.install(*BROKEN, *WORKING)
    write_malformed(workplace.site)
    return workplace


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(workplace: Workplace) -> Run:
    """`cb run` of a system that leaves a trace, on a small file; arguments are added."""
    workplace.write("mine.py", SYSTEM)
    workplace.write("data.jsonl", '{"id": 1, "context": "a word", "answer": "word"}\n')

    def call(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        chosen = ["--tokenizer", "words", "--output", "json", "--dataset", "data.jsonl"]
        return workplace.cb("run", "-s", "py:./mine.py:Recorder", *chosen, *arguments, **environ)

    return call


def n_calls(workplace: Workplace) -> int:
    file = workplace.folder / "calls.txt"
    return len(file.read_text().splitlines()) if file.exists() else 0


# -- listed ------------------------------------------------------------------------------------


def check_listing(plugins: dict[str, dict[str, Any]]) -> None:
    for name, (state, reason, remedy) in BROKEN.items():
        record = plugins[name]
        assert (record["status"], record["state"]) == ("broken", state), record
        assert reason in record["reason"], record
        assert remedy in record["remedy"], record
    for name in WORKING:
        assert plugins[name]["status"] == "ok", plugins[name]


def test_list_plugins_shows_what_is_known_without_an_import(crowded: Workplace) -> None:
    """Metadata at once; what happens at import when it was tried, as by `cb doctor`."""
    plugins = crowded.plugins()
    assert {name for name in BROKEN if plugins[name]["status"] == "broken"} == {
        "cb-needs-other-core"
    }
    assert {plugins[name]["status"] for name in WORKING} == {"not loaded yet"}
    assert not {"unrelated-torn", "unrelated-bytes"} & plugins.keys()
    assert plugins["cb_no_metadata"]["state"] == "broken"
    assert "METADATA" in plugins["cb_no_metadata"]["reason"]
    assert "line 3: 'torn apart'" in plugins["cb-torn"]["reason"]
    assert plugins["cb-torn"]["remedy"] == "reinstall cb-torn"
    assert plugins["cb-broken-entry-point"]["components"] == {
        "systems": ["no-attribute", "no-module"]
    }

    findings = json.loads(crowded.cb("doctor", "--json").stdout)["findings"]

    assert {*BROKEN, "cb_no_metadata", "cb-torn"} <= {finding["subject"] for finding in findings}
    check_listing(crowded.plugins())


def test_the_same_for_people(crowded: Workplace) -> None:
    """The table has a line for each; reasons and remedies follow."""
    crowded.cb("hooks")
    done = crowded.cb("list-plugins")

    assert done.returncode == 0
    first = {line.split()[0] for line in done.stdout.split("\n\n")[0].splitlines()}
    assert {*BROKEN, *WORKING, "PLUGIN", "cbcore", "cb-torn"} <= first
    assert "\ncb-unknown-hook: cb_unknown_hook.cb_dataset is not a hook of cb\n" in done.stdout
    assert "  remedy: did you mean cb_datasets?\n" in done.stdout
    assert "broken (incompatible)" in done.stdout


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["list-plugins"], ["run", "--help"]]
)
def test_light_commands_work_beside_them(crowded: Workplace, arguments: list[str]) -> None:
    """They exit with 0, and complain of nothing."""
    done = crowded.cb(*arguments)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_nothing_incompatible_is_imported(crowded: Workplace, tmp_path: Path) -> None:
    """Neither by a command that shows hooks nor by the one that tries all plugins."""
    trace = tmp_path / "trace"

    for command in ("hooks", "doctor"):
        crowded.cb(command, CB_SIDE_EFFECT=str(trace))

    assert not trace.exists()


# -- harmless ----------------------------------------------------------------------------------


def test_run_that_needs_none_of_them_works(crowded: Workplace, run: Run, tmp_path: Path) -> None:
    """With all of them installed; standard output is the report alone."""
    trace = tmp_path / "trace"

    done = run("--evaluator", "good_length", "--metric", "good_count", CB_SIDE_EFFECT=str(trace))

    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["rows"][0]["scores"] == {"length": 4.0}
    assert n_calls(crowded) == 1
    assert not trace.exists()


def test_run_that_chooses_by_itself_leaves_them_out(workplace: Workplace, run: Run) -> None:
    """A broken evaluator is not wired; the log names it once and the rows are scored."""
    write_distribution(
        workplace.site,
        "cb-torn-evaluator",
        {"cb.evaluators": {"torn": "cb_torn:Evaluator"}},
        {"cb_torn.py": "raise RuntimeError('torn apart')"},
    )

    done = run()

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"][0]["error"] is None
    assert done.stderr.count("torn apart") == 1
    assert "cb-torn-evaluator" in done.stderr


# -- fatal where needed ------------------------------------------------------------------------

NEEDED = {
    "raising": "the flux is out of order",
    "exiting": "sys.exit(0)",
    "no-module": "cb_broken_entry_point.absent",
    "no-attribute": "Absent",
    "futuristic": "requires cbcore >=99",
    "unlucky": "the table of metrics is lost",
    "bare": "METADATA",
    "torn": "line 3: 'torn apart'",
    "cb-unknown-hook/anything": "cb_dataset is not a hook",
    "cb-wrong-argument/anything": "Argument(s) {'event'}",
    "cb-wrong-return/wrong-data": "returned 'wrong-data'",
}


@pytest.mark.parametrize("system", NEEDED)
def test_run_that_needs_one_fails_before_anything_is_spent(
    crowded: Workplace, run: Run, system: str
) -> None:
    """Exit code 3, the cause in the message, no system called, nothing on standard output."""
    done = run("--system", system)

    assert done.returncode == 3, done.stderr
    assert NEEDED[system] in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert n_calls(crowded) == 0


def test_name_that_a_torn_hook_module_may_have_offered(crowded: Workplace, run: Run) -> None:
    """An unknown name is a usage error, whose hint names the plugins it may belong to."""
    done = run("--dataset", "wrong-data")

    assert done.returncode == 2
    assert "cb-wrong-return (cb_datasets returned 'wrong-data'" in done.stderr
    assert n_calls(crowded) == 0


# -- names -------------------------------------------------------------------------------------


def test_ambiguous_name(crowded: Workplace, run: Run) -> None:
    """The bare name is an error naming both; the full name works; the listing notes it."""
    bare = run("--evaluator", "answer_quality")
    full = run("--evaluator", "cb-duplicate-name/answer_quality", "--metric", "good_count")

    assert bare.returncode == 3
    assert "claimed by cb-answerquality and cb-duplicate-name" in bare.stderr
    assert "cb-duplicate-name/answer_quality" in bare.stderr
    assert full.returncode == 0, full.stderr
    assert json.loads(full.stdout)["rows"][0]["scores"] == {"rival": 1.0}
    assert n_calls(crowded) == 1
    plugins = crowded.plugins()
    assert "also claimed by cb-duplicate-name" in plugins["cb-answerquality"]["reason"]
    assert "also claimed by cb-answerquality" in plugins["cb-duplicate-name"]["reason"]
    assert "write cb-duplicate-name/answer-quality" in plugins["cb-duplicate-name"]["reason"]


def test_same_distribution_twice(workplace: Workplace, tmp_path: Path) -> None:
    """The copy later on the path is listed as shadowed, which is no failure."""
    second = tmp_path / "second"
    workplace.install("cb-good-static")
    write_distribution(
        second, "cb-good-static", {"cb.metrics": {"other": "m:Other"}}, version="2.0"
    )
    path = os.pathsep.join([str(workplace.site), str(second)])

    records = [
        r
        for r in workplace.json("list-plugins", "--strict-plugins", PYTHONPATH=path)
        if r["name"] == "cb-good-static"
    ]

    assert [(r["version"], r["status"], r["state"]) for r in records] == [
        ("1.0", "ok", "ok"),
        ("2.0", "disabled", "shadowed"),
    ]
    assert str(workplace.site) in records[1]["reason"]


# -- policy ------------------------------------------------------------------------------------

SIDE_EFFECT = """
import os
from pathlib import Path
Path(os.environ["CB_SIDE_EFFECT"]).write_text("imported")
"""

WAYS = {
    "flag before": (["{flag}", "{name}", "list-plugins"], {}, ""),
    "flag after": (["list-plugins", "{flag}", "{name}"], {}, ""),
    "environment": (["list-plugins"], {"{variable}": "{name}"}, ""),
    "table": (["list-plugins"], {}, '[tool.cb]\n{key} = ["{name}"]\n'),
}
VERBS = {
    "disable": {"flag": "--no-plugin", "variable": "CB_DISABLE_PLUGINS", "key": "disable_plugins"},
    "only": {"flag": "--only-plugin", "variable": "CB_ONLY_PLUGINS", "key": "only_plugins"},
    "require": {
        "flag": "--require-plugin",
        "variable": "CB_REQUIRE_PLUGINS",
        "key": "require_plugins",
    },
}


def say(
    workplace: Workplace, way: str, verb: str, name: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    """List plugins under a policy given in one of the ways."""
    arguments, variables, table = WAYS[way]
    words = {**VERBS[verb], "name": name}
    workplace.write("pyproject.toml", table.format(**words))
    variables = {key.format(**words): value.format(**words) for key, value in variables.items()}
    spelled = [argument.format(**words) for argument in arguments]
    return workplace.cb(*spelled, "--json", **variables, **environ)


def states(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    assert done.returncode == 0, done.stderr
    return {record["name"]: record["state"] for record in json.loads(done.stdout)}


@pytest.mark.parametrize("way", WAYS)
def test_disabling_by_every_way(workplace: Workplace, tmp_path: Path, way: str) -> None:
    """The plugin is not imported anywhere, and is listed as disabled; others are not."""
    trace = tmp_path / "trace"
    write_hooks(workplace.site, "cb-traced", SIDE_EFFECT)

    listed = states(say(workplace, way, "disable", "CB_Traced", CB_SIDE_EFFECT=str(trace)))

    assert listed["cb-traced"] == "disabled"
    assert listed["cb-metrics"] != "disabled"
    assert not trace.exists()


@pytest.mark.parametrize("way", WAYS)
def test_allowing_by_every_way(workplace: Workplace, way: str) -> None:
    """All others are off, first-party ones included; the core stays."""
    workplace.install("cb-good-static")

    listed = states(say(workplace, way, "only", "cb-good-static"))

    usable = {name for name, state in listed.items() if state != "disabled"}
    assert usable == {"cb-good-static", "cbcore"}


@pytest.mark.parametrize("way", WAYS)
def test_requiring_by_every_way(workplace: Workplace, way: str) -> None:
    """A broken one fails with its cause, exit code 3; a good one passes."""
    workplace.install("cb-raises-on-import", "cb-good-static")

    done = say(workplace, way, "require", "cb-raises-on-import")

    assert done.returncode == 3
    assert "the flux is out of order" in done.stderr
    assert say(workplace, way, "require", "cb-good-static").returncode == 0


@pytest.mark.parametrize("verb", ["disable", "only"])
@pytest.mark.parametrize("way", WAYS)
def test_name_that_matches_nothing(workplace: Workplace, way: str, verb: str) -> None:
    """A usage error with a suggestion, whatever the way."""
    done = say(workplace, way, verb, "cb-metric")

    assert done.returncode == 2
    assert "'cb-metric'" in done.stderr
    assert "did you mean cb-metrics?" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("way", WAYS)
def test_required_name_that_is_not_installed(workplace: Workplace, way: str) -> None:
    """Exit code 3, and how to get it."""
    done = say(workplace, way, "require", "cb-absent")

    assert done.returncode == 3
    assert "pip install cb-absent" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "environ", "table"),
    [
        (["--strict-plugins"], {}, ""),
        ([], {"CB_STRICT_PLUGINS": "1"}, ""),
        ([], {}, "[tool.cb]\nstrict_plugins = true\n"),
    ],
    ids=["flag", "environment", "table"],
)
def test_strict(
    workplace: Workplace, run: Run, arguments: list[str], environ: dict[str, str], table: str
) -> None:
    """A malformed stranger is passed over; a broken plugin fails listing and run with code 3."""
    workplace.write("pyproject.toml", table)
    write_malformed(workplace.site)
    for name in ("cb_no_metadata", "cb_torn"):
        (workplace.site / f"{name}-1.dist-info" / "entry_points.txt").unlink()
    workplace.install("cb-good-static")
    wanted = ["--evaluator", "good_length", "--metric", "good_count"]

    assert workplace.cb("list-plugins", *arguments, **environ).returncode == 0
    assert run(*wanted, *arguments, **environ).returncode == 0
    assert n_calls(workplace) == 1

    workplace.install("cb-raises-on-import")
    for done in (
        workplace.cb("list-plugins", *arguments, **environ),
        workplace.cb("list", *arguments, **environ),
        run(*wanted, *arguments, **environ),
    ):
        assert done.returncode == 3
        assert "the flux is out of order" in done.stderr
    assert n_calls(workplace) == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[tool.cb]\ndisable_plugin = []\n", "did you mean disable_plugins?"),
        ("[tool.cb]\ndisable_plugins = \n", "not valid TOML"),
        ("[[tool.cb]]\n", "must be a table"),
    ],
)
@pytest.mark.parametrize("arguments", [["--help"], ["list-plugins"]])
def test_table_that_cannot_be_used(
    workplace: Workplace, table: str, message: str, arguments: list[str]
) -> None:
    """One clear message, exit code 2, no traceback."""
    workplace.write("pyproject.toml", table)

    done = workplace.cb(*arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "pyproject.toml" in done.stderr
    assert done.stderr.count("cb: error:") == 1
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr


# -- what good plugins can do ------------------------------------------------------------------


def test_observer_is_told_of_a_run(workplace: Workplace, run: Run, tmp_path: Path) -> None:
    """Start, each row in order, end; its dataset is found by name."""
    workplace.install("cb-good-hooks")
    events = tmp_path / "events.txt"

    done = workplace.cb(
        "run", "-s", "py:./mine.py:Recorder", "-d", "good-letters", "-n", "2",
        "--tokenizer", "words", "--output", "json", CB_GOOD_HOOKS_EVENTS=str(events),
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert events.read_text().splitlines() == [
        "started recorder",
        "row a",
        "row b",
        "finished 2 rows",
    ]


def test_observer_that_fails_is_named_once(workplace: Workplace, run: Run) -> None:
    """The run goes on to its end."""
    write_hooks(
        workplace.site, "cb-nosy", "def cb_row_finished():\n    raise OSError('disk full')\n"
    )
    workplace.write("data.jsonl", '{"context": "a", "answer": "a"}\n' * 3)

    done = run()

    assert done.returncode == 0
    assert len(json.loads(done.stdout)["rows"]) == 3
    assert done.stderr.count("disk full") == 1
    assert "cb-nosy" in done.stderr


def test_command_of_a_static_entry(cold_workplace: Workplace) -> None:
    """It is in the help, without an import, and runs."""
    cold_workplace.install("cb-good-hooks")

    done, (process,) = cold_workplace.traced("--help")

    assert "good-greet" in done.stdout
    assert "from cb-good-hooks 1.0" in done.stdout
    assert not any(name.startswith("cb_good") for name in process["modules"])
    assert cold_workplace.cb("good-greet", "Ada").stdout == "hello Ada\n"
    assert cold_workplace.cb("good_greet", "Ada").stdout == "hello Ada\n"


def test_command_that_a_function_makes(workplace: Workplace) -> None:
    """It runs, made when it is asked for."""
    workplace.install("cb-good-hooks")

    assert workplace.cb("good-wave").stdout == "waving\n"


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("raise RuntimeError('torn apart')", "torn apart"),
        ("def command(): raise RuntimeError('not today')", "not today"),
        ("def command(): return 3", "is not a click.Command"),
    ],
)
def test_command_that_cannot_be_made(workplace: Workplace, source: str, cause: str) -> None:
    """The help still shows it; running it is the plugin's fault."""
    write_distribution(
        workplace.site,
        "cb-commander",
        {"cb.commands": {"order": "cb_commander:command"}},
        {"cb_commander.py": source},
    )

    assert "order" in workplace.cb("--help").stdout
    done = workplace.cb("order")
    assert done.returncode == 3
    assert cause in done.stderr
    assert "cb-commander" in done.stderr


def test_builtin_command_cannot_be_replaced(workplace: Workplace) -> None:
    """Nor is the attempt shown."""
    write_distribution(workplace.site, "cb-usurper", {"cb.commands": {"run": "cb_usurper:command"}})

    assert "cb-usurper" not in workplace.cb("--help").stdout
    assert workplace.cb("run", "--help").returncode == 0


@pytest.mark.parametrize(("typed", "near"), [("lst", "list"), ("good-gret", "good-greet")])
def test_unknown_command_suggests(workplace: Workplace, typed: str, near: str) -> None:
    """Built-in or a plugin's."""
    workplace.install("cb-good-hooks")

    done = workplace.cb(typed)

    assert done.returncode == 2
    assert f"Did you mean {near}?" in done.stderr


def test_registered_dataset_by_import(workplace: Workplace) -> None:
    """`--import` makes what a module registers usable by name; a broken one is a usage error."""
    workplace.write("mine.py", SYSTEM)
    workplace.write(
        "my_module.py",
        "from cbcore.registry import registry\n"
        "registry.register('dataset', 'my-data', lambda: "
        "({'id': i, 'context': 'x', 'answer': 'x'} for i in range(10**9)))\n",
    )
    chosen = ["-s", "py:./mine.py:Recorder", "-d", "my-data", "-n", "3"]
    rest = ["--tokenizer", "words", "--output", "json"]

    done = workplace.cb("run", "--import", "my_module", *chosen, *rest)

    assert done.returncode == 0, done.stderr
    assert {row["dataset"] for row in json.loads(done.stdout)["rows"]} == {"my-data"}
    assert n_calls(workplace) == 3
    without = workplace.cb("run", *chosen, *rest)
    assert without.returncode == 2
    assert "no dataset is called 'my-data'" in without.stderr
    workplace.write("my_module.py", "raise RuntimeError('my own mistake')")
    broken = workplace.cb("run", "--import", "my_module", *chosen, *rest)
    assert broken.returncode == 2
    assert "my own mistake" in broken.stderr


def test_registered_name_that_a_plugin_has(workplace: Workplace) -> None:
    """The bare name is an error naming both, before anything is spent."""
    workplace.install("cb-good-hooks")
    workplace.write("mine.py", SYSTEM)
    workplace.write(
        "my_module.py",
        "from cbcore.registry import registry\nregistry.register('dataset', 'good-letters', list)\n",
    )

    done = workplace.cb(
        "run", "--import", "my_module", "-s", "py:./mine.py:Recorder", "-d", "good-letters"
    )

    assert done.returncode == 3
    assert "cb-good-hooks and python" in done.stderr
    assert n_calls(workplace) == 0


def test_third_party_plugin(workplace: Workplace, run: Run) -> None:
    """A wrapper hook, an observer that is called first, flags that a hook reads, and a command."""
    workplace.install("cb-third-party")
    check_third_party(workplace, run)


def check_third_party(workplace: Workplace, run: Run) -> None:
    source = "import sys\ndef cb_row_finished(row): print('another row', file=sys.stderr)\n"
    write_hooks(workplace.site, "cb-another", source)
    flags = ("--third-note", "hello", "--third-note-times", "2")
    done = run("--evaluator", "cb-answerquality/answer_quality", *flags)
    assert done.returncode == 0, done.stderr
    sections = json.loads(done.stdout)["sections"]
    assert list(sections)[-2:] == ["third-party", "after-1-sections"]
    assert len(sections["third-party"]["lines"]) == 1
    assert "hello hello" in done.stderr
    rows = [line for line in done.stderr.splitlines() if " row" in line]
    assert rows == ["third-party row 1", "another row"]
    assert "--third-note TEXT" in workplace.cb("run", "--help").stdout
    assert workplace.cb("third-wave").stdout == "waving\n"
    unknown = run("--third-note", "hello", "--third-note-times", "0")
    assert unknown.returncode == 2


def test_interrupt_while_a_hook_module_is_imported(workplace: Workplace, run: Run) -> None:
    """Whoever waits for a plugin that hangs learns its name, and so how to leave it out."""
    write_hooks(
        workplace.site,
        "cb-hangs",
        # Tests in the background inherit that the signal is ignored.
        "import os, signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n",
    )
    done = run("-v")
    assert done.returncode == 130
    assert "importing cb_hangs of cb-hangs" in done.stderr
    assert "cb: error: interrupted while importing cb_hangs of cb-hangs" in done.stderr
    assert run("--no-plugin", "cb-hangs").returncode == 0


def test_built_in_plugins_can_be_left_out(workplace: Workplace, run: Run) -> None:
    """The progress display is a hook module of the core, the JSON report a component."""
    built_in = [f"cbcore/{name}" for name in ("debugging", "log_file", "progress", "remarks")]
    options = [word for name in built_in for word in ("--no-plugin", name)]
    assert any("cbcore" in record["plugins"] for record in workplace.json("hooks"))
    assert not any("cbcore" in record["plugins"] for record in workplace.json("hooks", *options))
    assert run(*options).returncode == 0
    without = run("--no-plugin", "cbcore/json")
    assert without.returncode == 2
    assert "no reporter is called 'json'" in without.stderr


# -- really installed --------------------------------------------------------------------------


@pytest.mark.slow
def test_installed_for_real(workplace: Workplace, run: Run) -> None:
    """Built and installed by an installer, the packages behave as those made on the spot."""
    packages = sorted(str(folder) for folder in PACKAGES.iterdir() if folder.is_dir())
    assert len(packages) == len(BROKEN) + len(WORKING)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-index", "--no-build-isolation", "--no-deps", "--no-compile"),
            *("--target", str(workplace.site), *packages),
        ],
        env={**workplace.environment(), "PYTHONPATH": ""},
        check=True,
        timeout=600,
    )

    (entry_points,) = workplace.site.glob("cb_good_static-*/entry_points.txt")
    text = entry_points.read_text()
    entry_points.write_text(f"{text}\n[cb.systems\n")
    assert "line 7: '[cb.systems'" in workplace.plugins()["cb-good-static"]["reason"]
    entry_points.write_text(text)
    workplace.cb("doctor")
    check_listing(workplace.plugins())
    done = run("--evaluator", "good_length", "--metric", "good_count")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"][0]["scores"] == {"length": 4.0}
    for name, cause in NEEDED.items():
        if name not in ("bare", "torn"):
            failed = run("--system", name)
            assert failed.returncode == 3
            assert cause in failed.stderr
    assert n_calls(workplace) == 1
    assert "good-greet" in workplace.cb("--help").stdout
    check_third_party(workplace, run)


def test_write_system_makes_a_plugin_that_runs(workplace: Workplace, run: Run) -> None:
    """The distributions these tests write are as good as installed ones."""
    write_system(workplace.site, "cb-made", "made")

    done = run("--system", "made", "--metric", "latency")

    assert done.returncode == 0, done.stderr
    assert {row["system"] for row in json.loads(done.stdout)["rows"]} == {"recorder", "made"}
