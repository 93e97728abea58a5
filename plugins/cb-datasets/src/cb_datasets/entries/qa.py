"""Questions with short answers, with and without a text to find them in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cb_datasets.mapping import add_golds, asked
from cb_datasets.reading import Row
from cb_datasets.table import Benchmark, Choice, Example
from cbcore.exceptions import DataError

UNANSWERABLE = "unanswerable"
_DROP_KINDS = ("number", "date", "spans")


def musique(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """Paragraphs become the context, those marked as supporting the evidence."""
    paragraphs = row.records("paragraphs")
    example["context"] = "\n\n".join(
        f"{p.text('title')}: {p.text('paragraph_text')}" for p in paragraphs
    )
    if choice.split not in benchmark.unlabelled:
        aliases = row.texts("answer_aliases") if row.get("answer_aliases") else []
        add_golds(example, [row.text("answer"), *aliases], row)
        example["supporting_facts"] = [
            [p.text("title"), p.get("idx")] for p in paragraphs if p.get("is_supporting")
        ]


def narrativeqa(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """Rows have a story's id but none of their own, so their place is added to it."""
    example["id"] = f"{row.text('document.id')}-{row.number}"
    add_golds(example, [answer.text("text") for answer in row.records("answers")], row)


def triviaqa(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """Pages that a search found, or else Wikipedia's; some rows and configs have neither."""
    pages = _pages(row, "search_results", "search_context")
    pages = pages or _pages(row, "entity_pages", "wiki_context")
    if pages:
        example["context"] = "\n\n".join(pages)
    if choice.split not in benchmark.unlabelled:
        add_golds(example, [row.text("answer.value"), *row.texts("answer.aliases")], row)


def _pages(row: Row, field: str, column: str) -> list[str]:
    if not row.get(f"{field}.{column}"):
        return []
    return [
        f"{title}: {text.strip()}"
        for title, text in row.columns(field, "title", column)
        if isinstance(text, str) and text.strip()
    ]


def qasper(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example | DataError]:
    """One example per question about a paper, with the answers of all its annotators."""
    context = _paper(row)
    columns = ("question", "question_id", "answers")
    for number, (question, question_id, answers) in enumerate(row.columns("qas", *columns)):
        try:
            given = row.record("qas.answers", answers).records("answer")
            wanted = row.record("qas", {"question": question}).text("question")
            example: Example = {
                "id": str(question_id or f"{row.text('id')}-{number}"),
                "context": context,
                "question": asked(benchmark.instruction, wanted),
            }
            add_golds(example, map(_qasper_gold, given), row)
            _add_evidence(example, given)
            yield example
        except DataError as error:  # the other questions about the paper are not at fault
            yield error


def _add_evidence(example: Example, given: list[Row]) -> None:
    found = [e for answer in given if answer.get("evidence") for e in answer.texts("evidence")]
    if found:
        example["evidence"] = list(dict.fromkeys(found))


def _paper(row: Row) -> str:
    parts = [row.text("title"), row.optional_text("abstract")]
    for heading, paragraphs in row.columns("full_text", "section_name", "paragraphs"):
        parts += row.all_texts("full_text.section_name", [heading or ""])
        parts += row.all_texts("full_text.paragraphs", paragraphs)
    return "\n\n".join(text for part in parts if (text := part.strip()))


def _qasper_gold(answer: Row) -> str:
    """The answer of an annotator, in the one form that is not empty."""
    if answer.get("unanswerable"):
        return UNANSWERABLE
    if isinstance(yes := answer.get("yes_no"), bool):
        return "yes" if yes else "no"
    if answer.get("extractive_spans"):
        return ", ".join(answer.texts("extractive_spans"))
    return answer.text("free_form_answer")


def drop(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """The answer of each annotator is one gold: a number, a date, or all of its spans together."""
    if row.get("answers_spans") is not None:
        given = _run_together(row)
    else:
        records = [row.record("answer", row.get("answer")), *_validated(row)]
        given = [spans for record in records if (spans := _drop_spans(record))]
    add_golds(example, [", ".join(spans) for spans in given], row)
    example["answer_spans"] = [list(spans) for spans in dict.fromkeys(map(tuple, given))]


def _validated(row: Row) -> list[Row]:
    """The answers of further annotators: a list of records, or a record of lists."""
    value = row.get("validated_answers")
    if not isinstance(value, Mapping):
        return row.records("validated_answers") if value else []
    columns = row.columns("validated_answers", *_DROP_KINDS)
    return [row.record("", dict(zip(_DROP_KINDS, kinds, strict=True))) for kinds in columns]


def _drop_spans(answer: Row) -> list[str]:
    """The spans of one answer, in the one form that is not empty."""
    number = answer.get("number")
    if number or number == 0:
        return [str(number)]
    if answer.get("spans"):
        return [span.strip() for span in answer.texts("spans") if span.strip()]
    parts = [answer.optional_text(f"date.{part}") for part in ("day", "month", "year")]
    return [" ".join(filter(None, parts))] if any(parts) else []


def _run_together(row: Row) -> list[list[str]]:
    """The answers of annotators whose spans stand in one list, as `ucinlp/drop` has them.

    Numbers and dates are answers of their own. Where spans belong to several annotators is not
    said: another answer is taken to begin with a span that the one before it has already.
    """
    given: list[list[str]] = []
    open_answer: list[str] = []
    for span, kind in row.columns("answers_spans", "spans", "types"):
        (text,) = row.all_texts("answers_spans.spans", [span])
        if kind != "span" or text in open_answer or not open_answer:
            open_answer = []
            given.append(open_answer)
        open_answer.append(text)
        open_answer = open_answer if kind == "span" else []
    return given
