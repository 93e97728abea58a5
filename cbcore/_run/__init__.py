"""The run: examples through systems and scorers into rows. Nothing here looks a name up."""
