"""The flags that cb-openai adds to `cb run`."""

from __future__ import annotations

from pathlib import Path

from cbcore.settings import Option

PRICES = Option(
    type=Path,
    metavar="FILE",
    help="Prices of models, as JSON; they go before the tables of plugins.",
    fill=True,
)
