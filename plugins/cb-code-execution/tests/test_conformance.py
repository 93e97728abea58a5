"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

import pytest

from cb_code_execution import SandboxError
from cb_code_execution.limits import Limits
from cb_code_execution.machine import find
from cb_testing import Given, check_plugin

EXAMPLES = (
    (
        {"id": 1, "question": "Write one().", "tests": "assert one() == 1", "entry_point": "one"},
        {"response": "def one():\n    return 1"},
    ),
)


def test_conformance():
    """Every rule of the kit holds for every component."""
    try:
        find(Limits())
    except SandboxError as error:
        pytest.skip(error.message)
    given = Given(examples=EXAMPLES)
    check_plugin("cb-code-execution", examples={"code_execution": given}).assert_ok()
