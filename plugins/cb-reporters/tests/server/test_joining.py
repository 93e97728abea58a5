"""Two runs as one result: every row under its run's name, with the texts behind it."""

from __future__ import annotations

from functools import partial

from cb_reporters.page.finding import search
from cb_reporters.page.survey import Survey
from cb_reporters.server.joining import join_results
from cbcore import evaluate
from cbcore.api import open_run
from cbcore.results import Joined, RowsBySystem

DATA = [
    {"id": f"e{i}", "context": f"Ship {i}. Yard.", "question": "?", "answer": "y"} for i in range(9)
]


class Says:
    def __init__(self, name, word):
        self.name, self.word = name, word

    def process(self, example):
        return {"response": f"{self.word} {example['id']}"}


def kept(folder, *systems):
    evaluate(list(systems), DATA, [], [], cache_dir=folder, progress=False)
    return open_run("latest", folder)


def behind(result):
    return [
        (row.system, row.example_id, texts.example["id"], texts.output["response"])
        for row, texts in zip(result.rows, result.texts, strict=True)
    ]


def test_rows_and_texts_of_kept_runs_stand_system_by_system(tmp_path):
    """They are read where they are, and each row once for all of them."""
    one = kept(tmp_path, Says("a", "fog"), Says("b", "sun"))
    other = kept(tmp_path, Says("a", "rain"))
    found = join_results(one, other, ("1", "2"))
    assert isinstance(found.rows, RowsBySystem)
    assert found.rows.systems == found.systems == ["a (1)", "b (1)", "a (2)"]
    assert [len(part) for part in found.rows.parts] == [9, 9, 9]
    assert [row.system for row in found.rows.parts[2][3:5]] == ["a (2)", "a (2)"]
    assert behind(found)[::9] == [
        ("a (1)", "e0", "e0", "fog e0"),
        ("b (1)", "e0", "e0", "sun e0"),
        ("a (2)", "e0", "e0", "rain e0"),
    ]


def test_rows_of_files_that_take_turns_keep_their_texts(made):
    """A saved result may have its rows in any order."""
    one, other = made("r1"), made("r2")
    order = [0, 3, 1, 4, 2, 5]
    one.texts = [one.texts[place] for place in order]
    one.rows = [one.rows[place] for place in order]
    found = join_results(one, other, ("1", "2"))
    assert [row.system for row in found.rows][:6] == ["whole (1)"] * 3 + ["cut (1)"] * 3
    assert all(
        row.example_id == texts.example["id"]
        for row, texts in zip(found.rows, found.texts, strict=True)
    )


def test_a_search_in_two_kept_runs_is_one_in_what_is_stored(tmp_path):
    """And finds the examples of both."""
    one, other = kept(tmp_path, Says("a", "fog")), kept(tmp_path, Says("a", "rain"))
    found = join_results(one, other, ("1", "2"))
    assert isinstance(found.texts, Joined)
    scan = partial(search, Survey.of(found).index, found)
    assert scan(["rain e3"]) == {3}
    assert scan(["fog", "ship 7"]) == {7}
    assert scan(["snow"]) == set()


def test_each_of_two_runs_is_made_again_by_a_command_of_its_own(tmp_path):
    """Not by one of both, which nobody ran."""
    for n, seed in ((2, 1), (3, 5)):
        evaluate(
            ["identity | extractive:name=full"],
            "hotpotqa:sample",
            max_examples=n,
            seed=seed,
            cache_dir=tmp_path,
            progress=False,
        )
    one, other = open_run("latest", tmp_path), open_run("latest~1", tmp_path)
    page = join_results(one, other, ("1", "2")).to_html().partition("<h2>Reproduce</h2>")[2]
    commands = [part.partition("</code>")[0] for part in page.split("<pre")[1:]]
    assert len(commands) == 2
    for command, (n, seed) in zip(commands, ((3, 5), (2, 1)), strict=True):
        assert f"--max-examples {n}" in command
        assert f"--seed {seed}" in command
    for result in (one, other):
        assert result.config["run_id"] in page
