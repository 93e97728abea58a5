"""The reference page says what the table says."""

from __future__ import annotations

from pathlib import Path

import pytest

from cb_datasets import BENCHMARKS
from tools.docs.datasets import main, page

PLUGIN = Path(__file__).parents[1]
PAGE = PLUGIN.parents[1] / "docs" / "reference" / "datasets.md"


def readme() -> str:
    return (PLUGIN / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not PAGE.parent.is_dir(), reason="the plugin is not in its repository")
def test_the_page_is_up_to_date():
    """Run `python -m tools.docs.datasets docs/reference/datasets.md` after a change."""
    assert PAGE.read_text(encoding="utf-8") == page(readme())


def test_every_benchmark_has_its_section(tmp_path):
    """With source, configs, licence; written where asked for."""
    main([str(tmp_path / "page.md")])
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    for entry in BENCHMARKS.values():
        assert f"\n### {entry.name}\n" in text
        assert entry.path in text
        assert entry.licence in text
    assert "asks for consent" in text
    assert "`refs/convert/parquet`" in text


def test_every_field_that_examples_carry_is_documented():
    """The contract names all fields that more than one benchmark has."""
    from cb_datasets import dataset

    seen: dict[str, set[str]] = {}
    for name in BENCHMARKS:
        for example in dataset(name, "sample"):
            for field in example:
                seen.setdefault(field, set()).add(name)
    shared = {field for field, names in seen.items() if len(names) > 4}
    assert {"answer", "choices", "context", "id", "label", "question"} <= shared
    for field in shared:
        assert f"`{field}`" in readme(), field


def test_a_readme_without_the_contract_is_refused():
    """Rather than a page without it."""
    with pytest.raises(ValueError, match="no section"):
        page("# Nothing\n")
