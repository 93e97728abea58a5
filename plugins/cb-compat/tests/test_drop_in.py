"""Parts of context-bench that programs use on their own, beside `evaluate`."""

from __future__ import annotations

import json
import socket

import pytest

from context_bench import ClaudeCLI, EvalRow, OpenAIProxy
from context_bench.cache import ResultCache
from context_bench.evaluators import LLMJudge, NLILabelMatch
from context_bench.evaluators.rouge import rouge_l
from context_bench.metrics import PerDatasetBreakdown
from context_bench.registry import Registry, registry

CHOSEN = {"systems": ["s"], "datasets": ["d"], "evaluators": ["e"]}


@pytest.mark.parametrize(
    ("prediction", "reference", "precision", "recall", "f1"),
    [
        ("the cat sat", "the cat sat", 1.0, 1.0, 1.0),
        ("The Cat", "the cat", 1.0, 1.0, 1.0),
        ("the cat", "the cat sat down", 1.0, 0.5, 2 / 3),
        ("a b", "x y", 0.0, 0.0, 0.0),
        ("", "x", 0.0, 0.0, 0.0),
        ("x", "", 0.0, 0.0, 0.0),
    ],
)
def test_rouge_l_of_two_texts(prediction, reference, precision, recall, f1):
    """Precision, recall and F1 by the longest common subsequence of words."""
    assert rouge_l(prediction, reference) == {
        "rouge_l_precision": precision,
        "rouge_l_recall": recall,
        "rouge_l_f1": pytest.approx(f1),
    }


def test_cached_rows_outlive_the_program(tmp_path):
    """A row is found again by system, dataset and example, with all it had."""
    row = EvalRow("s", 0, {"f1": 0.9}, 100, 50, latency=0.1, dataset="d", error=None)
    first = ResultCache(tmp_path, **CHOSEN)
    assert first.get("s", "d", 0) is None
    first.put(row)

    again = ResultCache(tmp_path, **CHOSEN)

    assert (again.cached_count, again.get("s", "d", 0)) == (1, row)
    assert again.cache_path.parent.parent == tmp_path
    assert ResultCache(tmp_path, ["other"], ["d"], ["e"]).cached_count == 0


def test_a_cached_row_that_was_cut_off_is_none(tmp_path):
    """After a crash the last line may be half there; those before it are whole."""
    cache = ResultCache(tmp_path, **CHOSEN)
    cache.put(EvalRow("s", 0, dataset="d"))
    cache.put(EvalRow("s", 1, dataset="d"))
    text = cache.cache_path.read_text()
    cache.cache_path.write_text(text[:-20])

    assert ResultCache(tmp_path, **CHOSEN).cached_count == 1


def test_a_registry_of_ones_own_holds_what_was_put_there():
    """It knows nothing of plugins, nor of other registries, and takes any object of any kind."""
    mine = Registry()
    mine.register("metric", "m2", "b")
    mine.register("metric", "m1", "a")

    assert mine.list("metric") == ["m1", "m2"]
    assert mine.get("metric", "m1") == "a"
    assert mine.list("nonexistent") == []
    assert "m1" not in registry.list("metric")
    with pytest.raises(KeyError, match="m3"):
        mine.get("metric", "m3")


def test_the_shared_registry_has_nothing_of_an_unknown_kind():
    """It says so with an empty list."""
    assert registry.list("nonexistent") == []


@pytest.mark.parametrize(
    ("component", "name"),
    [
        (NLILabelMatch(), "nli_label_match"),
        (PerDatasetBreakdown(), "per_dataset"),
        (ClaudeCLI(), "claude"),
    ],
)
def test_components_are_called_as_they_were(component, name):
    """Programs look results up by these names."""
    assert component.name == name


@pytest.mark.parametrize("original", [{"answer": "Paris"}, {"answer": ""}, {"context": "France"}])
def test_a_judge_rates_without_a_question(server, original):
    """With what there is: a gold answer, a context, or the response alone."""
    url = server.url(text=json.dumps({"reason": "fine", "score": 5}))
    judge = LLMJudge(url, api_key="k")

    assert judge.score(original, {"response": "Paris"}) == {"judge_score": 1.0}


def test_a_proxy_that_is_still_starting_is_tried_again():
    """A refused connection is a mishap like any other: it gets all the retries."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    proxy = OpenAIProxy(f"http://127.0.0.1:{port}", max_retries=2, retry_base_delay=0.001)

    with pytest.raises(RuntimeError, match="after 3 attempts"):
        proxy.process({"id": 1, "context": "Capital of France?"})
