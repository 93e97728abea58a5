"""The settings of a run: declared once, in `RunSettings`, and by plugins, each as an `Option`."""

from __future__ import annotations

from cbcore.settings.options import Option
from cbcore.settings.run_settings import RunSettings

__all__ = ("Option", "RunSettings")
