"""Offers what it does not have."""
