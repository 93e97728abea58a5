"""The distributions of this repository fit together."""

from __future__ import annotations

import attrs
import pytest

from release.projects import META, inconsistencies, projects


def test_nothing_is_inconsistent():
    """One version, ranges that allow it, a licence each, and all of it in cb-bench."""
    assert list(inconsistencies(projects())) == []


@pytest.mark.parametrize(
    ("name", "stated", "told"),
    [
        ("cb-metrics", {"version": "9.0"}, "cb-metrics has version 9.0, and cbcore "),
        ("cb-metrics", {"dependencies": ["cbcore>=9"]}, "cb-metrics requires cbcore>=9"),
        ("cb-metrics", {"dependencies": ["cb-gone"]}, "cb-metrics requires cb-gone, which is not"),
        ("cb-metrics", {"license": "none"}, "cb-metrics does not state its licence"),
        (META, {"dependencies": []}, "cb-bench does not bring cb-metrics"),
    ],
)
def test_what_does_not_fit_is_told(name, stated, told):
    """One line for each thing."""
    changed = [
        attrs.evolve(project, stated={**project.stated, **stated})
        if project.name == name
        else project
        for project in projects()
    ]
    assert any(line.startswith(told) for line in inconsistencies(changed))
