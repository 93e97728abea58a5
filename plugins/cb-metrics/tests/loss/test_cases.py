"""Pairs of an original and a sent context with a known truth: never wrong, else unknown."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from cb_metrics.loss import ContextRetention

VIADUCT = "The Torrin Viaduct was finished in 1924 by Lady Esme after seven years of labor."
ESME = "Lady Esme was born in Lisbon in 1871 and moved to Porto later."
NOISE = "Farming in the hills declined in the 1980s. Some inns were closed near the lake."
CONTEXT = f"{NOISE} {VIADUCT} The viaduct crosses the Elda gorge. {ESME} {NOISE}"
HOPS = {
    "question": "Where was the person born who finished the Torrin Viaduct?",
    "answer": "Lisbon",
    "context": CONTEXT,
    "supporting_facts": [["Viaduct", 0], ["Esme", 0]],
    "documents": [
        {"title": "Viaduct", "sentences": [VIADUCT, "The viaduct crosses the Elda gorge."]},
        {"title": "Esme", "sentences": [ESME]},
    ],
}
YEAR = {"question": "When was the Torrin Viaduct finished?", "answer": "1924", "context": CONTEXT}
YEAR_IN = {**YEAR, "evidence": [VIADUCT]}
WHO = {
    "question": "Who finished the Torrin Viaduct?",
    "answer": "Lady Esme",
    "context": CONTEXT,
}
CAFE = {
    "question": "Where did they meet?",
    "answer": "crêperie Chloé",
    "context": f"They met at the crêperie Chloé in June. {NOISE}",
    "evidence": ["They met at the crêperie Chloé in June."],
}
PRICE = {
    "question": "What did it cost?",
    "answer": "14,250",
    "context": f"It cost 14,250 florins. {NOISE}",
    "evidence": ["It cost 14,250 florins."],
}
CHINESE = {
    "question": "他出生在哪里？",
    "answer": "南京",
    "context": "他出生在南京。他后来去了广州。",
    "evidence": ["他出生在南京。"],
}
KEPT = [
    (HOPS, CONTEXT),
    (HOPS, f"{ESME} {NOISE} {VIADUCT}"),
    (HOPS, f"{VIADUCT}\n{ESME}"),
    (HOPS, CONTEXT.lower()),
    (HOPS, CONTEXT.upper()),
    (HOPS, "".join(c for c in CONTEXT if c.isalnum() or c == " ")),
    (HOPS, "Torrin Viaduct finished 1924 Lady Esme seven years. Lady Esme born Lisbon 1871 moved"),
    (HOPS, f"{VIADUCT} Lady Esme was born in Lisbon in 1871"),
    (HOPS, f"{VIADUCT} Lady Esme was born in Lisbon"),
    (HOPS, f"The Torrin Viaduct was finished in 1924 by Lady Esme. {ESME}"),
    (HOPS, "Esme, the lady, completed Torrin Viaduct (1924). She came from Lisbon."),
    (HOPS, "In 1924 Lisbon-born Lady Esme finished the viaduct called Torrin."),
    (HOPS, "- Torrin Viaduct: finished 1924, Lady Esme\n- Lady Esme: born Lisbon 1871"),
    (HOPS, '{"viaduct":{"name":"Torrin","by":"Lady Esme"},"esme":{"born":"Lisbon"}}'),
    (HOPS, "Das Torrin-Viadukt vollendete Lady Esme 1924. Lady Esme wurde in Lissabon geboren."),
    (HOPS, f"1: {VIADUCT}\n2: {ESME}"),
    (YEAR, VIADUCT),
    ({**YEAR, "answer": "seven years"}, "It took 7 years to build."),
    (YEAR_IN, VIADUCT),
    (YEAR_IN, f"The Torrin Viaduct was finished in 1924. {NOISE} Lady Esme did it."),
    (CAFE, unicodedata.normalize("NFD", CAFE["context"])),
    (CAFE, "They met at the creperie Chloe in June."),
    (
        YEAR_IN,
        "the tor ##rin via ##duct was finished in 1924 by lady esme after seven years of labor .",
    ),
    (YEAR_IN, VIADUCT.replace(".", " .")),
    (YEAR_IN, VIADUCT.replace("Viaduct", "Via-\nduct")),
    (PRICE, "It cost 14250 florins."),
    (CHINESE, "他出生在南京。"),
    (CHINESE, "他后来去了广州，他出生在南京。"),
]
LOST = [
    (HOPS, f"{NOISE} {VIADUCT}"),
    (HOPS, NOISE),
    (HOPS, f"{VIADUCT} Lady Esme was born in"),
    (HOPS, f"{VIADUCT} {ESME.replace('Lisbon ', '')}"),
    (HOPS, f"{VIADUCT} {ESME.replace('Lisbon', '[...]')}"),
    (HOPS, "In 1924 Lady Esme finished the viaduct called Torrin, in hills with inns."),
    (HOPS, f"{VIADUCT} Lady Esme was born in Porto in 1871 and moved to Lisbon later."),
    (YEAR_IN, VIADUCT.replace("1924", "1942")),
    (YEAR_IN, VIADUCT.replace("1924 ", "")),
    (YEAR_IN, VIADUCT.replace("was finished", "was not finished")),
    ({**WHO, "evidence": [VIADUCT]}, VIADUCT.replace("Lady Esme", "Lord Alan")),
    (YEAR, "In 1924 the inn won a prize."),
    (WHO, "Lady Esme liked the inns."),
    ({**YEAR, "context": CONTEXT.replace("1924", "May 1924")}, "It opened in '24."),
    (YEAR, NOISE),
    (CHINESE, "他后来去了广州。"),
]
BY_HAND = [*(("kept", *case) for case in KEPT), *(("lost", *case) for case in LOST)]
PIT = "The Ulm pit, a deep and old pit with 900 miners, lies in the north of Baria."
PAIRS = json.loads(Path(__file__).with_name("pairs.json").read_text("utf-8"))
SOURCES = {
    "answer": lambda pieces: {},
    "evidence": lambda pieces: {"evidence": pieces},
    "reference_contexts": lambda pieces: {"reference_contexts": [{"text": p} for p in pieces]},
    "supporting_facts": lambda pieces: {
        "documents": [{"title": "a", "sentences": pieces}],
        "supporting_facts": [["a", number] for number in range(len(pieces))],
    },
}


def state(example, sent):
    details = ContextRetention().score(example, {"context": sent}).details
    return details.get("state", "unknown")


def test_cases_by_hand_are_right_or_unknown():
    """Paraphrases and rewrites are unknown; most of the rest is right."""
    assert len(BY_HAND) == 44
    found = [(truth, state(example, sent), sent) for truth, example, sent in BY_HAND]
    assert [one for one in found if one[1] not in (one[0], "unknown")] == []
    assert sum(truth == got for truth, got, _ in found) >= 24


@pytest.mark.parametrize("source", SOURCES)
def test_pairs_of_another_author_are_right_or_unknown(source):
    """Whatever names the evidence. Pairs that people would argue about are unknown."""
    assert len(PAIRS) == 30
    wrong = []
    for pair in PAIRS:
        example = {name: pair[name] for name in ("question", "answer", "context")}
        found = state({**example, **SOURCES[source](pair["evidence"])}, pair["sent"])
        if found not in (pair["truth"], "unknown"):
            wrong.append((pair["name"], pair["truth"], found))
    assert wrong == []


@pytest.mark.parametrize(
    ("context", "question", "answer", "evidence", "sent"),
    [
        (
            "The sail cost 1,300 marks. Thirteen hundred marks were paid for the sail.",
            *("What did the sail cost?", "1,300", ["The sail cost 1,300 marks."]),
            "Thirteen hundred marks were paid for the sail.",
        ),
        (
            f"{PIT} Ulm is in Baria. Baria uses the tolar.",
            *("What is paid with where the Ulm pit is?", "tolar"),
            [PIT],
            "Ulm is in Baria. Baria uses the tolar.",
        ),
        (
            "Ada: I breed cats.\nBen: I breed dogs.\nAda: It snows.",
            *("What does Ada breed?", "cats", ["I breed cats."]),
            "I breed cats.\nAda: It snows.",
        ),
        (
            "The pump is not safe above 5 bar. Wear gloves.",
            *("Is the pump safe above 5 bar?", "no", ["The pump is not safe above 5 bar."]),
            "The pump is safe above 5 bar. Wear gloves.",
        ),
        (
            "The Ulm pit is deep. It lies in Baria. Baria uses the tolar.",
            *("What is paid with where the Ulm pit is?", "tolar", None),
            "The Ulm pit is deep. Baria uses the tolar.",
        ),
    ],
)
def test_what_may_be_stated_elsewhere_or_otherwise_is_unknown(
    context, question, answer, evidence, sent
):
    example = {"context": context, "question": question, "answer": answer}
    if evidence:
        example["evidence"] = evidence
    assert state(example, sent) == "unknown"
