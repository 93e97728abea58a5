"""Chains: each stage works on what the one before it left, and is blamed for its own faults."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cbcore.chains import AsyncChain, Chain, Renamed, chain
from cbcore.exceptions import ProcessError, UsageError
from cbcore.protocols import AsyncSystem, System
from cbcore.sent import SENT, requests_sent, told
from cbcore.timing import _waits


class Stage:
    def __init__(self, name, **fields):
        self.name = name
        self.fields = fields
        self.seen = []

    def process(self, example):
        self.seen.append(dict(example))
        return self.fields


class Awaited(Stage):
    closed = False

    async def aprocess(self, example):
        return self.process(example)

    async def aclose(self):
        self.closed = True


class Raising:
    name = "raising"

    def __init__(self, error):
        self.error = error

    def process(self, example):
        raise self.error


def run(stages, example):
    """A chain's output, sync and async alike."""
    made = chain(stages)
    if isinstance(made, AsyncChain):
        return asyncio.run(made.aprocess(example))
    return made.process(example)


def test_each_stage_sees_what_the_one_before_it_returned():
    """Returned fields replace those of the example. The output has only returned fields."""
    first, second = Stage("a", context="short"), Stage("b", response="answer")
    output = Chain([first, second]).process({"context": "long", "question": "q"})
    assert second.seen == [{"context": "short", "contexts": ["short"], "question": "q"}]
    assert output == {"context": "short", "response": "answer"}


def test_the_example_itself_is_not_changed_by_merging():
    """A chain makes new dicts."""
    example = {"context": "long"}
    Chain([Stage("a", context="short")]).process(example)
    assert example == {"context": "long"}


def test_stages_do_not_get_requests_for_likelihoods():
    """They contain the whole context: what a stage before the model does would have no effect."""
    example = {"id": 1, "question": "q", "loglikelihood_requests": [["a", "b"]]}
    first, second = Stage("first", context="short"), Stage("second", response="b")
    run([first, second], example)
    assert "loglikelihood_requests" not in {**first.seen[0], **second.seen[0]}
    assert "loglikelihood_requests" in example


def test_a_chain_is_named_after_its_stages_unless_it_is_given_a_name():
    """As it would be written on the command line."""
    stages = [Stage("bm25"), Stage("reader")]
    assert chain(stages).name == "bm25 | reader"
    assert chain(stages, "mine").name == "mine"


def test_a_chain_is_awaited_when_one_of_its_stages_is():
    """And called otherwise, so that no event loop is needed."""
    assert not isinstance(chain([Stage("a"), Stage("b")]), AsyncSystem)
    assert isinstance(chain([Stage("a"), Stage("b")]), System)
    assert isinstance(chain([Stage("a"), Awaited("b")]), AsyncSystem)


def test_awaited_and_called_stages_mix():
    """In order, whichever kind they are."""
    stages = [Stage("a", one=1), Awaited("b", two=2), Stage("c", three=3)]
    assert run(stages, {"id": 0}) == {"one": 1, "two": 2, "three": 3}
    assert stages[2].seen == [{"id": 0, "one": 1, "two": 2}]


def test_a_chain_can_be_a_stage():
    """Chains nest, and an awaited one inside makes the outer one awaited."""
    inner = chain([Stage("a", one=1), Awaited("b", two=2)])
    assert run([inner, Stage("c", three=3)], {}) == {"one": 1, "two": 2, "three": 3}


@pytest.mark.parametrize("neighbour", [Stage("ok"), Awaited("ok")], ids=["called", "awaited"])
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("context"), "stage 'raising': KeyError: 'context'"),
        (SystemExit(3), "stage 'raising': it called sys.exit(3)"),
        (UsageError("no context", hint="h"), "stage 'raising': no context"),
    ],
)
def test_a_failing_stage_is_named(neighbour, error, told):
    """The error says which stage of the chain it was."""
    with pytest.raises(ProcessError) as caught:
        run([neighbour, Raising(error)], {})
    assert caught.value.message == told
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("neighbour", [Stage("ok"), Awaited("ok")], ids=["called", "awaited"])
def test_a_stage_must_return_a_dict(neighbour):
    """What it returned instead is told."""
    wrong = Stage("wrong")
    wrong.fields = "text"
    with pytest.raises(ProcessError, match="stage 'wrong' returned str, not a dict"):
        run([neighbour, wrong], {})


