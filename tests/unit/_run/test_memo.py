"""Between a run and its store: what is known is attached, what is learned is kept."""

from __future__ import annotations

import gc
import hashlib
import itertools
import tracemalloc

import attrs
import pytest

from cbcore._run import memo as memo_module
from cbcore._run.keeping import Keeping, KeptExamples
from cbcore._run.memo import Memo
from cbcore._run.parts import Part
from cbcore._run.scorers import Outcome, Scorer
from cbcore._run.work import Work, number
from cbcore._store.store import Store
from cbcore.json_data import from_json
from cbcore.results import Scored
from cbcore.secrets import remember
from tests.stores import values_in


class Evaluator:
    name = "evaluator"
    emits = ("s",)


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def told():
    return []


@pytest.fixture
def memo(store, told):
    """Makes memos on one store, each as a new run would."""

    def make(system=b"system" * 3, evaluators=(), secrets=()):
        pairs = [(scorer, identity) for scorer, identity in evaluators]
        for secret in secrets:
            remember(secret)
        places = Keeping(store).places("system", system, "d")
        return Memo(store, places, pairs, warn=told.append)

    return make


def works(*contents, repeats=1):
    return number([{"context": content} for content in contents], "d", repeats=repeats)


def learn(memo, *contents, output=None, scores=(), repeats=1):
    """Run through a memo: what is not recalled is answered; the work as it came back."""
    seen = []
    for work in memo.recall(works(*contents, repeats=repeats)):
        seen.append(work)
        if work.recalled is None:
            answer = {"response": work.example["context"]} if output is None else output
            memo.remember(Outcome(work, answer, 0.25, scores=list(scores)))
    return seen


def test_what_was_learned_is_recalled_with_its_latency(memo):
    """By the next run; what is new is not there."""
    learn(memo(), "a", "b")
    seen = learn(memo(), "a", "new", "b")
    assert [work.recalled and work.recalled.output() for work in seen] == [
        {"response": "a"},
        None,
        {"response": "b"},
    ]
    assert seen[0].recalled.latency == 0.25


def test_what_an_equal_system_did_is_found_wherever_it_is_by_now(memo, store):
    """Brought to the disk since somebody looked there first, as it is at any time, or not yet."""
    learn(memo(), "a")
    store.commit()
    learn(memo(), "a", "b")
    store.commit()
    seen = learn(memo(), "b", "c")
    assert [work.recalled is not None for work in seen] == [True, False]
    begun = memo().recall(works("c", "b"))
    assert next(begun).recalled is not None
    store.commit()
    assert next(begun).recalled is not None


def test_systems_do_not_see_each_others_outputs(memo):
    """The same example, another system."""
    learn(memo(b"one-----" * 2), "a")
    (work,) = memo(b"other---" * 2).recall(works("a"))
    assert work.recalled is None


def test_scores_are_found_for_their_evaluator_example_and_output(memo):
    """Another evaluator has none; one without identity is not stored at all."""
    scorer, other, nameless = (Scorer.of(Part(Evaluator())) for _ in range(3))
    first = [(scorer, b"scorer--"), (other, b"other---")]
    learn(memo(evaluators=first), "a", scores=[(scorer, {"s": 0.5}), (nameless, {"s": 1.0})])
    (work,) = memo(evaluators=first).recall(works("a"))
    assert work.recalled.scores == {scorer.key: {"s": 0.5}}


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ({"s": 0.5, "t": 1}, True),
        ({}, True),
        ({"s": True}, True),
        ({"s": float("nan")}, False),
        ({"s": float("inf")}, False),
        ({"s": None}, False),
        ({"s": object()}, False),
        ({1: 0.5}, False),
        (ValueError("failed"), False),
        ("text", False),
        (Scored({"s": 0.5}, details={"verdicts": [1, 0], "why": "so"}), True),
        (Scored({"s": 0.5}, missing={"t": "the judge did not answer"}), False),
        (Scored({"s": float("nan")}, details={"why": "so"}), False),
    ],
)
def test_only_scores_that_come_back_as_they_were_are_stored(memo, told, scores, kept):
    """What is no number, or a failure, is asked again; the row says so each time."""
    scorer = Scorer.of(Part(Evaluator()))
    evaluators = [(scorer, b"scorer--")]
    learn(memo(evaluators=evaluators), "a", scores=[(scorer, scores)])
    (work,) = memo(evaluators=evaluators).recall(works("a"))
    assert work.recalled.scores == ({scorer.key: scores} if kept else {})
    assert told == []


