"""Reporters: that what they write can be read, and does no harm to who reads it."""

from __future__ import annotations

import copy
import csv
import html.parser
import io
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from cb_testing import samples
from cb_testing.cases import Case
from cb_testing.rule_registry import Unchecked, rule
from cbcore.boundary import contained
from cbcore.exceptions import MissingExtraError
from cbcore.results import EvalResult, EvalRow

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_CLOSED = frozenset(
    [
        "a",
        "article",
        "b",
        "div",
        "em",
        "h1",
        "h2",
        "h3",
        "main",
        "section",
        "span",
        "strong",
        "style",
        "svg",
        "table",
        "title",
    ]
)
"""Elements that HTML does not close by itself."""


def _document(case: Case, result: EvalResult) -> str | None:
    """What the reporter renders; None for one that only writes files, after it has."""
    if hasattr(case.value, "render"):
        document = case.value.render(result)
        if not isinstance(document, str):
            raise TypeError(f"render returned a {type(document).__name__}, not a str")
        return document
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"report.{_extension(case) or 'out'}"
        case.value.write(result, path)
        if not path.is_file() or not path.stat().st_size:
            raise FileNotFoundError("write left no file, or an empty one")
    return None


def _extension(case: Case) -> str:
    extension: str = getattr(case.value, "extension", "") or case.component.extension
    return extension.lower().lstrip(".")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _parse_json(document: str) -> None:
    json.loads(document, parse_constant=_refuse)


def _parse_json_lines(document: str) -> None:
    for line in document.split("\n"):
        if line:
            _parse_json(line)


def _parse_csv(document: str) -> None:
    widths = {len(line) for line in csv.reader(io.StringIO(document, newline=""), strict=True)}
    if len(widths) > 1:
        raise ValueError(f"lines have {' and '.join(map(str, sorted(widths)))} cells")


class _Page(html.parser.HTMLParser):
    """Reads a page; knows which tags it has and which of them stay open."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag in _CLOSED:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            self.open.remove(tag)


def _parse_html(document: str) -> None:
    page = _Page(document)
    if not page.tags or page.open:
        raise ValueError(f"<{page.open[0]}> is not closed" if page.open else "it has no elements")


_PARSERS: dict[str, Callable[[str], None]] = {
    "json": _parse_json,
    "jsonl": _parse_json_lines,
    "csv": _parse_csv,
    "html": _parse_html,
}


@rule("reporter-parses", "reporter")
def parses(case: Case) -> Iterator[str]:
    """The document is text that its `extension` promises, or a file is written."""
    extension = _extension(case)
    for result in (samples.result(), samples.hostile_result()):
        with contained() as tried:
            document = _document(case, result)
            if document is not None and extension in _PARSERS:
                _PARSERS[extension](document)
        if isinstance(tried.error, MissingExtraError):
            yield Unchecked(str(tried.error))
            return
        if tried.error is not None:
            what = f"valid {extension}" if extension in _PARSERS else "a document"
            yield f"make it {what}, whatever the texts hold: {tried.reason}"
            return


@rule("reporter-escapes", "reporter")
def escapes(case: Case) -> Iterator[str]:
    """Texts of data and models stay text: no markup, no control characters, valid Unicode."""
    document = None
    with contained():  # what goes wrong is told by `reporter-parses`
        document = _document(case, samples.hostile_result())
    if document is None:
        return
    extension = _extension(case)
    if extension in ("html", "htm", "svg", "xml"):
        raw = samples.HOSTILE_SCRIPT in document
        if raw or samples.HOSTILE_TAG in _Page(document).tags:
            yield "pass every text through html.escape: a system's name became an element"
    elif extension not in ("json", "jsonl"):  # there, parsing refuses them
        control = _CONTROL.search(document)
        if control:
            yield f"write control characters out: {control[0]!r} can command a terminal"
    try:
        document.encode("utf-8")
    except UnicodeEncodeError as error:
        yield f"replace what UTF-8 cannot hold, such as {document[error.start]!r}"


@rule("reporter-copes", "reporter")
def copes(case: Case) -> Iterator[str]:
    """Results without rows, with errors only, or without metrics are reported too."""
    for what, result in (
        ("without rows", EvalResult([])),
        ("with errors only", EvalResult(samples.errored_rows(), {"a": {"mean_score": None}})),
        ("without metrics", EvalResult([EvalRow("a", 1, {"f1": 1.0}, 10, 5)])),
    ):
        with contained() as tried:
            _document(case, result)
        if isinstance(tried.error, MissingExtraError):
            yield Unchecked(str(tried.error))
            return
        if tried.error is not None:
            yield f"report a result {what}: it raised {tried.reason}"
            return


@rule("reporter-pure", "reporter")
def pure(case: Case) -> Iterator[str]:
    """Reporting leaves the result as it is, for the reporters that follow."""
    result = samples.result()
    before = copy.deepcopy(result)
    with contained() as tried:
        _document(case, result)
    if tried.error is None and result != before:
        yield "copy what you change: the result was another after it was reported"
