"""The public interface is what `tests/api.json` says, and changes only with its version.

The snapshot is flat: one line per promised name, method, field, hook, command, option and exit
code, and in `tests/json_keys.json` one per key of JSON. The line of something callable is its
signature, where `...` stands for a default. The line of a command has its options and arguments. A name is promised if the `__all__` of a public
module lists it; without `__all__`, all that the module defines are. Where a package lists its
names, a module in it is public only if it lists its own. A name that two modules list has its
line where it is defined. A line that is gone breaks somebody, and so does a signature that refuses a call it accepted; new lines, and new optional
parameters, do not. docs/explanation/compatibility.md says which release may do what.

    python -m tests.unit.test_api_snapshot --update

writes the snapshot anew, unless the version was released and not raised enough for the change.
It also writes what `cb plugins why` knows of the plugins in this repository.
"""

from __future__ import annotations

import ast
import enum
import functools
import importlib
import inspect
import json
import os
import pkgutil
import re
import sys
import tempfile
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import pytest

import cbcore
from cbcore import exceptions, hookspecs
from cbcore.cli import cli
from cbcore.cli.click_options import SHARED_OPTIONS
from cbcore.components import KINDS
from cbcore.names import singular
from cbcore.plugins.installed import HOOK_GROUP
from tests.fake_distributions import Workplace

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = ROOT / "tests" / "api.json"
JSON_KEYS = ROOT / "tests" / "json_keys.json"
KNOWN = ROOT / "plugins" / "cb-manage" / "src" / "cb_manage" / "known_plugins.json"
SHARED = {
    "--help",
    *(name for option in SHARED_OPTIONS for name in option(lambda: 0).__click_params__[0].opts),
}
FREE_FORM = {
    "params",
    "scores",
    "metadata",
    "summary",
    "timing",
    "missing",
    "default",
    "conformance",
}
"""JSON keys whose content is named by users, plugins or the kit."""
NAMED = {"estimates": 2}
"""JSON keys below which others name things, so many levels deep, and then we do."""
_JSON = "JSON of "

Interface = dict[str, str]


# -- taking the snapshot -----------------------------------------------------------------------


def interface(place: Workplace) -> Interface:
    """Everything others may rely on, one line each."""
    groups = [HOOK_GROUP, *(kind.group for kind in KINDS.values())]
    lines: Interface = {"entry-point groups": has(groups), "every command": has(SHARED)}
    for name, spec in vars(hookspecs).items():
        if name.startswith("cb_"):
            lines[f"hook {name}"] = signature_text(spec)
    found = [importlib.import_module(name) for name in modules()]
    for module in found:
        lines |= module_lines(module, homes(found))
    for name, error in vars(exceptions).items():
        if inspect.isclass(error) and "exit_code" in vars(error):
            lines[f"exit code of {name}"] = str(error.exit_code)
    lines |= {f"option {option}": "" for option in SHARED}
    context = click.Context(cli)
    for name in cli.list_commands(context):
        lines |= command_lines(f"cb {name}", cli.get_command(context, name))
    lines |= json_lines(place)
    return dict(sorted(lines.items()))


def modules() -> list[str]:
    """Public modules: no part of their name starts with an underscore.

    Of the command only its kit, of plugins only the package itself. In a package that lists its
    names, only modules that list theirs.
    """
    found = ["cbcore"]
    for info in pkgutil.walk_packages(cbcore.__path__, "cbcore."):
        parts = info.name.split(".")
        hidden = parts[1] == "cli" and parts[2:] != ["kit"]
        hidden |= parts[1] == "builtin" or (parts[1] == "plugins" and len(parts) > 2)
        if hidden or any(part.startswith("_") for part in parts):
            continue
        package = info.name.rpartition(".")[0]
        if package == "cbcore" or lists_names(info.name) or not lists_names(package):
            found.append(info.name)
    return found


def lists_names(name: str) -> bool:
    return hasattr(importlib.import_module(name), "__all__")


