"""Fixtures of the repository's tests, for the tests of its plugins."""

import hypothesis  # noqa: F401 - before `cb` freezes the garbage collector

from tests.isolation import no_secrets  # noqa: F401
