"""A script mistaken for a module."""

import sys

sys.exit(0)
