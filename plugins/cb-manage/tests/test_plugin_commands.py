"""`cb plugins show`, `why`, `search` and `lock`, and `cb run --locked`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cb_manage.explanation import explain
from cbcore.plugins import Catalog, read_distributions
from tests.fake_distributions import Workplace, write_distribution, write_hooks, write_system

# -- cb plugins show ---------------------------------------------------------------------------


def test_json_of_show(workplace: Workplace) -> None:
    """Everything of one plugin; the shape is pinned."""
    write_system(workplace.site, "cb-one", "one")

    record = workplace.json("plugins", "show", "CB_One")

    assert record["source"].pop("record_digest").startswith("sha256:")
    assert record == {
        "name": "cb-one",
        "version": "1.0",
        "status": "ok",
        "state": "ok",
        "reason": "",
        "remedy": "",
        "summary": "Made for a test",
        "location": str(workplace.site),
        "from": "",
        "source": {"commit": None, "url": None, "editable": None},
        "core": ">=0.1",
        "hooks": [],
        "components": [
            {
                "kind": "system",
                "name": "one",
                "target": "cb_one:System",
                "summary": "Answer with a word.",
            }
        ],
    }


def test_show_looks_at_that_plugin_only(workplace: Workplace) -> None:
    """Others, however many and broken, are not imported anywhere."""
    write_system(workplace.site, "cb-one", "one")
    trap = workplace.folder / "imported"
    write_system(workplace.site, "cb-trap", "trap", f"open({str(trap)!r}, 'w')")

    printed = workplace.cb("plugins", "show", "cb-one").stdout

    assert printed.startswith("cb-one 1.0\n")
    assert "system one = cb_one:System" in printed
    assert not trap.exists()


def test_show_says_why_a_plugin_is_broken(workplace: Workplace) -> None:
    """With the remedy."""
    workplace.install("cb-raises-on-import")

    printed = workplace.cb("plugins", "show", "cb-raises-on-import").stdout

    assert "broken: importing cb_raises_on_import:System failed" in printed
    assert "remedy" in printed


def test_show_of_an_unknown_plugin(workplace: Workplace) -> None:
    """A usage error that suggests."""
    done = workplace.cb("plugins", "show", "cb-metricks")

    assert done.returncode == 2
    assert "did you mean cb-metrics?" in done.stderr
    assert "cb plugins why" in done.stderr


# -- cb plugins why ----------------------------------------------------------------------------


def test_why_a_name_is_found(workplace: Workplace) -> None:
    """Who offers it, and what to write."""
    write_system(workplace.site, "cb-one", "one")

    assert workplace.cb("plugins", "why", "one").stdout == (
        "system one: offered by cb-one 1.0; write one\n"
    )


def test_why_a_name_is_ambiguous(workplace: Workplace) -> None:
    """Each of its owners, and what to write for each."""
    write_system(workplace.site, "cb-one", "same")
    write_system(workplace.site, "cb-two", "same")

    lines = workplace.cb("plugins", "why", "same").stdout.splitlines()

    assert [line.rpartition("write ")[2] for line in lines] == ["cb-one/same", "cb-two/same"]


def test_why_a_name_is_withheld(workplace: Workplace) -> None:
    """Installed, but not to be had: the state, its reason and the remedy."""
    workplace.install("cb-raises-on-import", "cb-needs-other-core")
    write_system(workplace.site, "cb-off", "off")

    def why(name: str) -> dict[str, Any]:
        told = workplace.json("plugins", "why", name, "--no-plugin", "cb-off")
        (candidate,) = told["candidates"]
        assert candidate["reason"]
        assert candidate["remedy"]
        return candidate

    assert why("raising")["state"] == "broken"
    assert why("off")["state"] == "disabled"
    other = next(
        record["components"]
        for record in workplace.json("list-plugins")
        if record["name"] == "cb-needs-other-core"
    )
    (name,) = next(iter(other.values()))
    assert why(name)["state"] == "incompatible"


def test_why_a_name_is_unknown(workplace: Workplace) -> None:
    """Names like it, with kind and owner, and broken plugins that might have offered it."""
    write_hooks(workplace.site, "cb-torn", "raise RuntimeError")

    printed = workplace.cb("plugins", "why", "trunkate").stdout

    assert "nothing installed or known offers 'trunkate'" in printed
    assert "a broken plugin might: cb-torn" in printed
    assert "truncate (system, cb-baselines)" in printed


def test_why_a_plugins_name_is_no_component(workplace: Workplace) -> None:
    """A common mistake has its own answer."""
    write_system(workplace.site, "cb-one", "one")

    assert (
        "cb-one is a plugin: cb plugins show cb-one"
        in workplace.cb("plugins", "why", "cb-one").stdout
    )


def test_why_names_the_package_that_would_supply_it(site: Path) -> None:
    """Without any plugin installed, the first-party packages are known by what they offer."""
    catalog = Catalog(read_distributions([str(site)]))

    assert [tuple(one.values()) for one in explain(catalog, "bm25")["packages"]] == [
        ("system", "bm25", "cb-baselines"),
        ("memory", "bm25", "cb-memory"),
    ]
    assert ("dataset", "hotpotqa", "cb-hotpotqa") in [
        tuple(one.values()) for one in explain(catalog, "hotpotq")["near"]
    ]
    assert explain(catalog, "cb-two/one")["packages"] == []


# -- cb plugins lock, cb run --locked ----------------------------------------------------------

RUN = ("run", "-s", "one", "-d", "hotpotqa:sample", "-n", "1", "--no-cache", "-o", "csv")


@pytest.fixture
def locked(workplace: Workplace) -> Workplace:
    """A project whose plugins are locked."""
    write_system(workplace.site, "cb-one", "one")
    write_system(workplace.site, "cb-off", "off")
    done = workplace.cb("plugins", "lock", "--no-plugin", "cb-off")
    assert done.returncode == 0, done.stderr
    return workplace


def test_the_lock_has_what_is_in_use(locked: Workplace) -> None:
    """The core and the plugins, without those that are switched off."""
    text = (locked.folder / "cb-plugins.lock").read_text()

    assert 'cb-one = "1.0"' in text
    assert "cbcore = " in text
    assert "cb-off" not in text


def test_a_locked_run_with_the_locked_plugins(locked: Workplace) -> None:
    """It runs."""
    done = locked.cb(*RUN, "--locked", "--no-plugin", "cb-off")

    assert done.returncode == 0, done.stderr
    assert "word" in done.stdout


def test_a_locked_run_refuses_a_plugin_the_lock_does_not_name(locked: Workplace) -> None:
    """Before anything is spent, although the run does not name it."""
    write_hooks(locked.site, "cb-trap", "")

    done = locked.cb(*RUN, "--locked", "--no-plugin", "cb-off")

    assert (done.returncode, done.stdout) == (2, "")
    assert "cb-trap 1.0 is not in the lock" in done.stderr
    assert locked.cb(*RUN, "--no-plugin", "cb-off").returncode == 0


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (('cb-one = "1.0"', 'cb-one = "0.9"'), "cb-one is 1.0, locked is 0.9"),
        (('cb-one = "1.0"', 'cb-one = "1.0"\ncb-gone = "2.0"'), "cb-gone 2.0 is not installed"),
    ],
)
def test_a_locked_run_refuses_other_versions_and_gaps(
    locked: Workplace, edit: tuple[str, str], reason: str
) -> None:
    """What would be used is not what was locked."""
    lock = locked.folder / "cb-plugins.lock"
    lock.write_text(lock.read_text().replace(*edit))

    done = locked.cb(*RUN, "--locked", "--no-plugin", "cb-off")

    assert done.returncode == 2
    assert reason in done.stderr


def test_a_locked_run_needs_a_lock(workplace: Workplace) -> None:
    """Its absence is an error, and the hint says how to write it."""
    done = workplace.cb("run", "--locked", "-s", "identity", "-d", "hotpotqa:sample")

    assert done.returncode == 2
    assert "cb plugins lock" in done.stderr


@pytest.mark.parametrize(
    "command",
    [("plugins", "lock"), ("plugins", "search"), ("doctor",), ("install", "--help")],
    ids=" ".join,
)
def test_light_commands_import_no_plugin(
    cold_workplace: Workplace, command: tuple[str, ...]
) -> None:
    """With forty more installed. Doctor imports them in another process."""
    write_system(cold_workplace.site, "cb-one", "one")
    for number in range(40):
        write_distribution(
            cold_workplace.site,
            f"cb-many-{number}",
            {"cb.systems": {f"many-{number}": "cb_one:System"}},
        )

    done, processes = cold_workplace.traced(*command)

    assert done.returncode in (0, 3), done.stderr
    modules = set(processes[0]["modules"])
    packages = {name.partition(".")[0] for name in modules if name.startswith("cb_")}
    assert packages <= {"cb_manage", "cb_testing"}
    assert not {"asyncio", "structlog", "rich", "datasets"} & modules


def test_the_directory_is_searched(workplace: Workplace) -> None:
    """What is there and what is not; nothing found is told, and is no error."""
    (found,) = workplace.json("plugins", "search", "rouge")
    assert (found["name"], found["installed"]) == ("cb-scorers", True)
    (found,) = workplace.json("plugins", "search", "rouge", "--no-plugin", "cb-scorers")
    assert "cb-scorers" in workplace.cb("plugins", "search", "summaries").stdout
    done = workplace.cb("plugins", "search", "zzzz")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no plugin in the directory is about 'zzzz'" in done.stderr
