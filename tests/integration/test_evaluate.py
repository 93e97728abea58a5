"""`evaluate()`: what a run promises, whatever the systems and datasets do."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import tracemalloc
from collections import Counter
from types import MappingProxyType

import pytest

from cb_answerquality import AnswerQuality
from cb_baselines import Truncate, tokenizers
from cb_metrics import Latency, MeanScore, PassRate, PerDatasetBreakdown
from cbcore import EvalResult, MissingScoreError, Scored, aevaluate, evaluate, tokens
from cbcore.chains import chain
from cbcore.exceptions import RunInterruptedError, RunStoppedError, UsageError


def examples(n=20):
    return [
        {"id": i, "context": f"context {i}", "question": "q?", "answer": "Paris"} for i in range(n)
    ]


class Constant:
    name = "constant"

    def process(self, example):
        return {"response": "The capital is Paris."}


class AsyncConstant:
    name = "async-constant"

    async def aprocess(self, example):
        await asyncio.sleep(0)
        return {"response": "The capital is Paris."}


class FailsOn:
    name = "fails"

    def __init__(self, bad, error=None):
        self.bad = bad
        self.error = error or ValueError("boom")

    def process(self, example):
        if example["id"] == self.bad:
            raise self.error
        return {"response": "Paris"}


F1 = [MeanScore(score_field="f1")]


@pytest.mark.parametrize("system", [Constant(), AsyncConstant()], ids=["sync", "async"])
@pytest.mark.parametrize("max_workers", [None, 1, 4])
def test_rows_come_in_dataset_order(system, max_workers):
    """Sync or async, alone or in parallel: the same rows in the same order."""
    result = evaluate([system], examples(50), [AnswerQuality()], F1, max_workers=max_workers)
    assert [row.example_id for row in result.rows] == list(range(50))
    assert result.summary == {system.name: {"mean_score": 0.5}}
    assert set(result.timing) == {system.name}


@pytest.mark.parametrize("max_workers", [1, 4])
def test_one_failing_example_of_twenty_is_one_errored_row(max_workers):
    """19 scored rows and one with the error; the mean is over the 19."""
    result = evaluate([FailsOn(2)], examples(), [AnswerQuality()], F1, max_workers=max_workers)
    errored = [row for row in result.rows if row.error]
    assert [(row.example_id, row.error, row.scores) for row in errored] == [
        (2, "ValueError: boom", {})
    ]
    counts = result.counts("f1")["fails"]
    assert (counts.scored, counts.errored, counts.total) == (19, 1, 20)
    assert result.summary["fails"]["mean_score"] == 1.0


def test_a_system_that_exits_is_an_errored_row():
    """`sys.exit` in a system ends nothing."""
    result = evaluate([FailsOn(0, SystemExit(3))], examples(2), [AnswerQuality()], F1)
    assert result.rows[0].error == "it called sys.exit(3)"
    assert result.rows[1].error is None


@pytest.mark.parametrize("output", [None, "text", [1], 5])
def test_a_system_that_returns_the_wrong_type_is_an_errored_row(output):
    """The row says what came instead of a dict."""

    class Wrong:
        name = "wrong"

        def process(self, example):
            return output

    result = evaluate([Wrong()], examples(2), [AnswerQuality()], F1)
    assert result.rows[0].error == f"the system returned {type(output).__name__}, not a dict"


def test_originals_are_protected_from_systems_that_mutate_them():
    """The gold answer of the next system, and of the evaluator, is untouched."""

    class Vandal:
        name = "vandal"

        def process(self, example):
            example["answer"] = "ruined"
            example["nested"]["list"].append("ruined")
            return {"response": "Paris"}

    data = [{**example, "nested": {"list": [1]}} for example in examples(3)]
    result = evaluate([Vandal(), Constant()], data, [AnswerQuality()], F1)
    assert result.summary["vandal"]["mean_score"] == 1.0
    assert data[0]["answer"] == "Paris"
    assert data[0]["nested"] == {"list": [1]}


def test_max_examples_pulls_no_more_than_that_from_an_endless_generator():
    """3 asked, 3 pulled, also with several systems and workers."""
    pulled = 0

    def endless():
        nonlocal pulled
        while True:
            pulled += 1
            yield {"context": "x", "answer": "Paris"}

    result = evaluate(
        [Constant(), FailsOn(99)], endless(), [AnswerQuality()], F1, max_examples=3, max_workers=4
    )
    assert pulled == 3
    assert len(result.rows) == 6


def test_memory_per_row_is_flat():
    """Ten thousand generated examples cost as much per row as a thousand."""

    def generated(n):
        for i in range(n):
            yield {"id": i, "context": f"word {i} " * 200, "answer": "Paris"}

    def bytes_per_row(n):
        gc.collect()
        tracemalloc.start()
        result = evaluate([Constant()], generated(n), [AnswerQuality()], F1, tokenizer="words")
        current, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(result.rows) == n
        return current / n, peak / n

    bytes_per_row(200)  # imports and caches
    few, few_peak = bytes_per_row(2_000)
    many, many_peak = bytes_per_row(10_000)
    assert many <= few * 1.1
    assert many_peak <= few_peak * 1.5  # threads of other tests are traced, too
    assert many_peak < 2_000  # an example alone is larger: contexts are not kept


def test_latency_is_the_time_in_process_only():
    """Neither scoring nor waiting for a free worker counts."""

    class SlowScorer:
        name = "slow"
        emits = ("s",)

        def score(self, original, processed):
            sum(range(200_000))
            return {"s": 1.0}

    result = evaluate([Constant()], examples(3), [SlowScorer()], [Latency()])
    assert all(row.latency < 0.001 for row in result.rows) or sum(
        row.latency for row in result.rows
    ) < 0.2 * sum(result.timing.values())


def test_tokens_count_what_a_model_would_see():
    """Context and question; never the id, the gold answer or tags. Output: after the system."""

    class Halve:
        name = "halve"

        def process(self, example):
            return {"context": "one two", "response": "three words here"}

    data = [{"id": "some id", "context": "one two three four", "question": "five", "answer": "x y"}]
    (row,) = evaluate([Halve()], data, [], [], tokenizer="words").rows
    assert (row.input_tokens, row.output_tokens, row.response_tokens) == (5, 3, 3)


def test_a_system_that_leaves_the_context_alone_saves_nothing():
    """A pass-through proxy returns only a response: what the model saw is unchanged."""
    (row,) = evaluate([Constant()], examples(1), [], [], tokenizer="words").rows
    assert row.input_tokens == row.output_tokens == 3


def test_usage_an_endpoint_reports_is_kept_beside_what_the_run_counts():
    """What it counted is in the metadata; tokens are counted alike before and after."""

    class Endpoint:
        name = "endpoint"

        def process(self, example):
            return {"response": "a", "usage": {"prompt_tokens": 11, "completion_tokens": 7}}

    (row,) = evaluate([Endpoint()], examples(1), [], []).rows
    assert (row.output_tokens, row.response_tokens) == (row.input_tokens, 1)
    assert row.metadata == {"prompt_tokens": 11, "completion_tokens": 7, "spent_tokens": 18}


class ModelCompressor:
    """Cuts the context to three words, and asks a model how, which costs it tokens."""

    name = "compressor"
    usage = MappingProxyType({"prompt_tokens": 900, "completion_tokens": 40})

    def process(self, example):
        kept = " ".join(example["context"].split()[:3])
        return {"context": kept, "usage": dict(self.usage), "metadata": {"cost_usd": 0.5}}


class Reader:
    """Answers with one word; an endpoint that reports what it counted."""

    name = "reader"

    def process(self, example):
        usage = {"prompt_tokens": 11, "completion_tokens": 7}
        return {**example, "response": "one", "usage": usage}


@pytest.mark.parametrize("reader", [None, Constant(), Reader()])
def test_a_compressors_own_calls_are_its_cost_and_not_what_it_hands_on(reader):
    """Alone and in front of a reader, with usage or without: 12 words became 6."""
    system = ModelCompressor() if reader is None else chain([ModelCompressor(), reader])
    data = [{"id": 1, "context": "a b c d e f g h i", "question": "q r s"}]
    (row,) = evaluate([system], data, [], [], tokenizer="words").rows
    assert (row.input_tokens, row.output_tokens) == (12, 6)
    assert row.response_tokens == (0 if reader is None else len(row.response.split()))
    own, *others = row.metadata["stage_usage"]
    assert own == {"stage": "compressor", **ModelCompressor.usage}
    assert row.metadata["cost_usd"] == 0.5
    if isinstance(reader, Reader):
        assert others == [{"stage": "reader", "prompt_tokens": 11, "completion_tokens": 7}]
        assert row.metadata["prompt_tokens"] == 11
        assert row.metadata["spent_tokens"] == 958
    else:
        assert "prompt_tokens" not in row.metadata
        assert row.metadata["spent_tokens"] == 940


def test_a_budget_counts_what_all_stages_spent():
    """The calls of a compressor are paid for, too. The next may cost twice as much."""
    data = [{"id": i, "context": "a b c d e"} for i in range(5)]
    with pytest.raises(RunStoppedError) as stopped:
        evaluate([ModelCompressor()], data, [], [], tokenizer="words", budget_tokens=3000)
    assert len(stopped.value.result.rows) == 2


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("reader", [None, Constant()])
def test_a_dataset_that_repeats_its_question_as_context_counts_the_same(repeated, reader):
    """Before a system and after one that cuts that text."""

    class Cut:
        name = "cut"

        def process(self, example):
            field = "context" if repeated else "question"
            return {field: example[field].split()[0]}

    example = {"id": 1, "question": "How many apples?"}
    if repeated:
        example["context"] = example["question"]
    system = Cut() if reader is None else chain([Cut(), reader])
    (row,) = evaluate([system], [example], [], [], tokenizer="words").rows
    assert (row.input_tokens, row.output_tokens) == (3, 1)


def test_text_fields_choose_what_is_counted():
    """The user's own fields can be the visible ones."""
    data = [{"id": 1, "context": "a b c", "notes": "one two"}]
    (row,) = evaluate([Constant()], data, [], [], text_fields=["notes"], tokenizer="words").rows
    assert row.input_tokens == 2


