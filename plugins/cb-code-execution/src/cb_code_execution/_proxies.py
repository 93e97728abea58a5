"""What stands in one process for an object of the other, and behaves as it does.

Runs inside the sandbox, on both sides.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cb_code_execution._peer import Peer


def _named(words: str) -> frozenset[str]:
    return frozenset(f"__{word}__" for word in words.split())


_SYMBOLS = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or"
COMPARISONS = _named("lt le gt ge eq ne")
ARITHMETIC = _named(" ".join(f"{one} r{one} i{one}" for one in _SYMBOLS.split()))
NUMBERS = _named("bool int float complex index abs neg pos invert round trunc floor ceil")
_OTHERS = _named(
    "call len iter next reversed contains getitem setitem delitem enter exit bytes format "
    "aiter anext aenter aexit hash"
)
OPERATORS = COMPARISONS | ARITHMETIC | NUMBERS | _OTHERS
ALWAYS = ("__str__", "__repr__")
BUILT_IN = (int, float, complex, str, bytes, tuple, list, dict, set, frozenset)


class Proxy:
    """Stands for an object of the other side."""

    __slots__ = ("_cb_id", "_cb_made", "_cb_mixed", "_cb_named", "_cb_peer")
    _cb_id: int
    _cb_peer: Peer
    __module__ = "solution"

    def __getattr__(self, name: str) -> Any:
        return self._cb_peer.get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._cb_peer.ask("set", self._cb_id, name, self._cb_peer.encode(value))

    def __delattr__(self, name: str) -> None:
        self._cb_peer.ask("del", self._cb_id, name)

    def __copy__(self) -> Any:
        return self._cb_peer.ask("copy", self._cb_id, False)

    def __deepcopy__(self, memo: Any) -> Any:
        return self._cb_peer.ask("copy", self._cb_id, True)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("an object of another process cannot be pickled")

    def __dir__(self) -> Any:
        return self._cb_peer.ask("dir", self._cb_id)

    def __eq__(self, other: object) -> Any:
        return self is other or NotImplemented

    __hash__ = object.__hash__


class Valued:
    """Stands for an object of the other side that is also a value, as a named tuple is."""

    _cb_id: int
    _cb_peer: Peer
    __module__ = "solution"

    def __getattr__(self, name: str) -> Any:
        return self._cb_peer.get(self, name)


def _forwarded(name: str) -> Any:
    def method(self: Any, *args: Any, **named: Any) -> Any:
        return self._cb_peer.dunder(self, name, args, named)

    method.__name__ = name
    return method


def proxy_class(name: str, operators: list[str], more: dict[str, Any], *, is_type: bool) -> type:
    """A class for what stands for objects of one type, with the operators that they have."""
    methods = {one: _forwarded(one) for one in (*OPERATORS.intersection(operators), *ALWAYS)}
    if is_type:
        methods |= {one: _forwarded(one) for one in ("__instancecheck__", "__subclasscheck__")}
    elif "__eq__" in operators and "__hash__" not in operators:
        methods["__hash__"] = None
    methods.setdefault("__hash__", object.__hash__)
    return type(name, (Proxy,), {**methods, **more, "__slots__": (), "__module__": "solution"})


def operators(kind: type) -> list[str]:
    """What operators a type has, beside those that every object has."""
    return [
        name
        for name in OPERATORS
        if getattr(kind, name, None) is not None
        and getattr(kind, name) is not getattr(object, name, None)
    ]


def built_in(base: type, value: Any) -> Any:
    """The value that an object has as a built-in type, whatever its own class says."""
    if base in (int, complex):
        return base.__add__(value, base())  # type: ignore[operator]
    if base is float:
        return float.__pos__(value)
    if base is str:
        return str.__str__(value)
    if base is dict:
        return dict(dict.items(value))
    return base(base.__iter__(value))  # type: ignore[attr-defined]


def generator(proxy: Any) -> Any:
    """A generator here that goes on with one of the other side, as far as it is asked to."""
    sent = None
    while True:
        try:
            item = proxy.send(sent)
        except StopIteration as end:
            return end.value
        sent = yield item


async def coroutine(proxy: Any) -> Any:
    return proxy._cb_peer.ask("await", proxy._cb_id)


def update(old: Any, new: Any) -> None:
    """Make a mutable value equal to another of its type, its mutable parts in place."""
    if type(old) is not type(new) or old is new:
        return
    if isinstance(old, list):
        if len(old) == len(new):
            new = [_merged(one, other) for one, other in zip(old, new, strict=True)]
        old[:] = new
    elif isinstance(old, dict):
        merged = {key: _merged(old.get(key), value) for key, value in new.items()}
        old.clear()
        old.update(merged)
    elif isinstance(old, set):
        old.clear()
        old.update(new)
    elif isinstance(old, bytearray):
        old[:] = new
    elif type(old).__name__ == "deque":
        old.clear()
        old.extend(new)
    elif type(old).__name__ == "ndarray" and old.shape == new.shape:
        old[...] = new
    elif type(old).__name__ in ("DataFrame", "Series"):
        old._update_inplace(new)


def _merged(old: Any, new: Any) -> Any:
    if type(old) is type(new) and isinstance(old, list | dict | set | bytearray):
        update(old, new)
        return old
    return new
