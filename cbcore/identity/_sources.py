"""The code and the files that an object rests on, and what is in them.

Own is what was neither installed as a package nor comes with Python or `cb`. Of own modules the
imports are followed, as they are written, to whatever else is own. A file is read once: again
only when its module was loaded anew or, where it is not loaded, when the file was changed. So
the digest is that of the code that runs, also when it is edited meanwhile.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import cbcore


class UnidentifiableError(ValueError):
    """Nothing tells this object from another of its kind; the message says why."""


def digest_of(content: bytes) -> str:
    """A short digest of some content."""
    return blake2b(content, digest_size=16).hexdigest()


@functools.lru_cache(maxsize=1024)
def is_own(path: str) -> bool:
    """Whether a file is of somebody's own, rather than installed."""
    file = os.path.normcase(os.path.normpath(path))
    folders = file.split(os.sep)  # noqa: PTH206
    if "site-packages" in folders or "dist-packages" in folders:
        return False
    return _is_file(path) and not file.startswith(_not_own())


@functools.lru_cache(maxsize=1)
def _not_own() -> tuple[str, ...]:
    """What the paths of files begin with that are part of Python or `cb`."""
    import sysconfig

    cb = Path(cbcore.__file__).parent
    folders = [str(cb), str(cb.resolve())]
    for name in ("stdlib", "platstdlib"):
        folder = sysconfig.get_path(name)
        if folder:
            folders.append(folder)
    return tuple(os.path.normcase(os.path.normpath(folder)) + os.sep for folder in folders)


# Paths as text: hundreds are looked at before a run, and `Path` takes ten times as long.
def _is_file(*parts: str) -> bool:
    return os.path.isfile(os.path.join(*parts))  # noqa: PTH113, PTH118


def own_code_digest(module: str, path: str) -> str:
    """A digest of an own module and of all own modules that it imports, directly or not."""
    found: dict[str, str] = {}
    waiting = [(module, path)]
    while waiting:
        name, file = waiting.pop()
        if file in found:
            continue
        try:
            content = _content(name, file)
        except OSError as error:
            raise UnidentifiableError(f"{file} cannot be read") from error
        # The first has many names: as a script, by its path, as part of a package.
        found[file] = f"{name} {content.digest}" if found else content.digest
        waiting += content.imports
        if content.computes_imports:
            waiting += _loaded_beside(file)
    return digest_of("\n".join(sorted(found.values())).encode())


def file_digest(path: str | Path) -> str:
    """A digest of a file's content. Raises OSError where it cannot be read."""
    found = Path(path).stat()
    return _digest_as_of(str(path), found.st_mtime_ns, found.st_size, found.st_ino)


@functools.lru_cache(maxsize=1024)
def _digest_as_of(path: str, *_: int) -> str:
    digest = blake2b(digest_size=16)
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


class _Content(NamedTuple):
    """What a file held when it was read: for a loaded module, when it was first looked at.

    `imports` are the own modules that it imports, with their files.
    """

    as_of: Any
    digest: str
    imports: tuple[tuple[str, str], ...] = ()
    computes_imports: bool = False


_contents: dict[str, _Content] = {}


def _content(module: str, path: str) -> _Content:
    known = _contents.get(path)
    loaded = sys.modules.get(module)
    if loaded is not None:
        # Loading a module again gives it another spec, equal to the last but not the same.
        as_of = getattr(loaded, "__spec__", None) or loaded
        if known is not None and known.as_of is as_of:
            return known
    else:
        stat = os.stat(path)  # noqa: PTH116
        as_of = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if known is not None and known.as_of == as_of:
            return known
    content = _read(module, path, as_of)
    _contents[path] = content
    return content


def _read(module: str, path: str, as_of: Any) -> _Content:
    source = Path(path).read_bytes()
    if not path.endswith(".py"):
        return _Content(as_of, digest_of(source))
    from cbcore.identity._imports import written_imports

    package = module
    if Path(path).stem != "__init__":
        package = module.rpartition(".")[0]
    written, computes_imports = written_imports(source, package)
    own: dict[tuple[str, str], None] = {}
    for name in written:
        own |= dict.fromkeys(_own_modules(name))
    return _Content(as_of, digest_of(source), tuple(own), computes_imports)


