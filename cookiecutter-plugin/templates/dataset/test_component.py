"""What the dataset promises, config by config."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import pytest
from cbcore import DataError

from {{ cookiecutter.__package }} import {{ cookiecutter.__class }}
from {{ cookiecutter.__package }}.dataset import FIELDS, _example

NAME = "{{ cookiecutter.__name }}"


@pytest.mark.parametrize(("config", "size"), [("all", 6), ("easy", 3), ("hard", 3)])
def test_every_config_has_its_examples(config: str, size: int) -> None:
    assert len(list({{ cookiecutter.__class }}(config))) == size


def test_the_configs_share_no_example() -> None:
    easy, hard = ({{ cookiecutter.__class }}(config) for config in ("easy", "hard"))
    ids = [example["id"] for example in itertools.chain(easy, hard)]
    assert len(ids) == len(set(ids))


def test_every_example_is_complete_and_its_answer_is_in_the_context() -> None:
    for example in {{ cookiecutter.__class }}():
        assert set(example) == set(FIELDS)
        assert example["answer"] in example["context"]


def test_it_can_be_read_twice() -> None:
    dataset = {{ cookiecutter.__class }}()
    assert list(dataset) == list(dataset)


def test_an_unknown_config_is_refused() -> None:
    with pytest.raises(ValueError, match="'huge' is not one of all, easy, hard"):
        {{ cookiecutter.__class }}("huge")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [("{", "line 7: Expecting"), ("3", "line 7: argument"), ('{"id": 1}', "no context, question")],
)
def test_a_broken_line_is_an_error_that_says_where(line: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        _example(line, 7)


@pytest.mark.parametrize(("spec", "size"), [(NAME, 6), (f"{NAME}:hard", 3)])
def test_a_run_uses_it(cb: Callable[..., str], spec: str, size: int) -> None:
    """From the entry point to the result: a run reads the examples of the installed plugin."""
    printed = cb(
        *("run", "--system", "py:pieces:Parrot", "--dataset", spec),
        *("--evaluator", "py:pieces:Exact", "--output", "py:pieces:Json"),
    )
    rows = json.loads(printed)["rows"]
    assert [(row["dataset"], row["error"]) for row in rows] == [(spec, None)] * size
