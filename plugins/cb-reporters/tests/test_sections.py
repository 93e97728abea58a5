"""The sections of plugins in every report."""

from __future__ import annotations

import dataclasses

import pytest

from cb_reporters.markdown import Markdown
from cb_reporters.page.document import Html
from cb_reporters.table import Table, width
from cbcore.results import EvalResult, EvalRow, Section


def node(alias, depth=0, kind="task", scores=(), **fields):
    return {"alias": alias, "name": alias, "path": alias, "depth": depth, "kind": kind,
            "version": None, "num_fewshot": 0, "state": "ran", "reason": None,
            "scores": list(scores), **fields}  # fmt: skip


def score(metric="acc", filter_name="none", better=True, **values):
    keys = ("value", "stderr", "n", "interval")  # the last of which older results do not have
    estimates = {s: dict(zip(keys, told, strict=False)) for s, told in values.items()}
    return {"metric": metric, "filter": filter_name, "higher_is_better": better,
            "values": estimates}  # fmt: skip


COLUMNS = {"num_fewshot": "n-shot", "version": "version", "filter": "filter"}


def result(*nodes, systems=("one",)):
    rows = [EvalRow(system, 0, {"acc": 1.0}, dataset="a") for system in systems]
    return EvalResult(
        rows,
        {system: {} for system in systems},
        sections={"suites": Section("Suites", list(nodes), columns=COLUMNS)} if nodes else {},
    )


TREE = (
    node("All", kind="group", version="1.0"),
    node("Areas", 1, "group", [score(one=(0.8, 0.0094241, 300))]),
    node("easy", 2, scores=[score(one=(0.75, None, 1)), score("err", "x", False, one=(0.5, 0.1, 9))]),
    node("gone", 1, state="unavailable", reason="no dataset is called 'gone'"),
)  # fmt: skip


