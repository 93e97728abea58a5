"""Label sets, and the words by which a response may name their labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs

ENTAILMENT = "entailment"
CONTRADICTION = "contradiction"
NEUTRAL = "neutral"
NOT_ENTAILMENT = "not entailment"

# "No" is an answer before a pause; before a word it negates.
NO = r"no(?=[^\S\n]*(?:[,.;:!?\"')\n–—-]|$))"
# What somebody cannot do, up to the end of the clause: "not enough information to refute it".
_REST = r"(?:(?!\b(?:but|however|yet|so|therefore|thus|hence|instead)\b)[^.,;:!?\n])*"
_TO = rf"(?:\s+(?:\w+\s+){{0,4}}?(?:to|that|which|for|about|whether)\b{_REST})?"
_CANNOT = (
    r"(?:cannot|can't|can not|could not|couldn't|(?:no|not any) way to|(?:not possible|impossible|hard"
    r"|difficult|unable) to|not able to)"
)
_FIND_OUT = (
    r"(?:determine|tell|say|verify|know|decide|conclude|judge|confirm|infer|establish|assess)d?"
)
_NOT_ENOUGH = (
    r"(?:not|\w+n't) (?:(?:contain|provide|have|give|offer|include|present) )?(?:enough|sufficient)"
)
# Words that name a relation wherever they stand, as regular expressions without groups.
_NAMES = {
    ENTAILMENT: r"entail(?:ment|s|ed|ing)?|support(?:s|ed|ing)?",
    CONTRADICTION: r"contradict(?:ion|s|ed|ing|ory)?|refut(?:e|es|ed|ing|ation)",
    NEUTRAL: (
        rf"neutral|not mentioned|nei|(?:{_NOT_ENOUGH}|insufficient|lacks?) (?:info|information"
        rf"|evidence){_TO}"
        r"|(?:not|never) (?:directly |explicitly )?(?:stated|addressed|specified|mentioned|discussed)"
        r"|inconclusive|undetermined|unclear"
        rf"|{_CANNOT} (?:be (?:determined|verified|inferred|known|confirmed|concluded|established)"
        rf"|(?:definitively |conclusively |really )?{_FIND_OUT}){_TO}"
    ),
    NOT_ENTAILMENT: r"(?:not|non|no) entail(?:ment|ed)|does not entail|doesn't entail",
}
# Words that do so in short answers, but mean little within an explanation.
_IT = r"(?: (?:the|this|that|its?|a) ?(?:hypothesis|claim|statement|conclusion|assertion)?)"
_SHORT = {
    ENTAILMENT: (
        r"yes|true|correct(?! (?:answer|label|relation|option|choice|one))|accurate|implied"
        r"|impl(?:y|ies)(?! that)|(?<!it )(?<!as )follows?(?! that)"
        r"|(?<=it )follows(?=[^\S\n]*(?:[.;!\n]|$|(?:logically|directly|necessarily|from)\b(?! that)))"
        rf"|(?:can|could) be (?:inferred|concluded|deduced)|(?:proves?|confirms?|verifies){_IT}"
        r"|proven|proved|confirmed|verified"
    ),
    CONTRADICTION: (
        rf"{NO}|false|incorrect|untrue|inaccurate|(?:not|isn't|cannot be|can't be) (?:true|correct)"
        r"|inconsistent|incompatible|conflict(?:s|ing)?|at odds|disprove[sdn]?|opposite"
        rf"|(?:denies|rules out){_IT}"
    ),
    NEUTRAL: (
        r"maybe|unknown|perhaps|uncertain|unrelated|irrelevant|unverifiable|not (?:clear|certain|known)"
        r"|not necessarily(?: (?:true|so|the case|follow))?|(?:it )?depends"
        r"|(?:might|may|could)(?: well| also| or (?:may|might) not| or could not)? be"
        r" (?:true|false|correct|either|the case|so)(?: or (?:not|true|false))?|possibly(?: true| false)?"
        r"|may or may not|either way"
        rf"|(?:do|does|did)(?: not|n't) (?:say|tell|mention|address|specify|state|discuss|indicate){_TO}"
        rf"|no(?: clear| direct)? (?:info|information|evidence)"
        rf"(?! (?:of|for) (?:an? )?(?:contradict|conflict|entail)){_TO}"
        rf"|(?:(?:not|\w+n't) mentioned|{_NOT_ENOUGH}){_TO}"
        r"|(?:evidence|information) is (?:not sufficient|insufficient|lacking)"
        rf"|(?:no|any) mention|silent (?:on|about)|(?:says|said) nothing{_TO}"
        r"|never (?:says?|mentions?|states?|specif(?:y|ies))|neither confirms nor (?:denies|excludes)"
    ),
}


def _spaced(label: str) -> str:
    label = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)  # "NotMentioned"
    return " ".join(label.replace("_", " ").replace("-", " ").casefold().split())


def _relation(label: str) -> str | None:
    """The relation that a label of any of the usual sets stands for."""
    text = _spaced(label)
    for relation in (NOT_ENTAILMENT, NEUTRAL, ENTAILMENT, CONTRADICTION):
        words = "|".join(filter(None, (_NAMES.get(relation), _SHORT.get(relation))))
        if re.fullmatch(words, text):
            return relation
    return None


def _literally(label: str) -> str:
    pattern = r"[\s_-]*".join(map(re.escape, _spaced(label).split()))
    return NO if pattern == "no" else pattern


@attrs.frozen
class LabelSet:
    """The labels an example can have, and for each the words that name it."""

    labels: tuple[str, ...]
    names: tuple[str, ...]
    short: tuple[str, ...]

    @classmethod
    def of(cls, labels: Sequence[str]) -> LabelSet:
        """The usual aliases where the labels are of a usual set, otherwise the labels alone."""
        relations = [_relation(label) for label in labels]
        usual = None not in relations and len(set(relations)) == len(relations)
        names, short = [], []
        for label, relation in zip(labels, relations, strict=True):
            known = [relation] if usual and relation else []
            if relation == NOT_ENTAILMENT and usual:
                known += [other for other in (CONTRADICTION, NEUTRAL) if other not in relations]
            names.append("|".join([_literally(label), *(_NAMES[one] for one in known)]))
            short.append("|".join(_SHORT[one] for one in known if one in _SHORT))
        return cls(tuple(labels), tuple(names), tuple(short))

    def find(self, label: str) -> str | None:
        """The label of this set that a gold label, perhaps of another spelling, stands for."""
        for known in self.labels:
            if _spaced(known) == _spaced(label):
                return known
        relation = _relation(label)
        same = [known for known in self.labels if relation and _relation(known) == relation]
        return same[0] if len(same) == 1 else None


USUAL = LabelSet.of(("entailment", "contradiction", "neutral"))
"""The label set of examples that do not give theirs."""
