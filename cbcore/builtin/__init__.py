"""Plugins that ship with the core: progress display, table, JSON report, process executor."""
