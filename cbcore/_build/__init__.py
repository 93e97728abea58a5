"""From what is asked for to what is run: a spec becomes a part, parts are wired to datasets."""
