"""Examples that share a text name it, so that intervals rest on independent texts."""

from __future__ import annotations

import json

import pytest

from cb_datasets import BENCHMARKS, dataset
from cb_metrics import MeanScore, PerDatasetBreakdown
from cb_suites.helmet.dataset import Helmet
from cbcore import evaluate
from cbcore.registry import load_dataset, registry

QUESTIONS, EXAMS = "questions without a text", "exam questions, each on its own"
OWN_TEXTS = "every example has its own texts"
CLUSTERS: dict[str, tuple[str | None, str]] = {
    "alpaca-eval": (None, "instructions, each on its own"),
    "apigen": ("context", "the tools at hand"),
    "arc-challenge": (None, EXAMS),
    "bbh": (None, "problems, each on its own"),
    "bfcl": ("context", "the functions at hand"),
    "contract-nli": ("context", "the contract, which has no id in SCROLLS"),
    "dialogsum": ("dialogue", "a dialogue has several summaries, each a row"),
    "drop": ("section_id", "the passage"),
    "frames": (None, QUESTIONS),
    "govreport": (None, OWN_TEXTS),
    "gpqa": (None, EXAMS),
    "gsm8k": (None, "problems, each on its own"),
    "hellaswag": ("source_id", "the video or article that scenes are taken from"),
    "humaneval": (None, "functions, each on its own"),
    "ifeval": (None, "instructions, each on its own"),
    "infinitebench": ("context", "the book"),
    "longbench": ("context", "the story, paper or meeting"),
    "longbench-v2": ("context", "the documents"),
    "math": (None, "problems, each on its own"),
    "mbpp": (None, "functions, each on its own"),
    "meetingbank": ("uid", "the meeting, a city and a date"),
    "mgsm": (None, "problems; translations of one are in other configs"),
    "mmlu": (None, EXAMS),
    "mmlu-pro": (None, EXAMS),
    "mt-bench": ("prompt_id", "the question"),
    "multi-news": (None, OWN_TEXTS),
    "musique": (None, OWN_TEXTS),
    "narrativeqa": ("document.id", "the story"),
    "natural-questions": (None, QUESTIONS),
    "nolima": ("id", "the needle, which is asked for with several arguments"),
    "qasper": ("id", "the paper"),
    "qmsum": ("context", "the meeting, which has no id in SCROLLS"),
    "quality": ("article_id", "the article"),
    "scifact": ("context", "the abstracts that claims cite"),
    "summscreenfd": (None, OWN_TEXTS),
    "swebench": ("repo", "the repository"),
    "swebench-lite": ("repo", "the repository"),
    "swebench-verified": ("repo", "the repository"),
    "triviaqa": (None, OWN_TEXTS),
    "truthfulqa": (None, QUESTIONS),
    "winogrande": (None, "sentences; twins have no id in common on the hub"),
}
ELSEWHERE = {
    "convomem:sample": True,  # the person
    "hotpotqa:sample": False,  # every example has its own paragraphs
    "locomo:sample": True,  # the conversation
    "longmemeval:sample": True,  # the history of a question
    "membench:sample": True,  # the trajectory
    "needle:niah_single_2,length=200,n=3": False,  # every haystack is made for one example
    "needle:qa,length=400,n=60": True,  # the question of the other dataset
    "helmet:json_kv,n=3": False,  # made for one example
}


def test_every_dataset_of_the_table_names_what_its_examples_share():
    """A column, or the reason why there is none."""
    assert {name: entry.cluster for name, entry in BENCHMARKS.items()} == {
        name: column for name, (column, _) in CLUSTERS.items()
    }


@pytest.mark.parametrize("name", CLUSTERS)
def test_examples_of_one_text_are_of_one_cluster(name):
    """The cluster is an id or a short digest; examples with one context never have two."""
    examples = list(dataset(name, "sample"))
    assert all(("cluster" in one) == (CLUSTERS[name][0] is not None) for one in examples)
    if CLUSTERS[name][0] is None:
        return
    assert all(
        isinstance(one["cluster"], str) and 0 < len(one["cluster"]) <= 40 for one in examples
    )
    by_context: dict[str, set[str]] = {}
    for one in examples:
        by_context.setdefault(one["context"], set()).add(one["cluster"])
    assert all(len(clusters) == 1 for clusters in by_context.values())


