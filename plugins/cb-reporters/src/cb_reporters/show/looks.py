"""One example on a terminal: question, gold, and for every system what it made of the context."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from cb_reporters import formats
from cb_reporters.page.reading import Reading, context_of
from cb_reporters.show.differences import Piece, differences
from cb_reporters.show.painting import Paint
from cbcore.contexts import pass_on
from cbcore.results import EvalRow, Example

_LABEL = 10
_SCORE = 5
_LONGEST_KEPT = 300
_LONGEST_CHANGED = 1200
_LONGEST_TEXT = 2000
_STAGES = "stage_s"
_NOT_DETAILS = ("traceback", _STAGES, "cost_usd", "retries", "turn_responses")


@attrs.frozen
class Look:
    """How examples are shown: by a `score`, which stands first; `full` leaves nothing out."""

    paint: Paint
    full: bool = False
    score: str | None = None

    def lines(self, example: Example, systems: Sequence[str] | None = None) -> Iterator[str]:
        """An example with the rows of these systems, or of all."""
        reading = Reading.of(example.given)
        of = f" of {example.dataset}" if example.dataset else ""
        repeat = f", repeat {example.repeat}" if example.repeat else ""
        yield self.paint(f"example {example.example_id!r}{of}{repeat}", "head")
        if example.given is None:
            yield self.paint("its texts were not stored: only what its rows say is shown", "faint")
        if reading.question:
            yield from self._labelled("question", reading.question)
        for gold in reading.gold:
            yield from self._labelled("gold", gold)
        for system, row in example.rows.items():
            if systems is None or system in systems:
                yield ""
                yield from self._row(row, reading, example.given, example.output(system))

    def _row(
        self,
        row: EvalRow,
        reading: Reading,
        given: Mapping[str, Any] | None,
        output: Mapping[str, Any] | None,
    ) -> Iterator[str]:
        numbers = _numbers(row, self.score)
        yield f"{self.paint(row.system, 'head')}  {self.paint(numbers, 'faint')}"
        if row.error is not None:
            yield from self._labelled("error", row.error, "error")
        if row.response is not None:
            yield from self._labelled("response", row.response or "(empty)")
        others = _scores(row, lambda name: name != self.score)
        if self.score in row.scores and others:
            yield from self._labelled("scores", others, "faint")
        for score, reason in row.missing.items():
            yield from self._labelled(f"no {score}", reason, "error")
        if isinstance(traceback := row.metadata.get("traceback"), str):
            yield from self._labelled("traceback", traceback, "faint", whole=True)
        if isinstance(took := row.metadata.get(_STAGES), dict):
            told = " · ".join(f"{stage} {formats.duration(s)}" for stage, s in took.items())
            yield from self._labelled("stages", told, "faint")
        for name, value in row.metadata.items():
            if name not in _NOT_DETAILS and isinstance(value, dict | list | str) and value:
                yield from self._labelled(name, _told(value))
        if output is not None and reading.context is not None:
            after = context_of(pass_on(given or {}, output)) or ""
            yield from self._context(reading.context, after)

    def _context(self, before: str, after: str) -> Iterator[str]:
        if after == before:
            yield from self._labelled("context", f"kept whole ({len(before):,} characters)")
            return
        pieces = differences(before, after)
        dropped = sum(len(piece.text) for piece in pieces if piece.kind == "dropped")
        added = sum(len(piece.text) for piece in pieces if piece.kind == "added")
        told = f"{dropped / max(1, len(before)):.0%} dropped"
        told += f", {added:,} characters added" if added else ""
        yield from self._labelled("context", told)
        drawn = "".join(self._piece(piece) for piece in pieces)
        yield from (f"    {line}" for line in drawn.rstrip("\n").split("\n"))

    def _piece(self, piece: Piece) -> str:
        longest = _LONGEST_KEPT if piece.kind == "kept" else _LONGEST_CHANGED
        text = piece.text
        if self.full or len(text) <= longest + 40:
            return self.paint(text, piece.kind)
        left_out = f" … {len(text) - longest:,} characters {piece.kind} … "
        head, tail = text[: longest // 2], text[-longest // 2 :]
        inside = self.paint(left_out, "faint")
        return self.paint(head, piece.kind) + inside + self.paint(tail, piece.kind)

    def _labelled(
        self, label: str, text: str, kind: str = "", *, whole: bool = False
    ) -> Iterator[str]:
        if not (self.full or whole) and len(text) > _LONGEST_TEXT:
            text = f"{text[:_LONGEST_TEXT]} … {len(text) - _LONGEST_TEXT:,} more characters"
        first, *rest = text.strip("\n").split("\n")
        yield f"  {self.paint(_one_line(label).ljust(_LABEL), 'faint')} {self.paint(first, kind)}"
        for line in rest:
            yield f"  {' ' * _LABEL} {self.paint(line, kind)}"


def listed(example: Example, score: str | None, paint: Paint, systems: Sequence[str]) -> str:
    """An example in a list: its id, the score of each of these systems, how its question begins."""
    cells = [_score(example.rows.get(system), score).rjust(_SCORE) for system in systems]
    reading = Reading.of(example.given)
    text = " ".join((reading.question or reading.context or "")[:300].split())[:60]
    return paint(_one_line(f"{example.example_id!s:<16}  {'  '.join(cells)}  {text}"))


def _score(row: EvalRow | None, score: str | None) -> str:
    if row is None:
        return ""
    value = row.scores.get(score or "")
    return "error" if row.error is not None else "–" if value is None else f"{value:.3f}"


def _scores(row: EvalRow, wanted: Callable[[str], bool]) -> str:
    named = ((name, value) for name, value in row.scores.items() if wanted(name))
    return " · ".join(f"{name} {formats.score(value)}" for name, value in named)


def _numbers(row: EvalRow, score: str | None) -> str:
    """The score, tokens, latency and what it cost, as far as there are any."""
    has_it = score in row.scores
    told = [text] if (text := _scores(row, lambda name: name == score or not has_it)) else []
    if row.error is None:
        tokens = f"{row.output_tokens:,} tokens"
        if row.input_tokens and row.output_tokens != row.input_tokens:
            tokens += f" ({row.output_tokens / row.input_tokens:.0%} of {row.input_tokens:,})"
        told += [tokens, formats.duration(row.latency)]
    cost, retries = (formats.finite(row.metadata.get(name)) for name in ("cost_usd", "retries"))
    told += [f"${cost:.4f}"] if cost else []
    told += [f"{retries:.0f} retries"] if retries else []
    return " · ".join(told)


def _told(value: Any) -> str:
    """The details that an evaluator or a system stored, such as the reasons of a judge, line by line."""
    if isinstance(value, Mapping):
        return "\n".join(
            f"{key}: {part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)}"
            for key, part in value.items()
        )
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ").replace("\t", " ")
