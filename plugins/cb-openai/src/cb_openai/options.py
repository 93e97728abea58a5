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
PROXY = Option(
    many=True,
    metavar="URL",
    help="Endpoint or proxy under test: short for --system openai:URL. Repeatable.",
    recorded=False,
)
NAME = Option(
    many=True,
    metavar="NAME",
    help="Name of the --proxy in the same place. Default: its host and port.",
    recorded=False,
)
MODEL = Option(
    many=True,
    metavar="NAME",
    help="Model to ask each --proxy for; a single one counts for all.",
    recorded=False,
)
