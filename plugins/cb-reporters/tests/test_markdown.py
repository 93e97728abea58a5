"""The Markdown report, read by a Markdown parser."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from cb_reporters.markdown import Markdown, escape
from cbcore.texts import visible


def parse(text):
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def leaves(tokens):
    for token in tokens:
        yield token
        yield from leaves(token.children or [])


def shown(token):
    return "".join(child.content for child in token.children)


def cells_by_row(tokens):
    row = []
    for i, token in enumerate(tokens):
        if token.type in ("th_open", "td_open"):
            row.append(shown(tokens[i + 1]))
        if token.type == "tr_close":
            yield row
            row = []


def test_report(stopped):
    """Comparison, datasets, details and notes, each in its table."""
    text = Markdown().render(stopped)
    assert text.startswith("""\
## 2 systems on a, b

started 2026-03-01 12:00 UTC · rows 5 · scored 3 · errored 1 · missing 1 · score f1 · run r1

> **Run interrupted: stopped by the user. The numbers cover only the rows that were done.**

| system | quality (f1) | pass ≥0.7 | tokens saved | latency p50 | novelty | scored | errored | missing |
| :-- | --: | --: | --: | --: | --: | --: | --: | --: |
| plain | 0.750 | 50.0% | 0.0% | 300 ms | 12,345.7 | 2 of 2 | 0 | 0 |
| short | 0.750 | **100.0%** | **55.0%** | **1.50 ms** | – | 1 of 3 | 1 | 1 |

### By dataset

| dataset | plain | short |
| :-- | --: | --: |
| a | 0.500 | **0.750** |
| b | 1.000 | – |

### Details

| system | output tokens | run time |
""")
    assert text.endswith("""
### Notes

- metric 'novelty' failed: ValueError: no
- f1 is missing in 1 row: no gold answer
""")


def test_hostile_text_is_only_text(hostile):
    """No name becomes HTML, a link, an image, code or emphasis, or breaks a table."""
    tokens = parse(Markdown().render(hostile))
    kinds = {token.type for token in leaves(tokens)}
    harmful = {
        "html_block",
        "html_inline",
        "link_open",
        "image",
        "code_inline",
        "em_open",
        "s_open",
    }
    assert not kinds & harmful
    tables = {len(row) for row in cells_by_row(tokens)}
    n_systems, n_columns = len(hostile.systems), len(next(cells_by_row(tokens)))
    assert tables == {n_columns, n_systems + 1}


def test_hostile_names_are_shown_unchanged(hostile):
    """A reader of the rendered page sees each name, unseen characters written out."""
    rows = list(cells_by_row(parse(Markdown().render(hostile))))
    first_column = {row[0] for row in rows}
    assert {visible(system) for system in hostile.systems} <= first_column


@pytest.mark.parametrize(
    "note", ["# head", "- item", "1. item", "> quote", "---", "    code", "+ x"]
)
def test_notes_open_no_block(stopped, note):
    """A note is one item of the list, whatever it starts with."""
    stopped.problems[:] = [note]
    tokens = parse(Markdown().render(stopped))
    start = next(i for i, t in enumerate(tokens) if t.type == "list_item_open")
    assert [t.type for t in tokens[start + 1 :]][:3] == [
        "paragraph_open",
        "inline",
        "paragraph_close",
    ]
    assert shown(tokens[start + 2]).strip() == note.strip()


def test_ordinary_names_stay_readable():
    """Names as people write them are not escaped to pieces."""
    assert escape("truncate:max_tokens=512") == "truncate:max_tokens=512"
    assert escape("openai:http://x") == "openai:http&#58;//x"


def test_unusual_results(unusual):
    """Results without rows, scores, rivals or metrics still make a document."""
    text = Markdown().render(unusual)
    assert text.startswith("## ")
    assert "**" not in text
