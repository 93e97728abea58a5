"""No secret leaves: planted in every way in, looked for in every way out, in real processes."""

from __future__ import annotations

import base64
import html
import json
import re
import subprocess
import textwrap
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

import pytest

from tests.fake_distributions import Workplace, write_distribution, write_hooks

LEAKY = textwrap.dedent('''
    """Components that tell all they were given, in every form and in every way they can."""

    import base64
    import html
    import json
    import logging
    import os
    import re
    import sys
    import threading
    import urllib.parse
    import warnings


    def texts(value):
        if isinstance(value, dict):
            for item in value.values():
                yield from texts(item)
        elif isinstance(value, (list, tuple)):
            for item in value:
                yield from texts(item)
        elif value:
            yield str(value)


    def told(values):
        """Whole, in pieces, and as addresses, JSON, Python, HTML and headers have them."""
        found = []
        for text in texts(values):
            for piece in {text, *text.replace(";", " ").split(), text.rpartition("=")[2]}:
                found += [
                    piece,
                    json.dumps(piece),
                    repr(piece + "'" + '"'),
                    html.escape(piece),
                    urllib.parse.quote(piece),
                    re.sub("%..", lambda m: m[0].lower(), urllib.parse.quote(piece, safe="")),
                    urllib.parse.quote_plus(piece),
                    base64.b64encode(b"admin:" + piece.encode()).decode(),
                    base64.urlsafe_b64encode(b"u:" + piece.encode()).decode(),
                ]
        return " ".join(found)


    class Told:
        emits = ("told",)
        extension = "txt"

        def __init__(self, how="returns", name="told", **given):
            self.name, self.how, self.given = name, how, given
            for key, value in given.items():
                setattr(self, key, value)
            if how == "cannot be made":
                raise RuntimeError(self.all())
            if how == "refuses":
                raise ValueError(self.all())

        def all(self):
            named = [v for k, v in os.environ.items() if k.startswith("PLANTED")]
            return told([self.given, named])


    class System(Told):
        def process(self, example):
            text = self.all()
            if self.how == "raises":
                raise ConnectionError(text)
            if self.how == "prints":
                print(text)
                sys.stdout.buffer.write(text.encode() + b"\\n")
                sys.stderr.write(text + "\\n")
                sys.__stdout__.write(text + "\\n")
                sys.__stderr__.buffer.write(text.encode() + b"\\n")
                warnings.warn(text)
                logging.getLogger("cb.leaky").warning("%s", text)
                logging.getLogger("leaky").error("%s", text)
                thread = threading.Thread(target=int, args=(text,))
                thread.start()
                thread.join()
            return {
                "response": text,
                "context": text,
                "metadata": {text: text, "deep": [{"er": {text: [text]}}]},
            }


    class Dataset(Told):
        def __iter__(self):
            yield {"id": self.all(), "question": "q", "answer": "a"}
            raise OSError(self.all())


    class Evaluator(Told):
        def score(self, original, processed):
            from cbcore.results import Scored

            text = self.all()
            if self.how == "raises":
                raise ValueError(text)
            return Scored({"told": 1.0, text: 1.0}, {text: text}, {text: text, "d": [text]})


    class Metric(Told):
        def compute(self, rows):
            if self.how == "raises":
                raise ValueError(self.all())
            return {self.all(): 1.0}


    class Reporter(Told):
        def render(self, result):
            if self.how == "raises":
                raise ValueError(self.all())
            return self.all() + result.to_json()
''')
RAISING = "import os, leaky\nraise RuntimeError(leaky.told([os.environ['PLANTED_SECRET']]))"
REPORTS = ("json", "jsonl", "csv", "html", "markdown", "parquet", "table")
INPUTS = {"leaky.py", "raising.py", "bench.yaml", "data.jsonl", "cb_asking.py", "cb_hooked.py"}
LOUD = {"CB_DEBUG": "1", "CB_TRACE": "1"}


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    workplace.write("leaky.py", LEAKY)
    workplace.write("raising.py", RAISING)
    workplace.write("data.jsonl", '{"id": 1, "question": "q", "answer": "a"}\n')
    return workplace


def forms(secret: str) -> set[str]:
    """How a secret may look; of base64, the part that no neighbour can change."""
    whole = len(secret.encode()) // 3 * 3
    return {
        secret,
        json.dumps(secret)[1:-1],
        repr(secret)[1:-1],
        html.escape(secret),
        quote(secret),
        re.sub("%..", lambda found: found[0].lower(), quote(secret, safe="")),
        quote_plus(secret),
        base64.b64encode(secret.encode()[:whole]).decode(),
    }


