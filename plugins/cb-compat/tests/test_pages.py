"""What the pages of context-bench's documentation show runs as it is shown.

Of the pages on the architecture, on AnswerQuality and on PerDatasetBreakdown: the same imports
and calls, with data in the place of the names that the pages leave open.
"""

from __future__ import annotations

import json

import pytest

from cbcore.registry import registry as of_cb


def test_answer_quality_page():
    """The constructor, the example with its four values, and the three functions."""
    from context_bench.evaluators import AnswerQuality

    ev = AnswerQuality()
    assert ev.score({"answer": "Paris"}, {"response": "The capital is Paris."}) == {
        "f1": 0.5,
        "exact_match": 0.0,
        "recall": 1.0,
        "contains": 1.0,
    }
    from context_bench.metrics.quality import exact_match, f1_score, recall_score

    assert f1_score("The capital is Paris.", "Paris") == 0.5
    assert exact_match("paris!", "Paris") == 1.0
    assert recall_score("The capital is Paris.", "Paris") == 1.0


def test_per_dataset_breakdown_page(answering):
    """A run over two datasets gives a sorted mean for each."""
    from context_bench import evaluate
    from context_bench.evaluators import AnswerQuality
    from context_bench.metrics import MeanScore, PerDatasetBreakdown

    my_system = answering("Paris", "my-system")
    hotpotqa_examples = [{"id": 1, "context": "c", "answer": "Paris", "dataset": "hotpotqa"}]
    gsm8k_examples = [{"id": 2, "context": "c", "answer": "7", "dataset": "gsm8k"}]
    result = evaluate(
        systems=[my_system],
        dataset=hotpotqa_examples + gsm8k_examples,
        evaluators=[AnswerQuality()],
        metrics=[
            MeanScore(score_field="f1"),
            PerDatasetBreakdown(score_field="f1"),
        ],
    )
    found = [
        (key, score)
        for key, score in result.summary["my-system"].items()
        if key.startswith("dataset:")
    ]
    assert found == [("dataset:gsm8k", 0.0), ("dataset:hotpotqa", 1.0)]


def test_architecture_page_evaluate(answering, capitals, tmp_path):
    """All four stages in one call, and what can be done with its result."""
    from context_bench import evaluate
    from context_bench.evaluators import AnswerQuality
    from context_bench.metrics import Latency, MeanScore, PassRate

    kompact = answering("Paris", "kompact")
    result = evaluate(
        systems=[kompact],
        dataset=capitals,
        evaluators=[AnswerQuality()],
        metrics=[
            MeanScore(score_field="f1"),
            PassRate(score_field="f1"),
            Latency(),
        ],
        max_workers=4,
        cache_dir=tmp_path / ".cache",
    )
    values = result.summary["kompact"]
    assert (values["mean_score"], values["pass_rate"]) == (0.5, 0.5)
    assert values["latency_p99"] >= 0
    assert [row.example_id for row in result.filter(system="kompact").rows] == [1, 2]
    assert set(json.loads(result.to_json())) >= {"rows", "summary", "timing", "config"}
    assert list(result.to_dataframe()["f1"]) == [1.0, 0.0]
    assert result.timing["kompact"] >= 0
    assert result.config["num_examples"] == 2


def test_architecture_page_rows():
    """A row has the eight attributes of the page, and a result four."""
    from context_bench import EvalResult, EvalRow

    row = EvalRow(
        system="s",
        example_id=1,
        scores={"f1": 1.0},
        input_tokens=10,
        output_tokens=5,
        metadata={},
        latency=0.1,
        dataset="d",
    )
    result = EvalResult(rows=[row], summary={"s": {"mean_score": 1.0}}, timing={}, config={})
    assert result.rows[0].scores["f1"] == 1.0


def test_architecture_page_registry():
    """A loader that is registered can be loaded by name with its arguments."""
    from context_bench.registry import load_dataset, register_dataset, registry

    def my_loader_fn(n=None):
        return [{"id": number, "context": "c"} for number in range(n or 500)]

    try:
        registry.register("dataset", "my-data", my_loader_fn)
        register_dataset("my-data", my_loader_fn)
        dataset = load_dataset("my-data", n=100)
        assert len(list(dataset)) == 100
        assert "my-data" in registry.list("dataset")
    finally:
        of_cb.unregister("dataset", "my-data")


def test_architecture_page_protocols():
    """The four interfaces are protocols; a class with the right methods is enough."""
    from context_bench.types import Evaluator, MemorySystem, Metric, System

    class Mine:
        name = "mine"

        def process(self, example):
            return example

    assert isinstance(Mine(), System)
    for protocol in (Evaluator, MemorySystem, Metric):
        assert not isinstance(Mine(), protocol)
        with pytest.raises(TypeError):
            protocol()