def test_an_interrupt_passes_through_a_chain():
    """Ctrl-C is nobody's fault."""
    with pytest.raises(KeyboardInterrupt):
        run([Raising(KeyboardInterrupt())], {})


def test_closing_a_chain_closes_the_stages_that_hold_something():
    """Connections of awaited stages are closed."""
    awaited = Awaited("b")
    asyncio.run(chain([Stage("a"), awaited]).aclose())
    assert awaited.closed


class Priced(Stage):
    def __init__(self, name, usd_per_call):
        super().__init__(name, metadata={"cost_usd": usd_per_call, "by": name})
        self.usd_per_call = usd_per_call

    @property
    def estimate_usd(self):
        if self.usd_per_call is None:
            return None
        return lambda calls, tokens: calls * self.usd_per_call


@pytest.mark.parametrize(
    ("prices", "usd"),
    [([], None), ([0.5], 2.0), ([0.5, 0.25], 3.0), ([0.5, None], None)],
)
def test_a_chain_is_estimated_to_cost_what_its_stages_do(prices, usd):
    """Unknown when nobody has prices, or one of the stages does not know its own."""
    priced = [Priced(f"p{index}", price) for index, price in enumerate(prices)]
    estimate = getattr(chain([Stage("free"), *priced]), "estimate_usd", None)
    assert (None if estimate is None else estimate(4, 100)) == usd


def test_what_the_stages_cost_adds_up():
    """The other facts are those of the last stage; nothing of the data is taken for a cost."""
    stages = [Stage("free"), Priced("one", 0.5), Stage("silent"), Priced("two", 0.25)]
    made = chain(stages).process({"id": 1, "metadata": {"cost_usd": 9.0}})
    assert made["metadata"] == {"cost_usd": 0.75, "by": "two"}
    assert stages[1].fields["metadata"] == {"cost_usd": 0.5, "by": "one"}


def test_a_chain_says_nothing_of_prices_when_no_stage_does():
    """Which is not the same as a price that is not known: nothing may have to be paid."""
    assert not hasattr(chain([Stage("free"), Stage("local")]), "estimate_usd")
    assert chain([Stage("free"), Priced("p", None)]).estimate_usd is None


@pytest.mark.parametrize(
    ("limits", "together"), [([], None), ([5], 5), ([5, 7], 12), ([5, None], None)]
)
def test_replies_of_a_chain_are_as_long_as_those_of_its_stages(limits, together):
    """Without a limit in one of them there is none in all."""
    stages = [Stage("free"), *[Stage(f"s{index}") for index, _ in enumerate(limits)]]
    for stage, limit in zip(stages[1:], limits, strict=True):
        stage.most_reply_tokens = limit
    assert chain(stages).most_reply_tokens == together


@pytest.mark.parametrize("cost", [None, -1.0, float("nan"), float("inf"), "much", True])
def test_a_stage_that_has_a_price_and_tells_no_cost_is_of_unknown_cost(cost):
    """What the others tell does not stand for all; less than nothing is no cost."""
    silent = Priced("two", 0.25)
    silent.fields = {"metadata": {"cost_usd": cost}}
    made = chain([Priced("one", 0.5), silent]).process({"id": 1})
    assert made["metadata"] == {"cost_usd": 0.5, "requests_of_unknown_cost": 1}


@pytest.mark.parametrize("stages", [("priced", "unpriced"), ("unpriced", "priced")])
def test_a_stage_without_a_price_leaves_the_sum_unknown(stages):
    """What is known of the others is not what the chain costs."""
    made = {"priced": Priced("priced", 0.5), "unpriced": Priced("unpriced", None)}
    made["unpriced"].fields = {"metadata": {"finish_reason": "stop"}}
    output = chain([made[name] for name in stages]).process({"id": 1})
    assert "cost_usd" not in output["metadata"]
    failing = chain([*(made[name] for name in stages), Raising(ValueError("no"))])
    with pytest.raises(ProcessError) as caught:
        failing.process({"id": 1})
    assert "cost_usd" not in caught.value.spent