class Raises:
    name = "raises"
    emits = ("r",)

    def __init__(self, error):
        self.error = error

    def score(self, original, processed):
        raise self.error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MissingScoreError("no gold here"), "no gold here"),
        (ValueError("bug"), "the evaluator failed: ValueError: bug"),
        (SystemExit(1), "the evaluator failed: it called sys.exit(1)"),
    ],
)
def test_an_evaluator_that_cannot_score_leaves_a_reason(error, reason):
    """The other evaluators' scores stay; the missing one is never a zero."""
    result = evaluate([Constant()], examples(1), [Raises(error), AnswerQuality()], F1)
    (row,) = result.rows
    assert row.missing == {"r": reason}
    assert row.scores["f1"] == 0.5
    assert row.error is None


def test_scores_can_come_with_reasons_and_details(tmp_path):
    """The details stand in the row's metadata, cached ones too; what is missing says why."""

    class Judge:
        name = "judge"
        emits = ("kind", "fair")
        identity = "judge"
        asked = 0

        def score(self, original, processed):
            Judge.asked += 1
            missing = {"fair": "no verdict"} if original["id"] == 1 else {}
            scores = {"kind": 1.0} if missing else {"kind": 1.0, "fair": 0.5}
            return Scored(scores, missing, {"reason": f"because of {original['id']}"})

    for asked in (2, 3):  # the second time only what was missing is asked again
        result = evaluate([Constant()], examples(2), [Judge()], [], cache_dir=tmp_path)
        assert [row.scores for row in result.rows] == [{"kind": 1.0, "fair": 0.5}, {"kind": 1.0}]
        assert [row.missing for row in result.rows] == [{}, {"fair": "no verdict"}]
        assert result.rows[0].metadata["judge"] == {"reason": "because of 0"}
        assert Judge.asked == asked


