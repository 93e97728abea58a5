"""The page in a real browser: what a reader can do, see and hear."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from cb_reporters.page.document import Html, render
from cb_reporters.page.finding import Query, find
from cb_reporters.page.opening import open_example
from cb_reporters.page.survey import Survey
from cbcore.results import EvalRow, Section, Texts
from cbcore.texts import visible

AXE = Path(__file__).parents[1] / "frontend/node_modules/axe-core/axe.min.js"
IS_OPEN = "return document.getElementById('opened').open"


@pytest.fixture(scope="module")
def browser(load_beside):
    with load_beside("browser").started() as found:
        yield found


@pytest.fixture(scope="module")
def written(pages, tmp_path_factory):
    """The pages as files: an address for each."""
    folder = tmp_path_factory.mktemp("pages")

    def address(name):
        file = folder / f"{name}.html"
        if not file.exists():
            file.write_text(Html().render(getattr(pages, name)()), encoding="utf-8")
        return file.as_uri()

    return address


@pytest.fixture
def written_of(tmp_path):
    """The page of a result as a file: its address."""

    def address(result, name):
        file = tmp_path / f"{name}.html"
        file.write_text(Html().render(result), encoding="utf-8")
        return file.as_uri()

    return address


def test_it_opens_from_disk_and_asks_for_nothing(browser, written):
    """The file alone is loaded, and the console stays empty."""
    browser.open(written("small"))
    assert set(browser.requests()) == {written("small")}
    assert browser.complaints() == []
    assert len(browser.listed()) == 40
    plots = browser.run("return document.querySelectorAll('.plot').length")
    assert browser.run("return document.querySelectorAll('.plot svg').length") == plots == 7


def test_filters_and_searches(browser, written):
    """By system, outcome, state, dataset, score and text; the address keeps them."""
    browser.open(written("small"))
    browser.choose("system", "rewriter")
    browser.choose("status", "error")
    assert browser.listed() == ["sample-04", "sample-13", "sample-22", "sample-31"]
    assert browser.driver.current_url.endswith("#system=rewriter&status=error")
    browser.choose("status", "")
    browser.choose("outcome", "worse")
    lost = browser.listed()
    assert 0 < len(lost) < 40
    browser.choose("dataset", "ships")
    assert set(browser.listed()) < set(lost)
    browser.find(".filters .quiet").click()
    browser.until("return document.querySelectorAll('.examples tbody a').length === 40")
    browser.choose("q", '"judge\'s answer" (17)')
    assert browser.listed() == ["sample-17"]
    assert browser.texts(".told") == ["1 of 40 examples"]
    browser.choose("q", "nothing has this")
    assert browser.texts(".told") == ["0 of 40 examples"]


def test_an_example_opens_side_by_side(browser, written):
    """Question, gold, what was dropped, rewritten and added, evidence, scores, reasons, costs."""
    browser.open(written("small") + "#example=sample-00")
    browser.until(IS_OPEN)
    assert browser.texts("#opened h3") == ["full context", "bm25 150", "rewriter"]
    assert browser.texts("#opened .gold") == ["Bruna Keel"]
    shown = browser.texts("#opened article")
    assert "all of it, unchanged" in shown[0]
    assert "6 of 12 sentences kept · 6 dropped" in shown[1]
    assert "gold evidence: 1 of 2 kept" in shown[1]
    assert "the answer is still there" in shown[1]
    assert "2 rewritten" in shown[2]
    assert "the work of" in "".join(browser.texts("#opened article:nth-child(3) ins"))
    assert "Mount Skeld" in "".join(browser.texts("#opened article:nth-child(2) del"))
    assert set(browser.texts("#opened article .context mark")) == {"Bruna Keel"}
    assert "The answer Bruna Keel is compared." in shown[2]
    assert "$0.000144" in shown[1]
    browser.find("#with-dropped").click()
    assert browser.texts("#opened .context del") == []


def test_an_error_is_shown_with_its_traceback(browser, written):
    """Where the link from the table of causes leads."""
    browser.open(written("small"))
    browser.find("#errors tbody a").click()
    browser.until(IS_OPEN)
    assert browser.texts("#opened-title") == ["sample-04"]
    assert "TimeoutError" in browser.texts("#opened .failed p")[0]
    assert browser.texts("#opened pre") == [
        'Traceback (most recent call last):\n  File "mine.py", line 3'
    ]


def test_a_link_shows_the_same_to_somebody_else(browser, written):
    """Filter, order and open example are in the address; going back closes it."""
    browser.open(written("small"))
    browser.choose("system", "bm25 150")
    browser.choose("sort", "difference")
    browser.find(".examples tbody tr:nth-child(3) td.text").click()
    browser.until(IS_OPEN)
    title, address = browser.texts("#opened-title"), browser.driver.current_url
    assert browser.texts("#opened .where") == ["ships · 3 of 40"]
    assert browser.texts("#opened h3") == ["full context", "bm25 150"]
    browser.open(address)
    assert browser.texts("#opened-title") == title
    assert browser.texts("#opened .where") == ["ships · 3 of 40"]
    assert browser.find("[name=sort]").get_attribute("value") == "difference"
    browser.find("#close-opened").click()
    assert browser.driver.current_url.endswith("#system=bm25+150&sort=difference")


ODD = ("a b", "a&b=c", "ü/ß?#x", "100%", "+plus", "<b>", "日本", "\u202eevil", "", "a\nb", 7)


def test_a_link_leads_to_an_example_of_any_id(browser, written_of, pages):
    """As the list writes it, and as somebody may."""
    rows = [EvalRow("s", odd, {"f1": 0.5}, dataset="d&e") for odd in ODD]
    texts = [Texts({"id": odd, "question": f"Which {odd!r}?"}) for odd in ODD]
    page = written_of(pages.result_of(rows, texts), "odd")
    browser.open(page)
    links = "return Array.from(document.querySelectorAll('.examples tbody a'), (a) => a.href)"
    asked = [*zip(ODD, browser.run(links), strict=True)]
    asked += [(odd, f"{page}#{urlencode({'example': odd})}") for odd in ODD]
    for odd, link in asked:
        browser.open(link)
        assert browser.run(IS_OPEN), link
        assert browser.texts("#opened .question") == [f"Which {visible(repr(odd))}?"]
    assert browser.complaints() == []


def test_a_link_to_no_example_says_so_where_it_is_seen(browser, written):
    """The list is below the first screen."""
    browser.open(written("small") + "#example=none%E2%80%AE")
    assert browser.texts(".told") == ["There is no example none\\u202e."]
    seen = "return document.querySelector('.told').getBoundingClientRect().top < innerHeight"
    browser.until(seen)


def test_a_link_to_a_section_lists_the_examples(browser, written):
    """Also where the page is loaded by it, and what was asked for stays when it is followed."""
    browser.open(written("small") + "#examples")
    assert len(browser.listed()) == 40
    browser.choose("dataset", "ships")
    browser.run("location.hash = '#systems'")
    browser.until("return location.hash === '#systems'")
    assert browser.texts(".told") == ["20 of 40 examples"]


def test_the_keyboard_is_enough(browser, written):
    """Search, open, next, previous and close; the focus comes back to where it was."""
    from selenium.webdriver.common.keys import Keys

    browser.open(written("small"))
    browser.keys("/")
    browser.keys("carved", Keys.TAB)
    browser.until("return location.hash.includes('carved')")
    browser.settled()
    browser.run("document.querySelector('.examples tbody a').focus()")
    browser.keys(Keys.ENTER)
    browser.until(IS_OPEN)
    for key, expected in (
        (Keys.ARROW_RIGHT, "01"),
        ("j", "02"),
        ("k", "01"),
        (Keys.ARROW_LEFT, "00"),
    ):
        browser.keys(key)
        wanted = "return document.getElementById('opened-title').innerText === arguments[0]"
        browser.until(wanted, f"sample-{expected}")
    browser.keys(Keys.ESCAPE)
    browser.until("return !document.getElementById('opened').open")
    assert browser.run("return document.activeElement.innerText") == "sample-00"
    assert browser.complaints() == []


def test_tables_sort(browser, written):
    """By a click on a header, the highest number first."""
    browser.open(written("small"))
    browser.find("#systems > .scroll th:nth-child(4) button").click()
    assert browser.texts("#systems > .scroll tbody th") == ["bm25 150", "rewriter", "full context"]
    browser.find("#systems > .scroll th:nth-child(4) button").click()
    assert browser.texts("#systems > .scroll tbody th") == ["full context", "rewriter", "bm25 150"]


def test_hostile_text_stays_text(browser, written, pages):
    """Nothing runs, nothing is asked for; what cannot be seen is written out."""
    browser.open(written("hostile"))
    for number in range(len(pages.HOSTILE)):
        browser.run(
            "document.querySelectorAll('.examples tbody a')[arguments[0]].click()", 2 * number
        )
        browser.until(IS_OPEN)
        question = visible(pages.HOSTILE[number][:60].replace("\r\n", "\n"), keep="\n\t")
        assert browser.texts("#opened .question")[0].startswith(question[:40])
        browser.find("#close-opened").click()
        browser.until("return !document.getElementById('opened').open")
    assert browser.driver.title != "owned"
    assert browser.complaints() == []
    assert {urlsplit(asked).scheme for asked in browser.requests()} == {"file"}


OVERLAPPING = """
const boxes = Array.from(document.querySelectorAll('[data-chart=frontier-kept] .labels text'),
  (text) => text.getBoundingClientRect());