@pytest.mark.parametrize(
    ("last", "spent"),
    [
        (Raising(ValueError("no")), {"cost_usd": 0.5, "spent_tokens": 30}),
        (
            Raising(ProcessError("no", spent={"cost_usd": 0.25, "spent_tokens": 12})),
            {"cost_usd": 0.75, "spent_tokens": 42},
        ),
        (
            Raising(ProcessError("no", spent={"requests_of_unknown_cost": 2})),
            {"cost_usd": 0.5, "spent_tokens": 30, "requests_of_unknown_cost": 2},
        ),
    ],
)
def test_a_chain_that_fails_tells_what_its_stages_took(last, spent):
    """Those before the one that failed were paid, and so may have been that one."""
    paid = Stage("paid", metadata={"cost_usd": 0.5}, usage={"prompt_tokens": 30})
    with pytest.raises(ProcessError) as caught:
        chain([paid, last]).process({"id": 1})
    asked = dict(caught.value.spent).pop(SENT)
    assert asked[0] == {"stage": "paid", "usage": {"prompt_tokens": 30}, "cost_usd": 0.5}
    assert {key: value for key, value in caught.value.spent.items() if key != SENT} == spent


class Handing(Stage):
    """A stage that hands everything on that it was given, as many do."""

    def process(self, example):
        return {**example, **super().process(example)}


MINE = {"prompt_tokens": 900, "completion_tokens": 40}
THEIRS = {"prompt_tokens": 70, "completion_tokens": 3}
EVERY_STAGE = pytest.mark.parametrize("kind", [Stage, Handing, Awaited])


@EVERY_STAGE
@pytest.mark.parametrize("field", ["usage", "api_usage"])
def test_usage_of_a_stage_does_not_stand_for_a_later_one(kind, field):
    """A compressor's own calls are kept under its name; the reader, which reports none, has none."""
    reader = kind("reader", response="x")
    made = run([Stage("compressor", context="c", **{field: MINE}), reader], {"context": "long"})
    assert field not in made
    assert field not in reader.seen[0]
    assert made["stage_usage"] == [{"stage": "compressor", "usage": MINE}]


@EVERY_STAGE
@pytest.mark.parametrize("answer", [{"response": "x"}, {"tool_calls": [{"name": "f"}]}])
def test_usage_of_a_chain_is_that_of_the_stage_which_answered(kind, answer):
    """Whatever was reported before, and whatever follows it."""
    stages = [
        Stage("compressor", context="c", usage=MINE),
        kind("reader", usage=THEIRS, **answer),
        kind("after", context="d"),
        kind("notes", usage=MINE),
    ]
    made = run(stages, {"context": "long"})
    assert made["usage"] == THEIRS
    reported = [(one["stage"], one["usage"]) for one in made["stage_usage"]]
    assert reported == [("compressor", MINE), ("reader", THEIRS), ("notes", MINE)]


@pytest.mark.parametrize("kind", [Stage, Awaited])
def test_a_stage_that_agrees_with_the_one_before_has_answered_too(kind):
    """Row by row the same stage is counted, whether or not it changed the draft."""
    draft = kind("draft", response="x", usage=MINE)
    for answer in ("x", "y"):
        made = run([draft, kind("refined", response=answer, usage=THEIRS)], {"context": "c"})
        assert made["usage"] == THEIRS
    assert run([draft, Handing("after")], {"context": "c"})["usage"] == MINE


def test_a_chain_inside_a_chain_tells_of_its_own_stages():
    """The outer one knows them all by name."""
    inner = chain([Stage("one", usage=MINE), Stage("two", response="x", usage=THEIRS)])
    made = run([Stage("zero", usage=MINE), inner], {"context": "long"})
    assert made["usage"] == THEIRS
    assert [one["stage"] for one in made["stage_usage"]] == ["zero", "one", "two"]


def test_a_field_of_the_data_is_not_taken_for_usage():
    """What every stage hands on from the example was reported by nobody."""
    made = run([Handing("a"), Handing("b", response="x")], {"context": "c", "usage": "rare"})
    assert made == {"context": "c", "response": "x"}


@EVERY_STAGE
def test_a_question_that_is_the_context_is_rewritten_with_it(kind):
    """The next stage is asked the shortened text, not the long one once more."""
    reader = kind("reader", response="x")
    run([Stage("cut", context="short"), reader], {"context": "long", "question": "long"})
    assert (reader.seen[0]["context"], reader.seen[0]["question"]) == ("short", "short")


