"""Chains: each stage works on what the one before it left, and is blamed for its own faults."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import time

import pytest

from cbcore.chains import AsyncChain, Chain, Renamed, chain
from cbcore.exceptions import ProcessError, UsageError
from cbcore.protocols import AsyncSystem, Cost, System
from cbcore.requests import expand_requests
from cbcore.timing import start_waits, waiting


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
    """A chain's output, sync and async alike, without its times."""
    made = chain(stages)
    if isinstance(made, AsyncChain):
        return untimed(asyncio.run(made.aprocess(example)))
    return untimed(made.process(example))


def untimed(output):
    """An output without the seconds of its stages."""
    output = dict(output)
    metadata = {key: value for key, value in output.pop("metadata", {}).items() if key != "stage_s"}
    return {**output, "metadata": metadata} if metadata else output


def test_each_stage_sees_what_the_one_before_it_returned():
    """Returned fields replace those of the example. The output has only returned fields."""
    first, second = Stage("a", context="short"), Stage("b", response="answer")
    output = run([first, second], {"context": "long", "question": "q"})
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
    wrong = Stage("wrong")
    wrong.fields = "text"
    with pytest.raises(ProcessError, match="stage 'wrong': it returned str, not a dict"):
        run([neighbour, wrong], {})


@pytest.mark.parametrize("fields", ["text", {"contexts": 3}])
def test_a_chain_reports_its_cost_although_a_stage_returns_something_unreadable(fields):
    wrong = Stage("wrong")
    wrong.fields = fields
    with pytest.raises(ProcessError) as caught:
        run([Stage("paid", metadata={"cost_usd": 0.5}), wrong], {"id": 1})
    assert caught.value.cost["cost_usd"] == 0.5


def test_a_stage_may_change_the_example_that_it_gets_and_return_it():
    """Its usage is its own all the same, and the next stage does not get it."""

    class Changing(Stage):
        def process(self, example):
            example.update(self.fields)
            return example

    stages = [Changing("one", context="short", usage=MINE), Stage("two", response="x")]
    example = {"id": 1, "context": "long"}
    output = run(stages, example)
    assert "usage" not in stages[1].seen[0]
    assert output["context"] == "short"
    assert output["stage_usage"] == [{"stage": "one", "usage": MINE}]
    assert example == {"id": 1, "context": "long"}


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
    """A stage that costs what it declares; an unknown amount if its price is None."""

    def __init__(self, name, usd, tokens=0, *, is_bound=True):
        cost = {} if usd is None else {"cost_usd": usd}
        super().__init__(name, metadata={**cost, "by": name})
        self.cost = Cost(usd, tokens, is_bound)
        self.asked = []

    def max_cost(self, example):
        self.asked.append(example)
        return self.cost


@pytest.mark.parametrize(
    ("costs", "total"),
    [
        ([Cost(0.5, 10)], Cost(0.5, 10)),
        ([Cost(0.5, 10), Cost(0.25, 5)], Cost(0.75, 15)),
        ([Cost(0.5, 10), Cost(None, 5)], Cost(None, 15)),
        ([Cost(0.5, 10), Cost(0.25, 5, is_bound=False)], Cost(0.75, 15, is_bound=False)),
    ],
)
def test_a_chain_costs_at_most_what_its_stages_do(costs, total):
    """Each is taken to get what the first one gets, and one price that is missing hides the sum."""
    priced = [Priced(f"p{i}", c.usd, c.tokens, is_bound=c.is_bound) for i, c in enumerate(costs)]
    example = {"id": 1, "context": "long"}
    likelihoods = {"loglikelihood_requests": [["a", "b"]]}
    assert chain([Stage("free"), *priced]).max_cost({**example, **likelihoods}) == total
    assert [stage.asked for stage in priced] == [[example]] * len(priced)


def test_a_chain_of_free_stages_declares_no_cost():
    """A price that is not known is something else: then a budget in dollars is refused."""
    assert not hasattr(chain([Stage("free"), Stage("local")]), "max_cost")
    assert chain([Stage("free"), Priced("p", None)]).max_cost({}).usd is None


@pytest.mark.parametrize(
    ("endpoints", "of_chain"),
    [([("a",), ("b",)], ("a", "b")), ([("a",), None], ()), ([(), ("a",)], ())],
)
@pytest.mark.parametrize("kind", [Stage, Awaited])
def test_a_chain_waits_for_the_endpoints_of_all_stages(kind, endpoints, of_chain):
    """A stage that names none computes here."""
    stages = [kind("s") for _ in endpoints]
    for stage, names in zip(stages, endpoints, strict=True):
        if names is not None:
            stage.endpoints = names
    assert chain(stages).endpoints == of_chain


def test_what_the_stages_cost_adds_up():
    """The other facts are those of the last stage; nothing of the data is taken for a cost."""
    stages = [Stage("free"), Priced("one", 0.5), Stage("silent"), Priced("two", 0.25)]
    made = run(stages, {"id": 1, "metadata": {"cost_usd": 9.0}})
    assert made["metadata"] == {"cost_usd": 0.75, "by": "two"}
    assert stages[1].fields["metadata"] == {"cost_usd": 0.5, "by": "one"}


