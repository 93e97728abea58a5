"""What plugins rely on: labels and tags of specs, the parameters of a component, refused sweeps."""

from __future__ import annotations

import pytest

from cbcore.assembly.builder import Builder
from cbcore.assembly.fields import Layout
from cbcore.exceptions import ParameterError, UsageError
from cbcore.plugins import Catalog
from cbcore.plugins.installed import read_distributions
from cbcore.plugins.policy import PluginPolicy
from cbcore.specs import Spec
from cbcore.store.identity import Identities

TAGGED = {"label": "cut 5", "tags": {"series": "cut"}}


class Cut:
    """Keeps so many words."""

    def __init__(self, n_words: int = 3, unit="word") -> None:
        self.n_words = n_words
        self.unit = unit
        self.name = "cut"

    def process(self, example):
        return {"context": " ".join(example["context"].split()[: self.n_words])}


def rows(n=2):
    return [{"id": i, "context": "c"} for i in range(n)]


CUT = f"{__file__}:Cut"


@pytest.fixture
def builder():
    """With every installed plugin."""
    return Builder(Catalog(read_distributions(), PluginPolicy()))


def test_a_label_names_a_system_and_tags_are_in_its_record(builder):
    part = builder.system(Spec("py", CUT, {"n_words": "5"}, **TAGGED))
    assert part.name == part.record["name"] == "cut 5"
    assert part.record["series"] == "cut"
    assert part.record["spec"] == f"py:{CUT},n_words=5"


@pytest.mark.parametrize("position", [0, 1])
def test_the_label_of_any_stage_names_the_chain(builder, position):
    """The stages keep their names, by which their times are reported."""
    stages = [Spec("py", CUT), Spec("identity")]
    stages[position] = Spec(stages[position].name, stages[position].config, **TAGGED)
    part = builder.system(stages)
    assert part.name == part.record["name"] == "cut 5"
    assert [stage["name"] for stage in part.record["stages"]] == ["cut", "identity"]
    output = part.value.process({"context": "one two three four"})
    assert list(output["metadata"]["stage_s"]) == ["cut", "identity"]


def test_a_label_changes_no_identity(builder):
    """What is stored is found under any label."""
    plain = builder.system([Spec("py", CUT), Spec("identity")])
    labeled = builder.system([Spec("py", CUT, **TAGGED), Spec("identity")])
    other = builder.system([Spec("py", CUT, {"n_words": "5"}, **TAGGED), Spec("identity")])
    keys = [Identities().key_of(part.value, part.record) for part in (plain, labeled, other)]
    assert keys[0] == keys[1] != keys[2]


def test_a_label_names_the_rows_of_a_dataset(builder):
    part = builder.dataset(Spec("py", f"{__file__}:rows", {"n": "3"}, **TAGGED), {}, Layout())
    assert part.record["name"] == "cut 5"
    assert part.record["series"] == "cut"
    assert len(list(part.value)) == 3


def test_the_parameters_of_a_component(builder):
    """Those of a plugin's component and of own code."""
    assert builder.parameters("system", Spec("truncate"))["max_tokens"].annotation is int
    assert list(builder.parameters("system", Spec("py", CUT))) == ["n_words", "unit"]
    assert list(builder.parameters("system", Spec("py", f"{CUT}:5"))) == ["n_words", "unit"]
    with pytest.raises(UsageError, match="no_such_module"):
        builder.parameters("system", Spec("py", "no_such_module:Cut"))


@pytest.mark.parametrize(
    "params", [{"n_words": "5..9/2"}, {"n_words": [5, 9]}, {"n_words": "[5,9]"}, {"unit": "1..3*3"}]
)
def test_a_parameter_takes_one_value(builder, params):
    """A plugin may replace a spec with several values before it is built."""
    with pytest.raises(ParameterError, match=r"not a (whole number|single value)"):
        builder.system(Spec("py", CUT, params))
