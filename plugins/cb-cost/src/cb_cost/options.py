"""The flag that cb-cost adds to `cb run`."""

from __future__ import annotations

from cbcore.settings import Option

CACHE_MODEL = Option(
    metavar="NAME[,price_in=X,price_out=Y]",
    help="Also report what a provider would bill with its prompt cache: openai, anthropic, …",
    recorded=False,
)
