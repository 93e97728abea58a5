"""The page that lists runs. It has no script: links open runs, a form compares two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from cb_reporters import formats
from cb_reporters.markup import digest_source
from cb_reporters.server.sources import Entry
from cbcore.texts import visible

_STYLE = Path(__file__).with_name("listing.css").read_text("utf-8")

POLICY = (
    f"default-src 'none'; style-src {digest_source(_STYLE)}; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""The policy of the page: it may show its style and ask this server."""

_FOLLOW_EVERY_S = 5
_WAIT_S = 1


def listing(entries: Sequence[Entry], note: str = "") -> str:
    """All runs with their verdicts, newest first."""
    follow = f'<meta http-equiv="refresh" content="{_FOLLOW_EVERY_S}">'
    lines = "".join(map(_line, entries))
    compare = (
        '<p><button type="submit">Compare the two that are ticked</button></p>'
        if len(entries) > 1
        else ""
    )
    told = f'<p role="alert">{_text(note)}</p>' if note else ""
    empty = "<p>There are no saved runs here yet.</p>" if not entries else ""
    return _document(
        "Runs",
        f"{told}{empty}<form action='compare' method='get'>{compare}<ul>{lines}</ul></form>",
        follow if any(entry.is_live for entry in entries) else "",
    )


def message(title: str, text: str) -> str:
    """A page that says one thing, and leads back."""
    return _document(title, f'<p>{_text(text)}</p><p><a href="./">All runs</a></p>')


def waiting(progress: str) -> str:
    """A page that is asked for again by itself until the one that is meant is there."""
    head = f'<meta http-equiv="refresh" content="{_WAIT_S}">'
    return _document("Reading the run", f'<p role="status">{_text(progress)} …</p>', head)


def _document(title: str, body: str, head: str = "") -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{head}<title>{_text(title)} · cb</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{_text(title)}</h1>{body}</main></body></html>"
    )


def _line(entry: Entry) -> str:
    name, address = _text(entry.id), quote(entry.id, safe="")
    facts = [formats.moment(entry.started), entry.state, f"{entry.rows:,} rows"]
    facts += [f"{entry.errored:,} errored"] if entry.errored else []
    told = " · ".join(filter(None, facts))
    ran = f"{_listed(entry.systems)} on {_listed(entry.datasets) or 'data from Python'}"
    verdicts = "".join(f"<p>{_text(verdict)}.</p>" for verdict in entry.verdicts)
    state = escape(entry.state if entry.state.isalpha() else "")
    return (
        f'<li><input type="checkbox" name="run" value="{name}" aria-label="Compare {name}">'
        f'<a href="run/{address}/">{name}</a>'
        f'<p class="faint {state}">{_text(told)}</p><p>{_text(ran)}</p>{verdicts}</li>'
    )


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    return ", ".join(found[:4]) + (f" and {len(found) - 4} more" if found[4:] else "")


def _text(text: object) -> str:
    return escape(visible(str(text)))
