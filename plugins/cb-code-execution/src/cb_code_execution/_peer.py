"""Two processes that use each other's objects: what cannot cross by value crosses as a handle.

Runs inside the sandbox, on both sides. Each side keeps its own objects and does with them
what the other asks for; what may be asked for is the business of each side (`perform`).
"""

from __future__ import annotations

import _thread
import sys
import types

from cb_code_execution import _proxies, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_READ_BACK = 16
"""So many attributes that were read last are looked at for what was done to their content."""


class Link:
    """A channel that one thread talks over at a time, and the types that the other side knows."""

    def __init__(self, channel: _wire.Channel) -> None:
        self.channel = channel
        self.lock = _thread.RLock()
        self.described: set[int] = set()


class Peer(_wire.Codec):
    """One of two sides. Threads of the tests' side may have channels of their own."""

    def __init__(self, channel: _wire.Channel) -> None:
        self._first = Link(channel)
        self._local = _thread._local()
        self._giving = _thread.allocate_lock()
        self._given: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._taken: dict[int, Any] = {}
        self._classes: dict[int, type] = {}
        self._read: list[list[Any]] = []

    def link(self) -> Link:
        """What the running thread talks over."""
        return getattr(self._local, "link", self._first)

    # asking

    def ask(self, *message: Any) -> Any:
        """Have the other side do something, and do what it asks for meanwhile."""
        value, _ = self.ask_all(*message)
        return value

    def ask_all(self, *message: Any) -> tuple[Any, Any]:
        """The value, and what the other side says about the arguments it was given."""
        self._write_back()
        link = self.link()
        with link.lock:
            link.channel.send(message)
            while True:
                answer = link.channel.receive()
                if not isinstance(answer, list) or not answer:
                    raise _wire.WireError("no answer")
                if answer[0] in ("ok", "raised"):
                    break
                self.answer(answer)
            if len(answer) != 4:
                raise _wire.WireError("no whole answer")
            status, text, changes, printed = answer
            self.printed(printed)
            value = self.decode(text)
            if status == "raised":
                if not isinstance(value, BaseException):
                    raise _wire.WireError("what was raised is no exception")
                value.__dict__.update(_cb_crossed=True, _cb_changes=changes)
                raise value
        return value, changes

    def answer(self, message: Any) -> None:
        """Do what the other side asks for, and tell what came of it."""
        changes: dict[str, Any] = {}
        try:
            value = self.perform(changes, *message)
            self._write_back()
            answer = ["ok", self.encode(value)]
        except (_wire.ClosedError, _wire.WireError):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the answer
            answer = ["raised", self.encode_raised(error)]
        link = self.link()
        with link.lock:
            link.channel.send([*answer, changes, self.pending()])

    def perform(self, changes: dict[str, Any], what: str, *parts: Any) -> Any:
        """Do it. What a call does to its arguments goes into `changes`."""
        raise NotImplementedError

    def printed(self, text: Any) -> None:
        """What the other side printed meanwhile."""

    def pending(self) -> str:
        """What this side printed and the other was not told yet."""
        return ""

    def get(self, proxy: Any, name: str) -> Any:
        value = self.ask("get", proxy._cb_id, name)
        if type(value) in (list, dict, set):
            seen = [proxy._cb_id, name, value, repr(self.encode(value))]
            self._read = [*self._read[1 - _READ_BACK :], seen]
        return value

    def _write_back(self) -> None:
        """What was done to the content of an attribute, do to the attribute, before it is used."""
        changed = []
        for seen in self._read:
            text = self.encode(seen[2])
            if repr(text) != seen[3]:
                seen[3] = repr(text)
                changed.append((seen[0], seen[1], text))
        for number, name, text in changed:
            self.ask("refill", number, name, text)

    def dunder(self, proxy: Any, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if name == "__call__":
            return self.call(proxy, args, named)
        return self.ask("do", proxy._cb_id, name, [self.encode(one) for one in args])

    def call(self, proxy: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        texts = [self.encode(one) for one in args]
        return self.ask("call", proxy._cb_id, texts, {k: self.encode(v) for k, v in named.items()})

    # objects as handles

    def encode_object(self, value: Any) -> Any:
        # By its type: an object may have anything for an attribute.
        kind = type(value)
        if issubclass(kind, _proxies.Proxy | _proxies.Valued) or (
            issubclass(kind, BaseException) and "_cb_id" in value.__dict__
        ):
            return {"o": value.__dict__["_cb_id"] if kind.__dictoffset__ else value._cb_id}
        if issubclass(kind, BaseException):
            return self.encode_raised(value)
        if issubclass(kind, types.ModuleType):
            return {"M": str(value.__name__)}
        if issubclass(kind, type) and issubclass(value, BaseException):
            return self._encode_raised_class(value)
        if issubclass(kind, type | types.FunctionType | types.BuiltinFunctionType):
            found = _reference(value)
            if found and self.may_refer(value):
                return {"m": found}
        if issubclass(kind, types.GeneratorType):
            return {"g": self._handle(value)}
        if issubclass(kind, types.CoroutineType):
            return {"w": self._handle(value)}
        for base in _proxies.BUILT_IN:
            if issubclass(kind, base):
                return {"p": [self.encode(_proxies.built_in(base, value)), self._handle(value)]}
        return {"h": self._handle(value)}

    def may_refer(self, value: Any) -> bool:
        """Whether the other side takes a type or function of a library by its name."""
        return True

    def _handle(self, value: Any) -> list[Any]:
        with self._giving:
            number = self._numbers.get(id(value))
            if number is None:
                number = self._numbers[id(value)] = len(self._numbers) + 1
                self._given[number] = value
        kind = type(value)
        key = id(kind)
        described = self.link().described
        if key in described:
            return [number, key, None]
        described.add(key)
        self._given[-key] = kind  # so that no other type gets its number
        return [number, key, [str(kind.__name__), _proxies.operators(kind), issubclass(kind, type)]]

    def given(self, number: Any) -> Any:
        """The object of this side that the other was given under a number."""
        if not isinstance(number, int) or number <= 0 or number not in self._given:
            raise _wire.WireError(f"there is no object {number!r}")
        return self._given[number]

    def decode_object(self, tag: str, parts: Any) -> Any:
        try:
            if tag == "o":
                return self.given(parts)
            if tag == "h":
                return self._proxy(parts)
            if tag == "p":
                return self._valued(parts)
            if tag == "x":
                return self._raised(*parts)
            if tag == "X":
                return self._raised_class(parts)
            if tag == "m":
                return self.referred(*parts)
            if tag == "M":
                return self.module(parts)
            if tag == "g":
                return _proxies.generator(self._proxy(parts))
            if tag == "w":
                return _proxies.coroutine(self._proxy(parts))
        except (_wire.ClosedError, _wire.WireError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it comes from the other side
            raise _wire.WireError(f"no object: {type(error).__name__}: {error}") from None
        raise _wire.WireError(f"no value is tagged {tag!r}")

    def _class(self, key: Any, described: Any) -> type:
        if described is None or key in self._classes:
            return self._classes[key]
        name, operators, is_type = described
        more = {"__mro_entries__": self.no_base} if is_type else {}
        self._classes[key] = _proxies.proxy_class(str(name), operators, more, is_type=is_type)
        return self._classes[key]

    def no_base(self, bases: Any) -> Any:
        """A class of the other side cannot be derived from here."""
        raise TypeError("a class of another process cannot be derived from")

    def _proxy(self, parts: Any) -> Any:
        number, key, described = parts
        kind = self._class(key, described)
        if number not in self._taken:
            made: Any = object.__new__(kind)
            for name, value in (
                ("_cb_id", int(number)),
                ("_cb_peer", self),
                ("_cb_made", False),
                ("_cb_mixed", False),
                ("_cb_named", False),
            ):
                object.__setattr__(made, name, value)
            self._taken[number] = made
        return self._taken[number]

    def _valued(self, parts: Any) -> Any:
        text, (number, key, described) = parts
        kind = self._class(key, described)
        value = self.decode(text)
        base = type(value)
        if base not in _proxies.BUILT_IN:
            raise _wire.WireError(f"a value of type {base.__name__}")
        known = self._taken.get(number)
        if known is not None and type(known).__bases__[-1] is base and known == value:
            return known
        made_type: Any = type(kind.__name__, (_proxies.Valued, base), {"__module__": "solution"})
        made = made_type(value)
        made._cb_id, made._cb_peer = int(number), self
        self._taken[number] = made
        return made

    # exceptions

    def encode_raised(self, error: BaseException) -> Any:
        if "_cb_id" in error.__dict__:
            return {"o": error.__dict__["_cb_id"]}
        try:
            text = str(error)
        except BaseException:  # noqa: BLE001 - of an exception that cannot be shown
            text = ""
        args = error.args if isinstance(error.args, tuple) else ()
        own = {k: v for k, v in error.__dict__.items() if isinstance(k, str)}
        handle = self._handle(error)
        return {
            "x": [
                handle[0],
                self._encode_raised_class(type(error)),
                [self.encode(one) for one in args],
                text,
                self.encode(own),
                self.about(error),
            ]
        }

    def about(self, error: BaseException) -> Any:
        """What else is to be told of an exception."""
        return None

    def _encode_raised_class(self, kind: Any) -> Any:
        found = _reference(kind)
        if found and found[0] == "builtins":
            return {"m": found}
        bases = [base for base in kind.__bases__ if issubclass(base, BaseException)]
        number = self._handle(kind)[0]
        texts = [self._encode_raised_class(base) for base in bases]
        return {"X": [number, str(kind.__name__), texts, found]}

    def _raised_class(self, parts: Any) -> Any:
        number, name, bases, reference = parts
        if number not in self._taken:
            known = self.known_class(*reference) if reference else None
            self._taken[number] = known or self._made_class(str(name), bases)
        return self._taken[number]

    def known_class(self, module: str, name: str) -> Any:
        """The class of an exception that both sides have; None when this one has not."""
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        return found if isinstance(found, type) and issubclass(found, BaseException) else None

    def _made_class(self, name: str, bases: Any) -> type:
        found = tuple(dict.fromkeys(self.decode(base) for base in bases)) or (Exception,)
        space = {"__module__": "solution", "__str__": _text_of_raised}
        try:
            return type(name, found, space)
        except TypeError:  # bases that do not go together
            return type(name, (Exception,), space)

    def _raised(self, number: int, kind: Any, args: Any, text: Any, own: Any, about: Any) -> Any:
        known = self._taken.get(number)
        if isinstance(known, BaseException):
            return known
        found = self.decode(kind)
        if not (isinstance(found, type) and issubclass(found, BaseException)):
            raise _wire.WireError("what was raised is no exception")
        values = tuple(self.decode(args))
        try:
            error = found(*values)
        except Exception:  # noqa: BLE001 - its class wants other arguments: it is made without
            error = found.__new__(found, *values)
        for name, value in self.decode(own).items():
            if not str(name).startswith("_"):
                error.__dict__[name] = value
        error.__dict__.update(_cb_id=int(number), _cb_text=str(text), _cb_about=about)
        self._taken[number] = error
        return error

    # libraries

    def referred(self, module: str, name: str) -> Any:
        """A type or function of a library, by name."""
        import importlib

        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def module(self, name: Any) -> Any:
        import importlib

        return importlib.import_module(str(name))


def _text_of_raised(self: Any) -> str:
    text = self.__dict__.get("_cb_text")
    return text if isinstance(text, str) else BaseException.__str__(self)


def _reference(value: Any) -> list[str] | None:
    """Where in a library a type or function is found; None for one of the program itself."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not (isinstance(module, str) and isinstance(name, str)) or module in (
        "__main__",
        "solution",
    ):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return [module, name] if found is value and not module.startswith("cb_code_execution") else None
