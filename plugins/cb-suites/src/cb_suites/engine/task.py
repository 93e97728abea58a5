"""A task: how its documents are asked, and what is measured of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from cb_suites.engine import messages
from cb_suites.engine.fewshot import check_fewshot
from cb_suites.engine.formats import Format
from cb_suites.engine.measuring import gold_of
from cb_suites.engine.messages import Delimiters, Message
from cb_suites.engine.metrics import Metric, metrics_of
from cb_suites.engine.model import TaskConfig
from cb_suites.engine.prompts import Document
from cb_suites.engine.sending import reduced
from cb_suites.engine.values import Fields, Values
from cbcore.exceptions import DataError, UsageError

DOCUMENT = "document"
"""Where an example holds the document it was made from, as the dataset has it."""

MANY_TARGETS = "many_targets"
"""Where an example says that its task has several right answers to a document."""

GENERATION = "generation"
"""Where an example says how text is to be generated; see `cbcore.protocols`."""

_MOST_TOKENS = 131_072
"""Tokens of a response that an untrusted suite file may ask for."""

REQUESTS = "loglikelihood_requests"
"""The field of an example with the requests for likelihoods: `[context, continuation]` each."""
LIKELIHOODS = "loglikelihoods"
"""The field of an output with a `[logarithm, is_greedy]` for each request."""
LIKELIHOOD_TYPES = ("loglikelihood", "loglikelihood_rolling", "multiple_choice")

_OF_A_DOCUMENT = (
    *("doc_to_text", "doc_to_context", "doc_to_target", "doc_to_choice", "description"),
)


@attrs.frozen(eq=False)
class Task:
    """What a task says, ready to be asked. `written` is all of it, `functions` its code.

    `format` is how it is asked in text and read back; without one, the harness's rules hold. One
    that `asks_itself` is an object of the user's, and stays where it is; any other is made
    again by a worker.
    """

    config: TaskConfig
    output_type: str
    values: Values
    shot_values: Values
    ends: Delimiters = attrs.field(factory=Delimiters)
    shot_ends: Delimiters = attrs.field(factory=Delimiters)
    metrics: Sequence[Metric] = ()
    process_results: Callable[..., Any] | None = None
    until: tuple[str, ...] = ()
    generation: Mapping[str, Any] = attrs.Factory(dict)
    system_instruction: str | None = None
    functions: tuple[Any, ...] = ()
    asks_itself: bool = False
    format: Format | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self.asks_itself:
            raise pickle.PicklingError(
                f"the task {self.config.name!r} asks and measures by an object of its own class"
            )
        return reduced(Task.of, self.config, self.system_instruction)

    @property
    def written(self) -> str:
        """All that its file says of it."""
        return repr(sorted((key, repr(value)) for key, value in self.config.settings.items()))

    @classmethod
    def of(
        cls,
        config: TaskConfig,
        system_instruction: str | None = None,
        task_format: Format | None = None,
    ) -> Task:
        """The task of a config."""
        given = config.harness or {}
        check_fewshot(config)
        by_field = config.harness is None
        output_type = given.get("output_type", "generate_until")
        fewshot = config.fewshot_config
        ends = Delimiters(config.target_delimiter, config.fewshot_delimiter)
        of_document = {key: getattr(config, key) for key in _OF_A_DOCUMENT}
        of_document["gen_prefix"] = given.get("gen_prefix")
        of_shots = {**of_document, **{k: v for k, v in fewshot.items() if k in of_document}}
        own_results = given.get("process_results")
        place = config.origins.get("metric_list", config.origin)
        generation = dict(given.get("generation_kwargs") or {})
        _check_limit(config, generation.get("max_gen_toks"))
        metrics = (
            ()
            if by_field
            else metrics_of(
                given.get("metric_list"),
                output_type,
                own_results=own_results is not None,
                place=place,
            )
        )
        return cls(
            config,
            output_type,
            Values(
                of_document,
                lambda key: config.origins.get(key, config.origin),
                by_field=by_field,
            ),
            Values(
                of_shots,
                lambda key: config.origins.get("fewshot_config", config.origin),
                by_field=by_field,
            ),
            ends,
            Delimiters(
                _said(fewshot, "target_delimiter", ends.target),
                _said(fewshot, "fewshot_delimiter", ends.fewshot),
            ),
            metrics,
            own_results,
            _until(generation, ends.fewshot),
            generation,
            system_instruction,
            tuple(_functions_in(given)),
            format=task_format,
        )

    def is_mean(self, metric: str) -> bool:
        """Whether a metric is the mean of what documents give; so is one nobody declared."""
        return all(known.is_mean for known in self.metrics if known.name == metric)

    def ended(self, response: str, example: Mapping[str, Any]) -> str:
        """A response up to where its example lets it end, or the task."""
        said = example.get(GENERATION) or {}
        for stop in said.get("until", self.until):
            response = response.split(stop, maxsplit=1)[0]
        return response

    # -- what is asked ---------------------------------------------------------------------------

    def messages(
        self, document: Fields, shots: Sequence[Fields], asking: Format | None = None
    ) -> list[Message]:
        """What stands before the question of a document; `asking` is how it is asked in text."""
        parts = messages.opening(
            self.system_instruction, self.values.description(document), self.ends.fewshot
        )
        for shot in shots:
            try:
                parts += self._shot(shot) if asking is None else self._shot_in_text(shot, asking)
            except DataError as error:
                reason = f"one of its worked examples cannot be read: {error.message}"
                raise DataError(reason, hint=error.hint) from error
        return parts

    def _shot(self, shot: Fields) -> list[Message]:
        values = self.shot_values
        question, choices = values.text(shot), None
        if values.has_choices:
            choices = values.choices(shot)
        answer = values.target(shot)
        if isinstance(question, int) and choices is not None:
            question, choices = choices[question], None
        return messages.answered(question, choices, answer, values.prefix(shot), self.shot_ends)

    def _shot_in_text(self, shot: Fields, asking: Format) -> list[Message]:
        read = self.read(shot, self.shot_values)
        question, answer = asking.ask(read), asking.show(read)
        return messages.answered(question, None, answer, None, self.shot_ends)

    def read(self, document: Fields, values: Values) -> Document:
        """A document as a format asks it."""
        if self.config.harness is None:
            return values.read(document)
        asked = self.values.text(document)
        text = asked if isinstance(asked, str) else "Which of these is right?"
        choices = tuple(self.shown_choices(document))
        return Document(document, text, choices, tuple(self.answers(document)))

    def questions(self, document: Fields, before: Sequence[Message]) -> list[list[Message]]:
        """The whole prompt of a document; one for each choice, where those are the questions."""
        prefix = self.values.prefix(document)
        asked = self.values.text(document)
        if self.values.has_choices and _is_index(asked):
            every = self.values.choices(document)
            return [[*before, *messages.asked(one, prefix, "")] for one in every]
        return [[*before, *messages.asked(asked, prefix, self.ends.target)]]

    def requests(self, document: Fields, prompts: Sequence[str]) -> list[list[str]]:
        """What is asked of a system that gives likelihoods: contexts with their continuations."""
        target = self.values.target(document)
        if self.output_type == "loglikelihood_rolling":
            return [["", _text_of(target)]]
        if self.output_type == "loglikelihood":
            return [[prompts[0], _text_of(target)]]
        delimiter, choices = self.ends.target, self.values.choices(document)
        if self._choices_are_questions(document):
            asked = [[prompt, f"{delimiter}{target}"] for prompt in prompts]
        else:
            asked = [[prompts[0], f"{delimiter}{choice}"] for choice in choices]
        if any(metric.name == "acc_mutual_info" for metric in self.metrics):
            asked += [["", f"{delimiter}{choice}"] for choice in choices]
        return asked

    def _choices_are_questions(self, document: Fields) -> bool:
        return self.values.has_choices and _is_index(self.values.text(document))

    def gold(self, document: Fields) -> Any:
        """The number of the right choice."""
        values = self.values
        asked = values.text(document)
        right = asked if _is_index(asked) else values.target(document)
        return gold_of(right, values.choices(document))

    def shown_choices(self, document: Fields) -> list[str]:
        """The choices as text shows them."""
        choices = list(map(str, self.values.choices(document)))
        if not self._choices_are_questions(document):
            return choices
        return [f"{one}{self.ends.target}{self.values.target(document)}" for one in choices]

    def answers(self, document: Fields) -> list[str]:
        """The right answers as text."""
        if self.output_type == "multiple_choice":
            gold, choices = self.gold(document), self.shown_choices(document)
            golds = gold if isinstance(gold, list) else [gold]
            return [choices[i] for i in golds if 0 <= i < len(choices)]
        target = self.values.target(document)
        return [str(one) for one in (target if isinstance(target, list) else [target])]

    def many_targets(self, document: Fields) -> bool:
        """Whether the answer is a list, of which any will do."""
        target = self.values.target(document)
        return isinstance(target, list) and bool(target)


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text_of(value: Any) -> str:
    if not isinstance(value, str):
        raise DataError(f"doc_to_target gave {value!r}, which is no text")
    return value


def _said(given: Mapping[str, Any], key: str, otherwise: str) -> str:
    return otherwise if given.get(key) is None else str(given[key])


def _check_limit(config: TaskConfig, limit: Any) -> None:
    """Refuse an untrusted file's wish for responses that are longer than models give."""
    source = config.find_untrusted("generation_kwargs")
    if source is None or limit is None:
        return
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 < limit <= _MOST_TOKENS:
        raise source.error(f"max_gen_toks is {limit!r}: it must be 1 to {_MOST_TOKENS:,}")


