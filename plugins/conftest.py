"""Fixtures of the repository's tests, for the tests of its plugins."""

from tests.isolation import no_secrets  # noqa: F401