def test_async_evaluators_overlap():
    """Two judges wait for each other's examples: one after another they would never finish."""

    class Judge:
        name = "judge"
        emits = ("judge_score",)

        def __init__(self):
            self.arrived = 0
            self.both = None

        async def ascore(self, original, processed):
            self.both = self.both or asyncio.Event()
            self.arrived += 1
            if self.arrived == 2:
                self.both.set()
            await self.both.wait()
            return {"judge_score": 1.0}

    result = evaluate([Constant()], examples(2), [Judge()], [], max_workers=2)
    assert [row.scores for row in result.rows] == [{"judge_score": 1.0}] * 2


def test_evaluate_works_inside_a_running_event_loop():
    """As in Jupyter; and `aevaluate` can be awaited there."""

    async def main():
        inside = evaluate([AsyncConstant()], examples(3), [AnswerQuality()], F1)
        awaited = await aevaluate([AsyncConstant()], examples(3), [AnswerQuality()], F1)
        return inside.summary, awaited.summary

    assert asyncio.run(main()) == ({"async-constant": {"mean_score": 0.5}},) * 2


def test_the_dataset_tag_is_on_every_row():
    """Untagged rows are reported under `unknown` by the breakdown."""
    data = [*examples(2), {"id": 9, "context": "x", "answer": "Paris", "dataset": "other"}]
    result = evaluate([Constant()], data, [AnswerQuality()], [PerDatasetBreakdown()])
    assert result.summary["constant"] == {"dataset:other": 0.5, "dataset:unknown": 0.5}


