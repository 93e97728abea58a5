"""Work that a stranger's file can make endless, done where it comes to an end.

Regular expressions, and templates that could grow, are run in a process of their own with a
limit on its time and memory. `worker.ask` is the one way in.
"""
