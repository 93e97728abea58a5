"""The distributions of this repository fit together."""

from __future__ import annotations

import attrs
import pytest

from tools.release.projects import META, inconsistencies, name_of, projects

HEAVY = {"datasets", "huggingface-hub", "numpy", "pandas", "pyarrow", "torch"}


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


def test_the_plain_installation_requires_no_heavy_library():
    """Nothing that cb-bench requires without extras asks for one, or for an extra of the core."""
    found = {project.name: project for project in projects()}
    waiting, seen, others = [META], set(), set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for requirement in found[name].dependencies:
            required = name_of(requirement)
            if required not in found:
                others.add(required)
                continue
            assert "[" not in requirement, f"{name} requires {requirement}"
            if required not in seen:
                waiting.append(required)
    assert {"cb-datasets", "cb-llm-judge", "cb-ragas-precision"} <= seen
    assert others
    assert not others & HEAVY
