"""One score, dataset by dataset."""

import cb_metrics


class PerDatasetBreakdown(cb_metrics.PerDatasetBreakdown):
    """The mean of a score for every dataset, under `dataset:<name>`."""

    name = "per_dataset"