return [boxes.length, boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) =>
  Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)).length];
"""


def test_twenty_systems_with_long_names_stay_legible(browser, written):
    """Names beside points do not cover each other, and tell the systems apart."""
    with browser.looking():
        browser.open(written("many_systems"))
        labels, overlapping = browser.run(OVERLAPPING)
        assert (labels, overlapping) == (20, 0)
        names = browser.texts("[data-chart=frontier-kept] .labels text")
        assert len(set(names)) == 20


WIDER = """
const wide = document.documentElement.clientWidth;
return document.documentElement.scrollWidth > wide;
"""


def test_a_phone_is_wide_enough_for_the_pictures_of_sections(browser, written_of, pages):
    """They are moved sideways where they are; names stand above them in full."""
    result, long = pages.small(3), "a family with a rather long name " * 3
    points = [{"x": x, "y": 0.5, "label": "x"} for x in (10, 20)]
    curves = {"kind": "curves", "x": "x", "y": "y", "series": [{"name": long, "points": points}]}
    columns = [str(n) for n in range(20)]
    heat = {"kind": "heat map", "x": "x", "y": "y", "columns": columns}
    heat["panels"] = [{"title": "p", "rows": ["r"], "values": [[0.5] * 20]}]
    result.sections = {
        name: Section(name, [{"name": "line"}], chart=chart)
        for name, chart in (("curves", curves), ("heat", heat))
    }
    with browser.looking(width=390, height=844):
        browser.open(written_of(result, "pictures"))
        assert len(browser.texts(".picture svg")) == 2
        assert not browser.run(WIDER)
        assert browser.texts("figure .key li")[-1] == long.strip()


@pytest.mark.parametrize("name", ["small", "many_systems", "hostile"])
def test_a_phone_is_wide_enough(browser, written, name):
    """At 390 pixels nothing but tables and columns scrolls sideways, opened or not."""
    with browser.looking(width=390, height=844):
        browser.open(written(name))
        assert not browser.run(WIDER)
        browser.run("document.querySelector('.examples tbody a').click()")
        browser.until(IS_OPEN)
        dialog = "const d = document.getElementById('opened'); return d.scrollWidth > d.clientWidth"
        assert not browser.run(dialog)


TICKS = """
const boxes = Array.from(document.querySelectorAll("#latency [aria-label='x-axis tick label'] text"),
  (text) => text.getBoundingClientRect());
