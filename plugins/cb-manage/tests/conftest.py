"""The fixtures of the core's tests that these tests use too."""

from tests.conftest import cold_workplace, site, workplace

__all__ = ["cold_workplace", "site", "workplace"]
