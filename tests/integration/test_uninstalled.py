"""Without any one plugin, `cb run demo` works or says which package is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

from cbcore.names import canonical

ROOT = Path(__file__).parents[2]
SITE = Path(sysconfig.get_path("purelib"))
PLUGINS = sorted(source.parent.name for source in ROOT.glob("plugins/cb-*/src"))
START = """
import sys, site
site.addsitedir(sys.argv.pop(1))
from cbcore.cli import main
main()
"""


@cache
def dependencies() -> dict[str, set[str]]:
    """The requirements of each plugin, by name."""
    return {
        name: {canonical(re.split(r"[^\w.-]", r)[0]) for r in metadata.requires(name) or ()}
        for name in PLUGINS
    }


def removed_with(plugin: str) -> set[str]:
    """The plugin and those that require it, directly or not."""
    removed = {plugin}
    while more := {n for n, needs in dependencies().items() if needs & removed} - removed:
        removed |= more
    return removed


def make_site(folder: Path, removed: set[str]) -> Path:
    """A folder of packages that has everything of this environment but some distributions."""
    folder.mkdir()
    for entry in SITE.iterdir():
        name = entry.name.removeprefix("_editable_impl_").removesuffix(".pth")
        if entry.suffix == ".dist-info":
            name = entry.name.partition("-")[0]
        if canonical(name) not in removed:
            (folder / entry.name).symlink_to(entry)
    return folder


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_demo_runs_without_a_plugin_or_names_it(tmp_path: Path, plugin: str) -> None:
    """With it go the packages that require it: they could not be imported."""
    removed = removed_with(plugin)
    site = make_site(tmp_path / "site", removed)
    command = [sys.executable, "-S", "-c", START, str(site), "run", "demo", "--no-cache", "-q"]
    done = subprocess.run(
        [*command, "-n", "2"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode == 0:
        assert "bm25" in done.stdout
    else:
        assert any(f"cb install {name}" in done.stderr for name in removed), done.stderr
        assert "Traceback" not in done.stderr


def test_a_removed_package_is_gone(tmp_path: Path) -> None:
    """So that the test above can fail."""
    removed = removed_with("cb-testing")
    assert removed >= {"cb-testing", "cb-manage"}
    names = [entry.name for entry in make_site(tmp_path / "site", removed).iterdir()]
    assert not [name for name in names if "cb_testing" in name or "cb_manage" in name]
    assert any("cb_baselines" in name for name in names)
