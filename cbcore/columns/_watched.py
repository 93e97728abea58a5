"""A dict that knows what was looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Watched(dict[str, Any]):
    """A dict that takes what is looked at out of a set; going through it looks at everything."""

    def __init__(self, data: Mapping[str, Any], unread: set[str]) -> None:
        super().__init__(data)
        self._unread = unread

    def __getitem__(self, name: str) -> Any:
        self._unread.discard(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._unread.discard(name)
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._unread.discard(name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self._unread.clear()
        return super().__iter__()

    def keys(self) -> Any:
        self._unread.clear()
        return super().keys()

    def items(self) -> Any:
        self._unread.clear()
        return super().items()

    def values(self) -> Any:
        self._unread.clear()
        return super().values()

    def copy(self) -> dict[str, Any]:
        return dict(self.items())

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __reduce__(self) -> Any:
        return dict, (self.copy(),)