def test_members_stand_indented_below_their_groups():
    """In order; a group without a number still has its line, a task that did not run its reason."""
    text = Table(width=110).render(result(*TREE))
    lines = [line for line in text.partition("Suites\n")[2].splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    assert [line.split("│")[1].rstrip() for line in lines[1:]] == [
        " All", "   Areas", "     easy", "", "   gone",
    ]  # fmt: skip
    assert cells[2][1:] == ["0", "", "none", "acc", "↑", "0.8000", "± 0.0094", "300"]
    assert cells[3][1:] == ["0", "", "none", "acc", "↑", "0.7500", "± n/a", "1"]
    assert cells[4][3:] == ["x", "err", "↓", "0.5000", "± 0.1000", "9"]
    assert "unavailable: no dataset is called 'gone'" in lines[-1]


def test_two_aggregates_of_a_metric_are_told_apart():
    """By how each was made."""
    ways = [{**score(one=(0.5, 0.1, 3)), "aggregation": way} for way in ("micro mean", "median")]
    text = Table(width=110).render(result(node("g", kind="group", scores=ways)))
    assert "acc, micro mean" in text
    assert "acc, median" in text


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("n_systems", [1, 2, 5])
@pytest.mark.parametrize("interval", [(), ([0.3, 0.7],)])
@pytest.mark.parametrize("name", ["a-task", "a-task-with-a-name-of-some-length"])
def test_the_table_fits_the_terminal(columns, n_systems, interval, name):
    """Systems that do not fit side by side stand in tables below each other."""
    systems = [f"sys{i}" for i in range(n_systems)]
    scores = [score(**dict.fromkeys(systems, (0.5, 0.1, 10, *interval)))]
    text = Table(width=columns).render(result(node(name, 1, scores=scores), systems=systems))
    lines = text.partition("Suites\n")[2].splitlines()
    assert max(map(width, lines)) <= columns
    assert sum(line.count("0.5000") for line in lines) == n_systems
    assert sum(line.count("[0.300, 0.700]") for line in lines) == n_systems * len(interval)


SURE = (
    node("all", kind="group", scores=[score(one=(0.5123, 0.0321, 40, [0.449, 0.5756]))]),
    node("a", 1, scores=[score(one=(0.75, None, 1, None))]),
    node("b", 1, scores=[score("err", one=(3.5, 0.5, 9, [None, None]))]),
    node("c", 1, scores=[score(one=(0.5, 0.0005, 9000, [0.49851, 0.50149]))]),
    node("d", 1, state="failed", reason="no data"),
)


def test_the_intervals_of_one_system_are_a_column():
    """With more digits where they are narrow; said as such where there is none, or no end."""
    text = Table(width=110).render(result(*SURE)).partition("Suites\n")[2]
    lines = [[cell.strip() for cell in line.split("│")[-5:-1]] for line in text.splitlines()]
    assert lines[1] == ["value", "± stderr", "95% interval", "n"]
    assert lines[3] == ["0.5123", "± 0.0321", "[0.449, 0.576]", "40"]
    assert lines[4] == ["0.7500", "± n/a", "n/a", "1"]
    assert lines[5] == ["3.5000", "± 0.5000", "[unbounded]", "9"]
    assert lines[6] == ["0.5000", "± 0.0005", "[0.4985, 0.5015]", "9,000"]


def test_the_intervals_of_several_systems_stand_in_their_cells():
    """Below their values where more systems fit side by side so."""
    told = {"one": (0.5123, 0.0321, 40, [0.449, 0.5756]), "two": (0.4, None, 1, None)}
    shown = result(node("a", scores=[score(**told)]), systems=("one", "two", "three"))
    wide = Table(width=140).render(shown)
    assert " 0.5123 ± 0.0321 [0.449, 0.576] (n=40) │ 0.4000 ± n/a (n=1) │     – │" in wide
    assert "[ ] 95% interval" in wide
    narrow = Table(width=100).render(shown).partition("Suites\n")[2].splitlines()
    first = next(i for i, line in enumerate(narrow) if "0.5123" in line)
    assert "0.5123 ± 0.0321 (n=40) │ 0.4000 ± n/a (n=1) │     – │" in narrow[first]
    assert narrow[first + 1].endswith("[0.449, 0.576] │                    │       │")


def test_documents_show_intervals():
    """Markdown beside the values, the page below them where there are several systems."""
    text = Markdown().render(result(*SURE))
    assert "| value | ± stderr | 95% interval | n |" in text
    assert "| 0.5123 | ± 0.0321 | &#91;0.449, 0.576&#93; | 40 |" in text
    page = Html().render(result(*SURE))
    assert "<bdi>95% interval</bdi>" in page
    assert "lines are 95% intervals" in page
    several = [node("a", scores=[score(one=(0.5, 0.1, 4, [0.25, 0.75]), two=(0.5, 0.1, 4))])]
    text = Markdown().render(result(*several, systems=("one", "two")))
    assert "| 0.5000 ± 0.1000 &#91;0.250, 0.750&#93; (n=4) | 0.5000 ± 0.1000 (n=4) |" in text
    assert "&#91; &#93; 95% interval" in text
    page = Html().render(result(*several, systems=("one", "two")))
    assert '0.5000 ± 0.1000 (n=4)<span class="interval">[0.250, 0.750]</span>' in page
    assert "Brackets: 95% interval." in page


@pytest.mark.parametrize("reporter", [Table(width=110), Markdown(), Html()], ids=lambda r: r.name)
def test_results_that_know_of_no_intervals_are_shown_without(reporter):
    """Those written before there were any, and sections of others."""
    assert "95% interval" not in reporter.render(result(*TREE))
    odd = score(one=(0.5, 0.1, 3, "wide"))
    assert "95% interval" not in reporter.render(result(node("a", scores=[odd])))


def test_what_has_no_room_in_the_table_is_said_above_it():
    """Version, shots and filter are part of what a number means: none vanishes without a word."""
    systems = ["first-system", "second-system"]
    scores = [score(**dict.fromkeys(systems, (0.5, 0.1, 10)))]
    nodes = [node("a-rather-long-name", 1, scores=scores, version="2.0", num_fewshot=5)]
    narrow = Table(width=60).render(result(*nodes, systems=systems)).partition("Suites\n")[2]
    assert narrow.splitlines()[0] == "n-shot 5 · version 2.0 · filter none"
    wide = Table(width=200).render(result(*nodes, systems=systems)).partition("Suites\n")[2]
    assert wide.startswith("┌")
    assert "2.0" in wide


@pytest.mark.parametrize("reporter", [Table(width=120), Markdown(), Html()], ids=lambda r: r.name)
def test_names_from_files_are_only_ever_text(reporter):
    """A suite's author may call a task what they like."""
    hostile = node("<b>|x\x1b[31m", scores=[score("m|<i>", one=(0.5, 0.1, 3))])
    text = reporter.render(result(hostile))
    assert "\x1b" not in text
    if reporter.name != "table":
        assert "<b>" not in text
        assert "<i>" not in text
    if reporter.name == "markdown":
        assert "|x" not in text


@pytest.mark.parametrize("reporter", [Markdown(), Html()], ids=lambda r: r.name)
def test_documents_show_the_same_lines(reporter):
    """Every value with its standard error and its number of examples."""
    text = reporter.render(result(*TREE))
    for part in ("All", "Areas", "easy", "0.8000", "± 0.0094", "300", "± n/a", "no dataset is"):
        assert part in text


def test_a_result_without_suites_shows_no_table():
    """Nothing changes for runs on datasets."""
    for reporter in (Table(width=80), Markdown(), Html()):
        assert "Suites" not in reporter.render(result())
    whole = result(*TREE)
    assert EvalResult.from_json(whole.to_json()).sections == whole.sections


@pytest.mark.parametrize("reporter", [Table(width=120), Markdown(), Html()], ids=lambda r: r.name)
def test_a_section_has_headers_of_its_own(reporter):
    """What its lines and scores say is shown under the columns it names, and nothing else is."""
    lines = [node("greets", provider="echo", scores=[score("pass", one=(1.0, None, 4))])]
    section = Section("Promptfoo", lines, header="test", columns={"provider": "provider"})
    text = reporter.render(dataclasses.replace(result(), sections={"promptfoos": section}))
    for part in ("Promptfoo", "test", "provider", "echo", "greets", "pass", "1.0000"):
        assert part in text
    assert "n-shot" not in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.1 + 0.2, "0.3"), (2.8739996e-06, "2.874e-06"), (7, "7"), ("a", "a"), (float("nan"), "–")],
)
def test_numbers_in_columns_are_rounded(value, shown):
    section = Section("Times", [{"name": "first", "seconds": value}], columns={"seconds": "s"})
    text = Markdown().render(dataclasses.replace(result(), sections={"times": section}))
    assert f"| first | {shown} |" in text


@pytest.mark.parametrize("reporter", [Table(width=80), Markdown(), Html()], ids=lambda r: r.name)
def test_what_columns_mean_stands_below_their_table(reporter):
    """Of those that say it; in the head there is only what they are called."""
    columns = {"n": "n", "kept": "kept\nright <b>here</b> too"}
    section = Section("Losses", [{"name": "short", "n": 3, "kept": 2}], "system", columns)
    text = reporter.render(dataclasses.replace(result(), sections={"losses": section}))
    head, _, below = text.partition("Losses")[2].partition("short")
    assert "kept" in head
    assert "right" not in head
    assert ("<b>here" in below) == (reporter.name == "table")
    meaning = {
        "table": "kept: right",
        "markdown": "**kept**: right",
        "html": "<dt><bdi>kept</bdi></dt>",
    }
    assert meaning[reporter.name] in below
