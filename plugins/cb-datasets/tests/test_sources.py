"""Sources: every repository is read in a form that today's hub library still reads.

Since version 4 `datasets` runs no loading script. A repository that has one on its main branch
is only good for its files: the hub's Parquet copy of it, or those that lie beside the script.
"""

from __future__ import annotations

import pytest

from cb_datasets import BENCHMARKS
from cb_datasets.table import PARQUET_EXPORT
from tests.tables import check_each

SCRIPTS = {
    "alexfabbri/multi_news": "multi_news.py",
    "allenai/qasper": "qasper.py",
    "allenai/scifact": "scifact.py",
    "tatsu-lab/alpaca_eval": "alpaca_eval.py",
    "tau/scrolls": "scrolls.py",
    "zai-org/LongBench": "LongBench.py",
    # Others that hold the same data, so that nobody moves to one of them by mistake.
    "THUDM/LongBench": "LongBench.py",
    "lukaemon/bbh": "bbh.py",
}
"""Repositories whose main branch has a loading script, and what it is called."""

OWN_FILES = (".jsonl", ".json", ".csv")


@check_each("name", sorted(BENCHMARKS))
def test_no_source_needs_a_loading_script(name):
    """A repository with a script is read from the Parquet copy, or by file."""
    entry = BENCHMARKS[name]
    by_file = entry.files is not None and entry.files.endswith(OWN_FILES)
    copied = entry.revision == PARQUET_EXPORT and str(entry.files).endswith(".parquet")
    assert by_file or copied or entry.path not in SCRIPTS


@pytest.mark.parametrize("name", ["mgsm", "drop", "bbh"])
def test_a_source_that_is_parquet_by_now_is_read_from_its_main_branch(name):
    """The Parquet copy is made by the hub and may go; the main branch is its publisher's."""
    assert (BENCHMARKS[name].revision, BENCHMARKS[name].files) == (None, None)
