"""Measurements of `cb` beside other tools. Run with `make bench` or `python -m benchmarks`."""
