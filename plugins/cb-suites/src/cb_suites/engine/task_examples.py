"""The examples of a task: documents with what is asked of them, in the order of their split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import attrs

from cb_suites.engine import messages
from cb_suites.engine.data import TaskData, make_unusable, require_usable
from cb_suites.engine.fewshot import OwnSampler, Sampler, make_sampler
from cb_suites.engine.formats import Mcqa
from cb_suites.engine.messages import Message
from cb_suites.engine.task import (
    DOCUMENT,
    GENERATION,
    LIKELIHOOD_TYPES,
    MANY_TARGETS,
    REQUESTS,
    Task,
)
from cb_suites.engine.values import Fields
from cbcore.exceptions import DataError

LARGEST_POOL = 10_000
"""Few-shot examples are drawn from at most so many documents, unless the harness's rules hold."""


@attrs.frozen(eq=False)
class TaskExamples:
    """The examples of a task, made anew from its documents each time they are iterated.

    A task with a format adds `question` (the whole prompt), `choices`, `answer` and `answers` to
    a document, and `context` where it says which. By the rules of the harness, an example has
    the `question` as it is put to a system that answers in text, the `document` and, where
    likelihoods are what counts, the requests for them. Otherwise a document is left as it is.
    A document that cannot be read becomes an example that cannot be used, and says why. With
    `as_turns`, few-shot examples are turns of a conversation.
    """

    key: str
    task: Task
    data: TaskData
    seed: int
    as_turns: bool = False

    def __iter__(self) -> Iterator[Any]:
        config = self.task.config
        by_harness = config.harness is not None
        sampler = self._make_sampler()
        many: bool | None = None  # the first document says it for all, as in the harness
        for index, document in enumerate(islice(iter(self.data.asked()), config.limit)):
            if not isinstance(document, Mapping):
                yield document
                continue
            name = index if by_harness else document.get("id", index)
            try:
                if not by_harness:
                    yield self._in_format(document, sampler)
                    continue
                many = self.task.many_targets(document) if many is None else many
                example = self._by_harness(document, sampler)
                yield {"id": index, "dataset": self.key, **example, MANY_TARGETS: many}
            except DataError as error:
                yield make_unusable(name, error)

    def _make_sampler(self) -> Sampler | OwnSampler:
        config = self.task.config
        most = LARGEST_POOL if config.harness is None else None
        pool = require_usable(islice(iter(self.data.shots()), most)) if config.num_fewshot else ()
        return make_sampler(config, list(pool), self.seed)

    def _sample(self, document: Fields, sampler: Sampler | OwnSampler) -> Sequence[Fields]:
        unlike = document if self.data.shots_are_asked_too else None
        return sampler.sample(self.task.config.num_fewshot or 0, unlike)

    def _in_format(self, fields: Fields, sampler: Sampler | OwnSampler) -> Mapping[str, Any]:
        # Rows are found by the task's key, whatever a document calls its dataset.
        named = {**fields, "dataset": self.key} if "dataset" in fields else fields
        asking = self.task.format
        if asking is None:
            return named
        shots = self._sample(fields, sampler)
        document = self.task.read(fields, self.task.values)
        before = self.task.messages(fields, shots, asking)
        asked = [*before, *messages.asked(asking.ask(document), None, "")]
        example = {**named, **self._put(asked)}
        if document.choices:
            example["choices"] = list(document.choices)
        if document.answers:
            example |= {"answer": document.answers[0], "answers": list(document.answers)}
        config = self.task.config
        if config.doc_to_context is not None:
            context = document.context
            is_list = isinstance(context, list | tuple)
            return {**example, "context": "\n\n".join(map(str, context)) if is_list else context}
        context = fields.get("context")
        said = context.strip() if isinstance(context, str) else ""
        if said and context == fields.get("question"):
            example["context"] = example["question"]  # no text of its own, then or now
        elif config.doc_to_text is not None and said and said in example["question"]:
            del example["context"]  # a system must not be given it twice
        return example

    def _put(self, asked: list[Message]) -> dict[str, Any]:
        """The prompt as one text and, if that is wanted, as turns."""
        put: dict[str, Any] = {"question": messages.as_text(asked)}
        if self.as_turns and len(asked) > 1:
            put["turns"] = messages.as_turns(asked)
        return put

    def _by_harness(self, document: Fields, sampler: Sampler | OwnSampler) -> dict[str, Any]:
        task = self.task
        shots = self._sample(document, sampler)
        prompts = task.questions(document, task.messages(document, shots))
        example: dict[str, Any] = {DOCUMENT: dict(document)}
        if task.output_type == "generate_until":
            generation = {k: v for k, v in task.generation.items() if k != "until"}
            if generation.get("do_sample") is False:
                generation.pop("temperature", None)  # it says how to sample; nothing is sampled
            said = {"until": list(task.until), **generation}
            example |= {**self._put(prompts[0]), GENERATION: said}
        else:
            texts = [messages.as_text(prompt) for prompt in prompts]
            example["question"] = self._in_text(document, shots, texts)
            example[REQUESTS] = task.requests(document, texts)
        if task.output_type == "multiple_choice":
            example["choices"] = task.shown_choices(document)
        answers = task.answers(document)
        if answers:
            example |= {"answer": answers[0], "answers": answers}
        return example

    def _in_text(self, document: Fields, shots: Sequence[Fields], texts: list[str]) -> str:
        """What a system is asked that answers in text: to name a choice, or to go on."""
        if self.task.output_type in LIKELIHOOD_TYPES[:2]:
            return texts[0]
        asking = Mcqa()
        before = self.task.messages(document, shots, asking)
        question = asking.ask(self.task.read(document, self.task.values))
        return messages.as_text([*before, *messages.asked(question, None, "")])
