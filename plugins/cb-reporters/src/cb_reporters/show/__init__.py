"""`cb show`: the examples of a run on a terminal, one below the other."""