def test_the_combination_of_datasets_from_the_first_pages():
    """Two tagged lists added together are broken down by dataset."""
    hotpotqa = [{**example, "dataset": "hotpotqa"} for example in examples(2)]
    gsm8k = [{**example, "dataset": "gsm8k"} for example in examples(3)]
    result = evaluate(
        systems=[Constant()],
        dataset=hotpotqa + gsm8k,
        evaluators=[AnswerQuality()],
        metrics=[MeanScore(score_field="f1"), PerDatasetBreakdown(score_field="f1")],
    )
    keys = [key for key in result.summary["constant"] if key.startswith("dataset:")]
    assert keys == ["dataset:gsm8k", "dataset:hotpotqa"]


def test_filter_and_json_work_on_a_real_result():
    """The summary of what is left is made anew, and JSON reads back equal."""
    result = evaluate(
        [Constant(), FailsOn(2)], examples(4), [AnswerQuality()], [*F1, PassRate(), Latency()]
    )
    assert list(result.filter(system="fails").summary) == ["fails"]
    assert result.filter(example_id=0).summary["fails"]["mean_score"] == 1.0
    assert EvalResult.from_json(result.to_json()) == result
    json.loads(result.to_json(), parse_constant=lambda name: pytest.fail(f"not JSON: {name}"))


def test_two_systems_with_one_name_are_refused():
    """Their rows could not be told apart; the hint says how to rename."""
    with pytest.raises(UsageError, match="two systems are called 'constant'") as caught:
        evaluate([Constant(), Constant()], examples(1), [], [])
    assert "name=" in caught.value.hint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"systems": []}, "at least one system"),
        ({"systems": [object()]}, r"has no process\(\) or aprocess\(\)"),
        ({"evaluators": [object()]}, r"has no score\(\)"),
        ({"metrics": [object()]}, r"has no compute\(\)"),
        ({"dataset": 5}, "has no __iter__"),
        ({"metrics": [MeanScore(score_field="f2")]}, "no evaluator .* emits a score called 'f2'"),
        ({"score_field": "nope"}, "no evaluator .* emits a score called 'nope'"),
        ({"on_error": "ignore"}, "on_error must be 'continue' or 'raise'"),
    ],
)
def test_misuse_is_refused_before_anything_runs(arguments, message):
    """One clear message, and the system is never called."""
    calls = []

    class Recorder(Constant):
        def process(self, example):
            calls.append(example)
            return {}

    given = {
        "systems": [Recorder()],
        "dataset": examples(1),
        "evaluators": [AnswerQuality()],
        "metrics": F1,
        **arguments,
    }
    with pytest.raises(UsageError, match=message):
        evaluate(**given)
    assert calls == []