return [boxes.length, boxes.slice(1).every((box, i) => box.left > boxes[i].right + 4)];
"""


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_labels_of_the_latency_axis_have_room(browser, written, width):
    """However narrow it is, there is one and none covers another."""
    with browser.looking(width=width):
        browser.open(written("small"))
        labels, apart = browser.run(TICKS)
        assert labels >= 2
        assert apart


def test_a_single_row_has_a_point_and_no_bar_across(browser, written_of, pages):
    """Its latency is one value, which has no spread."""
    result = pages.small(1)
    result.rows, result.texts = result.rows[:1], result.texts[:1]
    browser.open(written_of(result, "single"))
    width = "return document.querySelector(arguments[0]).getBoundingClientRect().width"
    assert browser.run(width, "#latency [aria-label=rule] line:last-child") < 2
    assert browser.run(TICKS)[0] >= 1


def test_without_texts_there_is_no_column_for_them(browser, written_of, pages):
    """A run may keep numbers only."""
    result = pages.small(3)
    result.texts = None
    browser.open(written_of(result, "bare"))
    heads = browser.texts(".examples thead th")
    assert heads == ["example", "full context", "bm25 150", "rewriter", "tokens"]


def test_print_repeats_headers_and_hides_controls(browser, written):
    """On paper tables have their header on every page, and nothing waits for a click."""
    with browser.looking(media="print"):
        browser.open(written("small"))
        style = "return getComputedStyle(document.querySelector(arguments[0])).display"
        assert browser.run(style, "#systems thead") == "table-header-group"
        assert browser.run(style, "#examples") == "none"
        assert browser.run(style, ".chapters") == "none"


FINDINGS = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then((found) => done(
  found.violations.filter((one) => ['serious', 'critical'].includes(one.impact))
    .map((one) => `${one.id}: ${one.nodes.map((node) => node.target).slice(0, 3).join(' ')}`)));
"""


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core: make frontend installs it")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", ["", "#example=sample-04"])
def test_axe_finds_nothing_serious(browser, written, scheme, place):
    """In both themes, with and without an open example, and with all that can be opened."""
    with browser.looking(scheme=scheme):
        browser.open(written("small") + place)
        browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        # The policy of the page lets no script in; the driver's own may.
        browser.driver.execute_script(AXE.read_text(encoding="utf-8"))
        assert browser.driver.execute_async_script(FINDINGS) == []


