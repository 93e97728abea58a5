"""Worked examples: how many, which, and always the same ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_suites.engine.fewshot import SAMPLERS, FewShot, few_shot
from cb_suites.engine.model import TaskConfig
from cbcore.exceptions import ConfigError, DataError

POOL = [{"id": i} for i in range(10)]


def sampler(seed=None, **settings):
    config = TaskConfig(name="t", alias="t", **settings)
    asked = []

    def documents(split):
        asked.append(split)
        return POOL

    return few_shot(config, documents, seed), asked


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 2**32))
def test_a_document_is_never_its_own_example(n, index, seed):
    """Drawn from its own split, all examples are others, and each is there once."""
    drawn = FewShot(n, lambda: POOL, seed=seed, own_split=True).examples(index, POOL[index])
    ids = [document["id"] for document in drawn]
    assert len(set(ids)) == n
    assert index not in ids


@given(st.integers(0, 8), st.integers(0, 9), st.integers(0, 2**32), st.sampled_from(SAMPLERS))
def test_nor_is_one_that_is_equal_to_it(n, index, seed, sampler):
    """A file read as another split holds the document too, and data may hold it twice."""
    twice = [*POOL, dict(POOL[index])]
    drawn = FewShot(n, lambda: twice, sampler, seed).examples(index, dict(POOL[index]))
    assert len(drawn) == n
    assert POOL[index] not in drawn


@given(st.integers(0, 2**32), st.lists(st.integers(0, 100), min_size=2, max_size=5))
def test_the_examples_depend_on_the_seed_and_the_place_alone(seed, order):
    """Neither a limit nor another order of work changes a prompt."""
    forward, backward = (FewShot(3, lambda: POOL, seed=seed) for _ in range(2))
    first = {index: forward.examples(index, {}) for index in order}
    assert {index: backward.examples(index, {}) for index in reversed(order)} == first


def test_another_seed_draws_other_examples():
    """The task's seed comes before that of the run, and both before the default."""

    def drawn(**settings):
        chosen, _ = sampler(num_fewshot=5, **settings)
        return [chosen.examples(i, POOL[i % 10]) for i in range(20)]

    assert drawn() == drawn(seed=None)
    assert drawn(seed=7) != drawn()
    assert drawn(fewshot_config={"seed": 7}) != drawn()
    chosen, _ = sampler(seed=9)
    assert chosen.seed == 9


def test_first_n_takes_the_first_of_the_split():
    """In order, and without the document itself."""
    chosen, _ = sampler(num_fewshot=3, fewshot_config={"sampler": "first_n"})
    assert [d["id"] for d in chosen.examples(1, POOL[1])] == [0, 2, 3]


@pytest.mark.parametrize(
    ("settings", "split", "own"),
    [
        ({"split": "test", "fewshot_split": "dev"}, "dev", False),
        ({"split": "test", "fewshot_split": "test"}, "test", True),
        ({"split": "test"}, "test", True),
        ({"fewshot_config": {"split": "train"}, "split": "test"}, "train", False),
    ],
)
def test_examples_come_from_the_split_that_is_named(settings, split, own):
    """Without one, from the split that is asked, less the document itself."""
    chosen, asked = sampler(num_fewshot=1, **settings)
    chosen.examples(0, POOL[0])
    assert (asked, chosen.own_split) == ([split], own)


@pytest.mark.parametrize(
    "samples", [[{"id": "x"}, {"id": "y"}], lambda: [{"id": "x"}, {"id": "y"}]]
)
def test_fixed_samples_stand_in_their_order(samples):
    """A list, or a function that gives one; no split is read."""
    chosen, asked = sampler(num_fewshot=2, fewshot_config={"samples": samples})
    assert [d["id"] for d in chosen.examples(0, {"id": "x"})] == ["x", "y"]
    assert not asked


def test_more_examples_than_there_are_is_an_error():
    """It says both numbers."""
    chosen, _ = sampler(num_fewshot=10)
    with pytest.raises(DataError, match="10 few-shot examples are asked for, and there are 9"):
        chosen.examples(0, POOL[0])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sampler": "frist_n"}, "did you mean first_n"),
        ({"smaples": []}, "did you mean samples"),
        ({"samples": "x"}, "a list of documents"),
        ({"seed": "x"}, "seed is a whole number, not 'x'"),
    ],
)
def test_a_misspelt_setting_is_an_error_with_a_suggestion(settings, said):
    """Before anything runs."""
    with pytest.raises(ConfigError) as caught:
        sampler(num_fewshot=1, fewshot_config=settings)
    assert said in str(caught.value)
