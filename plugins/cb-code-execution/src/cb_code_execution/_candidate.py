"""The process of the solution: runs it, then does what the tests' process asks for.

Whatever the code here believes, says or refuses, the solution may have changed: nothing it
says is more than the solution's answer.
"""
# ruff: noqa: PTH108, PTH123, S102, SIM115

from __future__ import annotations

import builtins
import contextlib
import io
import os
import sys

from cb_code_execution import _peer, _proxies, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

_LONGEST_CHAIN = 20
_FRAMES_BELOW = 20
_MUTABLE = frozenset("dsBv")
_input = builtins.input


class Candidate(_peer.Peer):
    """The solution's side."""

    def __init__(
        self, channel: _wire.Channel, source: str, imports: list[str], output_bytes: int
    ) -> None:
        super().__init__(channel)
        self._source = source
        self._imports = imports
        self._printed = _Printed(output_bytes)
        self._module = type(sys)("__main__")
        self._patched: dict[tuple[str, str], Any] = {}

    def serve(self) -> None:
        """Until nobody asks any more."""
        sys.modules["__main__"] = sys.modules["solution"] = self._module
        sys.stdout = _text(self._printed)
        sys.stdin = _Asked(self)
        builtins.input = lambda prompt="": self.ask("input", str(prompt))
        # Frames of the judge are below those of the solution, which are to be as many as ever.
        sys.setrecursionlimit(sys.getrecursionlimit() + _FRAMES_BELOW)
        self._answer_all()

    def open_door(self, door: socket.socket) -> None:
        """Have a thread for each thread of the tests that comes, which each brings a channel."""
        import _thread
        import socket

        def wait() -> None:
            while True:
                _, (descriptor,), _, _ = socket.recv_fds(door, 1, 1, socket.MSG_CMSG_CLOEXEC)
                made = socket.socket(fileno=descriptor)
                try:
                    _thread.start_new_thread(serve, (_wire.Channel(made),))
                except RuntimeError:  # there may be no more: who came hears nothing
                    made.close()

        def serve(channel: _wire.Channel) -> None:
            self._local.link = _peer.Link(channel)
            with contextlib.suppress(_wire.ClosedError):
                self._answer_all()

        _thread.start_new_thread(wait, ())

    def _answer_all(self) -> None:
        channel = self.link().channel
        while True:
            self.answer(channel.receive())

    def pending(self) -> str:
        try:
            sys.stdout.flush()
        except Exception:  # noqa: BLE001 - the solution may have put anything there
            return ""
        return self._printed.taken()

    def may_refer(self, value: Any) -> bool:
        return isinstance(value, type) and value.__module__.partition(".")[0] in _wire.VALUE_MODULES

    def about(self, error: BaseException) -> Any:
        return lacking(error)

    def perform(self, changes: dict[str, Any], what: str, *parts: Any) -> Any:
        if what == "call":
            return self._call(changes, *parts)
        return getattr(self, f"_{what}")(*parts)

    def _load(self) -> tuple[list[str], dict[str, Any]]:
        space = self._module.__dict__
        space["__name__"] = "solution"
        exec(compile(self._source, "solution.py", "exec", dont_inherit=True), space)
        space["__name__"] = "__main__"
        for statement in self._imports:
            with contextlib.suppress(ImportError):
                exec(statement, space)
        names = [name for name in space if isinstance(name, str) and not name.startswith("__")]
        # What the tests will most likely want, so that they need not ask.
        return names, {name: space[name] for name in names if _is_own(space[name])}

    def _program(self, given: str) -> None:
        """Run the solution as a program, with this on its standard input."""
        with open("stdin", "w+b") as file:
            file.write(given.encode("utf-8", "surrogateescape"))
            file.seek(0)
            os.dup2(file.fileno(), 0)
        os.unlink("stdin")
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
        builtins.input = _input
        exec(compile(self._source, "solution.py", "exec", dont_inherit=True), self._module.__dict__)

    def _fetch(self, name: str) -> Any:
        return self._module.__dict__[name]

    def _assign(self, name: str, value: Any) -> None:
        self._module.__dict__[name] = self.decode(value)

    def _call(
        self, changes: dict[str, Any], number: int, args: list[Any], named: dict[str, Any]
    ) -> Any:
        texts = {**{str(index): text for index, text in enumerate(args)}, **named}
        # Kept as text, as a list may be its own text.
        before = {key: repr(text) for key, text in texts.items() if _is_mutable(text)}
        values = [self.decode(one) for one in args]
        names = {name: self.decode(one) for name, one in named.items()}
        given = {**{str(index): value for index, value in enumerate(values)}, **names}
        try:
            result = self.given(number)(*values, **names)
            for key in before:
                if given[key] is result:
                    changes[""] = key
            return result
        finally:
            for key, text in before.items():
                after = self.encode(given[key])
                if repr(after) != text:
                    changes[key] = after

    def _get(self, number: int, name: str) -> Any:
        return getattr(self.given(number), name)

    def _set(self, number: int, name: str, value: Any) -> None:
        setattr(self.given(number), name, self.decode(value))

    def _refill(self, number: int, name: str, value: Any) -> None:
        _proxies.update(getattr(self.given(number), name), self.decode(value))

    def _del(self, number: int, name: str) -> None:
        delattr(self.given(number), name)

    def _do(self, number: int, name: str, args: list[Any]) -> Any:
        target = self.given(number)
        if name == "__instancecheck__":
            return isinstance(self.decode(args[0]), target)
        if name == "__subclasscheck__":
            return issubclass(self.decode(args[0]), target)
        return getattr(target, name)(*[self.decode(one) for one in args])

    def _copy(self, number: int, deep: bool) -> Any:
        import copy

        return (copy.deepcopy if deep else copy.copy)(self.given(number))

    def _dir(self, number: int) -> list[str]:
        return dir(self.given(number))

    def _await(self, number: int) -> Any:
        import asyncio

        async def wait() -> Any:
            return await self.given(number)

        return asyncio.run(wait())

    def _surround(self, environment: dict[str, str], folder: str) -> None:
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)
        os.chdir(folder)

    def _seed(self, args: Any) -> None:
        import random

        random.seed(*self.decode(args))

    def _patch(self, module: str, name: str, value: Any) -> None:
        """Have something else where the tests put something else; `_unpatch` undoes it."""
        import importlib

        target = self._module if module == "__main__" else importlib.import_module(module)
        self._patched.setdefault((module, name), (target, target.__dict__.get(name, self)))
        setattr(target, name, self.decode(value))

    def _unpatch(self, module: str, name: str) -> None:
        target, before = self._patched.pop((module, name))
        if before is self:
            delattr(target, name)
        else:
            setattr(target, name, before)


