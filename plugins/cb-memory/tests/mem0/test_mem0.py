"""mem0 as a memory: the real library in an environment of its own, with models on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from cb_memory.mem0 import Mem0
from cbcore.exceptions import MissingExtraError, UsageError

HERE = Path(__file__).parent
VERSION = "2.2.1"


@pytest.mark.parametrize("wrong", [{"k": 0}, {"dims": 0}])
def test_nothing_to_find_is_refused(wrong):
    """With the values."""
    with pytest.raises(ValueError, match="at least 1"):
        Mem0("http://localhost:1/v1", "any", **wrong)


def test_a_key_is_asked_for_by_the_name_of_its_variable(monkeypatch):
    """Before the library is made, whose message would be another."""
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    memory = Mem0("http://localhost:1/v1", "any", api_key_env="NO_SUCH_KEY")
    with pytest.raises(UsageError, match="NO_SUCH_KEY is not set"):
        memory._config()


def test_a_missing_library_names_the_extra(monkeypatch):
    """When the memory is first used: `cb list` and `cb info` do without the library."""
    monkeypatch.setenv("MEM0_TELEMETRY", "")  # both are set before the import
    monkeypatch.setenv("MEM0_DIR", "")
    monkeypatch.setitem(sys.modules, "mem0", None)
    with pytest.raises(MissingExtraError) as caught:
        Mem0("http://localhost:1/v1", "any").reset()
    assert caught.value.hint == "pip install 'cb-memory[mem0]'"


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An interpreter that has mem0 beside all that this one has; skipped where it cannot be had."""
    folder = tmp_path_factory.mktemp("mem0")
    venv.create(folder, with_pip=True)
    found = folder / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = Path(subprocess.check_output([found, "-c", code], text=True).strip())
    borrowed = sysconfig.get_path("purelib")
    (own / "borrowed.pth").write_text(f"import site; site.addsitedir({borrowed!r})\n")
    wanted = ["-m", "pip", "install", "--quiet", "--retries", "0", f"mem0ai=={VERSION}"]
    done = subprocess.run([found, *wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mem0ai {VERSION} cannot be installed here: {done.stderr[-300:]}")
    return found


@pytest.fixture(scope="module")
def endpoint():
    """The address of a model and of embeddings."""
    process = subprocess.Popen(
        [sys.executable, HERE / "endpoint.py"], stdout=subprocess.PIPE, text=True
    )
    port = process.stdout.readline().strip()
    yield f"http://127.0.0.1:{port}/v1"
    process.terminate()
    process.wait()
    process.stdout.close()


def run(python, folder, *arguments):
    """`cb` in that environment; without a home, so that nothing there helps or is changed."""
    environment = {**os.environ, "OPENAI_API_KEY": "sk-local-1234567890", "HOME": str(folder)}
    done = subprocess.run(
        [python, "-m", "cbcore", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
class TestWithTheLibrary:
    """Installed, fed, asked, saved."""

    def test_it_keeps_the_contract(self, python, endpoint, tmp_path):
        """The kit: no leak, no fact left after a reset, within budgets, saved and loaded."""
        code = (
            "from cbcore import Component\n"
            "from cb_testing import check_plugin\n"
            f"params = dict(base_url={endpoint!r}, model='any', dims=64, threshold=0.0)\n"
            "variants = dict(base_url='http://localhost:1', embedding_url='http://localhost:2',\n"
            "                api_key_env='PATH', embedding_model='other', infer=False)\n"
            "given = dict(params=params, variants=variants)\n"
            "mem0 = Component('memory', 'mem0', 'cb_memory.mem0:Mem0')\n"
            "check_plugin(mem0, examples={'mem0': given}).assert_ok()\n"
        )
        environment = {**os.environ, "OPENAI_API_KEY": "sk-local-1234567890"}
        done = subprocess.run(
            [python, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def test_facts_are_extracted_found_and_paid_for(self, python, endpoint, tmp_path):
        """One request for each session, counted as what feeding took."""
        spec = f"mem0:{endpoint},model=any,dims=64,k=4,threshold=0 | extractive"
        printed = run(
            *(python, tmp_path, "run", "--memory", spec, "-d", "locomo:sample", "-n", "16"),
            *("-o", "json"),
        )
        rows = json.loads(printed)["rows"]
        assert [row["error"] for row in rows] == [None] * 16
        for row in rows:
            assert row["metadata"]["ingest"]["tokens"] == 3 * 930
            assert 1 <= row["metadata"]["n_contexts"] <= 4
            assert "cannot be measured" in row["missing"]["evidence_recall"]

    def test_what_is_stored_as_it_is_carries_ids_and_is_not_fed_twice(
        self, python, endpoint, tmp_path
    ):
        """Without a model; a second run with more questions loads what was saved."""
        spec = f"mem0:{endpoint},model=any,dims=64,k=4,threshold=0,infer=false"
        run(python, tmp_path, "run", "--memory", spec, "-d", "locomo:sample", "-n", "4", "-q")
        assert list(tmp_path.glob(".cb/memories/*/*/ingest.json"))
        printed = run(
            *(python, tmp_path, "run", "--memory", spec, "-d", "locomo:sample", "-n", "8"),
            *("-o", "json"),
        )
        result = json.loads(printed)
        assert result["config"]["score_field"] == "evidence_recall"
        scores = [row["scores"]["evidence_recall"] for row in result["rows"]]
        assert len(scores) == 8
        assert sum(scores) > 3
        assert [row["metadata"]["ingest"]["tokens"] for row in result["rows"]] == [0] * 8
