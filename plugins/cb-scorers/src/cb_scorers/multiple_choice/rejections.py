"""What a response rules out, taken off its sketch before anything is read."""

from __future__ import annotations

import re

from cb_scorers.multiple_choice.mentions import M

ERASED = "rejected"
"""What stands in a sketch in place of what was ruled out."""

_AND = r"\s*(?:[/&]|,?\s*\b(?:and|or|nor)\b)\s*(?:option\s+|choice\s+)?"
# "A, B and C" ends with C: in "eliminating A and B, C is left" C is not one of them.
_LIST = rf"{M}(?:(?:,\s*{M}){{0,25}}(?:{_AND}{M}){{1,25}}|(?:,\s*{M}){{1,25}}(?=\s*(?:[.;\n]|$)))?"
_NEGATION = (
    r"(?:(?:\b(?:not|never|neither|nor|cannot|than|instead of|except|besides|eliminat(?:e|es|ed|ing)"
    r"|rul(?:e|es|ed|ing) out|reject(?:s|ed|ing)?|exclud(?:e|es|ed|ing)|discard(?:s|ed|ing)?"
    r"|dismiss(?:es|ed|ing)?)|n't)\s+(?:(?:be|is|it's|it|the|options?|choices?|answers?|letter"
    r"|choose|pick|select|say|go with|necessarily|simply|both|either)\s+)*"
    r"|(?:\A|(?<=\n)|(?<=[.!?;]\s))[\s\"-]*(?:incorrect|not\s+correct|wrong)\s*[:=]\s*)"
)
_BE = r"\s*(?:is|are|was|were|seems?|looks?|can be|could be|must be|would be)\s+(?:\w+\s+){0,2}?"
# Said of a letter, "is not …" rules it out. Said of a choice's text after its letter it may be
# what makes the choice right: "C. Rome is not the capital of France."
_WRONG = (
    rf"{_BE}(?:wrong|incorrect|false|out|eliminated|ruled|rejected|excluded|unlikely|impossible"
    r"|invalid|(?:not|hardly|scarcely)\s+(?:correct|right|valid|possible|it"
    r"|(?:the|an?)\s+(?:\w+\s+)?(?:answer|choice|option|one))\b)\b"
)
_NOT = rf"(?:{_BE}not\b|\s*(?:\w+n't|cannot|(?:do|does|did|can|could|would) not)\b)"
_BARE = "[\ue000-\ue039\ue080-\ue099]"
_SEVERAL = rf"(?:{M}(?:,\s*{M}){{0,25}},?\s*\b(?:and|or)\s+(?:option\s+|choice\s+)?)?"
_REJECTED = re.compile(
    rf"{_NEGATION}{_LIST}|{_SEVERAL}(?:{M}{_WRONG}|{_BARE}{_NOT})", re.IGNORECASE
)


def without_rejected(drawn: str) -> str:
    """The sketch without the mentions of choices that the response rules out."""
    return _REJECTED.sub(ERASED, drawn)
