"""The metadata of installed distributions: the one place where the library for it is imported.

Before Python 3.12, `importlib.metadata` of the standard library is an older state of the package
`importlib_metadata`, with an interface that was still changing. There the package itself is
used, so that `cb` reads its plugins in one way on every Python it supports.
"""

from __future__ import annotations

import sys

if sys.version_info >= (3, 12):
    from importlib import metadata
else:
    import importlib_metadata as metadata

__all__ = ["metadata"]
