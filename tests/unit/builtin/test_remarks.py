"""What a run reports of the outputs that it reuses."""

from __future__ import annotations

import json

import cbcore
from cbcore import evaluate
from tests import stores

DATA = [{"id": number, "context": "c", "question": "q", "answer": "a"} for number in range(3)]


class System:
    name = identity = "system"

    def process(self, example):
        return {"response": "a"}


def run(folder, n_examples):
    evaluate([System()], DATA[:n_examples], [], cache_dir=folder, progress=False)


def test_a_run_reports_how_many_outputs_are_reused_and_from_when(tmp_path, capsys):
    run(tmp_path, 2)
    assert "Reused" not in capsys.readouterr().err
    stores.query(tmp_path, "UPDATE runs SET started='2026-01-02T03:04:05Z'")
    run(tmp_path, 3)
    reported = capsys.readouterr().err
    assert "Reused 2 outputs of earlier runs from 2026-01-02." in reported
    assert "were made with" not in reported
    stores.query(
        tmp_path, "UPDATE runs SET started='2026-01-03T00:00:00Z' WHERE ended > '2026-01-03'"
    )
    stores.query(
        tmp_path,
        "UPDATE runs SET started='2026-01-01T00:00:00Z' WHERE rowid=(SELECT min(rowid) FROM runs)",
    )
    run(tmp_path, 3)
    assert (
        "Reused 3 outputs of earlier runs from 2026-01-01 to 2026-01-03." in capsys.readouterr().err
    )


def test_a_run_says_when_installed_versions_are_not_those_that_made_what_it_reuses(
    tmp_path, capsys
):
    """Plugins that a system rests on, the core and Python; but not what is not installed now."""
    run(tmp_path, 1)
    ((text,),) = stores.query(tmp_path, "SELECT environment FROM runs")
    environment = json.loads(text)
    plugin = min(environment["plugins"])
    installed = environment["plugins"][plugin]
    environment["plugins"] |= {plugin: "0.0.1", "cb-gone": "1.0"}
    environment |= {"cbcore": "0.0.2"}
    stores.query(tmp_path, "UPDATE runs SET environment=?", (json.dumps(environment),))
    run(tmp_path, 1)
    reported = capsys.readouterr().err
    assert "Reused 1 output of earlier runs" in reported
    assert f"{plugin} 0.0.1 (installed: {installed})" in reported
    assert f"cbcore 0.0.2 (installed: {cbcore.__version__})" in reported
    assert "cb-gone" not in reported
