"""Plugins by the hundred: one module and one entry point each, in a folder for PYTHONPATH."""

from __future__ import annotations

from pathlib import Path

_MODULE = '''"""A system that does nothing, to be listed."""


class Fake:
    """Returns what it is given."""

    name = "{name}"

    def process(self, example):
        return dict(example)
'''
_DESCRIPTION = "A line of a README, as the metadata of a real plugin carries it.\n" * 50


def write(folder: Path, number: int) -> Path:
    """Write so many installed distributions, each offering one system."""
    folder.mkdir(parents=True)
    for index in range(number):
        name, module = f"cb-fake-{index:03}", f"cb_fake_{index:03}"
        (folder / f"{module}.py").write_text(_MODULE.format(name=name))
        metadata = folder / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nSummary: A fake plugin.\n"
            "Requires-Dist: cbcore>=0.1\n\n" + _DESCRIPTION
        )
        (metadata / "entry_points.txt").write_text(f"[cb.systems]\n{name} = {module}:Fake\n")
        (metadata / "INSTALLER").write_text("pip\n")
        (metadata / "RECORD").write_text(f"{module}.py,,\n")
    return folder
