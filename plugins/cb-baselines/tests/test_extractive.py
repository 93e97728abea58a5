"""The reader: what it answers, on what, and when it does not."""

import json
import os
import re
import string
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cb_baselines import Bm25, Extractive, Truncate
from cb_baselines.reading.lexicon import stem
from cb_baselines.reading.questions import Expects, Kind, analyse
from cbcore.exceptions import DataError

CONTEXT = """\
Harbour Lights: Harbour Lights is a 1987 drama film directed by Ines Calder. It was shot in Tromsø.

Ines Calder: Ines Calder (born 4 May 1951) is a Norwegian director. She lives in Bergen, Norway. \
She taught at Aldersund University from 1990 to 2004.

Aldersund University: Aldersund University is a college founded in 1872. It has 12,450 students.

Pavel Orlik: Pavel Orlik (born 12 June 1963) is a Czech composer of operas.

Mira Tanaka: Mira Tanaka (born 9 March 1958) is a Japanese composer of operas.

Lake Verda: Lake Verda is a lake in Aldersund. It is 210 metres deep.

Lake Morn: Lake Morn is a lake in Kestby. It is 95 metres deep."""


def answer(question, context=CONTEXT):
    return Extractive().process({"id": 1, "context": context, "question": question})["response"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who directed Harbour Lights?", "Ines Calder"),
        ("Where was the film Harbour Lights shot?", "Tromsø"),
        ("Where does the director of Harbour Lights live?", "Bergen, Norway"),
        ("When was Mira Tanaka born?", "9 March 1958"),
        ("In what year was the university where Ines Calder taught founded?", "1872"),
        ("During what period did Ines Calder teach at Aldersund University?", "from 1990 to 2004"),
        ("How many students does Aldersund University have?", "12,450"),
        ("Which Norwegian director taught at Aldersund University?", "Ines Calder"),
        ("Who is older, Pavel Orlik or Mira Tanaka?", "Mira Tanaka"),
        ("Which composer was born later, Pavel Orlik or Mira Tanaka?", "Pavel Orlik"),
        ("Which lake is deeper, Lake Verda or Lake Morn?", "Lake Verda"),
        ("Is Lake Morn deeper than Lake Verda?", "no"),
        ("Which composer is from Japan, Pavel Orlik or Mira Tanaka?", "Mira Tanaka"),
        ("Are Pavel Orlik and Mira Tanaka both composers?", "yes"),
        ("Are Pavel Orlik and Ines Calder both composers?", "no"),
        ("Do Pavel Orlik and Mira Tanaka have the same nationality?", "no"),
    ],
)
def test_answers(question, expected):
    """Each type of question gets the kind of answer it asks for."""
    assert answer(question) == expected


@pytest.mark.parametrize(
    ("question", "kind", "expects", "focus"),
    [
        ("Who wrote it?", Kind.SPAN, Expects.PERSON, ""),
        ("The film was made in what year?", Kind.SPAN, Expects.YEAR, "year"),
        ("What is the name of the fight song of Kansas?", Kind.SPAN, Expects.NAME, "song"),
        ("Under which Vice President did he serve?", Kind.SPAN, Expects.PERSON, "president"),
        ("The town has how many inhabitants?", Kind.SPAN, Expects.NUMBER, "inhabitants"),
        ("The war ended when?", Kind.SPAN, Expects.DATE, ""),
        ("The university is located in what city?", Kind.SPAN, Expects.PLACE, "city"),
        ("Are Rome and Oslo both capitals?", Kind.YES_NO, Expects.NAME, ""),
        ("Is Rome or Oslo larger?", Kind.CHOICE, Expects.NAME, ""),
    ],
)
def test_question_analysis(question, kind, expects, focus):
    """The form of the answer, its kind and the noun asked for are read off the question."""
    found = analyse(question)
    assert (found.kind, found.expects) == (kind, expects)
    assert found.focus[-1:] == ((stem(focus),) if focus else ())


@pytest.mark.parametrize(
    "question", ["Who directed Harbour Lights?", "Where does the director of Harbour Lights live?"]
)
def test_answers_depend_on_the_context(question):
    """What the context no longer has cannot be answered."""
    without = "\n\n".join(p for p in CONTEXT.split("\n\n") if "Calder" not in p)
    assert answer(question, without) != answer(question)


@pytest.mark.parametrize(
    ("question", "context"),
    [
        ("Who directed Harbour Lights?", ""),
        ("Who painted Guernica?", "Bern: It is quiet here."),
        ("Who is older, Pavel Orlik or Mira Tanaka?", "Pavel Orlik: He was born in 1963."),
        ("Are Pavel Orlik and Mira Tanaka both composers?", "Pavel Orlik: He is a composer."),
        ("", CONTEXT),
    ],
)
def test_no_answer_is_empty(question, context):
    """Without evidence, or with only one of two subjects, the response is empty."""
    assert answer(question, context) == ""


