"""Few-shot examples: how many, which, and always the same ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_suites.engine.data import TaskData
from cb_suites.engine.fewshot import SAMPLERS, Sampler, check_fewshot, choose_seed, make_sampler
from cb_suites.engine.model import TaskConfig
from cbcore.exceptions import ConfigError, DataError

POOL = [{"id": i} for i in range(10)]


def config(**settings):
    return TaskConfig(name="t", alias="t", dataset="d", **settings)


def drawn(n_documents=20, **settings):
    """The examples of some documents, in order."""
    task = config(**settings)
    sampler = make_sampler(task, POOL, choose_seed(task, None))
    return [sampler.sample(task.num_fewshot, POOL[i % 10]) for i in range(n_documents)]


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 2**32), st.sampled_from(SAMPLERS))
def test_a_document_is_never_its_own_example(n, index, seed, sampler):
    """All examples are others, and each is there once."""
    ids = [one["id"] for one in Sampler(POOL, sampler, seed).sample(n, dict(POOL[index]))]
    assert len(set(ids)) == n
    assert index not in ids


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 2**32), st.sampled_from(SAMPLERS))
def test_nor_is_one_that_is_equal_to_it(n, index, seed, sampler):
    """A file read as another split holds the document too, and data may hold it twice."""
    found = Sampler([*POOL, dict(POOL[index])], sampler, seed).sample(n, dict(POOL[index]))
    assert len(found) == n
    assert POOL[index] not in found


def test_a_limit_changes_no_prompt():
    """Each pass over the documents begins anew."""
    assert drawn(20, num_fewshot=3)[:5] == drawn(5, num_fewshot=3)


def test_another_seed_draws_other_examples():
    """The task's seed comes before that of the run, and both before the default."""
    assert drawn(num_fewshot=5) == drawn(num_fewshot=5, seed=None)
    assert drawn(num_fewshot=5, seed=7) != drawn(num_fewshot=5)
    assert drawn(num_fewshot=5, fewshot_config={"seed": 7}) != drawn(num_fewshot=5)
    assert [choose_seed(config(seed=seed), 9) for seed in (None, 3)] == [9, 3]


def test_first_n_takes_the_first_of_the_split():
    """In order, and without the document itself."""
    _, second = drawn(2, num_fewshot=3, fewshot_config={"sampler": "first_n"})
    assert [one["id"] for one in second] == [0, 2, 3]


@pytest.mark.parametrize(
    ("settings", "split"),
    [
        ({"split": "test", "fewshot_split": "dev"}, "dev"),
        ({"split": "test", "fewshot_split": "test"}, "test"),
        ({"split": "test"}, "test"),
        ({"fewshot_config": {"split": "train"}, "split": "test"}, "train"),
    ],
)
def test_examples_come_from_the_split_that_is_named(settings, split):
    """Without one, from the split that is asked, less the document itself."""
    data = TaskData(config(num_fewshot=1, **settings), lambda spec: [spec.params["split"]])
    assert data.shots() == [split]
    assert data.shots_are_asked_too


@pytest.mark.parametrize(
    "samples", [[{"id": "x"}, {"id": "y"}], lambda: [{"id": "x"}, {"id": "y"}]]
)
def test_fixed_samples_stand_in_their_order(samples):
    """A list, or a function that gives one; no split is read."""
    task = config(num_fewshot=2, fewshot_config={"samples": samples})
    data = TaskData(task, lambda spec: pytest.fail("it reads data"))
    sampler = make_sampler(task, data.shots(), 1)
    unlike = {"id": "x"} if data.shots_are_asked_too else None
    assert [one["id"] for one in sampler.sample(2, unlike)] == ["x", "y"]


def test_more_examples_than_there_are_is_an_error():
    """It says both numbers."""
    with pytest.raises(DataError, match="10 few-shot examples are asked for, and there are 9"):
        drawn(num_fewshot=10)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sampler": "frist_n"}, "did you mean first_n"),
        ({"smaples": []}, "did you mean samples"),
        ({"seed": "x"}, "seed is a whole number, not 'x'"),
    ],
)
def test_a_misspelt_setting_is_an_error_with_a_suggestion(settings, said):
    """Before anything runs."""
    with pytest.raises(ConfigError) as caught:
        check_fewshot(config(num_fewshot=1, fewshot_config=settings))
    assert said in str(caught.value)


def test_samples_that_are_no_documents_are_an_error_of_the_data():
    task = config(num_fewshot=1, fewshot_config={"samples": "x"})
    with pytest.raises(DataError, match="a list of documents"):
        TaskData(task, lambda spec: ()).shots()