def _own_modules(name: str) -> Iterator[tuple[str, str]]:
    """An own module and the packages it is in, those that are files; nothing of other code."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        dotted = ".".join(parts[:end])
        file = _file_of(dotted)
        if file is None:
            continue
        if not is_own(file):
            return
        yield dotted, file


def _loaded_beside(path: str) -> Iterator[tuple[str, str]]:
    """Own modules loaded so far from the folder of a module, or of its outermost package."""
    folder = os.path.dirname(path)  # noqa: PTH120
    while _is_file(folder, "__init__.py"):
        folder = os.path.dirname(folder)  # noqa: PTH120
    inside = os.path.join(folder, "")  # noqa: PTH118
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(inside) and is_own(file):
            yield name, file


def _file_of(module: str) -> str | None:
    """The file of a module, without importing it; None where there is none."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        file = getattr(loaded, "__file__", None)
        return file if isinstance(file, str) else None
    if module.partition(".")[0] in sys.stdlib_module_names:
        return None
    parent, _, name = module.rpartition(".")
    if not parent:
        spec = _spec_of(module)
        return spec.origin if spec is not None and spec.has_location else None
    for folder in _folders_of(parent):
        for parts in ((folder, name, "__init__.py"), (folder, f"{name}.py")):
            if _is_file(*parts):
                return os.path.join(*parts)  # noqa: PTH118
    return None


def _folders_of(package: str) -> Iterable[str]:
    loaded = sys.modules.get(package)
    if loaded is not None:
        return list(getattr(loaded, "__path__", ()))
    parent, _, name = package.rpartition(".")
    if parent:
        return [os.path.join(folder, name) for folder in _folders_of(parent)]  # noqa: PTH118
    spec = _spec_of(package)
    if spec is None:
        return []
    return list(spec.submodule_search_locations or ())


def _spec_of(module: str) -> Any:
    return _found(module, tuple(sys.path))


@functools.lru_cache(maxsize=4096)
def _found(module: str, path: tuple[str, ...]) -> Any:
    """Where a module would be imported from, on that path."""
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):  # a finder of somebody's own may do anything
        return None


# -- classes, makers and files -----------------------------------------------------------------


def digest_of_class(cls: type) -> list[str]:
    """Digests of the code of a class and, where they are own, of what it inherits and imports."""
    digests: dict[tuple[str, str], str] = {}
    for base in cls.__mro__:
        file = file_of_class(base)
        if file is not None and is_own(file):
            key = (base.__module__, file)
            if key not in digests:
                digests[key] = own_code_digest(*key)
    found = list(digests.values())
    file = file_of_class(cls)
    if file is None or not is_own(file):
        found.insert(0, _installed_source(cls))
    return found


@functools.lru_cache(maxsize=256)
def _installed_source(cls: type) -> str:
    """A digest of the class's module; for classes typed at a prompt, of their own source."""
    if cls.__module__ == "builtins":
        return "builtin"
    try:
        path = inspect.getsourcefile(cls)
        if path is not None and Path(path).is_file():
            return file_digest(path)
        return digest_of(inspect.getsource(cls).encode())
    except (OSError, TypeError) as error:
        raise UnidentifiableError(f"the source of {cls.__qualname__} cannot be read") from error


@functools.lru_cache(maxsize=256)
def file_of_class(cls: Any) -> str | None:
    """The file a class was written in; None where there is none."""
    if cls.__module__ == "builtins":
        return None
    try:
        return inspect.getsourcefile(cls)
    except (OSError, TypeError):
        return None


def digest_of_maker(component: str) -> str | None:
    """A digest of the own code that `py:module:Name` names; what it makes may be of any class."""
    if not component.startswith("py:"):
        return None
    module = component.removeprefix("py:").rpartition(":")[0]
    file = getattr(sys.modules.get(module), "__file__", None)
    if module.endswith(".py"):
        path = Path(module).expanduser().resolve()
        module, file = f"cb_user_{path.stem}", str(path)
    if file is None or not is_own(file):
        return None
    return own_code_digest(module, file)


def digests_of_files(wanted: Any, cls: type) -> list[str]:
    """Digests of the files an object names: paths and patterns, beside its class or from here."""
    patterns = [wanted] if isinstance(wanted, str | Path) else wanted
    are_paths = isinstance(patterns, list | tuple)
    if not are_paths or not all(isinstance(pattern, str | Path) for pattern in patterns):
        raise UnidentifiableError(f"identity_files of {cls.__qualname__} is not a list of paths")
    folders = [Path.cwd()]
    source = file_of_class(cls)
    if source:
        folders.append(Path(source).parent)
    found: list[str] = []
    for pattern in patterns:
        files: set[str] = set()
        for folder in folders:
            files.update(_matching(folder, pattern))
        if not files:
            raise UnidentifiableError(
                f"{str(pattern)!r}, which identity_files of {cls.__qualname__} names, is not there"
            )
        try:
            found += [f"{Path(file).name} {file_digest(file)}" for file in sorted(files)]
        except OSError as error:
            raise UnidentifiableError(f"{error.filename} cannot be read") from error
    return found


def _matching(folder: Path, pattern: str | Path) -> Iterator[str]:
    import glob

    rooted = str(Path(glob.escape(str(folder)), Path(pattern).expanduser()))
    for match in glob.iglob(rooted, recursive=True):  # noqa: PTH207 - of any root
        path = Path(match)
        inside = path.rglob("*") if path.is_dir() else [path]
        for file in inside:
            if file.is_file():
                yield str(file.resolve())
