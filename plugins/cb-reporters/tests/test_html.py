"""The HTML page, read by an HTML parser."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser
from importlib import resources

import pytest

from cb_reporters import Html
from cb_reporters.markup import Markup, tag
from cbcore.results import EvalResult, EvalRow
from cbcore.texts import visible

VOID = {"meta", "input", "br"}
HARMFUL = {"a", "base", "embed", "form", "iframe", "image", "img", "link", "object", "use", "video"}


class Page(HTMLParser):
    """Collects elements and texts, and checks that what is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def inside(self, name):
        return [text for parent, text in self.texts if parent == name]

    def attributes(self, name):
        return [attributes for found, attributes in self.elements if found == name]


def asset(name):
    return (resources.files("cb_reporters.page") / name).read_text(encoding="utf-8")


@pytest.fixture(params=["result", "stopped", "hostile"])
def rendered(request):
    return Html().render(request.getfixturevalue(request.param))


def test_only_our_own_script_and_style(rendered):
    """The page holds one script and one style, and both are the packaged files."""
    page = Page(rendered)
    assert page.inside("script") == [asset("page.js")]
    assert page.inside("style") == [asset("page.css")]


def test_nothing_is_loaded_or_linked(rendered):
    """No element can load, link, embed, submit or run anything."""
    page = Page(rendered)
    names = {name for name, _ in page.elements}
    attributes = {key for _, found in page.elements for key in found}
    assert not names & HARMFUL
    assert not {a for a in attributes if a.startswith("on")}
    assert not attributes & {"src", "href", "srcset", "action", "data", "xlink:href", "style"}


def test_content_security_policy(result):
    """The policy allows the style and script of the page by hash, and nothing else."""
    page = Page(Html().render(result))
    (policy,) = [m["content"] for m in page.attributes("meta") if "http-equiv" in m]
    script, style = (
        base64.b64encode(hashlib.sha256(asset(name).encode()).digest()).decode()
        for name in ("page.js", "page.css")
    )
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_assets_fetch_nothing():
    """Neither style nor script refers to another resource or writes markup."""
    assert not re.search(r"url\(|@import|https?:", asset("page.css"))
    assert not re.search(r"https?:|fetch|import|eval|innerHTML|insertAdjacent", asset("page.js"))


def test_hostile_text_is_shown_as_text(hostile):
    """Each hostile name can be read on the page, unseen characters written out."""
    page = Page(Html().render(hostile))
    shown = set(page.inside("bdi"))
    assert {visible(system, keep="\n\t") for system in hostile.systems} <= shown
    everything = "".join(text for _, text in page.texts)
    assert not set(everything) & set("\x1b\x07\r\u2028\u202e\ud800")


def test_sections(result):
    """Comparison, chart, datasets, details, rows and provenance are there."""
    page = Page(Html().render(result))
    assert page.inside("h2") == [
        "Comparison",
        "Quality against tokens kept",
        "By dataset",
        "Distribution of ",
        "More metrics",
        "Rows",
        "Provenance",
    ]
    assert page.inside("bdi")[0] == "2 systems on a, b"
    assert "512" in "".join(page.inside("td"))
    assert "0123456789ab" in page.inside("code")


def test_best_values_are_bold(result):
    """The best value of a column is bold, and only that."""
    bold = Page(Html().render(result)).inside("strong")
    assert bold[:3] == ["100.0%", "55.0%", "1.50 ms"]


def test_status_and_problems(stopped):
    """An unfinished run and its problems are announced at the top."""
    page = Page(Html().render(stopped))
    assert any(
        text.startswith("Run interrupted: stopped by the user.") for text in page.inside("p")
    )
    assert page.inside("li") == [
        "metric 'novelty' failed: ValueError: no",
        "f1 is missing in 1 row: no gold answer",
    ]


def test_rows_show_errors_and_reasons(result):
    """A row says what went wrong, and an unmeasured number is a dash."""
    page = Page(Html().render(result))
    assert "TimeoutError: no answer in 30 s" in page.inside("span")
    assert ": no gold answer" in page.inside("p")
    assert {"error", "no f1"} <= set(page.inside("strong"))


def test_rows_are_limited(result):
    """Only so many rows are shown, and the page says so."""
    page = Page(Html(max_rows=2).render(result))
    assert "The first 2 of 5 rows; the json, jsonl and csv reports hold all." in page.inside("p")
    assert sum(a.get("class") == "id" for a in page.attributes("th")) == 2


def test_long_responses_open():
    """A long response shows its beginning and opens to the whole of it."""
    row = EvalRow("s", 1, {"f1": 1.0}, response="word " * 100)
    page = Page(Html().render(EvalResult([row])))
    (preview,) = page.inside("summary")
    assert len(preview) < 130
    assert "word " * 100 in page.inside("div")


def test_very_long_responses_are_cut():
    """A response beyond the limit says how much is left out."""
    row = EvalRow("s", 1, {"f1": 1.0}, response="x" * 10_000)
    assert any(
        "6,000 more characters" in t for t in Page(Html().render(EvalResult([row]))).inside("div")
    )


def test_tables_are_accessible(result):
    """Every header cell has a scope, and each drawing a title and a description."""
    page = Page(Html().render(result))
    assert {th.get("scope") for th in page.attributes("th")} == {"col", "row"}
    ids = Counter(a["id"] for _, a in page.elements if "id" in a)
    assert max(ids.values()) == 1
    assert len(page.attributes("svg")) == 2
    for svg in page.attributes("svg"):
        assert svg["role"] == "img"
        assert set(svg["aria-labelledby"].split()) <= set(ids)


def test_a_chart_needs_two_systems():
    """One point compares nothing, so no chart is drawn."""
    one = {"mean_score": 0.5, "compression_ratio": 0.5}
    assert "<svg" not in Html().render(EvalResult([], {"a": one}))
    assert "<svg" in Html().render(EvalResult([], {"a": one, "b": one}))


@pytest.mark.parametrize("bad", [-1, 1.5, True])
def test_bad_max_rows(bad):
    """A number of rows that makes no sense is refused."""
    with pytest.raises(ValueError, match="max_rows must be a whole number of at least 0"):
        Html(max_rows=bad)


def test_tag_escapes_everything_that_is_not_markup():
    """Text and attribute values cannot leave their place."""
    built = tag("p", "<b>", Markup("<i></i>"), None, title='"x"', hidden=True, data_n=1.5, id=None)
    assert built == '<p title="&quot;x&quot;" hidden data-n="1.5">&lt;b&gt;<i></i></p>'