def public_names(module: Any) -> list[str]:
    """Those it lists, or those it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    names = [name for name in vars(module) if not name.startswith("_")]
    return [name for name in names if defined_in(module, name, getattr(module, name))]


def homes(modules: list[Any]) -> dict[str, str]:
    """Where each class and function is told: of the modules that list it, the one it is from."""
    found: dict[str, list[str]] = {}
    for module in modules:
        for name in public_names(module):
            if source := source_of(getattr(module, name)):
                found.setdefault(source, []).append(f"{module.__name__}.{name}")
    return {
        source: max(paths, key=lambda path: len(os.path.commonprefix([path, source])))  # noqa: RUF071
        for source, paths in found.items()
    }


def source_of(value: Any) -> str | None:
    """Where a class or function of ours is defined."""
    is_ours = str(getattr(value, "__module__", "")).partition(".")[0] == "cbcore"
    is_told = (inspect.isclass(value) or inspect.isroutine(value)) and not isinstance(
        value, types.GenericAlias
    )
    return f"{value.__module__}.{value.__qualname__}" if is_ours and is_told else None


def module_lines(module: Any, homes: dict[str, str]) -> Interface:
    """The public names of a module, but for those that have their line elsewhere."""
    lines: Interface = {}
    for name in public_names(module):
        value = getattr(module, name)
        path = f"{module.__name__}.{name}"
        if homes.get(source_of(value) or "", path) != path:
            lines[module.__name__] = f"{lines.get(module.__name__, 'has')} {name}"
        elif isinstance(value, types.GenericAlias):  # which 3.10 takes for a class
            lines[path] = f"alias of {value}"
        elif inspect.isclass(value):
            lines |= class_lines(path, value)
        elif inspect.isroutine(value):
            lines[path] = signature_text(value)
        else:
            simple = isinstance(value, int | str | tuple)
            lines[path] = repr(value) if simple else type(value).__name__
    return lines


def defined_in(module: Any, name: str, value: Any) -> bool:
    if inspect.ismodule(value) or getattr(value, "__module__", None) in ("typing", "__future__"):
        return False
    is_alias = isinstance(value, types.GenericAlias)
    if not is_alias and (inspect.isclass(value) or inspect.isroutine(value)):
        return value.__module__ == module.__name__
    return re.search(rf"^{name}\b.*=", inspect.getsource(module), re.MULTILINE) is not None


def class_lines(path: str, cls: type) -> Interface:
    """Its bases and constructor; a line for each method, and for each field that is not given."""
    bases = ", ".join(base.__name__ for base in cls.__bases__)
    lines = {path: f"class({bases})"}
    if issubclass(cls, enum.Enum):  # made by Python, in another way in each version
        lines[path] += f": {', '.join(repr(member.value) for member in cls)}"
        return lines
    if not getattr(cls, "_is_protocol", False):
        lines[path] += signature_text(cls)
    given = parameters_in(lines[path])
    fields = [*vars(cls).get("__annotations__", ())]
    fields += [
        n for n, m in vars(cls).items() if isinstance(m, property | functools.cached_property)
    ]
    if shown := [name for name in fields if name not in given and not name.startswith("_")]:
        lines[f"{path}.*"] = has(shown)
    for name, member in vars(cls).items():
        function = getattr(member, "__func__", member)
        if inspect.isfunction(function) and not name.startswith("_"):
            lines[f"{path}.{name}"] = signature_text(function)
    return lines


def has(words: Iterable[str]) -> str:
    """A line of words in order, of which each is promised."""
    return " ".join(["has", *sorted(set(words))])


def signature_text(function: Any) -> str:
    """Its parameters with their types and whether they have a default, and what it returns."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return "(...)"
    parameters = [
        parameter.replace(default=parameter.empty if parameter.default is parameter.empty else ...)
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    returned = signature.empty if inspect.isclass(function) else signature.return_annotation
    text = str(signature.replace(parameters=parameters, return_annotation=returned))
    return text.replace("Ellipsis", "...").replace("'", "")


Parameters = dict[str, tuple[str, bool]]
_CALLABLE = re.compile(r"(?P<bases>class\([^)]*\))?\((?P<parameters>.*)\)(?: -> (?P<returned>.*))?")


def parameters_in(text: str) -> Parameters:
    """The parameters in a line: their place with the type, and whether they have a default."""
    match = _CALLABLE.fullmatch(text)
    try:
        tree: Any = ast.parse(f"def f({match['parameters'] if match else ''}): ...")
    except SyntaxError:
        return {}
    arguments = tree.body[0].args
    places = [*arguments.posonlyargs, *arguments.args]
    first_default = len(places) - len(arguments.defaults)
    found: Parameters = {}
    for place, one in enumerate(places):
        found[one.arg] = (f"{place} {_type_of(one)}", place >= first_default)
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found[one.arg] = (f"keyword {_type_of(one)}", default is not None)
    for one in (arguments.vararg, arguments.kwarg):
        if one is not None:
            found[f"*{one.arg}"] = ("any", True)
    return found


def _type_of(argument: ast.arg) -> str:
    return "" if argument.annotation is None else ast.unparse(argument.annotation)


def accepts_all_calls(old: str, new: str) -> bool:
    """Whether the changed line of something callable still promises what the old one did."""
    matches = [_CALLABLE.fullmatch(line) for line in (old, new)]
    if not all(matches) or len({(m["bases"], m["returned"]) for m in matches if m}) > 1:
        return False
    before, after = parameters_in(old), parameters_in(new)
    added = [is_optional for name, (_, is_optional) in after.items() if name not in before]
    return all(after.get(name) == known for name, known in before.items()) and all(added)


def command_lines(path: str, command: Any) -> Interface:
    """A command with its options and arguments, those in brackets optional; its sub-commands."""
    words = [
        name if parameter.param_type_name == "option" else _argument(name, parameter.required)
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name not in SHARED
    ]
    lines = {path: has(words)}
    for name, sub in getattr(command, "commands", {}).items():
        lines |= command_lines(f"{path} {name}", sub)
    return lines


def _argument(name: str, is_required: bool) -> str:
    return f"<{name.upper()}>" if is_required else f"[{name.upper()}]"


def json_lines(place: Workplace) -> Interface:
    """The keys of everything printed or written as JSON."""
    place.install("cb-raises-on-import")
    run = place.cb(
        "run",
        "-s",
        "identity | extractive",
        "-d",
        "hotpotqa:sample",
        "-n",
        "1",
        "-o",
        "json=r.json",
    )
    assert run.returncode == 0, run.stderr
    documents = {"result": json.loads((place.folder / "r.json").read_text())}
    for command in (
        *("list-plugins -v", "list systems", "info truncate", "runs", "runs show 2"),
        *(
            "provenance r.json",
            "plugins show cb-metrics",
            "plugins why identity",
            "hooks",
            "doctor",
        ),
        "plugins check cb-metrics",
    ):
        documents[f"cb {command}"] = json.loads(place.cb(*command.split(), "--json").stdout)
    lines: Interface = {}
    for name, document in documents.items():
        lines |= {f"{_JSON}{name}: {path}": "" for path in key_paths(document)}
    return lines


def key_paths(value: Any, path: str = "") -> set[str]:
    """The paths of all keys, lists taken together, except below what others name."""
    if isinstance(value, list):
        return {found for item in value for found in key_paths(item, f"{path}[]")}
    if not isinstance(value, dict):
        return set()
    found = set()
    for key, item in value.items():
        here = f"{path}.{key}".lstrip(".")
        by_name = key in ("components", "plugins") and isinstance(item, dict)
        found.add(here)
        below = item
        for _ in range(NAMED.get(key, 0)):
            here, below = f"{here}.*", _joined(below)
        if not by_name and key not in FREE_FORM:
            found |= key_paths(below, here)
    return found


def _joined(values: Any) -> dict[str, Any]:
    """What stands under any of the names, as if under one."""
    return {key: item for value in values.values() for key, item in value.items()}


# -- where it is kept --------------------------------------------------------------------------


def read_snapshot() -> tuple[str, Interface]:
    """The version that was written down, and its interface."""
    snapshot = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    keys = json.loads(JSON_KEYS.read_text(encoding="utf-8"))
    lines = {f"{_JSON}{name}: {path}": "" for name, paths in keys.items() for path in paths}
    return snapshot["cbcore"], dict(sorted((snapshot["interface"] | lines).items()))


def write_snapshot(lines: Interface) -> None:
    """What is imported and typed in one file, what is read from JSON in another."""
    keys: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith(_JSON):
            name, _, path = line.removeprefix(_JSON).partition(": ")
            keys.setdefault(name, []).append(path)
    others = {line: text for line, text in lines.items() if not line.startswith(_JSON)}
    snapshot = {"cbcore": cbcore.__version__, "interface": others}
    for path, content in ((SNAPSHOT, snapshot), (JSON_KEYS, keys)):
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"written: {path}")


