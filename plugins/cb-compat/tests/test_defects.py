"""No defect of context-bench 0.1 is repeated, as its users would meet it.

| defect | held by |
|---|---|
| 1–5, 7, 12, 15, 16, 18–25, 27–29, 32–36 | tests of this module |
| 6, 8, 9, 10, 11, 14 | test_acceptance.py, and the tests of cb-answerquality, cb-scorers and cb-metrics |
| 13 | cb-datasets, tests/test_rows.py and tests/test_loading.py; the samples here in test_surface.py |
| 17 | cb-openai, test_a_dropped_late_or_unreadable_exchange_is_tried_again |
| 26 | cb's own tests/integration/test_durability.py and benchmarks |
| 30 | cb-code-execution, tests/test_sandbox.py; two of its attacks here |
| 31 | cb-scorers, test_work_in_python_grows_with_the_words_not_with_their_square |
"""

from __future__ import annotations

import json
import sys

import pytest

from cbcore.exceptions import DataError, MissingScoreError, ParameterError, UsageError
from context_bench import EvalResult, EvalRow, OpenAIProxy, evaluate
from context_bench.datasets.huggingface import gsm8k
from context_bench.datasets.ifeval import ifeval
from context_bench.datasets.local import load_jsonl
from context_bench.datasets.longcontext import infinitebench
from context_bench.datasets.multi_turn import mt_bench
from context_bench.datasets.qa import qasper
from context_bench.evaluators import (
    AnswerQuality,
    CodeExecution,
    IFEvalChecker,
    LLMJudge,
    MultipleChoiceAccuracy,
)
from context_bench.metrics import CompressionRatio, CostOfPass, MeanScore, PassRate
from context_bench.reporters import to_html, to_json, to_markdown
from context_bench.systems import ClaudeCLI
from context_bench.utils.tokens import count_tokens, count_tokens_dict

SIX_WORDS = {
    "id": "example one",
    "context": "one two three four five six",
    "question": "which three words",
    "answer": "four words of gold",
    "dataset": "tag",
}


def run(systems, dataset, evaluators=(), metrics=(), **options):
    """`evaluate` without the display."""
    return evaluate(systems, dataset, list(evaluators), list(metrics), progress=False, **options)


# -- wrong measurements ----------------------------------------------------------------------------


def test_1_a_system_that_leaves_the_context_alone_saves_nothing(answering):
    """It was -0.125: ids, gold and tags were counted, and the reply added to them."""
    result = run(
        [answering("two words")], [SIX_WORDS], metrics=[CompressionRatio()], tokenizer="words"
    )
    assert result.summary["answering"] == {
        "compression_ratio": 0.0,
        "mean_input_tokens": 9.0,
        "mean_output_tokens": 9.0,
    }


def test_1_the_old_counts_can_be_had(answering):
    """With `legacy_tokens`, all 16 words go in and 18 come out, as context-bench counted."""
    result = run(
        [answering("two words")],
        [SIX_WORDS],
        metrics=[CompressionRatio()],
        legacy_tokens=True,
        tokenizer="words",
    )
    row = result.rows[0]
    assert (row.input_tokens, row.output_tokens) == (16, 18)
    assert result.summary["answering"]["compression_ratio"] == -0.125


def test_1_usage_reaches_the_metrics(server, capitals):
    """As the endpoint's own count, beside that of the run, by which the proxy saved nothing."""
    proxy = OpenAIProxy(server.url(), name="p")
    result = run([proxy], capitals, metrics=[CompressionRatio()])
    assert result.summary["p"]["mean_prompt_tokens"] == 100.0
    assert result.summary["p"]["compression_ratio"] == 0.0
    assert result.rows[0].metadata["prompt_tokens"] == 100


def test_2_a_compressor_is_measured_by_its_context():
    """Half of the context kept is a ratio of one half, whatever the response repeats."""

    class Half:
        name = "half"

        def process(self, example):
            kept = " ".join(example["context"].split()[:3])
            return {**example, "context": kept, "response": kept}

    dataset = [{"id": 1, "context": SIX_WORDS["context"], "answer": "one"}]
    result = run([Half()], dataset, metrics=[CompressionRatio()], tokenizer="words")
    assert result.summary["half"]["compression_ratio"] == 0.5


