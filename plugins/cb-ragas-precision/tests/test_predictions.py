"""Recorded predictions: which column holds what a model predicted."""

from __future__ import annotations

from types import SimpleNamespace

import pandas
import pytest

from cb_ragas_precision import RecordedPredictions
from cbcore.exceptions import UsageError

ROWS = [{"question": "q", "gpt_prediction": {"contexts": ["c"]}, "mine": {"contexts": ["d"]}}]


def test_column_is_called_after_the_model():
    """A model is named, or a system with a name."""
    dataset = RecordedPredictions(ROWS)

    assert dataset.prediction_column("gpt") == "gpt_prediction"
    assert dataset.prediction_column(SimpleNamespace(name="gpt")) == "gpt_prediction"


def test_column_may_be_said():
    """Another name goes before the usual one."""
    assert RecordedPredictions(ROWS, {"gpt": "mine"}).prediction_column("gpt") == "mine"


def test_column_that_is_not_there():
    """The error names the column that was looked for and those there are."""
    with pytest.raises(UsageError, match="no column 'gtp_prediction'") as caught:
        RecordedPredictions(ROWS).prediction_column("gtp")

    assert "did you mean gpt_prediction?" in str(caught.value.hint)
    assert "Columns: question, gpt_prediction, mine" in str(caught.value.hint)


@pytest.mark.parametrize("given", [ROWS, iter(ROWS), tuple(ROWS), pandas.DataFrame(ROWS)])
def test_rows_are_given_back_as_they_are(given):
    """A list, any iterable and a DataFrame are the same data, as often as it is read."""
    dataset = RecordedPredictions(given)

    assert [*dataset] == [*dataset] == ROWS
    assert len(dataset) == 1
