"""Run files that come with this package."""

from __future__ import annotations

from pathlib import Path

from cbcore.settings.run_file import RunFile

__all__ = ("DEMO",)

DEMO = RunFile(
    Path(__file__).with_name("demo.yaml"),
    help="Seven ways to shrink a context, on a bundled sample, offline.",
)