class Server(ThreadingHTTPServer):
    """Answers as the page's contract asks, from a result in memory; counts what it is asked."""

    daemon_threads = True

    def __init__(self, result):
        super().__init__(("127.0.0.1", 0), Handler)
        self.result, self.survey = result, Survey.of(result)
        self.asked, self.live = [], False

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}/token/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, parts = self.server, urlsplit(self.path)
        parameters = dict(parse_qsl(parts.query))
        server.asked.append(parts.path)
        result, survey = server.result, server.survey
        index, version = survey.index, f"{survey.n_read} of {len(result.rows)}"
        if parts.path == "/token/":
            page = render(result, survey, remote=True, live=server.live, version=version)
            self.answer(page.encode(), "text/html")
        elif parts.path == "/token/data/examples":
            self.answer(find(index, Query.read(parameters), result))
        elif parts.path == "/token/data/example":
            repeat = int(parameters["repeat"]) if "repeat" in parameters else None
            place = index.locate(parameters["id"], parameters.get("dataset"), repeat)
            self.answer(open_example(result, index, place) if place is not None else None)
        elif parts.path == "/token/data/state":
            told = "" if survey.is_whole(result) else f"{survey.n_read} rows are read"
            self.answer({"version": version, "live": bool(server.live or told), "told": told})
        else:
            self.answer(None)

    def answer(self, content, kind="application/json"):
        body = content if isinstance(content, bytes) else json.dumps(content or {}).encode()
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def served(pages):
    server = Server(pages.small())
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


