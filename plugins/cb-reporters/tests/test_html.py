"""The HTML page, read by an HTML parser; `test_page_browser` looks at it in a browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources

import pytest

from cb_reporters.markup import Markup, tag
from cb_reporters.page.document import Html
from cb_reporters.page.packing import EXAMPLE_END, TEXT_END
from cbcore.results import EvalResult, EvalRow
from cbcore.texts import visible

VOID = {"meta", "input", "br"}
HARMFUL = {"base", "embed", "form", "iframe", "image", "img", "link", "object", "use", "video"}


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

    def scripts(self):
        """Every script element: its attributes and its text."""
        return list(zip(self.attributes("script"), self.inside("script"), strict=True))

    def head(self):
        (text,) = [text for told, text in self.scripts() if told.get("id") == "head"]
        return json.loads(text)

    def columns(self):
        (text,) = [text for told, text in self.scripts() if told.get("id") == "columns"]
        return json.loads(inflated(text))

    def examples(self):
        """All embedded examples, opened; each chunk begins where it says."""
        found = []
        blocks = {kind: self._blocks(kind) for kind in ("texts", "rows")}
        for (told, texts), (_, rows) in zip(*blocks.values(), strict=True):
            assert int(told["data-from"]) == len(found)
            strings = (one.split(TEXT_END) for one in inflated(texts).split(EXAMPLE_END))
            found += [
                put_together(*one) for one in zip(json.loads(inflated(rows)), strings, strict=True)
            ]
        return found

    def _blocks(self, kind):
        return [(told, text) for told, text in self.scripts() if told.get("class") == kind]


def inflated(text):
    return gzip.decompress(base64.b64decode(text)).decode()


def put_together(value, strings):
    """What refers to texts by their numbers, with the texts; `test_page_packing` tells the rest."""
    if isinstance(value, str):
        return strings[int(value, 36)]
    if isinstance(value, dict):
        return {key: put_together(part, strings) for key, part in value.items()}
    if isinstance(value, list):
        return [put_together(part, strings) for part in value]
    return value


def asset(name):
    return (resources.files("cb_reporters.page") / "assets" / name).read_text(encoding="utf-8")


@pytest.fixture(params=["result", "stopped", "hostile"])
def rendered(request):
    return Html().render(request.getfixturevalue(request.param))


def test_only_our_own_script_and_style_run(rendered):
    """One script and one style are the packaged files; the other blocks are data."""
    page = Page(rendered)
    run = [text for told, text in page.scripts() if "type" not in told]
    assert run == [asset("page.js")]
    assert page.inside("style") == [asset("style.css")]
    kinds = {told["type"] for told, _ in page.scripts() if "type" in told}
    assert kinds <= {"application/json", "application/gzip"}


def test_nothing_is_loaded(rendered):
    """No element can load, embed, submit or run anything; links lead inside the page only."""
    page = Page(rendered)
    names = {name for name, _ in page.elements}
    attributes = {key for _, found in page.elements for key in found}
    assert not names & HARMFUL
    assert not {a for a in attributes if a.startswith("on")}
    assert not attributes & {"src", "srcset", "action", "data", "xlink:href", "style"}
    assert all(link["href"].startswith("#") for link in page.attributes("a"))


def test_content_security_policy(result):
    """The policy allows the style and script of the page by hash, and nothing else."""
    page = Page(Html().render(result))
    (policy,) = [m["content"] for m in page.attributes("meta") if "http-equiv" in m]
    script, style = (
        base64.b64encode(hashlib.sha256(asset(name).encode()).digest()).decode()
        for name in ("page.js", "style.css")
    )
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_assets_name_no_other_place():
    """Style and script hold no address but those that name XML vocabularies."""
    assert not re.search(r"url\(|@import|https?:", asset("style.css"))
    addresses = set(re.findall(r"https?://[\w./-]+", asset("page.js")))
    assert all(address.startswith("http://www.w3.org/") for address in addresses)


def test_hostile_text_is_shown_as_text(hostile):
    """Each hostile name can be read on the page, unseen characters written out."""
    page = Page(Html().render(hostile))
    shown = set(page.inside("bdi"))
    assert {visible(system, keep="\n\t") for system in hostile.systems} <= shown
    everything = "".join(text for parent, text in page.texts if parent != "script")
    assert not set(everything) & set("\x1b\x07\r\u2028\u202e\ud800")


def test_embedded_text_cannot_end_its_block(pages):
    """Whatever the texts are, data blocks hold letters that end no element, and read back."""
    result = pages.hostile()
    page = Page(Html().render(result))
    examples = page.examples()
    # No bytes can hold half of a character, so that is written out.
    expected = {text.replace("\ud800", "\x10Sd800") for text in pages.HOSTILE}
    assert {example["question"] for example in examples} == expected
    for told, text in page.scripts():
        if told.get("type") == "application/gzip":
            assert re.fullmatch(r"[A-Za-z0-9+/=]+", text)


def test_the_verdict_comes_first(pages):
    """Then the systems, what went wrong, charts, examples, and how to get it again."""
    page = Page(Html().render(pages.small()))
    ids = [found["id"] for name, found in page.elements if name == "section"]
    assert ids == [
        *("verdict", "systems", "errors", "missing", "frontier", "datasets"),
        *("distributions", "latency", "examples", "reproduce"),
    ]
    links = [link["href"].removeprefix("#") for link in page.attributes("a")]
    assert {"verdict", "systems", "errors", "examples", "reproduce"} <= set(links)


def test_each_verdict_is_one_sentence(pages):
    """Of every system against the baseline, with what was concluded."""
    result = pages.small()
    page = Page(Html().render(result))
    told = " ".join(text for parent, text in page.texts if parent in ("bdi", "p", "strong"))
    assert "is the baseline" in told
    for verdict in result.verdicts:
        assert verdict.sentence.removeprefix(verdict.system).strip() in told
    assert len([found for found in page.attributes("li") if found.get("class") == "worse"]) == 2


def test_a_single_system_has_a_verdict_of_its_own(pages):
    """What it scores, or that nothing could be scored; no baseline is made up."""
    rows = [EvalRow("<alone>", i, {"f1": 0.5}, 10, 5, dataset="d") for i in range(3)]
    text = Html().render(pages.result_of(rows))
    told = "</strong> scores f1 0.500 [0.500, 0.500] on 3 examples. There is no other system"
    assert f"&lt;alone&gt;</bdi>{told}" in text
    failed = [EvalRow("alone", i, error="no way") for i in range(3)]
    text = Html().render(pages.result_of(failed))
    assert "</strong> failed on all 3 rows." in text


def test_rows_that_nobody_scores_are_told_by_their_dataset(pages):
    """They are missing for no reason of their own."""
    rows = [EvalRow("s", i, {"f1" if i % 2 else "acc": 1.0}, dataset="ab"[i % 2]) for i in range(6)]
    text = Html().render(pages.result_of(rows))
    assert "3 rows of a have no f1: nothing that gives it applies to them." in text
    assert "rows of b have no f1" not in text


def test_a_run_that_goes_on_is_no_alarm(pages):
    """Its rows until now are what is shown."""
    config = {"state": "running", "state_reason": "1 rows of it are kept by now"}
    text = Html().render(pages.result_of([EvalRow("s", 1, {"f1": 1.0})], config=config))
    told = "The run is still going: 1 rows of it are kept by now. The numbers cover only these."
    assert f'<p class="status reading" role="status">{told}' in text


def test_many_scores_are_behind_one_more_line(pages):
    """Up to three others stand by themselves."""
    for n_others, folded in ((3, False), (4, True)):
        scores = {"f1": 1.0} | {f"other{i}": 0.5 for i in range(n_others)}
        text = Html().render(pages.result_of([EvalRow("s", i, dict(scores)) for i in range(3)]))
        assert (f"<summary>{n_others} other scores</summary>" in text) == folded
        assert text.count("<summary><bdi>other") == n_others


def test_best_values_are_bold(result):
    """The best value of a column is bold, and only that."""
    bold = Page(Html().render(result)).inside("strong")
    assert bold[:3] == ["100.0%", "55.0%", "1.50 ms"]


def test_status_and_problems(stopped):
    """An unfinished run and its problems are announced; reasons of missing scores have a table."""
    page = Page(Html().render(stopped))
    assert any(
        text.startswith("Run interrupted: stopped by the user.") for text in page.inside("p")
    )
    assert page.inside("li") == ["metric 'novelty' failed: ValueError: no"]
    assert "no gold answer" in page.inside("span")


def test_errors_are_grouped_by_cause(pages):
    """Each cause stands there once, with its count and a link to an example of it."""
    page = Page(Html().render(pages.small()))
    assert "4 of 120 rows failed. They have no scores and count in no mean." in page.inside("p")
    reasons = [text for text in page.inside("span") if text.startswith("TimeoutError")]
    assert reasons == ["TimeoutError: no answer in 30 s for example 'sample-04'"]
    links = [link["href"] for link in page.attributes("a")]
    assert "#example=sample-04&of=ships&system=rewriter&status=error" in links


def test_every_drawing_has_words_and_a_table(pages):
    """For those who do not see it: a label, and the same numbers as a table in the same figure."""
    result = pages.many_systems()
    page = Page(Html().render(result))
    plots = [found for found in page.attributes("div") if found.get("class") == "plot"]
    drawn = [found["data-chart"] for found in plots]
    assert drawn == [
        *("frontier-kept", "frontier-usd", "frontier-latency", "families", "datasets"),
        *("distribution-0", "distribution-1", "latency"),
    ]
    assert all(found["role"] == "img" and found["aria-label"] for found in plots)
    tables = [found for found in page.attributes("details") if found.get("class") == "data"]
    assert len(tables) == len(plots)


def test_headers_have_a_scope(result):
    """Every header cell says what it is the header of."""
    page = Page(Html().render(result))
    assert {th.get("scope") for th in page.attributes("th")} == {"col", "row"}
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))


def test_every_row_of_every_system_is_there(pages):
    """As columns for filters, and opened with all that is known."""
    result = pages.small()
    page = Page(Html().render(result))
    columns, examples = page.columns(), page.examples()
    assert len(columns["system"]) == len(result.rows) == 120
    assert [example["id"] for example in examples] == columns["ids"]
    assert {row["system"] for example in examples for row in example["rows"]} == {0, 1, 2}
    assert columns["texts"][0] == examples[0]["question"]


def test_without_kept_texts_the_responses_are_there():
    """A result whose texts were not kept still shows rows, responses and scores."""
    rows = [EvalRow("s", 1, {"f1": 1.0}, response="word " * 100)]
    (example,) = Page(Html().render(EvalResult(rows))).examples()
    assert (example["kept"], example["question"], example["context"]) == (False, "", None)
    assert example["rows"][0]["response"] == "word " * 100


def test_too_many_rows_are_sampled_and_that_is_said(pages):
    """Of every system, errors and missing scores among them; the numbers rest on all."""
    page = Page(Html(max_rows=30).render(pages.small()))
    (told,) = [text for text in page.inside("p") if text.startswith("A sample of ")]
    assert told.startswith("A sample of 10 of 40 examples")
    columns = page.columns()
    assert set(columns["system"]) == {0, 1, 2}
    assert sum(columns["errored"]) > 0
    assert page.head()["examples"] == 10


def test_the_size_is_limited(pages):
    """Texts that would make the page too large are sampled as well."""
    whole, cut = (len(Page(Html(max_mb=mb).render(pages.small())).examples()) for mb in (24, 0.004))
    assert whole == 40
    assert 0 < cut < whole


def test_a_very_long_text_is_cut():
    """A text beyond a million characters says how much is left out."""
    rows = [EvalRow("s", 1, {"f1": 1.0}, response="x" * 1_000_500)]
    (example,) = Page(Html().render(EvalResult(rows))).examples()
    assert example["rows"][0]["response"].endswith("\n… 500 more characters")


@pytest.mark.parametrize("bad", [-1, 1.5, True])
def test_bad_max_rows(bad):
    """A number of rows that makes no sense is refused."""
    with pytest.raises(ValueError, match="max_rows must be a whole number of at least 0"):
        Html(max_rows=bad)


@pytest.mark.parametrize("bad", [0, -1, True, "much"])
def test_bad_max_mb(bad):
    """A size that makes no sense is refused."""
    with pytest.raises(ValueError, match="max_mb must be a number above 0"):
        Html(max_mb=bad)


def test_tag_escapes_everything_that_is_not_markup():
    """Text and attribute values cannot leave their place."""
    built = tag("p", "<b>", Markup("<i></i>"), None, title='"x"', hidden=True, data_n=1.5, id=None)
    assert built == '<p title="&quot;x&quot;" hidden data-n="1.5">&lt;b&gt;<i></i></p>'


class Counted(list):
    """Rows that count how often one of them is made, as rows on disk are decoded."""

    n_made = 0

    def __iter__(self):
        for row in super().__iter__():
            self.n_made += 1
            yield row

    def __getitem__(self, place):
        found = super().__getitem__(place)
        self.n_made += len(found) if isinstance(place, slice) else 1
        return found


def test_each_row_is_read_once(result):
    """Decoding a row of a store takes longer than all that the page says of it."""
    result.rows = rows = Counted(result.rows)
    Html().render(result)
    assert rows.n_made == len(rows) > 0
