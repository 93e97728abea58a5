"""The examples of a task: documents with what is asked of them, in the order of their split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import attrs

from cb_suites.engine.examples import make_unusable
from cb_suites.engine.formats import Mcqa
from cb_suites.engine.prompts import Document as AskedDocument
from cb_suites.harness import contexts
from cb_suites.harness.contexts import Message
from cb_suites.harness.data import HarnessData
from cb_suites.harness.shots import OwnSampler, Sampler, make_sampler
from cb_suites.harness.task import (
    DOCUMENT,
    GENERATION,
    LIKELIHOOD_TYPES,
    MANY_TARGETS,
    REQUESTS,
    HarnessTask,
)
from cbcore.exceptions import DataError


@attrs.frozen(eq=False)
class HarnessExamples:
    """The examples of a task, made anew from its documents each time they are iterated.

    An example has the `question` as it is put to a system that answers in text and, where
    likelihoods are what counts, the requests for them. With `as_turns`, worked examples are turns
    of a conversation.
    """

    key: str
    task: HarnessTask
    data: HarnessData
    seed: int
    as_turns: bool = False

    def __iter__(self) -> Iterator[Any]:
        task, config = self.task, self.task.config
        sampler = self._sampler()
        many: bool | None = None
        documents: Iterable[Any] = islice(iter(self.data.asked()), config.limit)
        for index, document in enumerate(documents):
            if not isinstance(document, Mapping):
                yield document
                continue
            try:
                if many is None:
                    many = task.many_targets(document)
                example = self._example(document, sampler)
            except DataError as error:
                yield make_unusable(index, error)
                continue
            yield {"id": index, "dataset": self.key, **example, MANY_TARGETS: many}

    def _sampler(self) -> Sampler | OwnSampler:
        config = self.task.config
        fewshot = dict((config.harness or {}).get("fewshot_config") or {})
        where = str(config.origins.get("fewshot_config", config.origin))
        named = fewshot.get("sampler", "default")
        pool = list(self.data.shots()) if config.num_fewshot else []
        return make_sampler(named, pool, self.seed, where)

    def _example(self, document: Mapping[str, Any], sampler: Sampler | OwnSampler) -> Any:
        task = self.task
        n_shots = task.config.num_fewshot or 0
        shots = sampler.sample(n_shots, document if self.data.shots_are_asked_too else None)
        before = task.messages(document, shots)
        prompts = task.questions(document, before)
        texts = [contexts.as_text(messages) for messages in prompts]
        example: dict[str, Any] = {DOCUMENT: dict(document)}
        if task.output_type == "generate_until":
            example |= self._asked(prompts[0], texts[0])
        else:
            example["question"] = self._in_text(document, shots, texts)
            example[REQUESTS] = task.requests(document, texts)
        if task.output_type == "multiple_choice":
            example["choices"] = task.shown_choices(document)
        answers = _answers(task, document)
        if answers:
            example |= {"answer": answers[0], "answers": answers}
        return example

    def _asked(self, messages: list[Message], text: str) -> dict[str, Any]:
        task = self.task
        generation = {k: v for k, v in task.generation.items() if k != "until"}
        if generation.get("do_sample") is False:
            generation.pop("temperature", None)  # it says how to sample, and nothing is sampled
        said = {"until": list(task.until), **generation}
        asked: dict[str, Any] = {"question": text, GENERATION: said}
        if self.as_turns and len(messages) > 1:
            asked["turns"] = contexts.as_turns(messages)
        return asked

    def _in_text(
        self, document: Mapping[str, Any], shots: Sequence[Mapping[str, Any]], texts: list[str]
    ) -> str:
        """What a system is asked that answers in text: to name a choice, or to go on."""
        task = self.task
        if task.output_type in LIKELIHOOD_TYPES[:2]:
            return texts[0]
        asking, ends = Mcqa(), task.ends
        parts = [task.values.description(document)]
        for shot in shots:
            lettered = self._lettered(shot)
            parts += [asking.ask(lettered), ends.target, asking.show(lettered), ends.fewshot]
        return "".join([*parts, asking.ask(self._lettered(document))])

    def _lettered(self, document: Mapping[str, Any]) -> AskedDocument:
        asked = self.task.values.text(document)
        text = asked if isinstance(asked, str) else "Which of these is right?"
        choices = tuple(self.task.shown_choices(document))
        return AskedDocument(document, text, choices, tuple(_answers(self.task, document)))


def _answers(task: HarnessTask, document: Mapping[str, Any]) -> list[str]:
    """The right answers as text, for whatever else looks at an example."""
    if task.output_type == "multiple_choice":
        gold, choices = task.gold(document), task.shown_choices(document)
        golds = gold if isinstance(gold, list) else [gold]
        return [choices[i] for i in golds if 0 <= i < len(choices)]
    target = task.values.target(document)
    return [str(one) for one in (target if isinstance(target, list) else [target])]
