"""The terminal table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_reporters.table import Table, width
from cbcore.results import EvalResult, EvalRow, Section

METRICS = ("mean_score", "pass_rate", "compression_ratio", "cost_of_pass", "latency_p95", "own")


def boxes_are_straight(text):
    """Whether all lines of each box are equally wide and their verticals stand in columns."""
    boxes, box = [], []
    for line in text.splitlines():
        if line.startswith(("┌", "├", "│", "└")):
            box.append(line)
            if line.startswith("└"):
                boxes.append(box)
                box = []
    return bool(boxes) and all(len({width(line) for line in box}) == 1 for box in boxes)


def test_wide(result):
    """With room, systems are lines and metrics are columns."""
    assert (
        Table(width=120).render(result)
        == """\
2 systems on a, b
started 2026-03-01 12:00 UTC · rows 5 · scored 3 · errored 1 · missing 1 · score f1 · run r1

┌────────┬──────────────┬───────────┬──────────────┬─────────────┬───────────┬─────────┬─────────┬─────────┐
│ system │ quality (f1) │ pass ≥0.7 │ tokens saved │ latency p50 │   novelty │  scored │ errored │ missing │
├────────┼──────────────┼───────────┼──────────────┼─────────────┼───────────┼─────────┼─────────┼─────────┤
│ plain  │       0.750  │    50.0%  │        0.0%  │     300 ms  │ 12,345.7  │ 2 of 2  │      0  │      0  │
│ short  │       0.750  │   100.0%* │       55.0%* │    1.50 ms* │        –  │ 1 of 3  │      1  │      1  │
└────────┴──────────────┴───────────┴──────────────┴─────────────┴───────────┴─────────┴─────────┴─────────┘

By dataset
┌─────────┬────────┬────────┐
│ dataset │  plain │  short │
├─────────┼────────┼────────┤
│ a       │ 0.500  │ 0.750* │
│ b       │ 1.000  │     –  │
└─────────┴────────┴────────┘
* best

- f1 is missing in 1 row: no gold answer
"""
    )


def test_narrow(stopped):
    """Without room, systems become columns; status and problems are wrapped."""
    assert (
        Table(width=50).render(stopped)
        == """\
2 systems on a, b
started 2026-03-01 12:00 UTC · rows 5 · scored 3 ·
errored 1 · missing 1 · score f1 · run r1

! Run interrupted: stopped by the user. The
numbers cover only the rows that were done.

┌──────────────┬───────────┬──────────┐
│ metric       │     plain │    short │
├──────────────┼───────────┼──────────┤
│ quality (f1) │    0.750  │   0.750  │
│ pass ≥0.7    │    50.0%  │  100.0%* │
│ tokens saved │     0.0%  │   55.0%* │
│ latency p50  │   300 ms  │ 1.50 ms* │
│ novelty      │ 12,345.7  │       –  │
│ scored       │   2 of 2  │  1 of 3  │
│ errored      │        0  │       1  │
│ missing      │        0  │       1  │
└──────────────┴───────────┴──────────┘

By dataset
┌─────────┬────────┬────────┐
│ dataset │  plain │  short │
├─────────┼────────┼────────┤
│ a       │ 0.500  │ 0.750* │
│ b       │ 1.000  │     –  │
└─────────┴────────┴────────┘
* best

- metric 'novelty' failed: ValueError: no
- f1 is missing in 1 row: no gold answer
"""
    )


def test_wide_characters_are_aligned():
    """A name in Japanese takes two columns per character, and the box stays straight."""
    summary = {"日本語": {"mean_score": 0.5}, "plain": {"mean_score": 0.25}}
    text = Table(width=80).render(EvalResult([], summary))
    assert boxes_are_straight(text)
    assert "│ 日本語 │  0.500* │ 0 of 0  │" in text
    assert "│ plain  │  0.250  │ 0 of 0  │" in text


def test_long_names_are_shortened():
    """A name too long for the terminal keeps its ends."""
    summary = {"openai:http://localhost:7878,model=gpt-4": {"mean_score": 0.5}}
    text = Table(width=40).render(EvalResult([], summary))
    assert "│ openai:http:/…,model=gpt-4 │" in text


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_hostile_text_does_not_reach_the_terminal(hostile, columns):
    """No control or override character gets through, and no name breaks the table."""
    text = Table(width=columns).render(hostile)
    assert not set(text) & set("\x1b\x07\r\u2028\u202e\ud800")
    assert "\\x1b[31mred" in Table(width=200).render(hostile)
    assert boxes_are_straight(text)
    assert max(map(width, text.splitlines())) <= columns


@given(
    st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=6, unique=True),
    st.integers(1, len(METRICS)),
    st.integers(1, 5),
    st.integers(40, 160),
)
def test_every_line_fits(names, n_metrics, n_datasets, columns):
    """Whatever the names, and however many, no line is wider than asked."""
    values = dict.fromkeys(METRICS[:n_metrics], 1234.5)
    values |= {f"dataset:{'long name ' * i}": 0.5 for i in range(n_datasets)}
    rows = [EvalRow(name, 1, {"f1": 1.0}) for name in names]
    result = EvalResult(rows, dict.fromkeys(names, values), problems=["x" * 300])
    text = Table(width=columns).render(result)
    assert max(map(width, text.splitlines())) <= columns
    assert boxes_are_straight(text)


def test_the_terminal_sets_the_width(result, monkeypatch):
    """Without a width the terminal's is used."""
    monkeypatch.setenv("COLUMNS", "60")
    assert Table().render(result) == Table(width=60).render(result)
    monkeypatch.setenv("COLUMNS", "5")
    assert Table().render(result) == Table(width=40).render(result)


def test_unusual_results(unusual):
    """Results without rows, scores, rivals or metrics still make a table."""
    text = Table(width=80).render(unusual)
    assert "rows " in text
    assert "* best" not in text


@pytest.mark.parametrize("bad", [39, 0, "80"])
def test_bad_width(bad):
    """A width too small to draw in is refused."""
    with pytest.raises(ValueError, match="width must be a whole number of at least 40"):
        Table(width=bad)


def test_a_section_of_names_alone_is_told_as_text():
    """A line without columns says something all the same."""
    section = Section(
        "What was lost", [{"name": "nobody knows: the reader was not run"}], "system", {}
    )
    result = EvalResult([EvalRow("a", 1, {"f1": 1.0})], sections={"loss": section})
    assert "\nWhat was lost\nnobody knows: the reader was not run\n" in Table().render(result)