# -- what a change takes -----------------------------------------------------------------------


def needed_bump(old: Interface, new: Interface) -> str:
    """`major` when something breaks, `minor` when something is new, else nothing."""
    changed = [line for line in old if new.get(line) != old[line]]
    if any(line not in new or breaks(old[line], new[line]) for line in changed):
        return "major"
    return "minor" if changed or new.keys() - old.keys() else ""


def breaks(old: str, new: str) -> bool:
    """Whether a changed line no longer promises what the old one did."""
    if not old.startswith("has"):
        return not accepts_all_calls(old, new)
    before, after = set(old.split()), set(new.split())
    return bool(before - after) or any(word.startswith("<") for word in after - before)


def is_enough(bump: str, old: str, new: str) -> bool:
    """Whether a version was raised enough; before 1.0 a minor release may break."""
    before, after = ([int(part) for part in re.findall(r"\d+", v)[:2]] for v in (old, new))
    if bump == "major" and before[0] > 0:
        return after[0] > before[0]
    return after > before if bump else True


def is_released(version: str) -> bool:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return f"## [{version}] - unreleased" not in changelog


def difference(old: Interface, new: Interface) -> str:
    lines = [f"- {line} {old[line]}" for line in old if line not in new]
    lines += [f"+ {line} {new[line]}" for line in new if line not in old]
    lines += [f"! {k}: {old[k]} → {new[k]}" for k in old if k in new and old[k] != new[k]]
    return "\n".join(lines)


