"""The reports of the core: they are there where no plugin brings others."""

from __future__ import annotations

import json

from cbcore import evaluate
from cbcore.builtin.json_report import JsonReport
from cbcore.builtin.table import PlainTable
from cbcore.plugins import Catalog, read_distributions
from cbcore.plugins.policy import PluginPolicy
from cbcore.results import EvalResult

EXAMPLES = [{"id": n, "context": "a b c", "question": "q", "answer": "a"} for n in range(2)]


def half(example):
    if example["id"] == 1:
        raise ValueError("no")
    return {"context": "a", "response": "a"}


def right(original, processed) -> float:
    return float(processed["response"] == original["answer"])


def result(metrics=()) -> EvalResult:
    return evaluate(
        [half], EXAMPLES, evaluators=[right], metrics=metrics, tokenizer="words", progress=False
    )


def test_without_metrics_means_are_shown():
    """Over the rows that are not errored, with the counts beside them."""
    lines = PlainTable().render(result()).splitlines()
    cells = {line.rsplit(maxsplit=1)[0].strip(): line.split()[-1] for line in lines[1:8] if line}
    assert cells["mean right"] == "1"
    assert (cells["mean input_tokens"], cells["mean output_tokens"]) == ("4", "2")
    assert (cells["scored"], cells["errored"], cells["total"]) == ("1", "1", "2")


def test_metrics_are_shown_where_there_are_some():
    """By the names that they have in the result."""
    text = PlainTable().render(result(["mean_score:score_field=right"]))
    assert "mean_score" in text
    assert "mean right" not in text


def test_text_of_others_is_inert():
    """Names of systems may hold anything."""
    made = result()
    for row in made.rows:
        row.system = "a\x1b[2Jb\nc"
    made.summary = {"a\x1b[2Jb\nc": {}}
    assert "\x1b" not in PlainTable().render(made)


def test_json_is_the_whole_result():
    """It can be read back."""
    text = JsonReport().render(result())
    assert len(json.loads(text)["rows"]) == 2
    assert EvalResult.from_json(text).systems == ["half"]


def test_a_plugin_replaces_the_table():
    """Without the plugin the built-in one is used, and both can be left out."""
    catalog = Catalog(read_distributions())
    assert catalog.find("reporter", "table").plugin == "cb-reporters"
    assert catalog.find("reporter", "json").plugin == "cbcore"
    assert ("reporter", "table") not in catalog.find_conflicts()
    built_in = Catalog(read_distributions(), PluginPolicy(disable={"cb-reporters"}))
    assert built_in.find("reporter", "table").load() is PlainTable
    without = Catalog(read_distributions(), PluginPolicy(disable={"cb-reporters", "cbcore/table"}))
    assert "table" not in [component.name for component in without.components("reporter")]
