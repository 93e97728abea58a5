"""`cb` beside lm-evaluation-harness: the same tasks, data and systems, number by number."""
