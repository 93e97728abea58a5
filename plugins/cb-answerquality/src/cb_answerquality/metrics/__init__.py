"""Scores of one text against another."""
