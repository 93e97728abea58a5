"""The flag that cb-manage adds to `cb run`."""

from __future__ import annotations

from cbcore.settings import Option

LOCKED = Option(
    type=bool,
    help="Refuse to run with other plugins than cb-plugins.lock names.",
    recorded=False,
)
