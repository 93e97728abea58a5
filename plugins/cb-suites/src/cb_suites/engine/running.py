"""From a task to its examples: documents read, worked examples put before them, limits kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import attrs

from cb_suites.engine.examples import make_unusable, require_usable
from cb_suites.engine.fewshot import FewShot, few_shot
from cb_suites.engine.formats import Format
from cb_suites.engine.locating import dataset_of
from cb_suites.engine.model import TaskConfig
from cb_suites.engine.prompts import Document, DocumentReader
from cbcore.boundary import at_boundary
from cbcore.exceptions import DataError


class Documents(list[Any]):
    """Documents as a task's `process_docs` gets them: a list with `map`, `filter` and `select`."""

    def map(self, function: Callable[[Any], Any], **_: Any) -> Documents:
        """What a function makes of each document, laid over the document."""
        return Documents({**document, **function(document)} for document in self)

    def filter(self, function: Callable[[Any], Any], **_: Any) -> Documents:
        """The documents a function is true of."""
        return Documents(document for document in self if function(document))

    def select(self, indices: Iterable[int]) -> Documents:
        """The documents at these places."""
        return Documents(self[index] for index in indices)


@attrs.frozen
class TaskExamples:
    """The examples of a task, made anew from its documents each time they are iterated.

    An example is its document with `question` (the whole prompt), `context` where the task says
    which, and `choices`, `answer` and `answers` where there are any. A document that cannot be read becomes an example that
    cannot be used, and says why.
    """

    key: str
    config: TaskConfig
    documents: Callable[[str | None], Iterable[Any]]
    reader: DocumentReader
    format: Format | None
    few_shot: FewShot

    def __iter__(self) -> Iterator[Any]:
        documents = islice(iter(self.documents(self.config.split)), self.config.limit)
        for index, fields in enumerate(documents):
            if not isinstance(fields, Mapping) or self.format is None:
                yield self._in_its_place(fields)
                continue
            self.few_shot.load()
            try:
                examples = self.few_shot.examples(index, fields)
                yield self._in_its_place(self._example(self.format, fields, examples))
            except DataError as error:
                yield make_unusable(fields.get("id", index), error)

    def _example(
        self, task_format: Format, fields: Mapping[str, Any], examples: list[Mapping[str, Any]]
    ) -> dict[str, Any]:
        document = self.reader.read(fields)
        example = {**fields, "question": self._prompt(task_format, document, examples)}
        if document.choices:
            example["choices"] = list(document.choices)
        if document.answers:
            example |= {"answer": document.answers[0], "answers": list(document.answers)}
        if self.config.doc_to_context is not None:
            context = document.context
            is_list = isinstance(context, list | tuple)
            return {**example, "context": "\n\n".join(map(str, context)) if is_list else context}
        context = fields.get("context")
        said = context.strip() if isinstance(context, str) else ""
        if said and context == fields.get("question"):
            example["context"] = example["question"]  # no text of its own, then or now
        elif self.config.doc_to_text is not None and said and said in example["question"]:
            del example["context"]  # a system must not be given it twice
        return example

    def _prompt(
        self, task_format: Format, document: Document, examples: list[Mapping[str, Any]]
    ) -> str:
        config = self.config
        shots = []
        for fields in examples:
            try:
                shot = self.reader.read(fields)
            except DataError as error:
                reason = f"one of its worked examples cannot be read: {error.message}"
                raise DataError(reason, hint=error.hint) from error
            shots += [task_format.ask(shot), config.target_delimiter, task_format.show(shot)]
            shots.append(config.fewshot_delimiter)
        description = self.reader.description(document.fields)
        return "".join([description, *shots, task_format.ask(document)])

    def _in_its_place(self, example: Any) -> Any:
        """Rows are found by the task's key, whatever a document calls its dataset."""
        if isinstance(example, Mapping) and "dataset" in example:
            return {**example, "dataset": self.key}
        return example


def task_examples(
    key: str,
    config: TaskConfig,
    task_format: Format | None,
    load: Callable[[Any], Iterable[Any]],
    seed: int | None = None,
) -> TaskExamples:
    """The examples of a task. `load` makes a dataset from a spec, or takes one that is ready."""
    loaded: dict[str | None, Iterable[Any]] = {config.split: load(dataset_of(config, config.split))}

    def documents(split: str | None) -> Iterable[Any]:
        if split not in loaded:
            loaded[split] = load(dataset_of(config, split))
        found = loaded[split]
        return found if config.process_docs is None else _processed(config, found)

    reader, shots = DocumentReader(config), few_shot(config, documents, seed)
    return TaskExamples(key, config, documents, reader, task_format, shots)


def _processed(config: TaskConfig, documents: Iterable[Any]) -> Iterable[Any]:
    function = config.process_docs
    assert function is not None  # noqa: S101 - asked before
    with at_boundary(f"process_docs of {config.name}", DataError):
        found: Iterable[Any] = function(Documents(require_usable(documents)))
    return found


def format_name(config: TaskConfig) -> str | None:
    """The format a task is asked in; None where its documents are left as they are."""
    if config.format is not None:
        return config.format
    if config.doc_to_choice is not None:
        return "mcqa"
    shaped = (
        *(config.doc_to_text, config.doc_to_context, config.doc_to_target),
        config.description or None,
    )
    return "generate" if config.num_fewshot or any(x is not None for x in shaped) else None
