"""What the distribution promises: names, parameters that specs can set, a light import."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from cb_reporters.page.document import Html
from cb_reporters.table import Table
from cbcore.introspection import format_type, parameters_of, signature_of
from cbcore.protocols import Reporter

ENTRIES = {
    e.name: e for e in entry_points(group="cb.reporters") if e.value.startswith("cb_reporters")
}
EXTENSIONS = {
    "table": "txt",
    "markdown": "md",
    "jsonl": "jsonl",
    "csv": "csv",
    "html": "html",
}


def test_entry_points():
    """Every reporter is offered under its own name."""
    assert set(ENTRIES) == {*EXTENSIONS, "parquet"}


@pytest.mark.parametrize("name", sorted(EXTENSIONS))
def test_each_entry_point_makes_a_reporter(name):
    """An entry point loads a class of that name that is made without arguments."""
    reporter = ENTRIES[name].load()()
    assert isinstance(reporter, Reporter)
    assert (reporter.name, reporter.extension) == (name, EXTENSIONS[name])


@pytest.mark.parametrize("name", sorted(EXTENSIONS))
def test_rendering_changes_nothing_and_repeats(name, result):
    """A reporter leaves the result as it was and says the same twice."""
    reporter, before = ENTRIES[name].load()(), result.to_json()
    assert reporter.render(result) == reporter.render(result)
    assert result.to_json() == before


@pytest.mark.parametrize("name", sorted(EXTENSIONS))
def test_unusual_results_are_rendered(name, unusual):
    """Every reporter renders results without rows, scores, rivals or metrics."""
    assert isinstance(ENTRIES[name].load()().render(unusual), str)


def test_parameters_have_types_a_spec_can_convert():
    """Specs convert by annotation, so annotations resolve."""
    assert [(p.name, format_type(p.annotation)) for p in parameters_of(Html)] == [
        ("max_rows", "int"),
        ("max_mb", "float"),
    ]
    assert signature_of(Table).parameters["width"].annotation == (int | None)


def test_importing_is_light():
    """Importing the package loads none of the heavy libraries."""
    heavy = "numpy", "pandas", "datasets", "pyarrow", "rich"
    code = f"import sys, cb_reporters; print(*set({heavy}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
