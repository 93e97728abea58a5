"""Runs in a browser: a server on loopback, for one user, that only reads."""
