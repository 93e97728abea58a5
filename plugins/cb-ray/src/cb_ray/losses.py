"""Why a worker was lost, from what Ray says about it, in one line."""

from __future__ import annotations

from ray import exceptions


def in_words(error: Exception, where: str) -> str:
    """What became of the worker at `where`, for the row that it was working on."""
    return f"the Ray worker ({where}) {_fate(error)}"


def _fate(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, exceptions.OutOfMemoryError) or "low on memory" in text:
        return "was ended by Ray: its node ran low on memory"
    if (
        isinstance(error, exceptions.NodeDiedError)
        or "node has died" in text
        or "node died" in text
    ):
        return "was lost with its node"
    if isinstance(error, exceptions.ActorUnavailableError):
        return "does not answer any more: its process or its node is gone"
    if isinstance(error, exceptions.ActorDiedError):
        return "ended unexpectedly: killed, out of memory, or crashed outside of Python"
    if _is_too_large(error, text):
        return f"could not hand over what it made, it is too large: {text[:300]}"
    return f"failed: {type(error).__name__}: {text[:300]}"


def _is_too_large(error: Exception, text: str) -> bool:
    full = (exceptions.ObjectStoreFullError, exceptions.OutOfDiskError)
    return isinstance(error, full) or "ObjectStoreFull" in text or "OutOfDisk" in text