@pytest.mark.parametrize("cost", [None, -1.0, float("nan"), float("inf"), "much", True])
def test_a_stage_that_reports_no_cost_leaves_the_sum_unknown(cost):
    """What the others report does not stand for all; less than nothing is not a cost."""
    silent = Priced("two", 0.25)
    silent.fields = {"metadata": {"cost_usd": cost, "by": "two"}}
    made = run([Priced("one", 0.5), silent], {"id": 1})
    assert made["metadata"] == {"by": "two"}


def test_a_stage_that_fails_without_a_cost_is_of_unknown_cost():
    """It may have been billed, and those before it were."""
    failing = Priced("two", 0.25)
    failing.process = Raising(ValueError("no")).process
    with pytest.raises(ProcessError) as caught:
        run([Priced("one", 0.5), failing], {"id": 1})
    cost = {k: v for k, v in caught.value.cost.items() if k != "requests"}
    assert cost == {"cost_usd": 0.5, "requests_of_unknown_cost": 1}


@pytest.mark.parametrize("stages", [("priced", "unpriced"), ("unpriced", "priced")])
def test_a_stage_without_a_price_leaves_the_sum_unknown(stages):
    """What is known of the others is not what the chain costs."""
    made = {"priced": Priced("priced", 0.5), "unpriced": Priced("unpriced", None)}
    output = chain([made[name] for name in stages]).process({"id": 1})
    assert "cost_usd" not in output["metadata"]
    failing = chain([*(made[name] for name in stages), Raising(ValueError("no"))])
    with pytest.raises(ProcessError) as caught:
        failing.process({"id": 1})
    assert "cost_usd" not in caught.value.cost


@pytest.mark.parametrize(
    ("last", "cost"),
    [
        (Raising(ValueError("no")), {"cost_usd": 0.5, "spent_tokens": 30}),
        (
            Raising(ProcessError("no", cost={"cost_usd": 0.25, "spent_tokens": 12})),
            {"cost_usd": 0.75, "spent_tokens": 42},
        ),
        (
            Raising(ProcessError("no", cost={"requests_of_unknown_cost": 2})),
            {"cost_usd": 0.5, "spent_tokens": 30, "requests_of_unknown_cost": 2},
        ),
    ],
)
def test_a_chain_that_fails_reports_what_its_stages_cost(last, cost):
    """Those before the one that failed were paid, and so may have been that one."""
    paid = Stage("paid", metadata={"cost_usd": 0.5}, usage={"prompt_tokens": 30})
    with pytest.raises(ProcessError) as caught:
        chain([paid, last]).process({"id": 1})
    asked = caught.value.cost["requests"]
    assert asked[0] == {"stage": "paid", "usage": {"prompt_tokens": 30}, "cost_usd": 0.5}
    assert {k: v for k, v in caught.value.cost.items() if k != "requests"} == cost


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


class Slow(Stage):
    """Says how much of its time it waits."""

    def __init__(self, name, waits_s):
        super().__init__(name)
        self.waits_s = waits_s

    def process(self, example):
        time.sleep(0.02)
        with waiting():
            time.sleep(self.waits_s)
        return {self.name: 1}


@pytest.mark.parametrize("last", [Stage("c"), Awaited("c")])
def test_the_seconds_of_each_stage_are_in_the_metadata(last):
    """Without what it waited. Stages of the same name are added up, those of a chain listed."""
    inner = chain([Slow("a", 0.5), Slow("b", 0.0)])
    made = chain([inner, Slow("a", 0.0), last])
    example = {"id": 1, "metadata": {"from": "data"}}
    output = (
        asyncio.run(made.aprocess(example))
        if isinstance(made, AsyncChain)
        else made.process(example)
    )
    seconds = output["metadata"]["stage_s"]
    assert list(seconds) == ["a", "b", "c"]
    assert 0.04 <= seconds["a"] < 0.5
    assert seconds["b"] >= 0.02
    assert "stage_s" not in last.seen[0]["metadata"]


def test_waiting_for_a_thread_is_not_the_time_of_a_stage():
    """Of many called stages in an awaited chain only a few compute at a time."""
    slow = chain([Slow("a", 0.0), Awaited("b")])
    n = 3 * min(32, (os.cpu_count() or 1) + 4)

    async def process():
        waits = start_waits()
        began = time.perf_counter()
        output = await slow.aprocess({"id": 1})
        passed = time.perf_counter() - began
        return waits.seconds, output["metadata"]["stage_s"]["a"], passed

    async def process_all():
        return await asyncio.gather(*[asyncio.create_task(process()) for _ in range(n)])

    found = asyncio.run(process_all())
    assert max(waited for waited, _, _ in found) > 0.02
    assert all(waited + took <= passed for waited, took, passed in found)


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
    """A stage that asks a model: it sends a template with its context, and lists that."""

    def __init__(self, name, template, **fields):
        super().__init__(name, **fields)
        self.template = template

    def process(self, example):
        prompt = self.template.format(**example)
        request = {"model": self.name, "messages": [{"role": "user", "content": prompt}]}
        return {**super().process(example), "requests": [request]}


