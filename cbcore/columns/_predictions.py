"""Data that already holds what models predicted, and the column each one's predictions are in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cbcore.columns._tables import as_dataset
from cbcore.exceptions import UsageError
from cbcore.names import asking, near_matches

PREDICTION_SUFFIX = "_prediction"
"""What follows a model's name in the name of its column, unless another is given."""


class RecordedPredictions:
    """Rows with a column of predictions for each model.

        dataset = RecordedPredictions(rows, {"gpt": "gpt_answers"})
        pred_col = dataset.prediction_column("gpt")
        evaluator = ContextPrecision(judge, contexts_column=f"{pred_col}.contexts")

    `columns` says which column is whose; that of a model it leaves out is called after it,
    `<model>_prediction`. Iterated, it is the rows as they are.
    """

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]],
        columns: Mapping[str, str] | None = None,
        *,
        name: str = "",
    ) -> None:
        self._rows = list(as_dataset(rows))
        self._columns = dict(columns or {})
        self.name = name

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def prediction_column(self, model: Any) -> str:
        """The column with the predictions of a model, given by name or as a system."""
        name = model if isinstance(model, str) else str(getattr(model, "name", model))
        column = self._columns.get(name, name + PREDICTION_SUFFIX)
        if self._rows and column not in self._rows[0]:
            present = [str(key) for key in self._rows[0]]
            raise UsageError(
                f"the data has no column {column!r} with the predictions of {name!r}",
                hint=asking(
                    near_matches(column, present, limit=1),
                    then=f"columns: {', '.join(present)}; name one with columns={{{name!r}: …}}",
                ),
            )
        return column