# -- the tests ---------------------------------------------------------------------------------


def test_the_public_interface_is_what_the_snapshot_says(workplace: Workplace) -> None:
    """A change is a decision: what it takes is said, and how to write it down."""
    version, before = read_snapshot()
    now = interface(workplace)

    assert now == before, (
        f"{difference(before, now)}\n\nThis takes a {needed_bump(before, now)} release after "
        f"{version}: raise cbcore.__version__ if that one is out, then run "
        "`python -m tests.unit.test_api_snapshot --update`."
    )
    assert version == cbcore.__version__


OLD = {"f": "(a: int) -> int", "C": "class(B)(a: int)", "C.*": "has x", "cb run": "has --x"}


@pytest.mark.parametrize(
    ("change", "bump"),
    [
        ({}, ""),
        ({"g": "() -> int"}, "minor"),
        ({"g": "(a: int) -> int"}, "minor"),
        ({"f": "(a: int, *, b: int = ...) -> int"}, "minor"),
        ({"f": "(a: int, *more: int) -> int"}, "minor"),
        ({"f": "(a: int, *, b: int) -> int"}, "major"),
        ({"f": "(b: int, a: int = ...) -> int"}, "major"),
        ({"f": "(a: str) -> int"}, "major"),
        ({"f": "() -> int"}, "major"),
        ({"f": "(a: int) -> str"}, "major"),
        ({"f": None}, "major"),
        ({"C": "class(B)(a: int, b: int = ...)"}, "minor"),
        ({"C": "class(B)(a: int, b: int)"}, "major"),
        ({"C": "class(D)(a: int)"}, "major"),
        ({"C.*": "has x y"}, "minor"),
        ({"C.*": "has y"}, "major"),
        ({"cb run": "has --x --y"}, "minor"),
        ({"cb run": "has --x [FILE]"}, "minor"),
        ({"cb run": "has --x <FILE>"}, "major"),
        ({"cb run": "has"}, "major"),
    ],
)
def test_what_a_change_takes(change: dict[str, str | None], bump: str) -> None:
    """What is gone, different or newly demanded breaks somebody; what is new does not."""
    new = {k: v for k, v in {**OLD, **change}.items() if v is not None}
    assert needed_bump(OLD, new) == bump