def leaks(
    place: Workplace, done: subprocess.CompletedProcess[str], secrets: Iterable[str]
) -> list[str]:
    """Where any of the secrets is, in any of its forms."""
    files = [
        path
        for folder in (place.folder, place.cache)
        for path in folder.rglob("*")
        if path.is_file() and path.name not in INPUTS
    ]
    out = {"stdout": done.stdout.encode(), "stderr": done.stderr.encode()}
    out |= {str(path.relative_to(place.folder.parent)): path.read_bytes() for path in files}
    return [
        f"{form} in {where}"
        for secret in secrets
        for form in sorted(forms(secret))
        for where, data in out.items()
        if form.encode() in data
    ]


def told(place: Workplace, done: subprocess.CompletedProcess[str]) -> str:
    """What a run says, where it is looked at or in its result."""
    report = place.folder / "report.json"
    return done.stdout + done.stderr + (report.read_text() if report.is_file() else "")


def run(place: Workplace, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    reports = [part for name in REPORTS for part in ("-o", f"{name}=report.{name}")]
    return place.cb("run", *arguments, *reports, "-vv", **LOUD, **environ)


PLANTED = {
    "WHOLE": "tr0ub4dor-and-3",
    "INSIDE": "pl4in/text+with=all &of it",
    "BEARER": 'quote"back\\slash-1',
    "QUERY": "schl%C3%BCssel/ü-9",
    "NAMED": "in-a-n4me",
    "HEADER": "X9.header~value",
    "ADDRESS": "https://ada:l0velace@host.example/v1?sig=s1gnature99&n=1",
    "NESTED": "n3sted-in-lists",
    "PLANTED_KEY_NAME": "only-named-by-a-p4rameter",
}
RUN_FILE = """
systems:
  - py:./leaky.py:System:
      how: {how}
      name: system-${{NAMED}}
      whole: ${{WHOLE}}
      inside: before-${{INSIDE}}-after
      header: Bearer ${{BEARER}}
      url: http://models.example/v1?key=${{QUERY}}
      headers: {{X-Anything: "${{HEADER}}"}}
      base: ${{ADDRESS}}
      nested: [1, {{deep: ["${{NESTED}}"]}}]
      api_key_env: PLANTED_KEY_NAME
      password: l1teral-password
      credentials: {{user: someb0dy-else}}
      conn: Server=db;User=me;Password=c0nnection;Timeout=5
datasets: [data.jsonl]
"""
LITERAL = ("l1teral-password", "someb0dy-else", "c0nnection", "l0velace")


@pytest.mark.parametrize(
    ("how", "log_format"),
    [
        ("returns", "text"),
        ("raises", "text"),
        ("prints", "text"),
        ("prints", "json"),
        ("cannot be made", "text"),
        ("refuses", "text"),
    ],
)
def test_nothing_of_a_run_file_gets_out(place, how, log_format):
    """Variables whole and in longer texts, and what is named like a secret, however it is told."""
    place.write("bench.yaml", RUN_FILE.format(how=how))
    done = run(place, "bench.yaml", "--log-format", log_format, **PLANTED)
    assert leaks(place, done, [*PLANTED.values(), *LITERAL]) == []
    assert "***" in told(place, done)
    for listing in (["runs"], ["provenance", "report.json"]) if how == "returns" else ():
        assert leaks(place, place.cb(*listing), [*PLANTED.values(), *LITERAL]) == []


NAMES = (
    *("api_key", "key", "auth", "passphrase", "session_token", "bearer", "pat", "pwd", "cookie"),
    *("signing_key", "openai_key", "tokens", "api_keys", "secrets", "webhook_url", "token"),
)
TYPED = {name: f"{name.replace('_', '')}-typ3d-in" for name in NAMES}
TYPED["webhook_url"] = "https://hooks.example/services/T0/B0/xyz"


@pytest.mark.parametrize("how", ["returns", "raises", "cannot be made"])
def test_nothing_of_a_command_line_gets_out(place, how):
    """Parameters by their names, headers, a connection string, logins and queries; nor the argv."""
    headers = {"X-Api-Key": "h3ader-key", "Authorization": "Basic " + _basic("me", "b4sic-login")}
    spec = ",".join(
        [
            f"py:./leaky.py:System,how={how}",
            *(f"{name}={value}" for name, value in TYPED.items()),
            f"headers='{json.dumps(headers)}'",
            "conn='Server=db;Password=c0nnection'",
            "dsn=https://me:l0gin-pass@host/db?token=qu3ry-token&x=1",
        ]
    )
    done = run(place, "--system", spec, "--dataset", "data.jsonl")
    secrets = ["h3ader-key", "b4sic-login", "c0nnection", "l0gin-pass", "qu3ry-token"]
    assert leaks(place, done, [*TYPED.values(), *secrets]) == []
    assert "***" in told(place, done)


def _basic(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--system", "openai:http://h,api_key=typ3d-in,oops"),
        ("--system", "openai:http://h,api_key='typ3d-in"),
        ("--system", "no_such:token=typ3d-in"),
        ("--system", "openai:http://me:typ3d-in@h,model=m"),
        ("--proxy", "http://127.0.0.1:1/v1?key=typ3d-in", "--model", "m"),
        ("--proxy", "http://127.0.0.1:1/v1?x=1&access_token=typ3d-in", "--model", "m"),
        ("--sytsem", "x:password=typ3d-in"),
        ("--system", "identity", "--max-examples", "token=typ3d-in"),
        ("bench.yaml:password=typ3d-in",),
    ],
)
def test_a_command_that_is_refused_does_not_repeat_its_secrets(place, arguments):
    """Syntax errors, unknown names, wrong flags, files that are not there."""
    done = run(place, *arguments, "--dataset", "data.jsonl")
    assert done.returncode != 0
    assert leaks(place, done, ["typ3d-in"]) == []


