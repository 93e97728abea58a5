"""What the server shows."""

from __future__ import annotations

import pytest

from cb_reporters.server.sources import FileSource
from cbcore.exceptions import ResultError
from cbcore.results import EvalResult, EvalRow

HOSTILE = "<script>alert(1)</script>\x1b]0;x\x07\u202e&\"'"


def test_the_list_has_every_result_with_its_verdicts_newest_first(site, ask, runs):
    """Files that are no results are passed over."""
    reply = ask(site)
    assert reply.status == 200
    assert len(runs(site)) == 2
    assert runs(site)[0].startswith("run/two-")
    assert "whole is the baseline" in reply.text
    assert "6 rows" in reply.text


def test_the_page_of_a_run_asks_this_server_for_its_examples(site, ask, runs):
    """It is the page of the html reporter, and holds no example itself."""
    _, second = runs(site)
    page = ask(site, second)
    assert page.status == 200
    assert page.text.startswith("<!doctype html>")
    assert '"mode": "remote"' in page.text
    assert "Text 1" not in page.text
    found = ask(site, f"{second}data/examples?limit=2").json
    assert (found["total"], [line["id"] for line in found["examples"]]) == (3, ["e0", "e1"])
    assert found["examples"][0]["text"] == "Where?"
    assert ask(site, f"{second}data/examples?offset=2").json["examples"][0]["id"] == "e2"
    lost = ask(site, f"{second}data/examples?system=cut&against=whole&outcome=worse").json
    assert [line["id"] for line in lost["examples"]] == ["e0"]


def test_an_example_opens_with_the_texts_behind_it(site, ask, runs):
    """Read when it is asked for."""
    run = runs(site)[1]
    opened = ask(site, f"{run}data/example?id=e1").json
    assert (opened["context"], opened["question"]) == ("Text 1. More.", "Where?")
    assert [row["context"] for row in opened["rows"]] == ["Text 1.", "Text 1."]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("{run}data/example?id=none", 404),
        ("{run}data/example", 404),
        ("{run}data/examples?sort=nonsense", 400),
        ("{run}data/examples?offset=-1", 400),
        ("{run}data/nothing", 404),
        ("run/none/", 404),
        ("run/none/data/examples", 404),
        ("run/..%2f..%2fetc%2fpasswd/", 404),
        ("compare/none/none/", 404),
        ("nothing", 404),
    ],
)
def test_what_is_not_there_is_an_error_that_says_so(site, path, status, ask, runs):
    """As JSON where data was asked for."""
    reply = ask(site, path.format(run=runs(site)[0]))
    assert reply.status == status
    if "/data/" in path:
        assert reply.json["error"]


def test_two_runs_are_compared_on_the_same_examples(site, ask, runs):
    """Their systems stand side by side, each called by its run as well."""
    first, second = (run.split("/")[1] for run in runs(site))
    picked = ask(site, f"compare?run={second}&run={first}")
    assert (picked.status, picked.headers["Location"]) == (303, f"compare/{second}/{first}/")
    page = ask(site, picked.headers["Location"])
    assert page.status == 200
    found = ask(site, f"compare/{second}/{first}/data/examples").json
    assert found["total"] == 3
    assert [cell[0] for cell in found["examples"][0]["cells"]] == [1.0, 0.0, 1.0, 0.0]
    opened = ask(site, f"compare/{second}/{first}/data/example?id=e0").json
    assert len(opened["rows"]) == 4
    assert f"whole ({second})" in page.text
    assert f"other ({first})" in page.text


@pytest.mark.parametrize("query", ["", "?run=a", "?run=a&run=b&run=c"])
def test_other_than_two_cannot_be_compared(site, query, ask):
    """The list says so."""
    reply = ask(site, f"compare{query}")
    assert reply.status == 400
    assert "Two runs can be compared" in reply.text


def test_a_file_that_changed_is_read_again(folder, site, ask, made, runs):
    """Without a restart."""
    run = runs(site)[1]
    before = ask(site, f"{run}data/state").json
    assert ask(site, f"{run}data/examples").json["total"] == 3
    made(n=5).save(folder / "one.json")
    assert ask(site, f"{run}data/examples").json["total"] == 5
    assert ask(site, f"{run}data/state").json["version"] != before["version"]


def test_hostile_names_stay_text(tmp_path, serve, ask):
    """In the list as in all else."""
    result = EvalResult(
        [EvalRow(HOSTILE, HOSTILE, {"f1": 1.0}, dataset=HOSTILE)],
        {HOSTILE: {}},
        config={"datasets": [{"name": HOSTILE}], "state": HOSTILE, "started": HOSTILE},
    )
    result.save(tmp_path / "<b>'\".json")
    reply = ask(serve(FileSource.of_folder(tmp_path)))
    assert reply.status == 200
    assert "<script>" not in reply.text
    assert "<b>" not in reply.text
    assert not {"\x1b", "\x07", "\u202e"} & set(reply.text)
    page = ask(serve(FileSource.of_folder(tmp_path)))
    assert page.status == 200


def test_nothing_is_written(folder, site, ask, runs):
    """Looking changes no file and makes none."""
    before = {path: path.stat() for path in folder.iterdir()}
    for path in ("", runs(site)[0], f"{runs(site)[0]}data/examples"):
        assert ask(site, path).status == 200
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == {
        path: found.st_mtime_ns for path, found in before.items()
    }


def test_a_folder_without_a_result_is_an_error(tmp_path):
    """Which says how to get one."""
    with pytest.raises(ResultError, match="There is no result in") as caught:
        FileSource.of_folder(tmp_path)
    assert "-o json=FILE" in caught.value.hint


def test_answers_are_packed_for_who_can_unpack(site, runs):
    """A page is a third of a megabyte."""
    import gzip
    import http.client

    host, _, rest = site.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request("GET", f"/{rest}{runs(site)[0]}", headers={"Accept-Encoding": "gzip"})
    reply = connection.getresponse()
    assert reply.getheader("Content-Encoding") == "gzip"
    assert gzip.decompress(reply.read()).startswith(b"<!doctype html>")
    connection.close()
