"""Data with predictions of several models, each in a column of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cbcore.exceptions import UsageError
from cbcore.names import hint


class RecordedPredictions:
    """Rows with a column of predictions for each model.

        dataset = RecordedPredictions(rows, {"gpt": "gpt_answers"})
        pred_col = dataset.prediction_column("gpt")
        evaluator = ContextPrecision(judge, contexts_column=f"{pred_col}.contexts")

    `rows` are mappings or a data frame. `columns` names the column of each model. The default is
    `<model>_prediction`. Iteration gives the rows unchanged.
    """

    def __init__(
        self, rows: Any, columns: Mapping[str, str] | None = None, *, name: str = ""
    ) -> None:
        self._rows: list[Mapping[str, Any]] = list(_read_rows(rows))
        self._columns = dict(columns or {})
        self.name = name

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def prediction_column(self, model: Any) -> str:
        """The column with the predictions of a model, which is a name or a system."""
        name = model if isinstance(model, str) else str(getattr(model, "name", model))
        column = self._columns.get(name, f"{name}_prediction")
        if self._rows and column not in self._rows[0]:
            present = [str(key) for key in self._rows[0]]
            raise UsageError(
                f"The data has no column {column!r} with the predictions of {name!r}.",
                hint=f"{hint(column, present)} Columns: {', '.join(present)}. "
                f"Name one with columns={{{name!r}: …}}.".lstrip(),
            )
        return column


def _read_rows(rows: Any) -> Iterable[Mapping[str, Any]]:
    """The rows, or the records of a data frame with None for NaN and lists for arrays."""
    if not hasattr(rows, "to_dict"):
        found: Iterable[Mapping[str, Any]] = rows
        return found
    frame = rows.astype(object).where(rows.notna(), None)
    return [
        {key: value.tolist() if hasattr(value, "tolist") else value for key, value in row.items()}
        for row in frame.to_dict("records")
    ]
