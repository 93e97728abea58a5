"""The library mem0 as a memory of cb."""

from cb_memory.mem0.memory import Mem0

__all__ = ["Mem0"]