def test_2_a_compressor_that_does_not_answer_has_no_score():
    """It had F1 0.0; the row says what is missing instead."""

    class Silent:
        name = "silent"

        def process(self, example):
            return {**example, "context": "less"}

    row = run([Silent()], [SIX_WORDS], [AnswerQuality()]).rows[0]
    assert row.scores == {}
    assert "no response" in row.missing["f1"]


@pytest.mark.parametrize(("loader", "n_golds"), [(mt_bench, 1), (ifeval, 0)])
def test_3_what_has_no_gold_answer_is_not_scored_by_one(loader, n_golds, answering):
    """Any reply had F1 1.0, as the gold was an empty text; some of MT-Bench have a reference."""
    rows = run([answering()], loader(config="sample"), [AnswerQuality()]).rows
    assert len([row for row in rows if "gold" in row.missing.get("f1", "")]) == 3 - n_golds
    assert len([row for row in rows if "f1" in row.scores]) == n_golds


def test_a_row_that_does_not_fit_is_raised_by_its_loader(tmp_path):
    """A list of examples has no place for an error."""
    row = {"question": "Why?", "answer": "because"}
    (tmp_path / "test.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match="there is no ####"):
        gsm8k(data_dir=tmp_path)


def test_3_every_answer_of_qasper_is_a_text():
    """Yes, no and unanswerable were empty texts, which any reply matched."""
    answers = [example["answers"] for example in qasper(config="sample")]
    assert answers
    assert all(text.strip() for texts in answers for text in texts)


def test_4_evaluators_score_only_what_they_can(answering):
    """The mean of a score is over the rows it is about: 0.667 was a third of nothing."""
    dataset = [
        SIX_WORDS,
        *ifeval(n=1, config="sample"),
        {"id": "mc", "question": "?", "choices": ["x", "y"], "correct_letter": "B", "answer": "y"},
    ]
    evaluators = [AnswerQuality(), IFEvalChecker(), MultipleChoiceAccuracy()]
    metrics = [MeanScore("ifeval_strict"), MeanScore("mc_accuracy")]
    result = run([answering("wrong, B")], dataset, evaluators, metrics)
    assert [sorted(set(row.scores) & {"ifeval_strict", "mc_accuracy"}) for row in result.rows] == [
        [],
        ["ifeval_strict"],
        ["mc_accuracy"],
    ]
    values = result.summary["answering"]
    assert values["mean_score"] == 0.0
    assert values["mean_score[score_field=mc_accuracy]"] == 1.0
    assert values["mean_score_missing"] == 2


def test_5_a_score_that_no_evaluator_gives_is_an_error(answering, capitals):
    """The default "score" gave zeros; the error lists what there is."""
    with pytest.raises(UsageError, match="'score'") as caught:
        run([answering()], capitals, [AnswerQuality()], [MeanScore()])
    assert "f1" in caught.value.hint


def test_5_a_score_of_ones_own_needs_no_declaration(answering, capitals):
    """Evaluators that do not say what they emit can be averaged by the default name."""

    class Own:
        name = "own"

        def score(self, original, processed):
            return {"score": float(original["answer"] == processed["response"])}

    metrics = [MeanScore(), PassRate(), CostOfPass()]
    result = run([answering()], capitals, [Own()], metrics, text_fields=["response"])
    values = result.summary["answering"]
    assert (values["mean_score"], values["pass_rate"], values["cost_of_pass"]) == (0.5, 0.5, 2.0)


def test_7_a_null_reply_is_no_answer(server):
    """It was the text "None", which a gold of None matched."""
    proxy = OpenAIProxy(server.url(fault="null"), name="p")
    row = run([proxy], [{"id": 1, "question": "?", "answer": "None"}], [AnswerQuality()]).rows[0]
    assert row.error
    assert row.scores == {}


@pytest.mark.parametrize(
    ("reply", "score"),
    [("Score: 3 out of 5", 0.5), ('{"score": 2, "reason": "1 of 5 is right."}', 0.25)],
)
def test_12_a_rating_is_read_and_not_the_first_digit(server, reply, score):
    """Whatever digit from 1 to 5 came first was the rating."""
    judge = LLMJudge(server.url(text=reply), "judge")
    example = {"question": "?", "answer": "gold"}
    assert judge.score(example, {"response": "text"}) == {"judge_score": score}


@pytest.mark.parametrize(
    "behaviour",
    [{"text": "10"}, {"text": "out of 5, I give 3"}, {"fault": "status", "status": 401}],
)
def test_12_a_judge_that_gives_no_rating_gives_no_score(server, behaviour):
    """10 was 1, and a failure 0.0, which nobody could tell from a bad answer."""
    judge = LLMJudge(server.url(**behaviour), "judge")
    with pytest.raises(MissingScoreError):
        judge.score({"question": "?", "answer": "gold"}, {"response": "text"})


def test_15_metrics_of_one_kind_keep_their_values(answering, capitals):
    """Of two MeanScores the last one's value stood for both."""
    metrics = [MeanScore("f1"), MeanScore("recall"), PassRate(0.7, "f1"), PassRate(0.0, "f1")]
    values = run([answering()], capitals, [AnswerQuality()], metrics).summary["answering"]
    assert values["pass_rate"] == 0.5
    assert values["pass_rate[threshold=0.0]"] == 1.0
    assert {"mean_score", "mean_score[score_field=recall]"} <= set(values)


# -- reliability -----------------------------------------------------------------------------------


@pytest.mark.parametrize("max_workers", [None, 4])
def test_16_one_failing_example_is_one_errored_row(max_workers):
    """It ended the whole run, and nothing came back."""

    class Fails:
        name = "fails"

        def process(self, example):
            if example["id"] == 2:
                raise RuntimeError("no luck")
            return {**example, "response": "x"}

    dataset = [{"id": n, "context": "c", "answer": "x"} for n in range(20)]
    result = run([Fails()], dataset, [AnswerQuality()], [MeanScore("f1")], max_workers=max_workers)
    assert [row.example_id for row in result.rows] == list(range(20))
    assert [row.example_id for row in result.rows if row.error] == [2]
    assert result.summary["fails"]["mean_score"] == 1.0


def test_17_a_time_out_is_tried_again(server):
    """With three retries there are four attempts, as for status 429."""
    for behaviour in ({"fault": "hang"}, {"fault": "status", "status": 429}):
        url = server.url(**behaviour)
        proxy = OpenAIProxy(url, name="p", timeout=0.2, retry_base_delay=0.001)
        row = run([proxy], [{"id": 1, "question": "?"}]).rows[0]
        assert row.error
        assert len(server.requests(url)) == 4


def test_18_no_more_examples_are_pulled_than_asked_for(answering):
    """All 10,000 were, of which 3 were used."""
    pulled = []

    def examples():
        for number in range(10_000):
            pulled.append(number)
            yield {"id": number, "context": "c"}

    result = run([answering()], examples(), max_examples=3)
    assert len(pulled) == len(result.rows) == result.config["num_examples"] == 3


def test_19_special_tokens_are_text():
    """They raised ValueError; the vocabulary is not downloaded."""
    assert count_tokens("<|endoftext|>") > 1
    assert count_tokens_dict({"a": "hello world", "b": ["x"], "id": 3}) == 2
    assert count_tokens_dict({"a": "hello", "b": "a b c"}, ["b"], lambda t: len(t.split())) == 3


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_20_the_base_url_may_end_in_v1(server, ending):
    """It became /v1/v1."""
    address, _, query = server.url().partition("?")
    proxy = OpenAIProxy(f"{address}{ending}?{query}", name="p")
    assert proxy.process({"id": 1, "question": "?"})["response"] == "Paris"
    assert [request["path"] for request in server.requests(f"?{query}")] == ["/v1/chat/completions"]


def test_20_extra_body_cannot_replace_the_messages(server):
    """What is asked belongs to the example; other parameters pass."""
    with pytest.raises(ValueError, match="messages"):
        OpenAIProxy(server.url(), extra_body={"messages": []})
    url = server.url()
    OpenAIProxy(url, extra_body={"temperature": 0, "max_tokens": 5}).process({"question": "?"})
    body = server.requests(url)[0]["body"]
    assert (body["temperature"], body["max_tokens"]) == (0, 5)


def test_20_conversations_ask_build_messages_and_count_every_turn(server):
    """Neither build_messages nor the usage and replies of the first turns counted."""
    url = server.url()

    def build(example):
        return [{"role": "system", "content": "Mine."}, *example["turns"]]

    proxy = OpenAIProxy(url, name="p", build_messages=build)
    row = run([proxy], mt_bench(n=1, config="sample")).rows[0]
    bodies = [request["body"] for request in server.requests(url)]
    assert [len(body["messages"]) for body in bodies] == [2, 4]
    assert all(body["messages"][0]["content"] == "Mine." for body in bodies)
    assert row.metadata["turn_responses"] == ["Paris", "Paris"]
    assert row.metadata["prompt_tokens"] == 200


def test_21_claude_is_given_the_prompt_and_every_option(claude):
    """max_turns was ignored."""
    claude('cat; echo " $@"')
    system = ClaudeCLI(model="haiku", max_turns=2, allowed_tools="Read", system_prompt="Short.")
    output = system.process({"id": 1, "context": "Text.", "question": "What?"})
    expected = "-p --print --model haiku --max-turns 2 --allowedTools Read --system-prompt Short."
    assert output["response"] == f"Text.\n\nWhat? {expected}"
    retrieved = system.process({"id": 1, "contexts": ["Text.", "More."], "question": "What?"})
    assert retrieved["response"] == f"Text.\n\nMore.\n\nWhat? {expected}"


@pytest.mark.parametrize(
    ("line", "reason"),
    [("echo broken >&2; exit 3", "exit code 3: broken"), ("sleep 60 & wait", "within 0.2 s")],
)
def test_21_a_claude_that_fails_gives_no_answer(claude, line, reason):
    """The exit code was ignored, and a time-out became the answer."""
    claude(line)
    row = run([ClaudeCLI(timeout=0.2)], [SIX_WORDS], [AnswerQuality()]).rows[0]
    assert reason in row.error
    assert row.response is None


# -- the store -------------------------------------------------------------------------------------


def test_22_a_changed_model_or_gold_is_not_answered_from_the_store(server, capitals, tmp_path):
    """The key knew names only: a new model made no request, an edited gold kept its score."""
    url = server.url()

    def score(model, dataset):
        proxy = OpenAIProxy(url, model=model, name="p")
        result = run([proxy], dataset, [AnswerQuality()], cache_dir=tmp_path / "store")
        return [row.scores["exact_match"] for row in result.rows], len(server.requests(url))

    assert score("one", capitals) == ([1.0, 0.0], 2)
    assert score("one", capitals) == ([1.0, 0.0], 2)
    assert score("two", capitals) == ([1.0, 0.0], 4)
    edited = [{**capitals[0], "answer": "London"}, capitals[1]]
    assert score("two", edited)[0] == [0.0, 0.0]


def test_23_what_is_added_is_all_that_runs(answering, capitals, tmp_path):
    """A new system or evaluator made everything run again."""
    first, second = answering("Paris", "first"), answering("Rome", "second")
    options = {"cache_dir": tmp_path / "store"}
    run([first], capitals, [AnswerQuality()], **options)
    run([first, second], capitals, [AnswerQuality()], **options)
    run([first, second], capitals, [AnswerQuality(), MultipleChoiceAccuracy()], **options)
    assert (first.n_calls, second.n_calls) == (2, 2)


def test_24_ids_are_told_apart(answering, tmp_path):
    """1 and "1" shared a row within one run, and so did ids with :: in them."""
    dataset = [
        {"id": 1, "context": "c", "answer": "Paris"},
        {"id": "1", "context": "c", "answer": "Rome"},
        {"id": "b", "dataset": "a::", "context": "c", "answer": "Paris"},
        {"id": "::b", "dataset": "a", "context": "c", "answer": "Rome"},
    ]
    for _ in range(2):
        rows = run([answering()], dataset, [AnswerQuality()], cache_dir=tmp_path / "store").rows
        assert [row.scores["exact_match"] for row in rows] == [1.0, 0.0, 1.0, 0.0]


def test_25_two_systems_cannot_share_a_name(answering, capitals):
    """Their rows were merged into one mean."""
    with pytest.raises(UsageError, match="two systems are called"):
        run([answering("Paris"), answering("Rome")], capitals)


# -- output and security ---------------------------------------------------------------------------


def test_27_reports_are_valid_and_names_are_only_text(answering, capitals):
    """JSON had Infinity in it, pages and tables whatever a name contained."""
    hostile = "<script>alert(1)</script>|x"
    system = answering("nothing right", hostile)
    result = run([system], capitals, [AnswerQuality()], [CostOfPass(score_field="f1")])
    summary = json.loads(to_json(result), parse_constant=pytest.fail)["summary"]
    assert summary[hostile]["cost_of_pass"] is None
    assert "<script>alert(1)" not in to_html(result)
    assert hostile not in to_markdown(result)


def test_28_filtering_sums_up_anew(answering):
    """The summary stayed that of all rows, and a misspelt attribute matched nothing."""
    dataset = [
        {"id": 1, "context": "c", "answer": "Paris", "dataset": "a"},
        {"id": 2, "context": "c", "answer": "Rome", "dataset": "b"},
    ]
    result = run([answering()], dataset, [AnswerQuality()], [MeanScore("f1")])
    assert result.summary["answering"]["mean_score"] == 0.5
    assert result.filter(dataset="a").summary["answering"]["mean_score"] == 1.0
    with pytest.raises(UsageError, match="datset"):
        result.filter(datset="a")


def test_28_no_column_of_a_data_frame_overwrites_another():
    """Scores and metadata replaced core columns of the same name."""
    row = EvalRow("s", 1, {"latency": 0.5}, 1, 1, {"system": "other"}, latency=2.0)
    frame = EvalResult([row], {}).to_dataframe()
    assert (frame["system"][0], frame["latency"][0]) == ("s", 2.0)


def test_29_a_system_cannot_change_the_gold(answering, capitals):
    """The next system was scored against what the first one left."""

    class Vandal:
        name = "vandal"

        def process(self, example):
            example["answer"] = "spoilt"
            return {"response": "spoilt"}

    result = run([Vandal(), answering()], capitals, [AnswerQuality()])
    assert [row.scores["exact_match"] for row in result.rows] == [0.0, 0.0, 1.0, 0.0]


@pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")
@pytest.mark.parametrize(
    ("code", "score"),
    [
        ("```python\ndef add(a, b):\n    return a + b\n```", 1.0),
        ("import sys\nsys.exit(0)", 0.0),
        ("import os\ndef add(a, b):\n    return 3 if 'MY_API_KEY' in os.environ else 0", 0.0),
    ],
)
def test_30_generated_code_is_run_in_a_sandbox(code, score, monkeypatch):
    """Fenced code failed, an exit before the tests passed, and the environment could be read."""
    monkeypatch.setenv("MY_API_KEY", "a secret")
    example = {"context": "", "test_list": ["assert add(1, 2) == 3"], "test_setup_code": ""}
    assert CodeExecution(timeout=20).score(example, {"response": code})["pass_at_1"] == score


def test_32_an_unknown_config_is_an_error_that_says_so():
    """`infinitebench:x` was a TypeError."""
    with pytest.raises(ParameterError, match="no config 'x'"):
        infinitebench(split="x")


def test_13_n_examples_are_n_examples(tmp_path):
    """A blank line was counted as an example."""
    file = tmp_path / "data.jsonl"
    file.write_text('{"context": "a"}\n\n{"context": "b"}\n{"id": "mine", "context": "c"}\n')
    assert [example["id"] for example in load_jsonl(file, n=2)] == [0, 1]
    assert [example["id"] for example in load_jsonl(file)] == [0, 1, "mine"]