def test_evaluators_and_metrics_are_chosen_when_left_out():
    """AnswerQuality applies wherever there is a gold answer, and only there."""
    data = [*examples(1), {"id": "no gold", "context": "x"}]
    result = evaluate([Constant()], data)
    assert result.rows[0].scores["f1"] == 0.5
    assert result.rows[1].scores == {}
    assert list(result.rows[1].missing) == ["f1"]
    assert {"mean_score", "pass_rate", "compression_ratio", "latency_p95"} <= set(
        result.summary["constant"]
    )


def test_on_error_raise_and_max_errors_stop_the_run_and_keep_what_is_done():
    """The exception carries the finished rows."""
    with pytest.raises(RunStoppedError, match="boom") as caught:
        evaluate([FailsOn(3)], examples(), [AnswerQuality()], F1, on_error="raise")
    assert len(caught.value.result.rows) == 4

    class AlwaysFails(FailsOn):
        def process(self, example):
            raise ValueError("boom")

    result = evaluate([AlwaysFails(0), Constant()], examples(), [AnswerQuality()], F1, max_errors=2)
    assert list(result.config["stopped"]) == ["fails"]
    assert "3 rows failed" in result.config["stopped"]["fails"]
    counts = Counter(row.system for row in result.rows)
    assert counts == {"fails": 3, "constant": len(examples())}


def test_a_dataset_that_breaks_half_way_keeps_the_finished_rows():
    """Nothing already computed is lost."""

    def broken():
        yield from examples(5)
        raise OSError("connection reset")

    with pytest.raises(RunStoppedError, match="connection reset") as caught:
        evaluate([Constant()], broken(), [AnswerQuality()], F1)
    result = caught.value.result
    assert len(result.rows) == 5
    assert result.summary["constant"]["mean_score"] == 0.5


@pytest.mark.parametrize("max_workers", [1, 3])
def test_a_keyboard_interrupt_keeps_the_finished_rows(max_workers):
    """The run ends at once, with a result and a state that says so."""
    interrupting = FailsOn(5, KeyboardInterrupt())
    with pytest.raises(RunInterruptedError) as caught:
        evaluate([interrupting], examples(), [AnswerQuality()], F1, max_workers=max_workers)
    result = caught.value.result
    assert [row.example_id for row in result.rows[:5]] == [0, 1, 2, 3, 4]
    assert len(result.rows) < 20
    assert result.config["state"] == "interrupted"


def test_a_system_may_be_called_from_several_threads():
    """max_workers=3 really uses threads."""
    seen = set()
    barrier = threading.Barrier(3, timeout=30)

    class Threaded(Constant):
        def process(self, example):
            seen.add(threading.get_ident())
            barrier.wait()
            return {"response": "x"}

    evaluate([Threaded()], examples(6), [], [], max_workers=3)
    assert len(seen) == 3


def test_a_conversation_keeps_every_turn():
    """The usage and the reply of each."""

    class Talker:
        name = "talker"

        def process(self, example):
            if "turns" not in example:
                return {"response": "single"}
            usage = [{"prompt_tokens": 5, "completion_tokens": 1}] * 2
            return {"response": "many", "turn_responses": ["a", "many"], "usage": usage}

    data = [{"id": 1, "turns": ["hi", "bye"]}, {"id": 2, "context": "x"}]
    result = evaluate([Talker()], data, [], [])
    assert [row.response for row in result.rows] == ["many", "single"]
    assert result.rows[0].metadata["turn_responses"] == ["a", "many"]
    row = result.rows[0]
    assert (row.input_tokens, row.output_tokens, row.response_tokens) == (2, 2, 1)
    assert (row.metadata["prompt_tokens"], row.metadata["completion_tokens"]) == (10, 2)


def test_secrets_in_errors_are_hidden():
    """A system whose error message holds its key does not leak it into the row."""

    class Leaky:
        name = "leaky"

        def __init__(self):
            self.api_key = "very-secret-value"

        def process(self, example):
            raise RuntimeError(f"401 for key {self.api_key}")

    result = evaluate([Leaky()], examples(1), [], [])
    assert "very-secret-value" not in result.to_json()
    assert "401 for key ***" in result.rows[0].error