def _until(generation: Mapping[str, Any], delimiter: str) -> tuple[str, ...]:
    wanted = generation.get("until", [delimiter])
    listed = [wanted] if isinstance(wanted, str) else wanted or []
    return tuple(str(one) for one in listed if one)


def _functions_in(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [found for item in value.values() for found in _functions_in(item)]
    if isinstance(value, list | tuple):
        return [found for item in value for found in _functions_in(item)]
    return [value] if callable(value) else []


def check_usable(task: Task, *, sandboxed: bool) -> None:
    """Refuse a task that cannot be measured here, with the reason."""
    config = task.config
    given = config.harness or {}
    for key in ("doc_to_image", "doc_to_audio"):
        if config.settings.get(key) is not None:
            raise UsageError(
                f"{config.name} asks about {key[7:]}s, and only text is put to systems"
            )
    if given.get("unsafe_code") and not sandboxed:
        raise UsageError(
            f"{config.name} runs the code of responses, for which there is no sandbox",
            hint="pip install cb-code-execution",
        )
    if task.metrics and all(metric.unusable for metric in task.metrics):
        raise UsageError(f"{config.name}: {task.metrics[0].unusable}")


def format_name(config: TaskConfig) -> str | None:
    """The format a task is asked in; None where its documents are left as they are."""
    if config.format is not None or config.harness is not None:
        return config.format
    if config.doc_to_choice is not None:
        return "mcqa"
    shaped = (
        *(config.doc_to_text, config.doc_to_context, config.doc_to_target),
        config.description or None,
    )
    return "generate" if config.num_fewshot or any(x is not None for x in shaped) else None
