"""What a passing answer took."""

import cb_metrics


class CostOfPass(cb_metrics.CostOfPass):
    """Output tokens spent, over all rows, for each row that passes; infinite when none does."""

    def __init__(self, threshold: float = 0.7, score_field: str = "score") -> None:
        super().__init__(score_field=score_field, threshold=threshold)
