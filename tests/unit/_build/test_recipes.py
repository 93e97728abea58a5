"""What workers are told of components, and asked about themselves."""

from __future__ import annotations

import pickle
from importlib.metadata import version

from cb_answerquality import AnswerQuality
from cb_testing import FakeSystem
from cbcore._build.recipes import recipe_for
from cbcore._run.parts import Part
from cbcore._run.scorers import Scorer
from cbcore.settings import RunSettings


def test_objects_of_a_plugin_ask_for_its_version_although_no_record_tells_of_them():
    """Such as the scorers that a plugin makes for its benchmarks."""
    scorer = Scorer.of(Part(AnswerQuality()))
    recipe = recipe_for(Part(FakeSystem()), [scorer], RunSettings())
    versions = pickle.loads(recipe.payload).versions
    assert versions["cb-answerquality"] == version("cb-answerquality")
