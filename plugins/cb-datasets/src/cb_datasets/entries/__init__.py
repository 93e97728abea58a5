"""The table, one module per kind of task: records, and the code of rows that need code."""
