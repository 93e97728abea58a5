"""What needs a hook module: a table of datasets, an observer, a command made on demand."""
