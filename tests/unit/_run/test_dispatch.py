"""Examples by way of workers: whatever becomes of those, each row is there once, in its place."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbcore._run.pacing import (
    LONGEST_BATCH_S,
    LONGEST_CALL_S,
    MOST_BYTES,
    MOST_EXAMPLES,
    Pace,
    Patience,
)
from cbcore._run.work import Work
from cbcore.exceptions import RunError
from cbcore.workers import Refusal
from tests.unit._run.crew_fakes import Clock, ScriptedCrew, dispatch, works


def answers(numbers):
    return len(numbers)


def rows(outcomes):
    return [outcome.work.index for outcome in outcomes]


@settings(max_examples=150, deadline=None)
@given(
    n=st.integers(0, 60),
    size=st.integers(1, 4),
    first_size=st.integers(1, 16),
    poison=st.sets(st.integers(0, 59), max_size=4),
    hanging=st.sets(st.integers(0, 59), max_size=2),
    data=st.data(),
)
def test_whatever_is_lost_every_row_comes_once_and_in_order(
    n, size, first_size, poison, hanging, data
):
    """Workers die at random, answer for a part, or never; some examples cost every worker."""
    clock = Clock()
    at_random = data.draw(
        st.lists(st.sampled_from(["all", "part", "lost", "garbage"]), max_size=40)
    )
    fates = iter(at_random)

    def fate(numbers):
        if poison & set(numbers):
            return "it was shot"
        if hanging & set(numbers):
            return None
        match next(fates, "all"):
            case "part":
                return max(1, len(numbers) // 2)
            case "lost":
                return "it was lost"
            case "garbage":
                return b"no answer"
        return len(numbers)

    crew = ScriptedCrew(fate, size, clock)
    pace = Pace(width=first_size)
    running = dispatch(crew, timeout_s=1.0, pace=pace, in_flight=first_size * size)
    outcomes = list(running.outcomes(works(n)))

    assert rows(outcomes) == list(range(n))
    errored = {o.work.index for o in outcomes if o.error is not None}
    assert errored >= (poison | hanging) & set(range(n))
    good = [o for o in outcomes if o.error is None]
    assert [o.output["response"] for o in good] == [str(o.work.index) for o in good]
    # Calls are made at least once, and as many again as the ledger tells at most.
    made = Counter(crew.calls)
    assert all(made[o.work.index] >= 1 for o in good)
    assert sum(made.values()) - len(made) <= running.crews.ledger.repeated_calls


@pytest.mark.parametrize("poison", range(16))
def test_a_lost_batch_is_halved_until_the_poison_stands_alone(poison):
    """It becomes one errored row with its cause; all others have their answers."""
    crew = ScriptedCrew(lambda n: "shot" if poison in n else len(n), size=1)
    running = dispatch(crew, pace=Pace(width=16), in_flight=16)
    outcomes = list(running.outcomes(works(16)))
    assert [o.work.index for o in outcomes if o.error] == [poison]
    assert outcomes[poison].error == "3 workers were lost on this example, the last: shot"
    # 16, 8, 4, 2, and three times alone.
    assert running.crews.ledger.lost_workers == 7


def test_a_loss_that_is_nobodys_fault_costs_no_row():
    """One worker is shot once: its examples are sent again, and that is counted."""
    lost = iter(["shot"])
    crew = ScriptedCrew(lambda n: next(lost, len(n)), size=1)
    running = dispatch(crew, pace=Pace(width=4), in_flight=4)
    outcomes = list(running.outcomes(works(8)))
    assert [o.error for o in outcomes] == [None] * 8
    assert running.crews.ledger.repeated_calls == 4
    assert running.crews.ledger.told() == ["1 worker was lost: shot; 4 calls were sent again"]


def test_an_example_that_hangs_is_ended_at_its_deadline_and_alone():
    """Its worker is ended by the run; the rest of its batch goes one by one, and is answered."""
    crew = ScriptedCrew(lambda n: None if 2 in n else len(n), size=1)
    running = dispatch(crew, timeout_s=2.0, pace=Pace(width=4), in_flight=4)
    outcomes = list(running.outcomes(works(6)))
    assert [o.work.index for o in outcomes if o.error] == [2]
    assert outcomes[2].error == "timed out after 2 s: its worker did not answer, and was ended"
    assert len(crew.abandoned) == 2


def test_without_a_time_limit_a_call_may_take_most_of_an_hour():
    """Whatever others took before it."""
    long = iter([None] * int(LONGEST_CALL_S - 10))
    crew = ScriptedCrew(lambda n: next(long, len(n)) if 2 in n else len(n), size=1, call_s=1.0)
    outcomes = list(dispatch(crew).outcomes(works(3)))
    assert [o.error for o in outcomes] == [None] * 3
    assert crew.abandoned == []


def test_without_a_time_limit_nothing_is_waited_for_for_ever():
    """After an hour a call that hangs is one errored row, which says what it could have had."""
    crew = ScriptedCrew(lambda n: None if 2 in n else len(n), size=2)
    outcomes = list(dispatch(crew).outcomes(works(6)))
    assert [o.work.index for o in outcomes if o.error] == [2]
    assert outcomes[2].error == (
        "timed out after 3600 s, which is what a call may take without --timeout: "
        "its worker did not answer, and was ended"
    )
    assert LONGEST_CALL_S <= crew.clock.now <= LONGEST_CALL_S + 80


def test_quick_examples_that_hang_together_are_sent_one_by_one_after_a_minute():
    """All but one are answered then, and that one is named, instead of all for an hour."""
    told = []
    crew = ScriptedCrew(lambda n: None if 9 in n else len(n), size=2)
    running = dispatch(crew)
    running.crews.ledger.warn = told.append
    outcomes = running.outcomes(works(200))
    first = [next(outcomes) for _ in range(9)]
    assert [o.error for o in first] == [None] * 9
    assert 60 <= crew.clock.now <= 70
    rest = list(outcomes)
    assert [o.work.index for o in rest if o.error] == [9]
    assert all("the worker that has example 9:" in text for text in told)
    assert 60 + LONGEST_CALL_S <= crew.clock.now <= 80 + LONGEST_CALL_S


def test_calls_that_overlap_in_a_worker_are_not_sent_again_before_their_time():
    """They wait for something, which may be paid for."""
    overlapping = Patience(None, width=8)
    assert overlapping.for_batch(8) == LONGEST_CALL_S
    assert Patience(None).for_batch(8) < LONGEST_CALL_S


@pytest.mark.parametrize("timeout_s", [None, 300.0])
def test_who_does_not_answer_for_long_is_named_and_ever_more_rarely(timeout_s):
    """After a minute, two, four and so on, with what ends it."""
    told = []
    crew = ScriptedCrew(lambda n: None if 2 in n else len(n), size=1, call_s=1.0)
    running = dispatch(crew, timeout_s=timeout_s)
    running.crews.ledger.warn = told.append
    assert len(list(running.outcomes(works(6)))) == 6
    assert told[0].startswith("no answer for 60 s from the worker that has example 2: it is ended")
    told_s = [int(text.split()[3]) for text in told]
    assert told_s[:3] == [60, 120, 240]
    assert told[0].endswith(
        "when a call has taken 3600 s, or as --timeout says"
        if timeout_s is None
        else "when a call has taken 300 s, as --timeout says"
    )


def test_many_who_do_not_answer_are_told_in_one_line():
    """Three of them by their names."""
    told = []
    clock = Clock()
    crew = ScriptedCrew(lambda n: len(n) if clock.now > 100 else None, 8, clock)
    running = dispatch(crew)
    running.crews.ledger.warn = told.append
    assert len(list(running.outcomes(works(8)))) == 8
    (line,) = told
    assert "the worker that has example 0, 1, 2 and 5 more" in line


def test_where_all_take_long_nobody_is_told_of():
    """Ten times what others took is long; a minute is not."""
    told = []
    clock = Clock()
    takes = {}

    def fate(numbers):
        began = takes.setdefault(tuple(numbers), clock.now)
        return len(numbers) if clock.now - began >= (50 if 0 in numbers else 400) else None

    running = dispatch(ScriptedCrew(fate, 1, clock, call_s=50.0))
    running.crews.ledger.warn = told.append
    assert len(list(running.outcomes(works(4)))) == 4
    assert told == []


def test_what_a_worker_did_not_begin_is_sent_again_and_not_counted():
    """It was called by nobody."""
    crew = ScriptedCrew(lambda numbers: 1, size=1)
    running = dispatch(crew, pace=Pace(width=5), in_flight=5)
    assert rows(running.outcomes(works(5))) == [0, 1, 2, 3, 4]
    assert crew.calls == [0, 1, 2, 3, 4]
    assert running.crews.ledger.repeated_calls == 0


def test_a_worker_that_cannot_begin_ends_the_run_with_its_reason():
    """Nothing that is sent again would help."""
    refusal = Refusal("it has cb-x 1, and the run has 2", "install cb-x==2").work(b"")
    crew = ScriptedCrew(lambda numbers: refusal, size=1)
    with pytest.raises(RunError, match="cb-x 1") as caught:
        list(dispatch(crew).outcomes(works(3)))
    assert caught.value.hint == "install cb-x==2"
    assert crew.closed == 0  # nothing is at work; the run closes it


def test_workers_that_are_all_lost_end_the_run():
    """A system that crashes on everything is not tried for hours."""
    crew = ScriptedCrew(lambda numbers: "it segfaulted", size=2)
    with pytest.raises(RunError, match=r"50 workers were lost one after another.*it segfaulted"):
        list(dispatch(crew).outcomes(works(1000)))


def test_workers_that_never_get_ready_end_the_run():
    """After what the executor says a start may take."""
    crew = ScriptedCrew(answers, size=2)
    crew.free = lambda: 0
    with pytest.raises(RunError, match="no worker was ready after 30 s"):
        list(dispatch(crew).outcomes(works(3)))


def test_nothing_is_started_where_nothing_is_to_be_called():
    """Examples that cannot be used, and what the store knows, need no worker."""

    class Refuses:
        name = "refuses"

        def open(self, recipe, *, workers):
            raise AssertionError

    running = dispatch(ScriptedCrew(answers))
    running.crews.executor = Refuses()
    bad = [Work(i, i, {}, "d", problem="no context") for i in range(3)]
    assert [o.error for o in running.outcomes(bad)] == ["no context"] * 3


def test_every_outcome_is_kept_when_it_comes_not_when_it_is_due():
    """The first example is slow: those behind it are in the store long before."""
    kept = []
    crew = ScriptedCrew(lambda n: None if 0 in n and len(kept) < 9 else len(n), size=2)
    running = dispatch(crew, keep=lambda outcome: kept.append(outcome.work.index))
    outcomes = list(running.outcomes(works(10)))
    assert rows(outcomes) == list(range(10))
    assert sorted(kept) == list(range(10))
    assert kept[-1] == 0


def test_an_early_end_hands_over_what_came_back_and_ends_the_workers():
    """Nobody waits for those at work, and nothing that was replied is lost."""
    unclaimed = []
    crew = ScriptedCrew(lambda n: None if 1 in n else len(n), size=2)
    running = dispatch(crew, unclaimed=unclaimed)
    outcomes = running.outcomes(works(100))
    first = next(outcomes)
    while len(crew.calls) < 5:
        running._receive(0.0)
        running._send()
    outcomes.close()
    assert first.work.index == 0
    assert sorted([0, *(o.work.index for o in unclaimed)]) == sorted(crew.calls)
    assert [o.work.index for o in unclaimed] == sorted(o.work.index for o in unclaimed)
    assert crew.closed == 1


def test_work_is_pulled_only_as_far_as_there_is_room_for_it():
    """An endless dataset is read a window ahead, however slow its first example is."""
    pulled = 0

    def endless():
        nonlocal pulled
        while True:
            yield Work(pulled, pulled, {"n": pulled}, "d")
            pulled += 1

    crew = ScriptedCrew(lambda n: None if 3 in n else len(n), size=2)
    outcomes = dispatch(crew, timeout_s=1000.0).outcomes(endless())
    assert rows([next(outcomes) for _ in range(3)]) == [0, 1, 2]
    assert pulled < 2_000
    outcomes.close()


def test_a_failure_of_the_dataset_comes_after_the_rows_before_it():
    """Calls that were made are paid for."""

    def failing():
        yield from works(5)
        raise LookupError

    seen = []
    outcomes = dispatch(ScriptedCrew(answers)).outcomes(failing())
    with pytest.raises(LookupError):
        seen.extend(outcome.work.index for outcome in outcomes)
    assert seen == [0, 1, 2, 3, 4]


def test_an_example_that_cannot_be_pickled_costs_its_own_row():
    """The others of its batch are none the worse for it."""
    odd = [*works(3), Work(3, 3, {"n": 3, "context": lambda: 1}, "d")]
    outcomes = list(dispatch(ScriptedCrew(answers)).outcomes(odd))
    assert [o.error is None for o in outcomes] == [True, True, True, False]
    assert "cannot be sent to a worker" in outcomes[3].error


def test_what_a_gate_holds_is_not_taken_but_what_is_out_goes_on():
    """As for threads: a budget decides how many calls are under way."""

    class AtMostTwo:
        taken = given = 0

        def holds(self):
            return self.taken - self.given >= 2

    gate = AtMostTwo()

    def admitted():
        for work in works(9):
            gate.taken += 1
            yield work

    crew = ScriptedCrew(answers, size=4)
    for outcome in dispatch(crew, gate=gate, pace=Pace(width=8)).outcomes(admitted()):
        assert gate.taken - outcome.work.index <= 3
        gate.given += 1
    assert gate.given == 9


def test_what_the_budget_does_not_allow_again_becomes_an_errored_row():
    """A lost call may have been paid for."""
    lost = iter(["shot"])
    crew = ScriptedCrew(lambda n: next(lost, len(n)), size=1)
    running = dispatch(crew, lost=lambda work: False)
    outcomes = list(running.outcomes(works(3)))
    assert [o.error is None for o in outcomes] == [False, True, True]
    assert "the budget does not allow another call" in outcomes[0].error
    assert running.crews.ledger.repeated_calls == 0


# -- how much, and how long ------------------------------------------------------------------------


def test_quick_examples_go_in_large_batches_and_slow_ones_alone():
    """So that sending costs little, and nothing that is done waits for long."""
    quick, slow = Pace(), Pace()
    for _ in range(8):
        quick.learn(quick.size, 1e-5 * quick.size)
        slow.learn(slow.size, 20.0 * slow.size)
    assert quick.size == MOST_EXAMPLES
    assert slow.size == 1


def test_a_batch_grows_by_steps_and_shrinks_at_once():
    """One example that took no time says little of the next ones; one that took long, enough."""
    pace = Pace()
    pace.learn(1, 0.0)
    assert 1 < pace.size < MOST_EXAMPLES
    pace.learn(1, 60.0)
    assert pace.size == 1


def test_large_examples_go_in_small_batches():
    """Of ten megabytes nobody sends two hundred at once."""
    sizes = []

    def fate(numbers):
        sizes.append(len(numbers))
        return len(numbers)

    large = (Work(i, i, {"n": i, "context": "x" * (MOST_BYTES // 3)}, "d") for i in range(20))
    running = dispatch(ScriptedCrew(fate, size=1), pace=Pace(width=16), in_flight=16)
    assert len(list(running.outcomes(large))) == 20
    assert max(sizes) <= 3


def test_a_deadline_follows_the_time_limit_and_leaves_time_to_score():
    """A call has its limit; who scores has none, and so gets what it took before and more."""
    assert Patience(None).for_batch(1) == LONGEST_CALL_S
    alone = Patience(10.0).for_batch(1)
    assert 10.0 < alone <= 10.0 + LONGEST_BATCH_S + 5.0
    assert Patience(10.0).for_batch(100) == alone
    scored = Patience(10.0, scores=True)
    before = scored.for_batch(1)
    scored.learn(50.0)
    assert scored.for_batch(1) > before > alone
