"""The process of the tests: runs them, with the solution in another process, and judges.

The tests see the names of the solution as if both were one module. Behind them are handles:
a call goes to the solution's process, plain values go there and come back.
"""

from __future__ import annotations

import _thread
import builtins
import contextlib
import sys
import types

from cb_code_execution import _peer, _proxies, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any

# By them a test asks what it expects. An object that a solution made up must not answer that.
_ASKING = _wire.words(
    "startswith endswith count index find rindex rfind isdisjoint issubset issuperset equals"
)
# The same by another name: what an operator may not tell, its method may not.
_HIDDEN = _proxies.COMPARISONS | _proxies.ARITHMETIC | {"__contains__"}
_RUNNERS = ("unittest", "pytest", "_pytest")
_GENERATOR = ("send", "throw", "close")
_CHANGING_MOCKS = ("attach_mock", "configure_mock", "mock_add_spec", "reset_mock")


class Examiner(_peer.Peer):
    """The tests' side. What the solution can ask of it is little."""

    door: socket.socket | None = None
    """Where a thread can send its end of a channel of its own; without, threads take turns."""

    before_call: Callable[[], None] | None = None
    """What is done before the solution is called, where there is anything to be done."""

    loaded = False
    """Whether the solution came to its end, so that its tests could begin."""

    broken: BaseException | None = None
    """Why the solution's process cannot be asked any more: tests may have caught it."""

    def __init__(self, channel: _wire.Channel) -> None:
        super().__init__(channel)
        self._main = _thread.get_ident()

    def link(self) -> _peer.Link:
        # A call that waits for another thread's must not keep that one from being made.
        if self.door and _thread.get_ident() != self._main and not hasattr(self._local, "link"):
            import socket

            here, there = socket.socketpair()
            socket.send_fds(self.door, [b"."], [there.fileno()])
            there.close()
            self._local.link = _peer.Link(_wire.Channel(here))
        return super().link()

    def ask_all(self, *message: Any) -> tuple[Any, Any]:
        try:
            return super().ask_all(*message)
        except (_wire.ClosedError, _wire.WireError) as error:
            self.broken = self.broken or error
            raise

    # what tests do with the solution's objects

    def call(self, proxy: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if self.before_call:
            self.before_call()
        texts = [self.encode(one) for one in args]
        names = {name: self.encode(one) for name, one in named.items()}
        originals = {**{str(index): one for index, one in enumerate(args)}, **named}
        try:
            value, changes = self.ask_all("call", proxy._cb_id, texts, names)
        except BaseException as error:
            self._change(originals, error.__dict__.pop("_cb_changes", {}))
            raise
        self._change(originals, changes)
        if changes.get("") in originals:
            return originals[changes[""]]
        if isinstance(value, _proxies.Proxy) and proxy._cb_named:
            object.__setattr__(value, "_cb_made", True)
        return value

    def _change(self, originals: dict[str, Any], changes: Any) -> None:
        """Do to the arguments what the call did to its copies of them."""
        if not isinstance(changes, dict):
            raise _wire.WireError("no changes")
        for key, text in changes.items():
            if key and key in originals:
                _proxies.update(originals[key], self.decode(text))

    def get(self, proxy: Any, name: str) -> Any:
        made = isinstance(proxy, _proxies.Proxy) and proxy._cb_made
        if name in _HIDDEN or (name in _ASKING and not made):
            kind = type(proxy).__name__
            raise AttributeError(f"{kind!r} object of the solution has no attribute {name!r} here")
        return super().get(proxy, name)

    def dunder(self, proxy: Any, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """An operator: between objects of the solution, it decides; with plain values, it may not.

        Else an object that is equal to everything would be every answer.
        """
        with_plain = not all(isinstance(one, _proxies.Proxy) for one in args)
        if with_plain and name in _proxies.COMPARISONS:
            return NotImplemented
        if with_plain and name == "__contains__" and not proxy._cb_made:
            return any(one is args[0] or one == args[0] for one in iter(proxy))
        if proxy._cb_mixed and name in _proxies.NUMBERS:
            raise TypeError(f"a {type(proxy).__name__} of the solution is no number")
        value = super().dunder(proxy, name, args, named)
        if with_plain and name in _proxies.ARITHMETIC and value is not NotImplemented:
            if not isinstance(value, _proxies.Proxy):
                raise TypeError(f"a {type(proxy).__name__} of the solution is no plain value")
            object.__setattr__(value, "_cb_mixed", True)
        return value

    def no_base(self, bases: Any) -> Any:
        raise UnmeasuredError("the tests derive from a class of the solution")

    def printed(self, text: Any) -> None:
        if text and isinstance(text, str):
            sys.stdout.write(text)

    # what the solution can name here

    def referred(self, module: str, name: str) -> Any:
        # What is not there yet may do anything when it is imported; of these it is known.
        if module not in _wire.VALUE_MODULES and module not in sys.modules:
            raise _wire.WireError(f"{module} is not known to have types of values")
        found = super().referred(module, name)
        if not isinstance(found, type) or module.partition(".")[0] not in _wire.VALUE_MODULES:
            raise _wire.WireError(f"{module}.{name} is not known to be a type of values")
        if issubclass(found, BaseException) and not _is_usual(found):
            return type(name, (Exception,), {"__module__": "solution"})
        return found

    def known_class(self, module: str, name: str) -> Any:
        found = super().known_class(module, name)
        return found if found and _is_usual(found) else None

    def module(self, name: Any) -> Any:
        parts = str(name).split(".")
        if not any(part.startswith("_") or part in _RUNNERS for part in parts):
            with contextlib.suppress(BaseException):  # whatever a module does when it is imported
                return super().module(name)
        return types.ModuleType(str(name))  # one that nothing is in

    # what the solution can ask for

    def perform(self, changes: dict[str, Any], what: str, *parts: Any) -> Any:
        if what not in (
            "call",
            "copy",
            "del",
            "dir",
            "do",
            "get",
            "input",
            "refill",
            "set",
            "stdin",
        ):
            raise TypeError(f"an object of the tests cannot do that: {what}")
        return getattr(self, f"_{what}")(*parts)

    def _call(self, number: int, args: list[Any], named: dict[str, Any]) -> Any:
        values = [self.decode(one) for one in args]
        return self.given(number)(*values, **{k: self.decode(v) for k, v in named.items()})

    def _get(self, number: int, name: str) -> Any:
        target = self.given(number)
        if name in ("__name__", "__doc__") or self._shows(target, name):
            return getattr(target, name)
        raise AttributeError(f"{type(target).__name__!r} object has no attribute {name!r}")

    def _set(self, number: int, name: str, value: Any) -> None:
        target = self.given(number)
        kind = type(target)
        # An instance may be filled; what its class can do stays as the tests have it.
        is_mock = _is_mock(target)
        taken = hasattr(kind, name) if is_mock else callable(getattr(kind, name, None))
        if not (is_mock or self._is_own(kind)) or name.startswith(("_", "assert")) or taken:
            raise AttributeError(f"{kind.__name__!r} object attribute {name!r} cannot be set here")
        decoded = self.decode(value)
        replaced = getattr(target, "__dict__", {}).get(name)
        if (is_mock or _is_mock(replaced)) and not self._is_plain(decoded):
            raise AttributeError(f"{kind.__name__!r} object attribute {name!r} takes plain values")
        setattr(target, name, decoded)

    def _is_plain(self, value: Any) -> bool:
        """Whether a value cannot answer in the place of a mock, or is an object of the tests."""
        if type(value) in (list, tuple, set, frozenset):
            return all(map(self._is_plain, value))
        if type(value) is dict:
            return all(map(self._is_plain, (*value, *value.values())))
        if isinstance(value, _proxies.Proxy):
            return False
        kind = type(value)
        known = kind.__module__.partition(".")[0] in _wire.VALUE_MODULES
        return _is_mock(value) or self._is_own(kind) or (known and not hasattr(value, "__dict__"))

    def _refill(self, number: int, name: str, value: Any) -> None:
        target = self.given(number)
        if self._shows(target, name):
            _proxies.update(getattr(target, name), self.decode(value))

    def _copy(self, number: int, deep: bool) -> Any:
        import copy

        target = self.given(number)
        if not self._is_own(type(target)):
            raise TypeError(f"a {type(target).__name__} of the tests cannot be copied")
        return (copy.deepcopy if deep else copy.copy)(target)

    def _del(self, number: int, name: str) -> None:
        target = self.given(number)
        if not self._is_own(type(target)) or name.startswith("_"):
            raise AttributeError(f"attribute {name!r} cannot be deleted here")
        delattr(target, name)

    def _do(self, number: int, name: str, args: list[Any]) -> Any:
        target = self.given(number)
        if name == "__instancecheck__":
            return isinstance(self.decode(args[0]), target)
        if name not in _proxies.OPERATORS and name not in _proxies.ALWAYS:
            raise TypeError(f"an object of the tests cannot do that: {name}")
        return getattr(target, name)(*[self.decode(one) for one in args])

    def _dir(self, number: int) -> list[str]:
        target = self.given(number)
        return [name for name in dir(target) if self._shows(target, name)]

    def _input(self, prompt: str) -> Any:
        return builtins.input(str(prompt))

    def _stdin(self, method: str, size: int) -> Any:
        read = sys.stdin.readline if method == "readline" else sys.stdin.read
        return read(int(size))

    def _is_own(self, kind: type) -> bool:
        return kind.__module__ == "__main__"

    def _shows(self, target: Any, name: str) -> bool:
        """Whether the solution may see an attribute: of what tests made up to be used by it."""
        kind = type(target)
        if not isinstance(name, str) or name.startswith("_"):
            return False
        if issubclass(kind, types.GeneratorType):
            return name in _GENERATOR
        if issubclass(kind, type):
            return self._is_own(target)
        if _is_mock(target):
            return name not in _CHANGING_MOCKS
        return self._is_own(kind) or kind.__module__ in ("_io", "io")


def _is_usual(kind: type) -> bool:
    """Whether an exception may be raised here as it is.

    Others interrupt those who run tests, and the exceptions of runners mean a skip or the end. The
    class itself tells, since a module may lead to classes of another.
    """
    if any(base.__module__.partition(".")[0] in _RUNNERS for base in kind.__mro__):
        return False
    return issubclass(kind, Exception) or kind is SystemExit


def _is_mock(value: Any) -> bool:
    return type(value).__module__ == "unittest.mock"


class UnmeasuredError(Exception):
    """Tests that cannot be run say nothing about the solution."""


def is_class_name(name: str) -> bool:
    """Whether a name is that of a class, as people write them."""
    return name[:1].isupper() and "_" not in name and not name.isupper()


class Solution(types.ModuleType):
    """The solution as a module, for tests that import it.

    `functions` are names that are functions, whatever the solution says.
    """

    def __init__(
        self,
        peer: Examiner,
        names: set[str],
        known: dict[str, Any],
        functions: frozenset[str],
    ) -> None:
        super().__init__("solution")
        self.__dict__.update(_cb_peer=peer, _cb_names=names, _cb_seen={}, _cb_before={})
        self.__dict__.update(_cb_functions=functions)
        self.__dict__["__all__"] = [name for name in names if not name.startswith("_")]
        for name, value in known.items():
            self._keep(name, value)

    def __getattr__(self, name: str) -> Any:
        if name not in self._cb_names:
            raise AttributeError(f"module 'solution' has no attribute {name!r}")
        if name not in self._cb_seen:
            self._keep(name, self._cb_peer.ask("fetch", name))
        return self._cb_seen[name]

    def _keep(self, name: str, value: Any) -> None:
        if isinstance(value, _proxies.Proxy) and name not in self._cb_functions:
            object.__setattr__(value, "_cb_named", is_class_name(name))
        self._cb_seen[name] = value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._cb_names:
            self._cb_before.setdefault(name, getattr(self, name))
        self._cb_peer.ask("assign", name, self._cb_peer.encode(value))
        self._cb_names.add(name)
        self._cb_seen[name] = value

    def __delattr__(self, name: str) -> None:
        """Undo what was set, as those who put something else there for a while do."""
        if name not in self._cb_before:
            raise AttributeError(name)
        setattr(self, name, self._cb_before.pop(name))
        del self._cb_before[name]
