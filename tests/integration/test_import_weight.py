"""Light commands stay light: what they import, how much, and that plugins add nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.fake_distributions import Workplace, write_hooks, write_system

HEAVY = {
    "aiohttp",
    "asyncio",
    "datasets",
    "httpx",
    "huggingface_hub",
    "numpy",
    "pandas",
    "pyarrow",
    "requests",
    "rich",
    "splintr",
    "structlog",
    "yaml",
}
"""Top-level packages that no light command needs. `asyncio` stands for the run machinery."""

LIMITS = {"--version": 100, "--help": 195, "list-plugins": 155}
"""Modules each command may import on top of a bare interpreter: measured, plus some 15 %."""
SELDOM = {
    *("concurrent", "csv", "fractions", "importlib_metadata", "multiprocessing"),
    *("secrets", "shutil", "socket", "ssl"),
}
"""What only some runs need, and costs all others more than it is worth."""
RUN_LIMIT = 355
"""The same for a run of one row."""
PAGE_LIMIT = 23
"""What an HTML report adds to the modules of such a run with a table, and nothing of it that only
answers questions or finds files of packages."""


@pytest.fixture
def workplace(cold_workplace: Workplace) -> Workplace:
    return cold_workplace


def bare_modules(workplace: Workplace) -> set[str]:
    code = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=workplace.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout))


def imported(workplace: Workplace, *command: str) -> set[str]:
    """What a command imports by itself, once plugins are known."""
    if not command[0].startswith("-"):
        assert workplace.cb(*command).returncode == 0
    done, processes = workplace.traced(*command)
    assert done.returncode == 0, done.stderr
    assert len(processes) == 1
    return set(processes[0]["modules"])


@pytest.mark.parametrize("command", LIMITS)
def test_light_command(workplace: Workplace, command: str) -> None:
    """It imports no plugin, nothing heavy, and not more modules than it did."""
    workplace.install("cb-good-static", "cb-good-hooks", "cb-raises-on-import")
    (workplace.site / "cb_raises_on_import" / "__init__.py").write_text("class System: name = ''")

    modules = imported(workplace, command)

    tops = {name.partition(".")[0] for name in modules}
    assert not tops & HEAVY
    assert {top for top in tops if top.startswith("cb")} == {"cbcore"}
    assert len(modules - bare_modules(workplace)) <= LIMITS[command]


@pytest.mark.parametrize("command", ["--help", "list-plugins"])
def test_number_of_modules_does_not_grow_with_plugins(workplace: Workplace, command: str) -> None:
    """Three hundred plugins import what one does."""
    write_system(workplace.site, "cb-many-first", "first")
    write_hooks(workplace.site, "cb-many-hooks", "")
    few = imported(workplace, command)
    for number in range(300):
        write_system(workplace.site, f"cb-many-{number}", f"many-{number}")

    assert imported(workplace, command) == few


def test_listing_starts_no_process(workplace: Workplace) -> None:
    """Not even the first time."""
    workplace.install("cb-raises-on-import")

    done, processes = workplace.traced("list-plugins")

    assert len(processes) == 1
    assert "systems: raising" in done.stdout


def test_the_help_of_a_run_imports_options_only(workplace: Workplace) -> None:
    """Their help is cached: the second time nothing of a plugin is imported."""
    workplace.install("cb-third-party", "cb-good-static")

    _, (first,) = workplace.traced("run", "--help")
    _, (second,) = workplace.traced("run", "--help")

    own = {name for name in first["modules"] if name.startswith(("cb_third", "cb_good"))}
    assert own == {"cb_third_party", "cb_third_party.option"}
    assert [name for name in second["modules"] if name.startswith("cb_")] == []


def test_importing_the_package_costs_next_to_nothing(workplace: Workplace) -> None:
    """`import cbcore` imports itself and little of the standard library."""
    code = "import json, sys; import cbcore; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=workplace.environment(),
        capture_output=True,
        text=True,
        check=True,
    )

    added = set(json.loads(done.stdout)) - bare_modules(workplace)
    assert {name.partition(".")[0] for name in added} - sys.stdlib_module_names == {"cbcore"}
    assert len(added) <= 15


def test_a_run_imports_what_it_uses(workplace: Workplace) -> None:
    """Once it is known what evaluators are for, those for other tasks are left alone."""
    workplace.write("data.jsonl", '{"id": 1, "context": "c", "question": "q", "answer": "c"}')
    command = ("run", "-s", "identity | extractive", "-d", "data.jsonl", "--no-cache")
    assert workplace.cb(*command).returncode == 0

    done, processes = workplace.traced(*command)

    assert done.returncode == 0, done.stderr
    tops = {name.partition(".")[0] for name in processes[0]["modules"]}
    used = {"cb_answerquality", "cb_baselines", "cb_metrics", "cb_reporters"}
    assert used <= tops
    assert not tops & {"cb_code_execution", "cb_scorers"}


SMALL_RUN = ("run", "-s", "bm25:max_tokens=150 | extractive", "-d", "hotpotqa:sample", "-n", "1")


@pytest.mark.parametrize(
    ("output", "own", "others"),
    [
        ("html=r.html", "page.document", {"data", "markdown"}),
        ("table", "table", {"data", "markdown", "page"}),
    ],
)
def test_a_small_run_imports_no_more_than_it_uses(
    workplace: Workplace, output: str, own: str, others: set[str]
) -> None:
    """The plugins it names, the reporter that was asked for, and of all other plugins hooks alone."""
    command = (*SMALL_RUN, "--output", output, "--cache-dir", ".cb")
    modules = imported(workplace, *command)

    tops = {name.partition(".")[0] for name in modules}
    plugins = {"answerquality", "baselines", "hotpotqa", "metrics", "ragas_precision"}
    used = {f"cb_{name}" for name in (*plugins, "reporters")}
    assert used <= tops
    loaded = [name.partition(".") for name in modules if name.startswith("cb_")]
    assert {rest for top, _, rest in loaded if top not in used} == {"", "hooks"}
    assert tops & (HEAVY | SELDOM) == {"splintr"}
    assert not modules & {
        "cbcore.builtin.processes",
        "cbcore._run.dispatch",
        "cbcore.assembly.recipes",
    }
    assert "cbcore.hf" not in modules
    assert "cb_baselines.reading.comparison" not in modules
    assert f"cb_reporters.{own}" in modules
    assert not modules & {f"cb_reporters.{other}" for other in others}
    of_the_page = {name for name in modules if name.startswith("cb_reporters.page")}
    assert len(modules - bare_modules(workplace) - of_the_page) <= RUN_LIMIT


def test_a_page_adds_what_draws_it(workplace: Workplace) -> None:
    """Not what answers a server's questions, nor what finds files in packages or names in HTML."""
    cached = (*SMALL_RUN, "--cache-dir", ".cb")
    added = imported(workplace, *cached, "--output", "html=r.html") - imported(
        workplace, *cached, "--output", "table"
    )

    assert "cb_reporters.page.document" in added
    assert not {name.rpartition(".")[2] for name in added} & {"finding", "query"}
    assert not {name.partition(".")[0] for name in added} & {"html", "importlib", "zipfile"}
    assert len(added) <= PAGE_LIMIT
