"""The page that lists runs. It has no script: links open runs, a form compares two."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import quote

from cb_reporters import formats
from cb_reporters.server.sources import Entry
from cbcore.texts import visible

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif;
        --page: #fbfbfa; --raised: #fff; --ink: #171b20; --soft: #56606b; --line: #e2e5e8;
        --accent: #0b6b61; --on-accent: #fff; --alert: #a3281c; }
@media (prefers-color-scheme: dark) {
  :root { --page: #111417; --raised: #181b1f; --ink: #e8eaed; --soft: #a3acb7; --line: #2a2f35;
          --accent: #62d0c2; --on-accent: #06211e; --alert: #ff9f94; } }
body { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem; background: var(--page);
       color: var(--ink); }
h1 { font-size: 1.6rem; }
a { color: var(--accent); }
ul { list-style: none; padding: 0; background: var(--raised); border: 1px solid var(--line);
     border-radius: 6px; }
ul:empty { display: none; }
li { display: grid; grid-template-columns: auto 1fr; gap: 0 .8rem; padding: .8rem 1rem; }
li + li { border-top: 1px solid var(--line); }
li p { margin: .2rem 0 0; grid-column: 2; overflow-wrap: anywhere; }
li a { font-weight: 600; overflow-wrap: anywhere; }
input { accent-color: var(--accent); width: 1.1rem; height: 1.1rem; margin-top: .25rem; }
.faint { color: var(--soft); font-size: .9rem; }
.running { color: var(--accent); font-weight: 600; }
.failed, .interrupted, .crashed { color: var(--alert); font-weight: 600; }
button { font: inherit; font-weight: 600; padding: .4rem 1rem; border: 0; border-radius: 6px;
         background: var(--accent); color: var(--on-accent); cursor: pointer; }
"""

_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

POLICY = _POLICY
"""What the page may do: show its style, and ask this server."""

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
