"""The sentences by which a response settles on a choice: "the answer is …", "so it must be …"."""

from __future__ import annotations

import re

from cb_scorers.multiple_choice.mentions import L, M, T, label_of
from cb_scorers.multiple_choice.rejections import ERASED

_LIST = rf"{M}(?:(?:\s*[,/&]\s*|,?\s*\b(?:and|or|nor)\b\s*)(?:option\s+|choice\s+)?{M}){{0,25}}"
_CONJUNCTION = rf"{M}(?:(?:,\s*{M}){{0,25}},?\s*\b(?:and|or)\s+(?:option\s+|choice\s+)?{M})?"

# What may stand between "the answer is" and the answer; bounded, so that no text takes long.
_GAP = r"[\s:\"'=,…–—-]*"
_FILLER = (
    rf"{_GAP}(?:(?:\w+ly|option|choice|letter|answer|statement|indeed|in fact|of course"
    r"|la|letra|lettre|opción|opção|alternativa"
    r"|i (?:think|believe|guess)|that|is|be|to be|just|perhaps|maybe|the|one|with|correct|right"
    rf"|best|final|therefore|thus|so|hence|it|it's)\b{_GAP}){{0,8}}"
)
_BE = (
    r"(?:is|was|are|(?:will|would|should|must|has to|have to|can only|could|might|may)"
    r"(?:\s+\w+){0,2}?\s+be|seems to be|appears to be|turns out to be|remains|es|est|ist|é|è)\b"
)
_NOUN = (
    r"(?<!each\s)(?<!every\s)\b(?:answer|ans|choice|option|selection|solution|conclusion|verdict"
    r"|pick|guess|(?:correct|right|best|only)\s+one|respuesta|réponse|antwort|resposta|risposta"
    r"|ответ)\b"
)
_VERB = (
    r"(?:choose|chose|pick|picked|select|selected|go with|going with|went with|go for|vote for"
    r"|opt for|say|answer|guess|settle on|lean(?:ing)? towards?)"
)
_GOOD = (
    r"(?:correct|right|(?:the|my)\s+(?:\w+\s+){0,2}?(?:answer|choice|option|one|correct|right|best"
    r"|most|fit|match)|(?:better|more\s+\w+|likelier|preferable|stronger|closer)\s+(?:than|rejected)"
    r"|(?:more|most)\s+(?:accurate|appropriate|complete|convincing|correct|exact|fitting|likely"
    r"|plausible|precise|probable|reasonable|specific|suitable)"
    r"|(?:better|likelier|preferable|stronger|closer)(?=\s*(?:[.!;\n]|$)))\b"
)
# Where a clause ends, so that "but A is tempting" and "so B moves on" settle nothing.
_CLAUSE_END = (
    r"(?=\s*(?:[.,;:!?)\]\"'。，；、！\n–—]|-\s|$"
    rf"|\b(?:because|since|as|for|due|based|given|which|by|{ERASED})\b))"
)
_EAST_ASIAN = (
    r"(?:答案|答え|正解|解答|정답|답)\s*(?:应该是|應該是|应为|是|为|為|は|은|는)?[\s:]*"
    r"|(?:故选|应选|应该选|选择|選擇|选|選)(?:项|項)?[\s:]*"
)
_STATEMENT = re.compile(
    rf"{_NOUN}(?:\s+(?:to|for|of|in|here|from|among|correcta|correcte|correta|corretta)\b"
    rf"(?:\s+\w+){{0,4}}?)?(?:,[^,.\n]{{1,30}},)?(?:\s+{_BE}|\"?\s*[:=]|'s\b)"
    rf"{_FILLER}(?P<answer>{_LIST})"
    rf"|(?:\A|(?<=\n)|(?<=[.!?;]\s))[\s\"-]*(?:correct|right)\s*[:=]{_FILLER}(?P<headed>{_LIST})"
    rf"|\b(?:final|correct|right|best)\s+(?:answer|option|choice)\s+(?P<named>{L}){_CLAUSE_END}"
    rf"|\b(?:i|we|i'd|i'll|we'd|i'm)\s+(?:\w+\s+){{0,3}}?{_VERB}\b{_FILLER}(?P<chosen>{_LIST})"
    rf"|(?:\b(?:it|this|that|which)(?:'s|\s+{_BE})|\b(?:would|should|must|has to|have to) be\b"
    r"|\b(?:therefore|thus|hence|so|finally|in conclusion|but|actually|wait|choose|select|pick"
    r"|definitely|probably|(?:most|more) likely|leav(?:es|ing)(?: us with| only)?|left with)\b)"
    rf"{_FILLER}(?P<concluded>{L}(?:\s*(?:/|,?\s*\b(?:and|or)\b)\s*{M})*){_CLAUSE_END}"
    rf"|(?P<declared>{_CONJUNCTION})\s*,?\s*(?:(?:is|are|was|seems|must be|would be|looks)\s+"
    rf"(?:\w+ly\s+)?{_GOOD}|(?:fits|wins|works|holds|remains)\b"
    r"|[:–—-]?\s*correct(?=[.!]?\s*(?:\n|$)))"
    rf"|(?:{_EAST_ASIAN})(?P<translated>{_LIST})",
    re.IGNORECASE,
)
_SAID = ("answer", "headed", "named", "chosen", "concluded", "declared", "translated")
_CONCLUSION = re.compile(
    r"\b(?:therefore|thus|hence|so|in conclusion|overall|in summary|consequently)\b"
    rf"[^.!?\n\ue000-\ue099]{{0,120}}(?P<last>{T})\W*$",
    re.IGNORECASE,
)
_HEDGE = re.compile(r"\b(?:could|might|may)\b", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|suppose|assum\w+|whether|unless)\b[^.,;:!?\n]*$", re.IGNORECASE)
_ASKED = re.compile(r"[\s)\"']*\?")


def stated(drawn: str) -> set[str]:
    """The labels that the last statement names; empty where there is none.

    What is only supposed ("it could be A", "if the answer is B", "is it C?") counts where nothing
    is stated.
    """
    firm = supposed = None
    for match in _STATEMENT.finditer(drawn):
        if _is_supposed(drawn, match):
            supposed = match
        else:
            firm = match
    last = firm or supposed
    said = next(filter(None, last.group(*_SAID))) if last else ""
    if not firm and (conclusion := _CONCLUSION.search(drawn)):
        said = conclusion["last"]
    return set(map(label_of, re.findall(M, said)))


def _is_supposed(drawn: str, match: re.Match[str]) -> bool:
    return bool(
        _HEDGE.search(match[0])
        or _ASKED.match(drawn, match.end())
        or _CONDITION.search(drawn, max(0, match.start() - 60), match.start())
    )
