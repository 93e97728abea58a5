"""A third party's plugin that uses everything that pluggy offers."""
