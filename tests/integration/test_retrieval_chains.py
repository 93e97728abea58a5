"""Rerankers, retrievers and compactors in chains: tokens, evidence and verdicts follow the context
that was sent."""

from __future__ import annotations

import json

import pytest

from cb_answerquality import AnswerQuality
from cb_baselines import Extractive, Identity, Retriever
from cb_metrics import CompressionRatio, MeanScore
from cb_metrics.loss import ContextRetention
from cb_ragas_precision import ContextPrecision
from cbcore import evaluate
from cbcore.chains import chain
from cbcore.tokens import Encoding

TOWNS = ("Oslo", "Bergen", "Narvik", "Voss", "Hamar", "Molde", "Alta", "Bodo")
PASSAGES = [f"{town}: The mayor of {town} is called {town[::-1].title()}." for town in TOWNS]
EXAMPLES = [
    {
        "id": town,
        "context": "\n\n".join(PASSAGES),
        "question": f"Who is the mayor of {town}?",
        "answer": town[::-1].title(),
    }
    for town in TOWNS
]
COUNT = Encoding("o200k_base").count


class Returning:
    """A stage that returns these fields for every example."""

    def __init__(self, name, **fields):
        self.name, self.fields = name, fields

    def process(self, example):
        return self.fields


def run(*systems, examples=EXAMPLES, evaluators=None):
    return evaluate(
        list(systems),
        examples,
        evaluators or [AnswerQuality(), ContextRetention()],
        [MeanScore(), CompressionRatio()],
        progress=False,
    )


def full():
    return chain([Identity(), Extractive()], "full")


@pytest.mark.parametrize(
    "fields",
    [
        {"contexts": ["Irrelevant text about nothing."]},
        {"contexts": [{"id": 1, "text": "Irrelevant text about nothing."}]},
        {"context": "Irrelevant text about nothing."},
        {"messages": [{"role": "user", "content": "Irrelevant text about nothing."}]},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_reader_gets_the_context_that_the_stage_before_it_returned(fields):
    """In whatever form, so that an irrelevant context costs quality and saves tokens."""
    result = run(full(), chain([Returning("bad", **fields), Extractive()], "bad"))
    assert result.summary["full"]["mean_score"] == 1.0
    assert result.summary["bad"]["mean_score"] == 0.0
    (verdict,) = (verdict for verdict in result.verdicts if verdict.system == "bad")
    assert verdict.outcome == "worse"
    for row in result.filter(system="bad").rows:
        assert row.output_tokens < 20 < row.input_tokens
        assert row.scores.get("context_retention", 0.0) == 0.0


def test_the_tokens_are_those_of_the_joined_passages():
    result = run(Returning("two", contexts=PASSAGES[:2]))
    (row, *_) = result.rows
    assert row.output_tokens == COUNT("\n\n".join(PASSAGES[:2])) + COUNT(EXAMPLES[0]["question"])


@pytest.mark.parametrize(
    "stages",
    [
        [Returning("last", contexts=PASSAGES[2:3])],
        [Returning("first", context="Another text."), Returning("last", contexts=PASSAGES[2:3])],
        [Returning("first", contexts=PASSAGES), Returning("last", context=PASSAGES[2])],
        [
            Returning("first", messages=[{"role": "user", "content": "Another text."}]),
            Returning("last", contexts=[{"text": PASSAGES[2], "id": "Narvik"}]),
        ],
        [Retriever(k=1)],
    ],
    ids=lambda stages: " then ".join(next(iter(getattr(s, "fields", {"k": 1}))) for s in stages),
)
def test_the_form_that_was_returned_last_counts(stages):
    """For the reader, the tokens, and the evaluators."""
    example = EXAMPLES[2]
    (row,) = run(chain([*stages, Extractive()], "c"), examples=[example]).rows
    assert row.scores["f1"] == row.scores["context_retention"] == 1.0
    assert row.output_tokens == COUNT(PASSAGES[2]) + COUNT(example["question"])


def test_a_chain_returns_what_its_stages_made_and_not_the_gold():
    output = chain([Retriever(k=1), Extractive()]).process(dict(EXAMPLES[2]))
    assert "answer" not in output
    assert output["contexts"] == [PASSAGES[2]]
    assert output["response"] == EXAMPLES[2]["answer"]


@pytest.mark.parametrize("returned", ["one text", [("text", 0.5)], 3])
def test_a_context_that_cannot_be_read_is_a_failed_row(returned):
    """It names the stage, or the system that is not a chain, and the field."""
    odd = Returning("odd", contexts=returned, response="x")
    result = run(odd, chain([odd, Extractive()], "c"))
    assert all("'contexts'" in row.error for row in result.rows)
    assert all("'odd'" in row.error for row in result.filter(system="c").rows)


def test_scores_of_a_ranking_read_a_returned_context_as_one_item():
    seen = []

    class Judge:
        def __call__(self, prompt):
            seen.append(prompt)
            return 1

    system = Returning("cut", context=PASSAGES[0], response="x")
    precision = ContextPrecision(judge=Judge())
    result = evaluate([system], EXAMPLES[:1], [precision], [CompressionRatio()], progress=False)
    assert result.rows[0].scores["context_precision"] == 1.0
    assert len(seen) == 1


SYSTEMS = ("bm25:max_tokens=30", "tf-idf:max_tokens=30", "truncate:max_tokens=300", "retriever:k=1")
FORMS = {
    "contexts": [{"id": town, "text": text} for town, text in zip(TOWNS, PASSAGES, strict=True)],
    "messages": [{"role": "user", "content": "\n\n".join(PASSAGES)}],
}


@pytest.mark.parametrize("form", FORMS)
def test_first_party_systems_read_a_context_in_any_form(form):
    examples = [
        {**{k: v for k, v in example.items() if k != "context"}, form: FORMS[form]}
        for example in EXAMPLES
    ]
    systems = [
        f"{system} | extractive" for system in (*SYSTEMS, "identity", "random:max_tokens=30")
    ]
    result = evaluate(systems, examples, [AnswerQuality()], [MeanScore()], progress=False)
    assert [row.error for row in result.rows if row.error] == []
    assert {row.input_tokens for row in result.rows} != {0}
    right = {name: values["mean_score"] for name, values in result.summary.items()}
    assert right.pop("random:max_tokens=30 | extractive") < 1.0
    assert set(right.values()) == {1.0}


def test_a_retriever_in_the_commands_of_a_user(workplace):
    """The report shows the passages that were sent, and `cb show` what was dropped."""
    workplace.write("data.jsonl", "".join(json.dumps(example) + "\n" for example in EXAMPLES))
    done = workplace.cb(
        *("run", "-d", "data.jsonl", "-s", "identity | extractive:name=full"),
        *("-s", "retriever:k=1 | extractive:name=top-1", "-o", "json=r.json", "-o", "table"),
    )
    assert done.returncode == 0, done.stderr
    shown = workplace.cb("show", "latest", "Oslo", "--system", "top-1")
    assert "% dropped" in shown.stdout
    rows = json.loads((workplace.folder / "r.json").read_text())["rows"]
    assert {row["scores"]["f1"] for row in rows} == {1.0}
