"""`cb show --cause`: the examples behind a count of what was lost."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

from cb_reporters.show.command import command
from cbcore import evaluate


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A compressor beside the same reader with the whole context, saved."""
    data = [
        {
            "id": name,
            "context": f"{first} Bob lives in {city}.",
            "question": "Where does Bob live?",
            "answer": city,
        }
        for name, first, city in (("a", "Ada was born in Oslo.", "Rome"), ("b", "", "Bern"))
    ]
    path = tmp_path_factory.mktemp("run") / "result.json"
    systems = ["identity | extractive", "truncate:max_tokens=7 | extractive:name=short"]
    path.write_text(evaluate(systems, data, progress=False).to_json(), encoding="utf-8")
    return str(path)


def shown(run, *arguments):
    return CliRunner().invoke(command, [run, *arguments], catch_exceptions=True)


def test_examples_with_a_cause_are_shown(run):
    """Only the one whose evidence was cut off."""
    found = shown(run, "--cause", "evidence-dropped")
    assert found.exit_code == 0, found.output
    assert "Rome" in found.output
    assert "Bern" not in found.output


def test_a_cause_that_is_none_is_refused(run):
    """With those that there are."""
    found = shown(run, "--cause", "evidence-droped")
    assert "evidence-dropped" in str(getattr(found.exception, "hint", "")) + found.output


def test_without_the_loss_analysis_it_names_the_package(run, monkeypatch):
    """The other options of `cb show` need nothing of it."""
    monkeypatch.setitem(sys.modules, "cb_metrics.loss", None)
    found = shown(run, "--cause", "evidence-dropped")
    assert "cb-reporters[loss]" in str(getattr(found.exception, "hint", ""))
    assert shown(run, "--worst", "1").exit_code == 0