class Warm(Stage):
    warmed = 0

    def warm_up(self):
        self.warmed += 1


class WarmAwaited(Awaited):
    warmed = 0

    async def warm_up(self):
        self.warmed += 1


def test_a_chain_warms_its_stages_up():
    """Those that have to be awaited are; without any of those nothing is left to await."""
    called, awaited = Warm("a"), WarmAwaited("b")
    assert chain([called, Stage("c")]).warm_up() is None
    assert called.warmed == 1

    async def warm_up():
        await chain([called, awaited]).warm_up()

    asyncio.run(warm_up())
    assert (called.warmed, awaited.warmed) == (2, 1)


def test_waiting_for_a_thread_is_not_the_time_of_a_stage():
    """A called stage of an awaited chain: what passed before it was begun is told apart."""

    async def waited():
        waits = _waits.new_waits()
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as pool:
            loop.set_default_executor(pool)
            release = threading.Event()
            loop.run_in_executor(None, release.wait)
            call = asyncio.ensure_future(chain([Stage("a"), Awaited("b")]).aprocess({}))
            await asyncio.sleep(0)
            asked = time.perf_counter()
            await asyncio.sleep(0)
            held = time.perf_counter() - asked
            release.set()
            await call
        return waits.seconds, held

    seconds, held = asyncio.run(waited())
    assert seconds >= held > 0


def test_a_renamed_system_differs_only_in_name():
    """All other attributes are the system's own, and methods it lacks stay lacking."""
    system = Stage("original", response="x")
    renamed = Renamed(system, "other")
    assert renamed.name == "other"
    assert system.name == "original"
    assert renamed.process({}) == {"response": "x"}
    assert renamed.fields is system.fields
    assert not hasattr(renamed, "aprocess")
    assert hasattr(Renamed(Awaited("a"), "other"), "aprocess")


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_renamed_system_can_be_copied(duplicate):
    """It can be sent to another process."""
    copied = duplicate(Renamed(Raising(None), "other"))
    assert (copied.name, type(copied.system).__name__) == ("other", "Raising")


LONG = "The Aare comes from the Alps and goes to the Rhine. " * 20


class Asking(Stage):
    """A stage that asks a model: it sends a template with its context, and tells of that."""

    def __init__(self, name, template, **fields):
        super().__init__(name, **fields)
        self.template = template

    def process(self, example):
        prompt = self.template.format(**example)
        to = {"endpoint": "there", "model": self.name}
        messages = [{"role": "user", "content": prompt}]
        return {**super().process(example), **told([messages], example, to=to)}


def sent_by(stages, example):
    """To which model each request went, and what was in it."""
    output = chain(stages).process(dict(example))
    found = requests_sent(example, output)
    return [(one.to.get("model"), [text for _, text in one.messages]) for one in found]


def test_the_requests_of_every_stage_are_told():
    """Each with the texts as that stage got them, although a later one has others."""
    example = {"id": 1, "context": LONG, "question": "Where?"}
    stages = [
        Asking("small", "Shorten: {context}", context=LONG[:300], response="short"),
        Asking("middle", "Again: {context}", context=LONG[:60]),
        Asking("large", "{context} {question} {response}", response="there"),
    ]
    assert sent_by(stages, example) == [
        ("small", [f"Shorten: {LONG}"]),
        ("middle", [f"Again: {LONG[:300]}"]),
        ("large", [f"{LONG[:60]} Where? short"]),
    ]


def test_what_a_chain_tells_repeats_neither_the_context_nor_what_became_of_it():
    """Of a thousand characters in two prompts no more is kept than who sent them to whom."""
    stages = [
        Asking("small", "Shorten: {context}", context=LONG[:500]),
        Asking("large", "{context}"),
    ]
    kept = chain(stages).process({"id": 1, "context": LONG})[SENT]
    assert "Aare" not in str(kept)


def test_a_stage_that_changes_what_it_is_given_in_place_changes_no_request():
    """Many do: what the chain was given is as it was."""

    class InPlace(Stage):
        def process(self, example):
            example["context"] = "short"
            return example

    example = {"id": 1, "context": LONG, "question": "Where?"}
    stages = [InPlace("cut"), Asking("large", "{context} {question}", response="x")]
    assert sent_by([*stages, Stage("other", context="none")], example) == [
        ("large", ["short Where?"])
    ]


