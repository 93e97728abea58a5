"""Benchmarks of memory, each read as it is published."""
