"""Evaluators that score the responses of common tasks, one subpackage for each.

`ifeval`, `math`, `multiple_choice`, `nli`, `rouge` and `tool_use`. Importing this package imports
none of them.
"""
