"""Saved runs, outputs, scores, examples and rows, in plain tables of one SQLite file."""

__all__ = ()
