"""Scores of benchmarks whose publishers define their own, as they define them.

Each evaluator scores only the rows of its benchmark: it applies to the task that is called as
the benchmark is.
"""
