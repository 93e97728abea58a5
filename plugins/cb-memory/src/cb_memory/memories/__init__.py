"""The memory systems that come with cb: what a new one has to beat."""
