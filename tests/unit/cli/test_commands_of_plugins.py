"""Commands of plugins: of two words, in help, and of packages that are not installed."""

from __future__ import annotations

import re

import pytest

from tests.fake_distributions import Workplace, write_distribution

SOURCE = """
import click
from cbcore.cli.kit import shared_options

@click.command()
@click.argument("what", required=False)
@shared_options
def command(what):
    "Water the plants."
    click.echo(f"watered {what}")
    if what == "cacti":
        click.get_current_context().exit(3)
    return "more than nothing"
"""


@pytest.fixture
def garden(workplace: Workplace) -> Workplace:
    """A place where plugins offer `garden-water`, `plugins-water` and `list-plants`."""
    names = ("garden-water", "plugins-water", "list-plants")
    write_distribution(
        workplace.site,
        "cb-garden",
        {"cb.commands": dict.fromkeys(names, "cb_garden:command")},
        {"cb_garden.py": SOURCE},
    )
    return workplace


@pytest.mark.parametrize(
    "words",
    [
        "garden-water",
        "garden water",
        "garden -v water",
        "plugins water",
        "list plants",
        "list plant",
    ],
)
def test_a_command_of_two_words(garden: Workplace, words: str) -> None:
    """Options that every command has may be between the words."""
    done = garden.cb(*words.split(), "roses")
    assert (done.returncode, done.stdout) == (0, "watered roses\n"), done.stderr


def test_a_command_sets_the_exit_code_through_its_context(garden: Workplace) -> None:
    """What it returns is not one."""
    codes = {what: garden.cb("garden", "water", what).returncode for what in ("cacti", "roses")}
    assert codes == {"cacti": 3, "roses": 0}


@pytest.mark.parametrize("word", ["garden", "plugins"])
def test_help_of_the_first_word_lists_the_second(garden: Workplace, word: str) -> None:
    shown = garden.cb(word, "--help").stdout
    assert re.search(r"water +Water the plants\. \(cb-garden\)", shown)


def test_help_of_list_names_what_plugins_list(garden: Workplace) -> None:
    assert "plants        from cb-garden 1.0" in garden.cb("list", "--help").stdout


def test_a_broken_command_does_not_stop_the_help(workplace: Workplace) -> None:
    entries = {"cb.commands": {"garden-water": "cb_absent:command"}}
    write_distribution(workplace.site, "cb-garden", entries)
    done = workplace.cb("garden", "--help")
    assert done.returncode == 0
    assert "cb-garden 1.0 is broken" in done.stdout


@pytest.mark.parametrize(
    ("words", "meant"), [("garden watr", "water"), ("gardn-water", "garden-water")]
)
def test_a_mistyped_command_gets_a_suggestion(garden: Workplace, words: str, meant: str) -> None:
    done = garden.cb(*words.split())
    assert done.returncode == 2
    assert f"did you mean {meant}?" in done.stderr.lower()


@pytest.mark.parametrize("words", ["weed", "weed-out", "weed out", "garden weed"])
def test_an_unknown_command_names_the_package_that_offers_it(garden: Workplace, words: str) -> None:
    source = """
def find_packages(kind, name):
    names = ("weed", "weed-out", "garden-weed")
    return ["cb-weeding"] if kind == "command" and name in names else []
"""
    entries = {"cb.directories": {"flowers": "cb_flowers:find_packages"}}
    write_distribution(garden.site, "cb-flowers", entries, {"cb_flowers.py": source})
    done = garden.cb(*words.split())
    assert done.returncode == 2
    assert "cb-weeding offers it: cb install cb-weeding" in done.stderr


@pytest.mark.parametrize("words", ["new evaluator mine", "plugins check"])
def test_a_command_that_is_switched_off_names_its_plugin(workplace: Workplace, words: str) -> None:
    done = workplace.cb("--no-plugin", "cb-testing", *words.split())
    assert done.returncode == 3
    assert "cb-testing" in done.stderr
