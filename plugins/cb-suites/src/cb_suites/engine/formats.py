"""How a document is asked, and how the answer is read back from the response.

A format shows the choices or hides them, and finds out which of them, or what text, a response
means. Systems answer in text, so reading is all there is: no likelihoods are compared.
Formats are a kind of component: plugins add theirs in the group `cb.formats`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import attrs

from cb_suites.engine.prompts import LABELS, Document
from cb_suites.engine.reading import Reading, after_marker, read_choice, read_choice_text
from cb_suites.engine.untrusted import Check
from cbcore.binding import make
from cbcore.boundary import at_boundary
from cbcore.exceptions import (
    DuplicateNameError,
    PluginContractError,
    UnknownComponentError,
)
from cbcore.names import near_matches
from cbcore.plugins import Catalog, default_catalog
from cbcore.specs import Spec


@runtime_checkable
class Format(Protocol):
    """What a format has to have."""

    @property
    def name(self) -> str:
        """How the format is asked for: `task@name`."""

    def ask(self, document: Document) -> str:
        """The question as it is put."""

    def show(self, document: Document) -> str:
        """The right answer, as a worked example shows it after the question."""

    def read(self, response: str, choices: tuple[str, ...]) -> Reading:
        """What a response says: its answer as text and, where there are choices, which."""


@attrs.frozen
class Mcqa:
    """Lettered choices below the question; a letter or the text of a choice is read back.

    Where the choices are the letters themselves, the question is taken to list them already.
    """

    name = "mcqa"
    reads_answer = True

    instruction: str = ""
    answer_prompt: str = "Answer:"

    def ask(self, document: Document) -> str:
        below = [line for line in (*_listed(document.choices), self.instruction) if line]
        text = _without_end(document.text, self.answer_prompt) if below else document.text
        return _ended("\n".join(filter(None, [text, *below])), self.answer_prompt)

    def show(self, document: Document) -> str:
        answer = _shown(document)
        return LABELS[document.choices.index(answer)] if answer in document.choices else answer

    def read(self, response: str, choices: tuple[str, ...]) -> Reading:
        return Reading.of(read_choice(response, choices), choices, response)


@attrs.frozen
class Cloze:
    """The question alone; the text of a choice is read back."""

    name = "cloze"
    reads_answer = True

    answer_prompt: str = "Answer:"

    def ask(self, document: Document) -> str:
        return _ended(document.text, self.answer_prompt)

    def show(self, document: Document) -> str:
        return _shown(document)

    def read(self, response: str, choices: tuple[str, ...]) -> Reading:
        return Reading.of(read_choice_text(response, choices), choices, response)


@attrs.frozen
class Generate:
    """The question as it is; the response is the answer."""

    name = "generate"
    reads_answer = False

    def ask(self, document: Document) -> str:
        return document.text

    def show(self, document: Document) -> str:
        return _shown(document)

    def read(self, response: str, choices: tuple[str, ...]) -> Reading:
        return Reading.of(read_choice_text(response, choices), choices, response)


@attrs.frozen
class Cot:
    """The system is asked to think first; the answer is read after a marker."""

    name = "cot"
    reads_answer = True

    instruction: str = "Think step by step, then finish with: {marker} …"
    marker: str = "The answer is"

    def ask(self, document: Document) -> str:
        instruction = self.instruction.replace("{marker}", self.marker)
        text = _without_end(document.text, Mcqa().answer_prompt)
        return "\n".join(filter(None, [text, *_listed(document.choices), instruction]))

    def show(self, document: Document) -> str:
        return f"{self.marker} {Mcqa().show(document)}."

    def read(self, response: str, choices: tuple[str, ...]) -> Reading:
        answer = after_marker(response, self.marker)
        return Reading.of(read_choice(answer, choices), choices, answer)


def _listed(choices: tuple[str, ...]) -> list[str]:
    if list(choices) == list(LABELS[: len(choices)]):
        return []
    return [f"{label}. {choice}" for label, choice in zip(LABELS, choices, strict=False)]


def _without_end(text: str, prompt: str) -> str:
    """The text without a prompt that the task wrote at its end, which belongs below the rest."""
    return text.rstrip().removesuffix(prompt).rstrip() if prompt else text


def _ended(text: str, prompt: str) -> str:
    if not prompt or text.rstrip().endswith(prompt):
        return text.rstrip() if prompt else text
    return f"{text}\n{prompt}"


def _shown(document: Document) -> str:
    return document.answers[0] if document.answers else ""


BUILT_IN: dict[str, Callable[..., Format]] = {
    "mcqa": Mcqa,
    "cloze": Cloze,
    "generate": Generate,
    "cot": Cot,
}
"""The formats that are always there, whichever plugins a run may use."""

_OWN = "cb-suites"


def make_format(
    name: str,
    params: Mapping[str, Any] | None = None,
    catalog: Catalog | None = None,
    check: Check | None = None,
) -> Format:
    """A format by name, with its parameters: one of those above, or one that a plugin offers.

    `check` may refuse its parameters.
    """
    owner, factory = _found(name, catalog or default_catalog())
    broken = functools.partial(PluginContractError, owner)
    with at_boundary(f"making the format {name!r}", broken):
        spec = Spec(name, params=dict(params or {}))
        made = make(spec, factory, check=check)
    if not isinstance(made, Format):
        raise PluginContractError(
            owner, f"the format {name!r} lacks one of name, ask(), show() and read()"
        )
    return made


def _found(name: str, catalog: Catalog) -> tuple[str, Callable[..., Format]]:
    if name not in BUILT_IN:
        try:
            component = catalog.find("format", name)
        except UnknownComponentError as error:
            near = near_matches(name, [*BUILT_IN, *error.near])
            raise UnknownComponentError("format", name, near) if near else error from None
        return component.plugin, component.load()
    rivals = [c.plugin for c in catalog.components("format") if c.name == name and c.plugin != _OWN]
    if rivals:
        raise DuplicateNameError("format", name, [_OWN, *rivals])
    return _OWN, BUILT_IN[name]