def _is_mutable(text: Any) -> bool:
    return type(text) is list or (type(text) is dict and not _MUTABLE.isdisjoint(text))


def _is_own(value: Any) -> bool:
    """Whether this is a function or a class that the solution defines."""
    return type(value) in (type(_is_own), type) and value.__module__ == "solution"


class _Printed(io.BytesIO):
    """What the solution prints, until the tests are told; what is too much goes to the watcher."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def write(self, data: Any) -> int:
        written = super().write(data)
        if self.tell() > self._most:
            os.write(1, self.getvalue())
            self._empty()
        return written

    def fileno(self) -> int:
        return 1

    def taken(self) -> str:
        text = self.getvalue().decode("utf-8", "replace")
        if text:
            self._empty()
        return text

    def _empty(self) -> None:
        self.seek(0)
        self.truncate()


def _text(kept: _Printed) -> io.TextIOWrapper:
    return io.TextIOWrapper(kept, encoding="utf-8", errors="replace", write_through=True)


class _Asked(io.TextIOBase):
    """Standard input is that of the tests."""

    def __init__(self, peer: Candidate) -> None:
        self._peer = peer

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        return str(self._peer.ask("stdin", "read", -1 if size is None else size))

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        return str(self._peer.ask("stdin", "readline", -1 if size is None else size))

    def fileno(self) -> int:
        return 0

    @property
    def buffer(self) -> io.BytesIO:
        return io.BytesIO(self.read().encode())


def lacking(error: BaseException | None) -> str:
    """The package that was missing when this was raised; empty when none was."""
    for _ in range(_LONGEST_CHAIN):
        package = missing_package(error)
        if package or error is None:
            return package
        error = error.__context__ if error.__cause__ is None else error.__cause__
    return ""


def missing_package(error: BaseException | None) -> str:
    """The package that this exception is about, if it says that one is missing and it is."""
    from importlib.util import find_spec

    if not isinstance(error, ModuleNotFoundError) or not isinstance(error.name, str):
        return ""
    package = error.name.partition(".")[0]
    return "" if package in sys.modules or not package or find_spec(package) else package
