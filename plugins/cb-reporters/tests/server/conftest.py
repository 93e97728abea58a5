"""Results to look at, and a server that shows them."""

from __future__ import annotations

import http.client
import json
import re
import threading
from typing import Any

import attrs
import pytest

from cb_reporters.server.answering import Site
from cb_reporters.server.serving import Server
from cb_reporters.server.sources import FileSource
from cbcore.results import EvalResult, EvalRow, Texts
from cbcore.results.verdicts import Verdict


def result_of(run_id="r1", *, systems=("whole", "cut"), n=3, **config):
    """A result of two systems; the second loses its first example."""
    rows, texts = [], []
    for system in systems:
        for number in range(n):
            score = 0.0 if system == systems[-1] and number == 0 else 1.0
            given = {"id": f"e{number}", "context": f"Text {number}. More.", "question": "Where?"}
            rows.append(EvalRow(system, f"e{number}", {"f1": score}, 10, 5, dataset="d"))
            texts.append(Texts(given, {"context": f"Text {number}.", "response": "here"}))
    verdict = Verdict(system=systems[0], baseline=systems[0], score="f1", outcome="baseline", n=n)
    return EvalResult(
        rows,
        {system: {"mean_score": 0.5} for system in systems},
        config={"run_id": run_id, "score_field": "f1", "started": "2026-01-01", **config},
        verdicts=[verdict],
        texts=texts,
    )


@attrs.frozen
class Reply:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def asked(address, path="", *, method="GET", **headers):
    """Ask a server; header names are written with underscores."""
    host, _, rest = address.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=30)
    try:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, f"/{rest}{path}", headers=sent)
        reply = connection.getresponse()
        return Reply(reply.status, dict(reply.getheaders()), reply.read().decode("utf-8"))
    finally:
        connection.close()


@pytest.fixture
def made():
    """Makes results."""
    return result_of


@pytest.fixture
def ask():
    """Asks a server."""
    return asked


@pytest.fixture
def runs():
    """Finds the addresses of the runs in the list of a server, newest first."""
    return lambda site: re.findall(r'href="(run/[^"]+/)"', asked(site).text)


@pytest.fixture
def folder(tmp_path):
    """Two results, another JSON file, and one that is damaged."""
    result_of().save(tmp_path / "one.json")
    result_of("r2", systems=("whole", "other"), started="2026-01-02").save(tmp_path / "two.json")
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "torn.json").write_text('{"schema": 1, "rows": [')
    return tmp_path


@pytest.fixture
def serve():
    """Serve a source in this process; gives the address with its token."""
    servers = []

    def start(source):
        server = Server(Site(source))
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return server.guard.address

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def site(folder, serve):
    """The address of a server that shows the folder."""
    return serve(FileSource.of_folder(folder))