def test_a_reader_that_is_no_model_is_billed_as_one_would_be():
    """As beside full context and the same reader, and after what the compressor sent."""
    example = {"id": 1, "context": LONG, "question": "Where?"}
    stages = [Asking("small", "Shorten: {context}", context=LONG[:50]), Stage("r", response="x")]
    expected = [("small", [f"Shorten: {LONG}"]), (None, [f"{LONG[:50]}\n\nWhere?"])]
    assert sent_by(stages, example) == expected
    assert sent_by(stages[:1], example) == expected


def test_what_only_puts_an_answer_in_order_asks_nobody():
    """The model has answered before it."""
    stages = [Asking("large", "{context} {question}", response=" x "), Stage("strip", response="x")]
    example = {"id": 1, "context": LONG, "question": "Where?"}
    assert sent_by(stages, example) == [("large", [f"{LONG} Where?"])]


def test_a_stage_that_reports_a_usage_has_asked_somebody():
    """Nobody knows what was in the prompt; how long it was, and what it cost, is known."""
    usage = {"prompt_tokens": 30, "completion_tokens": 4}
    shortened = Stage("own", context="short", usage=usage, metadata={"cost_usd": 0.5})
    example = {"id": 1, "context": LONG, "question": "Where?"}
    output = chain([shortened, Stage("r", response="x")]).process(dict(example))
    first, reader = requests_sent(example, output)
    assert (first.stage, first.usage, first.cost_usd) == ("own", usage, 0.5)
    assert (list(first.messages), reader.told) == ([], False)
    alone = chain([Stage("cut"), Stage("r", response="x", usage=usage)]).process(dict(example))
    assert SENT not in alone
    assert requests_sent(example, alone)[0].usage == usage


def test_a_chain_in_a_chain_tells_of_its_own_stages():
    """Under their names."""
    inner = chain([Asking("small", "1 {context}"), Asking("middle", "2 {context}", context="c")])
    example = {"id": 1, "context": LONG}
    output = chain([inner, Asking("large", "3 {context}", response="x")]).process(dict(example))
    found = [(one.stage, one.messages[0][1]) for one in requests_sent(example, output)]
    assert found == [("small", f"1 {LONG}"), ("middle", f"2 {LONG}"), ("large", "3 c")]


@pytest.mark.parametrize("kept", [7, ["x"], [{}], [{"same": 0, "messages": [["user", [["?"]]]]}]])
def test_what_a_stage_tells_wrongly_is_an_error_of_who_reads_it(kept):
    """The chain goes on."""
    output = chain([Stage("odd", **{SENT: kept}), Stage("r", response="x")]).process({"id": 1})
    assert output["response"] == "x"
    with pytest.raises(ValueError, match=SENT):
        requests_sent({"id": 1}, output)


class Charging(Asking):
    """A stage that reports what was counted, and knows what a token costs."""

    def __init__(self, name, usd, tokens):
        super().__init__(name, "{context}", response="x")
        self.usd = usd
        self.tokens = tokens

    def process(self, example):
        output = super().process(example)
        output[SENT][0]["usage"] = {"prompt_tokens": self.tokens}
        return output

    def cost_usd_of(self, usages):
        return None if self.usd is None else self.usd * sum(u["prompt_tokens"] for u in usages)


@pytest.mark.parametrize(
    ("prices", "cost"), [((2.0, 5.0), 2.0 * 10 + 5.0 * 100), ((2.0, None), 1.5)]
)
def test_a_stored_output_of_a_chain_is_priced_stage_by_stage(prices, cost):
    """Also where two stages are called alike; as it was, where one price is not known."""
    first, second = (Charging("same", usd, n) for usd, n in zip(prices, (10, 100), strict=True))
    whole = chain([Stage("free"), first, second])
    output = {**whole.process({"id": 1, "context": LONG}), "metadata": {"cost_usd": 1.5, "a": 1}}
    assert whole.repriced(output) == {"cost_usd": cost, "a": 1}
    assert whole.repriced({"metadata": {"cost_usd": 1.5}}) == {"cost_usd": 1.5}