@pytest.mark.parametrize(
    ("name", "row", "cluster"),
    [
        ("drop", {"section_id": "nfl_1"}, "nfl_1"),
        ("drop", {}, "a digest"),
        ("quality", {"article_id": 50}, "50"),
        ("meetingbank", {"uid": "SeattleCityCouncil_06132016_Res 31669"}, "SeattleCityCouncil_06132016"),
        ("hellaswag", {"source_id": "wikihow~1"}, "wikihow~1"),
        ("hellaswag", {}, None),
    ],
)  # fmt: skip
def test_a_cluster_is_an_id_or_a_digest(name, row, cluster):
    """Where a copy of the data lacks the id, the shared text stands for it; no text, no cluster."""
    loaded = dataset(name, "sample")
    column = BENCHMARKS[name].cluster
    first = {key: value for key, value in next(loaded.rows()).items() if key != column}
    (example,) = loaded.examples_of(
        {**({"uid": "u"} if name == "meetingbank" else {}), **first, **row}, 0
    )
    found = example.get("cluster")
    assert len(found) == 16 if cluster == "a digest" else found == cluster


@pytest.mark.parametrize("spec", ELSEWHERE)
def test_other_datasets_name_clusters_too(spec):
    """Those of other plugins, on what they have offline."""
    found = {bool(one.get("cluster")) for one in load_dataset(spec)}
    assert found == {ELSEWHERE[spec]}


def test_a_question_of_helmet_is_one_cluster_at_all_depths(tmp_path):
    """The same question comes with its answer at several places."""
    (tmp_path / "kilt").mkdir()
    row = {"answers": ["a"], "ctxs": [{"title": "t", "text": "x", "id": "1"}]}
    rows = [{**row, "qid": f"q{number // 3}", "question": f"{number // 3}?"} for number in range(9)]
    path = tmp_path / "kilt" / "nq-dev-multikilt_1000_k50_dep6.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    examples = list(Helmet("nq", shots=0, data_dir=str(tmp_path)))
    assert [one["cluster"] for one in examples] == [f"q{number // 3}" for number in range(9)]


class HalfRight:
    name = "half-right"

    def process(self, example):
        return {"response": "ab"[example["id"] // 3]}


def test_intervals_rest_on_the_clusters_of_a_dataset():
    """Six questions about two passages are two independent texts, not six."""
    questions = [
        {"id": i, "context": "c", "question": "q", "answer": "a", "cluster": f"p{i // 3}"}
        for i in range(6)
    ]
    alone = [{**one, "cluster": f"p{one['id']}"} for one in questions]

    def estimate(data):
        result = evaluate([HalfRight()], data, metrics=[MeanScore(score_field="f1")])
        return result.estimates["half-right"]["mean_score"]

    shared = estimate(questions)
    assert (shared.n, shared.clusters) == (6, 2)
    assert estimate(alone).clusters is None
    low, high = shared.interval
    alone_low, alone_high = estimate(alone).interval
    assert high - low > alone_high - alone_low


def test_clusters_of_one_dataset_leave_the_intervals_of_another_alone():
    """In one run, a dataset whose examples share nothing has the interval of its own examples."""
    plain = [
        {"id": i, "context": "c", "question": "q", "answer": "a", "dataset": "plain"}
        for i in range(6)
    ]
    shared = [{**one, "dataset": "shared", "cluster": f"p{one['id'] // 3}"} for one in plain]

    def estimate(data):
        result = evaluate([HalfRight()], data, metrics=[PerDatasetBreakdown(score_field="f1")])
        return result.estimates["half-right"]["dataset:plain"]

    assert estimate([*plain, *shared]) == estimate(plain)


def test_no_dataset_is_left_out():
    """A dataset that is added has to be decided on here."""
    decided = {*CLUSTERS, *(spec.partition(":")[0] for spec in ELSEWHERE)}
    assert set(registry.list("dataset")) - decided <= {"file", "traffic"}
