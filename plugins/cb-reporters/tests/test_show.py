"""`cb show`: examples on a terminal."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cb_reporters.show.differences import differences
from cbcore.results import EvalResult, EvalRow, Texts

pytest_plugins = ["cb_testing"]

CONTEXT = "Paris is in France. Rome is in Italy. Bonn is on the Rhine."
HOSTILE = "\x1b[2J\x07\u202egnp <script>"


def example(number, **fields):
    return {"id": f"e{number}", "question": f"Where is {number}?", "answer": "France"} | fields


@pytest.fixture
def saved(cb_runner):
    """A kept result of three systems on three examples, one row errored, in `r.json`."""
    rows, texts = [], []
    scores = {"whole": [1.0, 1.0, 0.5], "cut": [0.0, 1.0, 0.25]}
    for system, values in scores.items():
        for number, value in enumerate(values):
            given = example(number, context=CONTEXT)
            context = CONTEXT if system == "whole" else "Paris is in Spain. Bonn is on the Rhine."
            rows.append(
                EvalRow(
                    *(system, f"e{number}", {"f1": value}),
                    dataset="d",
                    input_tokens=20,
                    output_tokens=20 if system == "whole" else 10,
                    response=f"{system} {number}",
                    metadata={"judge": {"verdict": "bad", "reason": "It is short."}},
                )
            )
            texts.append(Texts(given, {"context": context, "response": "x"}))
    failed = {"traceback": 'Traceback:\n  File "mine.py", line 3'}
    rows.append(EvalRow("broken", "e0", error="ValueError: no", dataset="d", metadata=failed))
    texts.append(Texts(example(0, context=CONTEXT)))
    summary = {system: {} for system in ("whole", "cut", "broken")}
    config = {"score_field": "f1"}
    EvalResult(rows, summary, config=config, texts=texts).save(cb_runner.folder / "r.json")
    return cb_runner


def test_an_example_is_shown_with_all_that_is_known_of_it(saved):
    """Question, gold, responses, judge's reasons, tokens, the error and where it was raised."""
    out = saved("show", "r.json", "e0").stdout
    for told in (
        "example 'e0' of d",
        "question   Where is 0?",
        "gold       France",
        "response   cut 0",
        "reason: It is short.",
        "10 tokens (50% of 20)",
        "kept whole (59 characters)",
        "error      ValueError: no",
        'File "mine.py", line 3',
    ):
        assert told in out


def test_what_was_dropped_and_rewritten_is_marked(saved):
    """In marks that also a file can hold; text that is kept stands between."""
    out = saved("show", "r.json", "e0", "--system", "cut").stdout
    assert "Paris is in [-France-]{+Spain+}. [-Rome is in Italy.-] Bonn is on the Rhine." in out