DOCUMENTS = [
    {"title": "Harbour Lights", "sentences": ["Harbour Lights is a 1987 drama film directed by Ines Calder.", "It was shot in Tromsø."]},
    {"title": "Pavel Orlik", "sentences": ["Pavel Orlik (born 12 June 1963) is a Czech composer of operas."]},
    {"title": "Mira Tanaka", "sentences": ["Mira Tanaka (born 9 March 1958) is a Japanese composer of operas."]},
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "facts"),
    [
        (
            "Are Pavel Orlik and Mira Tanaka both composers?",
            [["Pavel Orlik", 0], ["Mira Tanaka", 0]],
        ),
        ("Who painted Guernica?", []),
    ],
)
def test_supporting_facts_of_its_own(question, facts):
    """With documents the reader names its sentences, apart from the gold ones it was handed."""
    example = {
        "id": 1,
        "context": CONTEXT,
        "question": question,
        "documents": DOCUMENTS,
        "supporting_facts": [["Gold", 7]],
    }
    assert Extractive().process(example)["predicted_supporting_facts"] == facts


def test_supporting_fact_of_a_span():
    """The sentence an answer was read in comes first among its facts."""
    example = {
        "id": 1,
        "context": CONTEXT,
        "question": "Where was the film Harbour Lights shot?",
        "documents": DOCUMENTS,
    }
    assert Extractive().process(example)["predicted_supporting_facts"][0] == ["Harbour Lights", 1]


@pytest.mark.parametrize("documents", [None, "text", [1, {"title": "T"}, {"sentences": [3, None]}]])
def test_odd_documents_name_no_facts(documents):
    """Documents of another shape give no facts."""
    example = {
        "id": 1,
        "context": CONTEXT,
        "question": "Who directed Harbour Lights?",
        "documents": documents,
        "supporting_facts": [["Gold", 7]],
    }
    assert not Extractive().process(example).get("predicted_supporting_facts")


@pytest.mark.parametrize("field", ["context", "question"])
def test_missing_field(field):
    """The reader needs both fields, and the error names the example and the one that lacks."""
    example = {"id": "e9", "context": CONTEXT, "question": "Who?"}
    del example[field]
    with pytest.raises(
        DataError, match=f"extractive: example 'e9': the field '{field}' is missing"
    ):
        Extractive().process(example)


@settings(max_examples=100, deadline=None)
@given(context=st.text(max_size=200), question=st.text(max_size=60))
def test_any_text_can_be_read(context, question):
    """Whatever the texts, the reader answers with a piece of them, yes, no or nothing."""
    found = answer(question, context)
    flat = " ".join((context + " " + question).split())
    assert found in {"", "yes", "no"} or " ".join(found.split()) in flat


def test_hash_seed_does_not_matter():
    """Answers are the same in every process, though sets are ordered differently."""
    code = "import sys, json; from cb_baselines import Extractive; print(json.dumps([Extractive().process({'id': 1, 'context': c, 'question': q}) for c, q in json.load(sys.stdin)]))"
    cases = json.dumps(
        [(CONTEXT, "Where does the director live?"), (CONTEXT, "Who was a composer?")]
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=cases, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(outputs) == 1


HOTPOTQA = Path(
    os.environ.get("CB_HOTPOTQA_ROWS", "/work/shared/data/hotpotqa_distractor_validation_60.jsonl")
)


def squad_f1(response, gold):
    def normalized(text):
        kept = "".join(c for c in text.lower() if c not in string.punctuation)
        return re.sub(r"\b(a|an|the)\b", " ", kept).split()

    given_words, wanted = normalized(response), normalized(gold)
    common = sum((Counter(given_words) & Counter(wanted)).values())
    return 2 * common / (len(given_words) + len(wanted)) if common else 0.0


@pytest.mark.skipif(
    not HOTPOTQA.exists(), reason="the HotpotQA rows are not here; set CB_HOTPOTQA_ROWS"
)
def test_useful_on_hotpotqa():
    """On real rows the reader is useful, and hurt more by a blind cut than by a selection."""
    means = []
    for compressor in (None, Bm25(200), Truncate(100)):
        scores = []
        for line in HOTPOTQA.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            paragraphs = zip(row["context"]["title"], row["context"]["sentences"], strict=True)
            context = "\n\n".join(f"{title}: {''.join(body).strip()}" for title, body in paragraphs)
            example = {"id": row["id"], "context": context, "question": row["question"]}
            shortened = compressor.process(example) if compressor else example
            scores.append(squad_f1(Extractive().process(shortened)["response"], row["answer"]))
        means.append(sum(scores) / len(scores))
    whole, selected, cut = means
    assert whole > 0.45
    assert whole > selected > cut
    assert cut < 0.15