@pytest.mark.parametrize("how", ["returns", "raises", "cannot be made"])
@pytest.mark.parametrize("kind", ["dataset", "evaluator", "metric", "output"])
def test_nothing_of_other_components_gets_out(place, kind, how):
    """What they return, raise and name, and what is made of it: problems, summaries, ids."""
    parts = {"system": "identity", "dataset": "data.jsonl", "evaluator": "answer_quality"}
    spec = {"output": "Reporter"}.get(kind, kind.capitalize())
    parts[kind] = f"py:./leaky.py:{spec},how={how},api_key=typ3d-in"
    given = [part for name, value in parts.items() for part in (f"--{name}", value)]
    done = run(place, *given, PLANTED_TOKEN="by-n4me-only")
    assert leaks(place, done, ["typ3d-in", "by-n4me-only"]) == []
    assert "***" in told(place, done)


def test_a_module_that_cannot_be_imported_tells_no_variable(place):
    """`--import` fails before there is a run."""
    for flags in (["--import", "raising"], ["--system", "py:raising:X"]):
        done = run(place, "-d", "data.jsonl", *flags, PLANTED_SECRET="by-n4me-only")
        assert done.returncode == 2
        assert "***" in done.stderr
        assert leaks(place, done, ["by-n4me-only"]) == []


def test_a_plugin_that_cannot_be_looked_at_tells_no_variable(place):
    """Neither now nor in the file where it is remembered why."""
    write_hooks(place.site, "cb-hooked", RAISING)
    place.site.joinpath("leaky.py").write_text(LEAKY)
    for arguments in (["list-plugins"], ["list", "systems"], ["plugins", "show", "cb-hooked"]):
        done = place.cb(*arguments, PLANTED_SECRET="by-n4me-only")
        assert leaks(place, done, ["by-n4me-only"]) == []


ASKING = textwrap.dedent("""
    from cbcore.settings import Option

    ASKING = Option(many=True, metavar="VALUE", help="The values.")
    TOKEN = Option(metavar="TOKEN", help="The token.")

    def cb_configure(settings):
        if settings.get("asking"):
            raise RuntimeError(f"{settings.get('asking')} and {settings.get('asking-token')}")
""")


@pytest.mark.parametrize("in_file", [True, False])
def test_nothing_of_the_options_of_a_plugin_gets_out(place, in_file):
    """From the command line, and from a run file."""
    entries = {
        "cb.plugins": {"asking": "cb_asking"},
        "cb.options": {"asking": "cb_asking:ASKING", "asking-token": "cb_asking:TOKEN"},
    }
    write_distribution(place.site, "cb-asking", entries, {"cb_asking.py": ASKING})
    given = ["-s", "identity", "--asking", "x:api_key=typ3d-in", "--asking-token", "0ption-token"]
    if in_file:
        text = "systems: identity\nasking: ['x?y=${ONE}']\nasking_token: ${TWO}\n"
        given = [str(place.write("bench.yaml", text))]
    done = run(place, *given, ONE="typ3d-in", TWO="0ption-token")
    assert "***" in done.stderr
    assert leaks(place, done, ["typ3d-in", "0ption-token"]) == []


def test_the_key_of_a_judge_does_not_get_out(place):
    """Named by a flag, in a variable that is not named like a key."""
    judge = ["--judge-url", "http://127.0.0.1:1/v1?key=qu3ry-key", "--judge-model", "m"]
    system = ["-s", "py:./leaky.py:System", "-d", "data.jsonl"]
    done = run(place, *system, *judge, "--judge-api-key-env", "PLANTED", PLANTED="judge-k3y-value")
    assert leaks(place, done, ["judge-k3y-value", "qu3ry-key"]) == []
    assert "***" in told(place, done)


def test_a_value_that_cannot_be_told_from_text_is_hidden_where_it_stands_and_warned_of(place):
    """Not recorded, and not blotted out of every other text."""
    spec = "py:./leaky.py:System,api_key=Paris"
    done = run(place, "--system", spec, "--dataset", "data.jsonl")
    assert "api_key of System is too short or too common" in done.stderr
    result = json.loads(place.folder.joinpath("report.json").read_text())
    assert result["config"]["systems"][0]["params"]["api_key"] == "***"
    assert "Paris" in result["rows"][0]["response"]
