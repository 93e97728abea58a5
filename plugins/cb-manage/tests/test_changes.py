"""What a result says of its components, whoever wrote it."""

from __future__ import annotations

import pytest

from cb_manage.changes import find_changes, list_components


@pytest.mark.parametrize("record", [{}, {"name": "x"}, {"name": "x", "plugin": None}])
def test_a_record_that_says_little_is_of_no_plugin(record):
    """As that of a task whose object brings its own data."""
    config = {"cbcore": "0.1.0", "systems": [record]}
    (found,) = list_components(config)
    assert (found["plugin"], found["version"], found["params"]) == ("python", None, {})
    assert [change for change in find_changes(config, []) if change.plugin == "python"] == []
