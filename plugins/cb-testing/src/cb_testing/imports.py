"""Importing modules under watch, in another process: what each loads, prints, reaches for, costs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

import attrs

from cb_testing.children import answer, ask_child
from cbcore.boundary import describe_exception

HEAVY_PACKAGES = frozenset(
    {"aiohttp", "anthropic", "botocore", "datasets", "httpx", "huggingface_hub", "jax"}
    | {"matplotlib", "nltk", "numpy", "openai", "pandas", "polars", "pyarrow", "requests"}
    | {"rich", "scipy", "sklearn", "spacy", "structlog", "sympy", "tensorflow", "tiktoken"}
    | {"torch", "transformers"}
)
"""Packages that take long to import; a plugin imports them inside the functions that use them."""

_TIME_LIMIT_S = 120
_MOST_PRINTED = 1000
_CONTRACT = ("cbcore.hookspecs", "cbcore.protocols", "cbcore.hf", "cbcore.tokens", "cbcore.specs")
_NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


@attrs.frozen
class Import:
    """What importing one module did. `problem` is set when it failed, or `ended` the process."""

    name: str
    loaded: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    seconds: float = 0.0
    printed: str = ""
    network: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    problem: str = ""
    ended: bool = False

    @property
    def heavy(self) -> list[str]:
        """The heavy packages it loaded."""
        return sorted({module.partition(".")[0] for module in self.loaded} & HEAVY_PACKAGES)


def import_each(
    modules: Iterable[str], path: Sequence[str] = (), *, before: Sequence[str] = ()
) -> list[Import]:
    """Import modules, in order, in a new process; `path` is searched before this one's.

    Those of `before` and of the contract are there already, and no module is charged for them.
    One that ends the process is charged; those after it are tried in another.
    """
    done: list[Import] = []
    waiting = list(modules)
    while waiting:
        question = {"modules": waiting, "before": [*_CONTRACT, *before]}
        lines, ending = ask_child(__name__, question, timeout_s=_TIME_LIMIT_S, path=path)
        done += [Import(**line) for line in lines]
        waiting = waiting[len(lines) :]
        if waiting:
            problem = f"it ended the interpreter ({ending})"
            done.append(Import(waiting.pop(0), problem=problem, ended=True))
    return done


# -- in the child -------------------------------------------------------------------------------


def main() -> None:
    """Read names on standard input; write a line after each import."""
    answer(_watched_imports)


def _watched_imports(asked: Mapping[str, Any], printed: IO[bytes]) -> Iterator[dict[str, Any]]:
    import importlib

    for name in asked["before"]:
        importlib.import_module(name)
    attempts: list[str] = []
    sys.addaudithook(lambda event, arguments: _note(attempts, event, arguments))
    for name in asked["modules"]:
        attempts.clear()
        yield attrs.asdict(_watched(name, attempts, printed))


def _watched(name: str, attempts: list[str], printed: IO[bytes]) -> Import:
    import importlib

    before, start, problem = set(sys.modules), printed.tell(), ""
    began = time.perf_counter()
    try:
        importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001 - a module may raise whatever it likes
        problem = describe_exception(error)
    seconds = time.perf_counter() - began
    sys.stdout.flush()
    printed.seek(start)
    text = printed.read(_MOST_PRINTED).decode("utf-8", "replace")
    printed.seek(0, 2)
    loaded = sorted(set(sys.modules) - before)
    return Import(name, loaded, seconds, text, dict.fromkeys(attempts), problem)


def _note(attempts: list[str], event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _NETWORK:
        return
    address = arguments[0] if event == "socket.gethostbyname" else arguments[1]
    if event == "socket.getaddrinfo":
        address = arguments[:2]
    parts = address if isinstance(address, tuple) else (address,)
    attempts.append(":".join(str(part) for part in parts[:2] if part is not None))
