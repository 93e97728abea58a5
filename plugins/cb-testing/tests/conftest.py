"""The fixtures of the core's tests that these tests use too."""

from tests.conftest import site, workplace

__all__ = ["site", "workplace"]