def sent_by(stages, example):
    """The stage and the prompt of each request; None for a stage that lists none."""
    requests = run(stages, example).get("requests", [])
    return [
        (one["stage"], one["messages"][0]["content"] if "messages" in one else None)
        for one in requests
    ]


def test_the_requests_of_every_stage_are_listed():
    """Each with the texts as that stage got them, although a later one has others."""
    example = {"id": 1, "context": LONG, "question": "Where?"}
    stages = [
        Asking("small", "Shorten: {context}", context=LONG[:300], response="short"),
        Asking("middle", "Again: {context}", context=LONG[:60]),
        Asking("large", "{context} {question} {response}", response="there"),
    ]
    assert sent_by(stages, example) == [
        ("small", f"Shorten: {LONG}"),
        ("middle", f"Again: {LONG[:300]}"),
        ("large", f"{LONG[:60]} Where? short"),
    ]
    assert "requests" not in stages[1].seen[0]


def test_a_reader_that_lists_no_request_is_named():
    """It answers after what the compressor sent, and a model in its place would be asked."""
    example = {"id": 1, "context": LONG}
    stages = [Asking("small", "Shorten: {context}", context=LONG[:50]), Stage("r", response="x")]
    assert sent_by(stages, example) == [("small", f"Shorten: {LONG}"), ("r", None)]
    assert run(stages, example)["requests"][1] == {"stage": "r", "answered": True}
    assert sent_by(stages[1:], example) == []


def test_what_only_puts_an_answer_in_order_asks_nobody():
    """The model has answered before it."""
    stages = [Asking("large", "{context}", response=" x "), Stage("strip", response="x")]
    assert sent_by(stages, {"id": 1, "context": LONG}) == [("large", LONG)]


def test_a_stage_that_reports_a_usage_has_asked_somebody():
    """The prompt is not known. How long it was, and what it cost, is known."""
    usage = {"prompt_tokens": 30, "completion_tokens": 4}
    shortened = Stage("own", context="short", usage=usage, metadata={"cost_usd": 0.5})
    output = run([shortened, Stage("r", response="x")], {"id": 1, "context": LONG})
    assert output["requests"] == [
        {"stage": "own", "usage": usage, "cost_usd": 0.5},
        {"stage": "r", "answered": True},
    ]
    alone = run([Stage("cut"), Stage("r", response="x", usage=usage)], {"id": 1})
    assert "requests" not in alone


def test_the_usages_of_several_turns_are_added_up():
    """Of a stage that asked somebody and did not answer."""
    usages = [{"prompt_tokens": 30}, {"prompt_tokens": 4}]
    output = run([Stage("own", context="c", usage=usages), Stage("r", response="x")], {"id": 1})
    assert output["requests"][0] == {"stage": "own", "usage": {"prompt_tokens": 34}}


def test_a_chain_in_a_chain_lists_the_requests_of_its_own_stages():
    """Under their names."""
    inner = chain([Asking("small", "1 {context}"), Asking("middle", "2 {context}", context="c")])
    stages = [inner, Asking("large", "3 {context}", response="x")]
    found = sent_by(stages, {"id": 1, "context": LONG})
    assert found == [("small", f"1 {LONG}"), ("middle", f"2 {LONG}"), ("large", "3 c")]


@pytest.mark.parametrize("requests", [7, ["x"]])
def test_requests_that_cannot_be_read_are_kept_for_who_reads_them(requests):
    """The chain goes on, and its requests are not complete without them."""
    output = run([Stage("odd", requests=requests), Stage("r", response="x")], {"id": 1})
    assert output["response"] == "x"
    with pytest.raises(ValueError, match="requests"):
        expand_requests({"id": 1}, output)


def test_a_field_of_the_data_is_not_taken_for_requests():
    """A dataset may call a column so."""
    example = {"id": 1, "context": "c", "requests": ["of the data"]}
    reader = Stage("r", response="x")
    assert run([Handing("a"), reader], example) == {"context": "c", "response": "x"}
    assert reader.seen[0]["requests"] == ["of the data"]


@pytest.mark.parametrize(
    "reports",
    [
        {"metadata": {"stage_s": {"a": "long", "b": None}}},
        {"metadata": {"stage_s": 3}},
        {"metadata": {"cost_usd": {}, "requests_of_unknown_cost": "x"}},
        {"stage_usage": [3, {}, {"usage": 7}]},
        {"usage": "much"},
        {"requests": [{"usage": 3, "cost_usd": "x"}]},
    ],
)
def test_reports_of_another_shape_do_no_harm(reports):
    """The chain goes on, and says what failed later."""
    odd = Stage("odd", **reports)
    assert run([odd, Stage("r", response="x")], {"id": 1})["response"] == "x"
    with pytest.raises(ProcessError, match="stage 'raising': ValueError: no"):
        chain([odd, Raising(ValueError("no"))]).process({"id": 1})