ASKED = (
    {},
    {"system": "bm25 150", "sort": "difference"},
    {"system": "bm25 150", "sort": "difference", "desc": "1"},
    {"outcome": "better", "system": "rewriter", "against": "bm25 150"},
    {"min": "0.2", "max": "0.3"},
    {"status": "missing", "score": "exact_match"},
    {"sort": "latency", "system": "rewriter"},
    {"sort": "score", "desc": "1"},
    {"q": "timeout sample-04", "dataset": "ships"},
    {"q": '"work of bruna"'},
)


def test_a_file_and_a_server_answer_alike(browser, written, served):
    """The same filters, searches and orders find the same examples in the same order."""
    lists = []
    for address in (written("small"), served.address):
        browser.open(address)
        lists.append([])
        for asked in ASKED:
            browser.follow(urlencode(asked))
            lists[-1].append(browser.listed())
    assert lists[0] == lists[1]
    assert [asked for asked, found in zip(ASKED, lists[0], strict=True) if not found] == []
    assert browser.complaints() == []


def test_a_served_page_asks_its_server_only(browser, served):
    """For what is on the screen, and for an example when it is opened."""
    browser.open(f"{served.address}#example=sample-04")
    browser.until(IS_OPEN)
    assert "TimeoutError" in browser.texts("#opened .failed p")[0]
    asked = {urlsplit(address).netloc for address in browser.requests()}
    assert asked == {urlsplit(served.address).netloc}
    assert set(served.asked) <= {
        *("/token/", "/token/data/examples", "/token/data/example", "/favicon.ico"),
    }


CHARTS = ("frontier", "datasets", "distributions", "latency")


def test_rows_that_are_still_being_read_are_waited_for(browser, served, monkeypatch):
    """The page says how far that is, and shows what rests on all rows when it can."""
    whole = served.result
    monkeypatch.setattr("cb_reporters.page.survey._AT_ONCE", 30)
    served.survey = Survey.begun(whole)
    served.survey.read(whole, 30)
    browser.open(served.address)
    assert len(browser.listed()) == 30
    assert browser.texts("header .reading")[0].startswith("The rows are still being read")
    assert "distributions" not in browser.sections()
    browser.until("return document.querySelector('#explorer .progress').innerText !== ''")
    assert browser.texts("#explorer .progress") == ["30 rows are read"]
    served.survey = Survey.of(whole)
    browser.until("return document.querySelectorAll('.examples tbody a').length === 40")
    assert browser.sections()[2:4] == ["errors", "missing"]
    assert browser.texts("header .reading") == []
    assert browser.complaints() == []


def test_a_running_run_is_followed(browser, served, pages):
    """Rows that come in are shown, numbers and list alike, until the run is over.

    What has the focus keeps it, and what was unfolded stays so.
    """
    whole = served.result
    begun = pages.small(10)
    begun.rows = [row for row in begun.rows if row.error is None and not row.missing]
    served.result, served.survey, served.live = begun, Survey.of(begun), True
    browser.open(served.address)
    assert len(browser.listed()) == 10
    assert browser.sections() == ["verdict", "systems", *CHARTS, "examples", "reproduce"]
    browser.run("document.querySelector('#systems details').open = true")
    browser.run("document.querySelectorAll('.examples tbody a')[3].focus()")
    served.result, served.survey, served.live = whole, Survey.of(whole), False
    browser.until("return document.querySelectorAll('.examples tbody a').length === 40")
    assert browser.run("return document.activeElement.innerText") == "sample-03"
    unfolded = "return Array.from(document.querySelectorAll('#systems details'), d => d.open)"
    assert browser.run(unfolded) == [True]
    assert browser.sections()[:4] == ["verdict", "systems", "errors", "missing"]
    assert "40 of 40" in browser.texts("#systems tbody tr")[0]
    assert browser.run("return document.querySelectorAll('#frontier .plot svg').length") >= 1