@pytest.mark.parametrize(
    ("env", "coloured"),
    [({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_a_terminal_that_has_colours_gets_them_instead(saved, env, coloured):
    """Unless NO_COLOR is set."""
    out = saved("show", "r.json", "e0", "--system", "cut", env=env).stdout
    assert ("\x1b[31m\x1b[9mRome is in Italy." in out) is coloured
    assert ("[-Rome" in out) is not coloured


def test_the_worst_examples_of_a_system_come_in_order(saved):
    """Lowest first, of so many; rows that errored have no score to go by."""
    out = saved("show", "r.json", "--worst", "2", "--system", "cut").stdout
    assert out.index("'e0'") < out.index("'e2'")
    assert "'e1'" not in out
    assert "broken" not in out


def test_what_one_lost_and_another_kept_comes_by_the_loss(saved):
    """Only those two are shown, and only where one scores less."""
    out = saved("show", "r.json", "--lost-by", "cut", "--kept-by", "whole").stdout
    assert out.index("'e0'") < out.index("'e2'")
    assert "'e1'" not in out
    assert "broken" not in out
    none = saved("show", "r.json", "--lost-by", "whole", "--kept-by", "cut").stdout
    assert none == "no example fits\n"


def test_errors_can_be_looked_at_alone(saved):
    """Each with its traceback."""
    out = saved("show", "r.json", "--errors").stdout
    assert "'e0'" in out
    assert "'e1'" not in out


def test_without_a_choice_examples_are_listed(saved):
    """One line each: the id, a score for each system, how the question begins."""
    out = saved("show", "r.json", "-n", "2").stdout
    systems, first, second, _, more = out.splitlines()
    assert systems == "f1 of whole, cut, broken:"
    assert first.split() == ["e0", "1.000", "0.000", "error", "Where", "is", "0?"]
    assert second.index("Where") == first.index("Where"), "a system without a row keeps its place"
    assert saved("show", "r.json", "--system", "cut").stdout.startswith("e0 ")
    assert more == "2 of 3 examples; -n shows more"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["none.json"], "none.json"),
        (["none"], "There is no run 'none'"),
        (["r.json", "e9"], "no example of this run has the id 'e9'"),
        (["r.json", "--worst", "1", "--system", "cat"], "did you mean cut?"),
        (["r.json", "--worst", "1", "--system", "o"], "several systems"),
        (["r.json", "--lost-by", "cut"], "one of them is missing"),
        (["r.json", "e0", "--worst", "1"], "give one"),
        (["r.json", "--worst", "1", "--score", "f2"], "--score one of f1"),
        (["r.json", "--worst", "0"], "0 is not in the range"),
    ],
)
def test_what_cannot_be_shown_is_told_in_one_message(saved, arguments, told):
    """With what to do next, and nothing on standard output."""
    done = saved("show", *arguments)
    assert done.exit_code in (2, 5)
    assert told in done.stderr
    assert done.stdout == ""


def test_hostile_text_is_shown_as_text(cb_runner):
    """It moves no cursor and sets no colour, in colour or not."""
    given = {"id": HOSTILE, "question": HOSTILE, "answer": HOSTILE, "context": HOSTILE * 9}
    row = EvalRow(
        *(HOSTILE, HOSTILE, {HOSTILE: 1.0}),
        dataset=HOSTILE,
        response=HOSTILE,
        metadata={HOSTILE: {HOSTILE: HOSTILE}},
        missing={HOSTILE: HOSTILE},
    )
    texts = [Texts(given, {"context": HOSTILE})]
    EvalResult([row], texts=texts).save(cb_runner.folder / "r.json")
    for arguments in ([HOSTILE], []):
        out = cb_runner("show", "r.json", *arguments).stdout
        assert out
        assert not {"\x1b", "\x07", "\u202e"} & set(out)


def test_long_texts_are_cut_unless_they_are_asked_for(cb_runner):
    """What is left out is said."""
    given = {"id": 1, "context": "".join(f"Sentence {i} is here. " for i in range(2000))}
    texts = [Texts(given, {"context": given["context"] + "More."})]
    EvalResult([EvalRow("s", 1)], texts=texts).save(cb_runner.folder / "r.json")
    assert "characters kept …" in cb_runner("show", "r.json", "1").stdout
    assert "Sentence 999 is here." in cb_runner("show", "r.json", "1", "--full").stdout


def test_a_result_without_texts_still_shows_its_rows(cb_runner):
    """And says what is missing."""
    EvalResult([EvalRow("s", 1, response="yes")]).save(cb_runner.folder / "r.json")
    out = cb_runner("show", "r.json", "1").stdout
    assert "its texts were not stored" in out
    assert "response   yes" in out


words = st.lists(st.sampled_from(["a", "b.", "the", "\n", "Rome!", "x"]), max_size=30).map(" ".join)


@settings(deadline=None)
@given(words, words)
def test_a_difference_loses_nothing(before, after):
    """Kept and dropped are the text before; kept and added say what the text after says."""
    pieces = differences(before, after)
    assert "".join(p.text for p in pieces if p.kind != "added") == before
    made = "".join(p.text for p in pieces if p.kind != "dropped")
    assert made.split() == after.split()
    assert all(one.kind != other.kind for one, other in itertools.pairwise(pieces))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            " ".join(f"w{i % 700}" for i in range(120_000)),
            " ".join(f"t{i}" for i in range(120_000)),
        ),
        ("Again. " * 15_000, "Again. " * 14_000 + "Once more."),
        ("x " * 3900, "x " * 3800),
    ],
    ids=["nothing shared", "one sentence again and again", "one word again and again"],
)
def test_a_text_that_would_take_minutes_to_compare_is_shown_as_replaced(before, after):
    """Nobody waits for a text that was written to be slow."""
    assert {piece.kind for piece in differences(before, after)} == {"dropped", "added"}


def test_an_answer_without_a_word_is_told_from_none(cb_runner):
    """It is said to be empty; a row without one has no such line."""
    rows = [EvalRow("mute", "e0", {"f1": 0.0}, response=""), EvalRow("cutter", "e0", {"f1": 0.0})]
    result = EvalResult(rows, {"mute": {}, "cutter": {}}, config={"score_field": "f1"})
    result.save(cb_runner.folder / "r.json")
    out = cb_runner("show", "r.json", "e0").stdout
    assert out.count("response") == 1
    assert "response   (empty)" in out.partition("mute")[2].partition("cutter")[0]
