"""`cb install`, `cb uninstall` and `cb plugins sync`, with a real installer in a real environment."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sysconfig
import venv
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fake_distributions import PACKAGES, SYSTEM

pytestmark = pytest.mark.slow

BROKEN = "raise RuntimeError('worse days')"


def build_wheel(
    folder: Path,
    name: str,
    version: str,
    modules: Mapping[str, str],
    entries: str = "",
    requires: str = "",
) -> Path:
    """Write a wheel, as a build would."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    requirement = f"Requires-Dist: {requires}\n" if requires else ""
    files = {
        **modules,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requirement}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: a-test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": entries,
    }
    record = f"{info}/RECORD,,\n"
    for path, text in files.items():
        digest = urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record = f"{path},sha256={digest},{len(text.encode())}\n{record}"
    wheel = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return wheel


def build_plugin(folder: Path, name: str, version: str, source: str = "", **more: Any) -> Path:
    """A wheel of a plugin that offers one system, called like it."""
    module = name.replace("-", "_")
    return build_wheel(
        folder,
        name,
        version,
        {f"{module}.py": source or SYSTEM.format(name=name)},
        f"[cb.systems]\n{name} = {module}:System\n",
        **more,
    )


class Environment:
    """An environment of its own over the one of the tests, and wheels to install into it."""

    def __init__(self, root: Path) -> None:
        self.wheels, self.folder, self.cache = root / "wheels", root / "work", root / "cache"
        for folder in (self.wheels, self.folder, self.cache):
            folder.mkdir()
        venv.create(root / "env", symlinks=True)
        self.python = root / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
        self.site = next((root / "env").glob("lib/python*/site-packages"))
        self.below = sysconfig.get_path("purelib")
        (self.site / "below.pth").write_text(f"import site; site.addsitedir({self.below!r})\n")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python, offline."""
        kept = {k: os.environ[k] for k in ("PATH", "SYSTEMROOT", "LANG") if k in os.environ}
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}
        offline |= {"PIP_CONFIG_FILE": os.devnull}
        return subprocess.run(
            [str(self.python), "-m", *arguments],
            cwd=self.folder,
            env={**kept, **offline, "HOME": str(self.cache), "XDG_CACHE_HOME": str(self.cache)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )

    def cb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("cbcore", *arguments)

    def ok(self, *arguments: str) -> str:
        """Run `cb`, expect success, and return what it printed."""
        done = self.cb(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def installed(self) -> dict[str, str]:
        """The versions of what is installed, by name."""
        found = importlib.metadata.distributions(path=[str(self.site), self.below])
        return {distribution.name: distribution.version for distribution in found}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("install"))


@pytest.fixture
def environment(shared: Environment) -> Iterator[Environment]:
    """The environment, as it was before the test."""
    before = set(shared.site.iterdir())
    yield shared
    for path in set(shared.site.iterdir()) - before:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    for folder in (shared.wheels, shared.folder):
        shutil.rmtree(folder)
        folder.mkdir()


def test_a_plugin_is_installed_and_listed(environment: Environment) -> None:
    """From the folder of its project; standard output has the outcome alone."""
    printed = environment.ok("install", "--no-build-isolation", str(PACKAGES / "cb-good-static"))

    assert printed.startswith("installed cb-good-static 1.0 (")
    assert "good_length" in printed
    listed = json.loads(environment.ok("list-plugins", "--json"))
    assert {p["name"]: p["status"] for p in listed}["cb-good-static"] == "ok"
    assert environment.ok("install", "cb-good-static") == "everything was installed already\n"


@pytest.mark.full
def test_options_go_to_the_installer(environment: Environment) -> None:
    """In place, updated, without dependencies: as given."""
    project = PACKAGES / "cb-good-hooks"
    environment.ok("install", "--no-build-isolation", "--no-deps", "-e", str(project))
    (record,) = [
        record
        for record in json.loads(environment.ok("list-plugins", "-v", "--json"))
        if record["name"] == "cb-good-hooks"
    ]
    assert record["source"]["editable"] == str(project)

    build_plugin(environment.wheels, "cb-one", "1.0")
    environment.ok("install", "cb-one")
    build_plugin(environment.wheels, "cb-one", "2.0")
    assert environment.ok("install", "cb-one") == "everything was installed already\n"
    assert environment.ok("install", "-U", "cb-one").startswith("replaced cb-one 1.0 by 2.0")


@pytest.mark.full
def test_a_new_plugin_that_cannot_be_imported_is_taken_away(environment: Environment) -> None:
    """With the cause; what came with it goes too."""
    build_wheel(environment.wheels, "needed", "1.0", {"needed.py": ""})
    build_plugin(environment.wheels, "cb-torn", "1.0", BROKEN, requires="needed")

    done = environment.cb("install", "cb-torn")

    assert done.returncode == 3
    assert "cb-torn is broken" in done.stderr
    assert "worse days" in done.stderr
    assert "undone" in done.stderr
    assert not {"cb-torn", "needed"} & environment.installed().keys()


def test_an_update_that_breaks_a_plugin_is_taken_back(environment: Environment) -> None:
    """The version before is there again, and works."""
    build_plugin(environment.wheels, "cb-one", "1.0")
    build_plugin(environment.wheels, "cb-one", "2.0", BROKEN)
    environment.ok("install", "cb-one==1.0")

    done = environment.cb("install", "-U", "cb-one")

    assert done.returncode == 3
    assert environment.installed()["cb-one"] == "1.0"
    environment.ok("list-plugins", "--require-plugin", "cb-one")


@pytest.mark.full
def test_an_update_that_breaks_another_plugin_is_taken_back(environment: Environment) -> None:
    """A plugin that did not change may break all the same."""
    user = "import needed; needed.useful\n" + SYSTEM.format(name="cb-user")
    build_wheel(environment.wheels, "needed", "1.0", {"needed.py": "useful = 1"})
    build_wheel(environment.wheels, "needed", "2.0", {"needed.py": ""})
    build_plugin(environment.wheels, "cb-user", "1.0", user, requires="needed")
    environment.ok("install", "cb-user", "needed==1.0")

    done = environment.cb("install", "-U", "needed")

    assert done.returncode == 3
    assert "cb-user is broken" in done.stderr
    assert environment.installed()["needed"] == "1.0"


@pytest.mark.full
def test_a_version_that_a_plugin_does_not_allow_is_taken_back(environment: Environment) -> None:
    """Although the plugin can still be imported: what it says it requires counts."""
    for version in ("1.0", "2.0"):
        build_wheel(environment.wheels, "needed", version, {"needed.py": ""})
    build_plugin(environment.wheels, "cb-user", "1.0", requires="needed<2")
    environment.ok("install", "cb-user")

    done = environment.cb("install", "--no-deps", "needed==2.0")

    assert done.returncode == 3
    assert "cb-user: it requires needed<2; installed is 2.0" in done.stderr
    assert environment.installed()["needed"] == "1.0"


@pytest.mark.full
def test_a_package_that_breaks_cb_is_taken_away(environment: Environment) -> None:
    """`cb` did not start any more, and does again."""
    build_wheel(environment.wheels, "cb-blocks", "1.0", {"click.py": BROKEN})

    done = environment.cb("install", "cb-blocks")

    assert done.returncode == 3
    assert "cb itself no longer starts" in done.stderr
    assert "cb-blocks" not in environment.installed()
    environment.ok("--version")


@pytest.mark.full
def test_a_plugin_that_was_broken_before_does_not_stand_in_the_way(
    environment: Environment,
) -> None:
    """Others can be installed beside it, and it can be removed or mended."""
    build_plugin(environment.wheels, "cb-torn", "1.0", BROKEN)
    build_plugin(environment.wheels, "cb-torn", "1.1")
    build_plugin(environment.wheels, "cb-one", "1.0")
    environment.run("pip", "install", "cb-torn==1.0")

    assert "installed cb-one" in environment.ok("install", "cb-one")
    assert "replaced cb-torn 1.0 by 1.1" in environment.ok("install", "-U", "cb-torn")
    environment.run("pip", "install", "cb-torn==1.0")
    assert environment.ok("uninstall", "cb-torn") == "removed cb-torn 1.0\n"


@pytest.mark.parametrize("name", ["cb-not-there", "cb-one; touch pwned", "$(touch pwned)"])
def test_what_cannot_be_installed_changes_nothing(environment: Environment, name: str) -> None:
    """A name is an argument to the installer, and never part of a command line."""
    before = environment.installed()

    done = environment.cb("install", name)

    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing was changed" in done.stderr
    assert environment.installed() == before
    assert not list(environment.folder.iterdir())


@pytest.mark.full
def test_what_another_plugin_needs_is_put_back(environment: Environment) -> None:
    """Removing it broke what worked."""
    user = "import needed\n" + SYSTEM.format(name="cb-user")
    build_wheel(environment.wheels, "needed", "1.0", {"needed.py": ""})
    build_plugin(environment.wheels, "cb-user", "1.0", user, requires="needed")
    environment.ok("install", "cb-user")

    done = environment.cb("uninstall", "needed")

    assert done.returncode == 3
    assert "cb-user is broken" in done.stderr
    assert environment.installed()["needed"] == "1.0"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("cb-metricks", "did you mean cb-metrics?"), ("cbcore", "does not uninstall itself")],
)
def test_what_cannot_be_uninstalled(environment: Environment, name: str, hint: str) -> None:
    """A misspelt name, and the core: nothing is removed."""
    done = environment.cb("uninstall", name)

    assert done.returncode == 2
    assert hint in done.stderr


def test_sync_restores_what_was_locked(environment: Environment) -> None:
    """Another version, a plugin too few and one too many; the lock names no place."""
    for version in ("1.0", "2.0"):
        build_plugin(environment.wheels, "cb-one", version)
    build_plugin(environment.wheels, "cb-two", "1.0")
    build_plugin(environment.wheels, "cb-three", "1.0")
    environment.ok("install", "cb-one==1.0", "cb-two")
    environment.ok("plugins", "lock")
    lock = (environment.folder / "cb-plugins.lock").read_text()
    environment.ok("install", "cb-one==2.0", "cb-three")
    environment.ok("uninstall", "cb-two")
    arguments = ("run", "--locked", "-s", "cb-one", "-d", "hotpotqa:sample", "-n", "1")
    assert environment.cb(*arguments).returncode == 2

    kept = environment.cb("plugins", "sync")
    assert kept.returncode == 0, kept.stderr
    assert "cb-three" in kept.stderr
    printed = environment.ok("plugins", "sync", "--exact")

    assert printed == "removed cb-three 1.0\n"
    assert environment.ok("plugins", "sync", "--exact") == "the locked plugins are installed\n"
    environment.ok(*arguments)
    assert 'cb-one = "1.0"' in lock
    assert "/" not in lock