def test_secrets_are_taken_out_of_the_details_of_scores(memo):
    """What a judge echoes is as hostile as what a system returns."""
    scorer = Scorer.of(Part(Evaluator()))
    evaluators = [(scorer, b"scorer--")]
    told_all = Scored({"s": 0.5}, details={"why": "the key is sk-12345678"})
    learn(memo(evaluators=evaluators, secrets=["sk-12345678"]), "a", scores=[(scorer, told_all)])
    (work,) = memo(evaluators=evaluators).recall(works("a"))
    assert "sk-12345678" not in str(work.recalled.scores[scorer.key].details)


def test_failures_are_not_stored(memo, store):
    """No output, nothing to keep."""
    made = memo()
    for work in made.recall(works("a")):
        made.remember(Outcome(work, None, 0.1, "boom"))
    store.commit()
    assert store.count("outputs") == 0


def test_an_output_is_stored_after_an_interrupt(memo, store, monkeypatch):
    """An interrupt that comes while the output is stored leaves it to the next attempt."""
    made, outputs = memo(), store.shelf("outputs", b"system" * 3)

    def interrupted(_values):
        raise KeyboardInterrupt

    (work,) = made.recall(works("a"))
    outcome = Outcome(work, {"response": "x"}, 0.1)
    with monkeypatch.context() as patched:
        patched.setattr(outputs, "put", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.keep_output(outcome)
    made.keep(outcome)
    (work,) = memo().recall(works("a"))
    assert work.recalled.output() == {"response": "x"}


def test_stored_scores_of_recalled_outputs_are_completed(memo, store):
    """A new evaluator's scores join; those known are not written again."""
    old, new = Scorer.of(Part(Evaluator())), Scorer.of(Part(Evaluator()))
    learn(memo(evaluators=[(old, b"old-----")]), "a", scores=[(old, {"s": 0.1})])
    both = [(old, b"old-----"), (new, b"new-----")]
    made = memo(evaluators=both)
    (work,) = made.recall(works("a"))
    made.remember(
        Outcome(work, work.recalled.output(), 0.25, scores=[(old, {"s": 0.1}), (new, {"s": 0.9})])
    )
    (work,) = memo(evaluators=both).recall(works("a"))
    assert work.recalled.scores == {old.key: {"s": 0.1}, new.key: {"s": 0.9}}
    store.commit()
    assert (store.count("outputs"), store.count("scores")) == (1, 2)


def test_scores_are_shared_by_equal_outputs(memo, store):
    """The scores of another system are found when its output was the same."""
    scorer = Scorer.of(Part(Evaluator()))
    made = [(scorer, b"scorer--")]
    one, other = b"one-----" * 2, b"other---" * 2
    learn(memo(one, evaluators=made), "a", scores=[(scorer, {"s": 0.5})])
    learn(memo(other, evaluators=made), "a")
    (work,) = memo(other, evaluators=made).recall(works("a"))
    assert work.recalled.scores == {scorer.key: {"s": 0.5}}
    store.commit()
    assert (store.count("outputs"), store.count("scores")) == (2, 1)


def test_examples_of_equal_content_share_what_is_known(memo):
    """Also their scores: none of them is scored again."""
    scorer = Scorer.of(Part(Evaluator()))
    evaluators = [(scorer, b"scorer--")]
    learn(memo(evaluators=evaluators), "a", scores=[(scorer, {"s": 0.5})])
    seen = list(memo(evaluators=evaluators).recall(works("x", "a", "a", "a", "a")))
    assert [bool(work.recalled) for work in seen] == [False, True, True, True, True]
    assert all(work.recalled.scores == {scorer.key: {"s": 0.5}} for work in seen[1:])


# -- repeats -----------------------------------------------------------------------------------


def test_each_repeat_has_an_address_of_its_own(memo):
    """The first is that of an unrepeated run."""
    learn(memo(), "a", "b")
    seen = learn(memo(), "a", "b", repeats=3)
    assert [bool(work.recalled) for work in seen] == [True, False, False] * 2
    assert len({work.key for work in seen}) == 6
    assert all(work.recalled for work in learn(memo(), "a", "b", repeats=3))


def test_a_copy_of_recalled_work_does_not_bring_its_output_along(memo):
    """Whatever the work was before, what counts is what is stored for it."""
    learn(memo(), "a")
    (work,) = memo().recall(works("a"))
    (repeat,) = memo().recall([attrs.evolve(work, repeat=1)])
    assert repeat.recalled is None


# -- what cannot be stored ---------------------------------------------------------------------


def test_an_example_that_is_no_plain_data_is_passed_and_told_once(memo, told, store):
    """It is run each time; those beside it are stored."""
    made = memo()
    data = [{"context": object()}, {"context": "a"}, {"context": {1, 2}}]
    for work in made.recall(number(data, "d")):
        made.remember(Outcome(work, {"response": "x"}, 0.1))
    assert len(told) == 1
    assert told[0].startswith("not stored: example 0 is not plain data")
    store.commit()
    assert store.count("outputs") == 1


def test_an_output_that_is_no_plain_data_is_told_once(memo, told):
    """With the example it belongs to."""
    for _ in range(2):
        assert not any(w.recalled for w in learn(memo(), "a", "b", output={"x": object()}))
    assert len(told) == 2  # once per run
    assert told[0].startswith("not stored: the output for example 0 is not plain data")


def test_an_unusable_example_is_not_looked_up(memo):
    """It has a problem and no address."""
    (work,) = memo().recall([Work(0, 0, {"id": 1}, "d", "no context")])
    assert (work.key, work.recalled) == (b"", None)


# -- secrets -----------------------------------------------------------------------------------


def test_a_secret_is_taken_out_of_the_names_of_scores(memo):
    """As out of all that is stored."""
    scorer = Scorer.of(Part(Evaluator()))
    evaluators = [(scorer, b"evaluator" * 2)]
    made = memo(evaluators=evaluators, secrets=["s3cret-value"])
    learn(made, "a", scores=[(scorer, {"of s3cret-value": 1.0})])
    (work,) = memo(evaluators=evaluators).recall(works("a"))
    assert work.recalled.scores == {scorer.key: {"of ***": 1.0}}


def test_a_secret_is_taken_out_of_texts_and_keys_before_storing(memo):
    """And out of the output the row is made of, so that a resumed run has the same row."""
    made = memo(secrets=["s3cret-value"])
    (work,) = made.recall(works("a"))
    output = {"response": "x s3cret-value y", "deep": [{"s3cret-value": ("s3cret-value", 1)}]}
    outcome = Outcome(work, output, 0.1)
    made.remember(outcome)
    (again,) = memo().recall(works("a"))
    hidden = {"response": "x *** y", "deep": [{"***": ["***", 1]}]}
    assert again.recalled.output() == outcome.output == hidden


@pytest.mark.parametrize("secret", ["", "1", "abc", "null", "true", "1234"])
def test_a_common_text_as_secret_does_not_spoil_what_is_stored(memo, secret):
    """Only texts are changed, and only by what is long enough to be a secret."""
    made = memo(secrets=[secret])
    (work,) = made.recall(works("a"))
    output = {"abc": None, "n": 1234, "t": True, "response": "abc 1"}
    made.remember(Outcome(work, dict(output), 0.1))
    (again,) = memo().recall(works("a"))
    assert again.recalled.output() == output


# -- looking ahead -----------------------------------------------------------------------------


def counted(source):
    pulled = itertools.count(1)
    for item in source:
        counted.pulled = next(pulled)
        yield item


def test_an_endless_source_is_read_only_some_way_ahead(memo):
    """At most as far again as was taken, and never more than a stride."""
    source = number(({"context": str(i)} for i in itertools.count()), "d")
    recalled = memo().recall(counted(source))
    for taken in range(1, 2000):
        next(recalled)
        assert counted.pulled <= min(2 * taken, taken + memo_module._LARGEST_LOOKAHEAD)


def test_a_slow_source_is_not_read_ahead(memo, monkeypatch):
    """When examples take long to come, each is worked on as it comes."""
    clock = itertools.count()
    monkeypatch.setattr(memo_module.time, "monotonic", lambda: float(next(clock)))
    recalled = memo().recall(counted(works(*map(str, range(50)))))
    for taken in range(1, 51):
        next(recalled)
        assert counted.pulled == taken


# -- fingerprints ------------------------------------------------------------------------------


def fingerprint(memo, source):
    made = memo()
    for _ in made.recall(source):
        pass
    return made.fingerprint


def test_a_secret_in_one_of_many_examples_is_not_stored(memo, store):
    """Those beside it are stored as they are."""
    made = memo(secrets=["s3cret-value"])
    contents = [f"{i} s3cret-value" if i == 20 else str(i) for i in range(40)]
    list(made.recall(works(*contents)))
    store.commit()
    kept = [from_json(value)["context"] for value in values_in(store.path, "examples")]
    assert kept == [content.replace("s3cret-value", "***") for content in contents]


def test_a_fingerprint_is_of_the_examples_and_their_order(memo):
    """Not of how often they are repeated, nor of what is stored."""
    first = fingerprint(memo, works("a", "b", "c"))
    learn(memo(), "a", "b")
    assert fingerprint(memo, works("a", "b", "c")) == first
    assert fingerprint(memo, works("a", "b", "c", repeats=3)) == first
    others = [works("a", "b"), works("b", "a", "c"), works("a", "b", "d"), works()]
    assert len({first, *(fingerprint(memo, other) for other in others)}) == 5


def test_what_a_system_hands_back_is_not_stored_again(memo):
    """A long context that comes back as it was costs its name only, and is read back whole."""
    made = memo()
    (work,) = made.recall(works("word " * 20_000))
    output = {**work.example, "response": "short", "copy": list("ab")}
    made.remember(Outcome(work, dict(output), 0.1))
    (again,) = memo().recall(works("word " * 20_000))
    assert again.recalled.output() == output
    assert len(again.recalled.payload) < 200


def taken(doing):
    """What something takes of memory in the end, and in between."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        made = doing()
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del made
    return after - before, peak - before


def addresses(n):
    return b"".join(hashlib.blake2b(b"%d" % i, digest_size=16).digest() for i in range(n))


def test_examples_of_other_shards_cost_little_memory(store):
    """They are in the store already, and only looked for: tens of bytes each."""
    n = 100_000
    examples = KeptExamples(store.shelf("examples", b"d" * 8), addresses(n))
    stays, _ = taken(lambda: examples.kept(0, b"n" * 16, b"{}"))
    assert stays < 60 * n
    examples.kept(0, addresses(3)[-16:], b"{}")
    examples.kept(0, b"n" * 16, b"{}")
    assert [key for key, _ in store.uncommitted(store.shelf("examples", b"d" * 8))] == [b"n" * 16]


def test_an_address_is_not_found_across_two_others(store):
    """Where the end of one and the beginning of the next read like it."""
    one, other = b"aa" + b"x" * 12 + b"aa", b"aa" + b"x" * 14
    between = one[14:] + other[:14]
    shelf = store.shelf("examples", b"d" * 8)
    examples = KeptExamples(shelf, one + other)
    for address in (between, between, one, other):
        examples.kept(0, address, b"{}")
    assert [key for key, _ in store.uncommitted(shelf)] == [between]


def test_keys_in_another_order_are_found_with_little_memory(store):
    """What is searched among is put in order a part at a time."""
    n, shelf = 100_000, store.shelf("outputs", b"o" * 8)
    keys = [bytes(key) for key in batched(addresses(n))]
    for place, key in enumerate(keys):
        shelf.put((key, b"%d" % place))
    store.commit()
    store.find(shelf, [])
    _, peak = taken(lambda: store.find(shelf, keys[::-1000]))
    assert peak < 80 * n
    assert store.find(shelf, [keys[7], keys[3], b"n" * 16]) == {keys[7]: b"7", keys[3]: b"3"}


def batched(joined):
    return (joined[start : start + 16] for start in range(0, len(joined), 16))