def test_every_component_is_recorded_with_its_origin():
    """A number can be traced to distribution, version and parameters."""
    result = evaluate([Constant()], examples(1), [AnswerQuality()], [PassRate(threshold=0.5)])
    (metric,) = result.config["metrics"]
    assert metric["plugin"] == "cb-metrics"
    assert metric["params"] == {"score_field": "f1", "threshold": 0.5}
    assert result.config["systems"][0]["plugin"] == "python"
    assert result.config["evaluators"][0]["version"] == "0.1.0"


# -- warming up ------------------------------------------------------------------------------------


EVENTS: list[tuple[str, str]] = []


class Prepared:
    """A system that notes when it is prepared and called."""

    def __init__(self, name, fails=False):
        self.name = name
        self.fails = fails

    def warm_up(self):
        EVENTS.append(("warm", self.name))
        if self.fails:
            raise OSError("no such model")

    def process(self, example):
        EVENTS.append(("call", self.name))
        return {"response": "x"}


class PreparedAwaited(Prepared):
    async def warm_up(self):
        super().warm_up()

    async def aprocess(self, example):
        return self.process(example)


@pytest.fixture
def events():
    """What systems were asked to do, in order."""
    EVENTS.clear()
    return EVENTS


@pytest.mark.parametrize("kind", [Prepared, PreparedAwaited])
@pytest.mark.parametrize("workers", [1, 4])
def test_a_system_is_warmed_up_once_before_its_first_call(kind, workers, events):
    """Whatever the order of systems, and however many datasets and workers there are."""
    systems = [kind("a"), chain([kind("b"), Constant()])]
    data = ["hotpotqa:sample", "gsm8k:sample"]
    evaluate(systems, data, [], [], max_workers=workers, max_examples=2)
    for name in ("a", "b"):
        own = [what for what, who in events if who == name]
        assert own == ["warm", *["call"] * 4]


@pytest.mark.parametrize("kind", [Prepared, PreparedAwaited])
def test_a_system_that_cannot_be_warmed_up_is_called_all_the_same(kind, capsys):
    """A warning tells; whether it works is for its calls to say."""
    result = evaluate([kind("cold", fails=True)], examples(1), [], [])
    assert result.rows[0].response == "x"
    assert "Warming up 'cold' failed: OSError: no such model" in capsys.readouterr().err


def test_a_system_whose_outputs_are_stored_is_not_warmed_up(tmp_path, events):
    """Loading a model takes time, and no call is made."""
    for _ in range(2):
        evaluate([Prepared("a")], examples(2), [], [], cache_dir=tmp_path)
    assert events == [("warm", "a"), ("call", "a"), ("call", "a")]


def test_tokenizers_are_loaded_before_the_first_call(monkeypatch):
    """The run's own, and those of systems: none is charged."""
    events = []

    class Lazy:
        name = "lazy"

        def count(self, text):
            events.append("count")
            return 1

    class Noting(Constant):
        name = "noting"

        def process(self, example):
            events.append("call")
            return super().process(example)

    load = tokens._load_encoder
    monkeypatch.setattr(tokens, "_load_encoder", lambda name: events.append("load") or load(name))
    tokenizers.load.cache_clear()
    truncate = Truncate(4, tokenizer="cl100k_base")  # which has no way without loading
    (example,) = examples(1)
    evaluate([chain([Noting(), truncate])], [example], [], [], tokenizer=Lazy())
    before = events[: events.index("call")]
    assert set(before) == {"load", "count"}
    assert "load" not in events[events.index("call") :]


class Failing:
    name_is_label = True

    def __init__(self, *, name="failing"):
        self.name = name

    def process(self, example):
        raise KeyError("what")


@pytest.mark.parametrize(
    ("system", "stage"),
    [
        ("identity | extractive:name=full", "extractive"),
        ("extractive | identity:name=full", "extractive"),
        (f"identity | py:{__file__}:Failing:name=full", f"{__file__}:Failing"),
    ],
)
def test_an_error_names_the_stage_that_failed_not_the_chain(system, stage):
    """`name=` on the last stage names the chain; the stage stays its own component."""
    result = evaluate([system], [{"id": 1, "context": 3, "question": "q", "answer": "a"}])
    assert [row.system for row in result.rows] == ["full"]
    assert f"stage {stage!r}: " in result.rows[0].error
