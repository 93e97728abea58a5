"""The run: every system on every benchmark, into rows."""

__all__ = ()
