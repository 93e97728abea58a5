"""The evaluator: the instructions of an example, checked strictly and loosely."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from cb_scorers._extras import require_extra
from cb_scorers.ifeval.instructions import INSTRUCTIONS, UnknownInstructionError
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from cbcore.scoring import response_of


class IFEval:
    """Does the response follow the verifiable instructions of its prompt, strictly and loosely?

    An example names its instructions in `instruction_id_list` and their parameters, in the
    same order, in `kwargs`.
    """

    name = "ifeval"
    emits = (
        "ifeval_prompt_strict",
        "ifeval_prompt_loose",
        "ifeval_instruction_strict",
        "ifeval_instruction_loose",
    )
    applies_to = ("instruction-following",)
    automatic = True
    needs = ("instruction_id_list",)

    def __init__(self) -> None:
        """Raises `MissingExtraError` without langdetect."""
        require_extra("ifeval", self.name, {"langdetect": "langdetect"})

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """The four scores, and in the details which instructions were followed.

        Raises `MissingScoreError` for parameters that cannot be used or a missing response, and
        `UnknownInstructionError` for an instruction type that does not exist.
        """
        instructions = _instructions(original)
        response = response_of(processed, text_only=True)
        variants = loose_variants(response)
        strict = [bool(response.strip()) and check(response) for _, check in instructions]
        loose = [
            followed or any(check(variant) for variant in variants if variant.strip())
            for followed, (_, check) in zip(strict, instructions, strict=True)
        ]
        followed = [
            {"instruction": instruction_id, "strict": was_strict, "loose": was_loose}
            for (instruction_id, _), was_strict, was_loose in zip(
                instructions, strict, loose, strict=True
            )
        ]
        return Scored(
            scores={
                "ifeval_prompt_strict": float(all(strict)),
                "ifeval_prompt_loose": float(all(loose)),
                "ifeval_instruction_strict": sum(strict) / len(strict),
                "ifeval_instruction_loose": sum(loose) / len(loose),
            },
            details={"followed": followed},
        )


def loose_variants(response: str) -> list[str]:
    """The eight forms of a response of which a loose check accepts any.

    As it is, without its first line, without its last, without both; each of these with its
    stars, and without.
    """
    lines = response.split("\n")
    cut = [response] + ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    return [*cut, *(variant.replace("*", "") for variant in cut)]


def _instructions(example: Mapping[str, Any]) -> list[tuple[str, Callable[[str], bool]]]:
    """The instructions with their checks, ready to be given a response."""
    names = example.get("instruction_id_list")
    if not isinstance(names, list | tuple) or not names:
        raise MissingScoreError("the example has no list of instructions in `instruction_id_list`")
    parameters = example.get("kwargs")
    if parameters is None:
        parameters = [None] * len(names)
    if not isinstance(parameters, list | tuple) or len(parameters) != len(names):
        raise MissingScoreError(
            f"the example has {len(names)} instructions, but `kwargs` is not a list of as many"
        )
    ready: list[tuple[str, Callable[[str], bool]]] = []
    for instruction_id, given in zip(names, parameters, strict=True):
        instruction = INSTRUCTIONS.get(instruction_id) if isinstance(instruction_id, str) else None
        if instruction is None:
            raise UnknownInstructionError(str(instruction_id))
        if given is not None and not isinstance(given, Mapping):
            kind = type(given).__name__
            raise MissingScoreError(f"`kwargs` of {instruction_id!r} is a {kind}, not a dict")
        arguments = instruction.arguments(instruction_id, given or {})
        ready.append((instruction_id, partial(instruction.check, **arguments)))
    return ready