def test_a_signature_is_one_line() -> None:
    """With types, defaults as dots, and what it returns; the constructor stands for its class."""

    def function(self: Any, a: int, b: str = "x", *, c: float | None = None) -> bool:
        return True

    text = signature_text(function)
    assert text == "(a: int, b: str = ..., *, c: float | None = ...) -> bool"
    assert parameters_in(text) == {
        "a": ("0 int", False),
        "b": ("1 str", True),
        "c": ("keyword float | None", True),
    }


@pytest.mark.parametrize(
    ("bump", "old", "new", "enough"),
    [
        ("", "0.1.0", "0.1.0", True),
        ("minor", "0.1.0", "0.1.1", False),
        ("minor", "0.1.0", "0.2.0", True),
        ("major", "0.1.0", "0.1.9", False),
        ("major", "0.1.0", "0.2.0", True),
        ("major", "1.1.0", "1.2.0", False),
        ("major", "1.1.0", "2.0.0", True),
        ("minor", "1.1.0", "1.1.5", False),
        ("minor", "1.9.0", "1.10.0", True),
    ],
)
def test_how_far_a_version_has_to_go(bump: str, old: str, new: str, enough: bool) -> None:
    """As docs/explanation/compatibility.md says."""
    assert is_enough(bump, old, new) is enough


def test_key_paths_stop_where_others_name_things() -> None:
    """Parameters and scores are not our keys."""
    document = [{"a": {"b": [{"c": 1}]}, "params": {"x": 1}}, {"d": None}]
    assert key_paths(document) == {"[].a", "[].a.b", "[].a.b[].c", "[].params", "[].d"}


def test_every_promised_name_is_used_or_documented() -> None:
    """A name that no plugin imports and no page explains is not worth a promise."""
    pages = [*ROOT.glob("docs/[!r]*/**/*.md"), *ROOT.glob("examples/**/*.py"), ROOT / "README.md"]
    sources = [p for p in ROOT.glob("plugins/*/src/**/*.py") if "_template" not in p.parts]
    words = {w for p in [*pages, *sources] for w in re.findall(r"\w+", p.read_text("utf-8"))}
    promised = {
        f"{module}.{name}": name
        for module in modules()
        if module not in ("cbcore", "cbcore.assembly", "cbcore.protocols", "cbcore.exceptions")
        for name in public_names(importlib.import_module(module))
    }
    assert [path for path, name in promised.items() if name not in words] == []


def known_plugins(place: Workplace) -> dict[str, dict[str, list[str]]]:
    """What the plugins of this repository offer: package → kind → names."""
    return {
        plugin["name"]: {singular(kind): names for kind, names in plugin["components"].items()}
        for plugin in place.json("doctor")["plugins"]
        if (ROOT / "plugins" / plugin["name"]).is_dir()
    }


def test_the_known_packages_offer_what_is_said_of_them(workplace: Workplace) -> None:
    """`cb plugins why` names the package that would supply a name; `--update` writes the table."""
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    assert known == known_plugins(workplace)


def main() -> int:
    """Write the snapshot, or refuse to."""
    if sys.argv[1:] != ["--update"]:
        print(__doc__)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        place = Workplace(Path(folder))
        known, new = known_plugins(place), interface(place)
    KNOWN.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    if SNAPSHOT.exists():
        version, old = read_snapshot()
        bump = needed_bump(old, new)
        print(difference(old, new))
        if is_released(version) and not is_enough(bump, version, cbcore.__version__):
            print(f"refused: {version} is released, and this takes a {bump} release")
            return 1
    write_snapshot(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
