"""Who is installed, in what state, offering what."""
