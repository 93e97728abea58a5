"""Run files: every key, every mistake with the file's name, and secrets that stay secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cbcore.exceptions import ConfigError, SpecError
from cbcore.json_data import to_json
from cbcore.provenance import describe
from cbcore.secrets import Secret
from cbcore.settings.run_file import read_run_file
from cbcore.specs import Spec

ENVIRONMENT = {"API_KEY": "hunter2, 'quoted' | and, more", "HOST": "example.test"}


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Read a run file with the given text, in its folder and a known environment."""
    monkeypatch.chdir(tmp_path)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    def reader(text):
        path = Path("bench.yaml")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_run_file(path)

    return reader


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("systems: [identity]", {"systems": [[Spec("identity")]]}),
        ("systems: identity", {"systems": [[Spec("identity")]]}),
        ("systems:\n- a | b:k=1", {"systems": [[Spec("a"), Spec("b", None, {"k": "1"})]]}),
        (
            "systems:\n- bm25: {max_tokens: 200}",
            {"systems": [[Spec("bm25", None, {"max_tokens": 200})]]},
        ),
        (
            "systems:\n- bm25: {max-tokens: 200}",
            {"systems": [[Spec("bm25", None, {"max_tokens": 200})]]},
        ),
        ("systems:\n- bm25:", {"systems": [[Spec("bm25")]]}),
        (
            "systems:\n- a | b: {name: both}",
            {"systems": [[Spec("a"), Spec("b", None, {"name": "both"})]]},
        ),
        (
            "systems:\n- openai:http://h: {model: m}",
            {"systems": [[Spec("openai", "http://h", {"model": "m"})]]},
        ),
        (
            "datasets: [mmlu:anatomy, data.jsonl]",
            {"datasets": [Spec("mmlu", "anatomy"), Spec("file", "data.jsonl")]},
        ),
        (
            "datasets:\n- ./my data.csv: {n: 5}",
            {"datasets": [Spec("file", "./my data.csv", {"n": 5})]},
        ),
        (
            "evaluators: [answer_quality, 'py:./e.py:E']",
            {"evaluators": [Spec("answer_quality"), Spec("py", "./e.py:E")]},
        ),
        (
            "metrics:\n- mean_score: {score_field: f1}",
            {"metrics": [Spec("mean_score", None, {"score_field": "f1"})]},
        ),
        ("output: table", {"outputs": ["table"]}),
        ("output: [table, json=out.json]", {"outputs": ["table", "json=out.json"]}),
        ("max_examples: 50", {"max_examples": 50}),
        ("score: f1", {"score": "f1"}),
        ("score_field: f1", {"score": "f1"}),
        ("threshold: 0.7", {"threshold": 0.7}),
        ("threshold: 1", {"threshold": 1}),
        ("concurrency: 4", {"concurrency": 4}),
        ("max_workers: 4", {"concurrency": 4}),
        ("max_errors: 0", {"max_errors": 0}),
        ("max_errors: 0.1", {"max_errors": 0.1}),
        ("repeats: 3", {"repeats": 3}),
        ("timeout: 2.5", {"timeout_s": 2.5}),
        ("budget_tokens: 1000", {"budget_tokens": 1000}),
        ("budget_usd: 0.5", {"budget_usd": 0.5}),
        ("rows: disk", {"rows": "disk"}),
        ("cache_dir: .cache", {"cache_dir": ".cache"}),
        ("seed: -1", {"seed": -1}),
        ("tokenizer: cl100k_base", {"tokenizer": Spec("cl100k_base")}),
        ("executor: {ray: {n: 2}}", {"executor": Spec("ray", None, {"n": 2})}),
        ("fail_fast: true", {"fail_fast": True}),
        ("text_fields: story", {"text_fields": ["story"]}),
        ("text_fields: [story, query]", {"text_fields": ["story", "query"]}),
        ("import: my_module", {"imports": ["my_module"]}),
        ("import: [one, ./two.py]", {"imports": ["one", "./two.py"]}),
        ("cache_dir: /tmp/${HOST}/x", {"cache_dir": "/tmp/example.test/x"}),
    ],
)
def test_every_key_is_read(read, text, expected):
    """Specs as strings or as one name with parameters; one value of a list stands for the list."""
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("max_examples: many", "max_examples must be int, not 'many'"),
        ("max_examples: 1.5", "max_examples must be int, not 1.5"),
        ("max_examples: true", "max_examples must be int, not True"),
        ("max_examples: 0", "max_examples must be at least 1, not 0"),
        ("max_workers: 0", "max_workers must be at least 1, not 0"),
        ("max_errors: -1", "max_errors must be at least 0, not -1"),
        ("max_workers: [4]", "max_workers must be int, not [4]"),
        ("max_errors:", "max_errors must be int or float, not None"),
        ("max_errors: -0.5", "max_errors must be at least 0, not -0.5"),
        ("repeats: 0", "repeats must be at least 1, not 0"),
        ("timeout: soon", "timeout must be int or float, not 'soon'"),
        ("timeout: -1", "timeout must be more than 0, not -1"),
        ("budget_tokens: 1.5", "budget_tokens must be int, not 1.5"),
        ("budget_usd: -2", "budget_usd must be more than 0, not -2"),
        ("timeout: 0", "timeout must be more than 0, not 0"),
        ("budget_tokens: 0", "budget_tokens must be at least 1, not 0"),
        ("fail_fast: 1", "fail_fast must be bool, not 1"),
        ("rows: 5", "rows must be str, not 5"),
        ("rows: tape", "rows must be 'memory' or 'disk', not 'tape'"),
        ("score_field: 1", "score_field must be str, not 1"),
        ("threshold: high", "threshold must be int or float, not 'high'"),
        ("cache_dir: 5", "cache_dir must be str, not 5"),
        ("seed: x", "seed must be int, not 'x'"),
        ("tokenizer: [a]", "tokenizer: ['a'] is neither a name nor one name with its parameters"),
        ("text_fields: 5", "text_fields must be str, not 5"),
        ("text_fields: [1]", "text_fields must be str, not 1"),
        ("output: 5", "output must be str, not 5"),
        ("output: [{html: {a: 1}}]", "output must be str, not {"),
        ("import: 5", "import must be str, not 5"),
        ("systems: [5]", "systems: 5 is neither a name nor one name with its parameters"),
        ("systems:", "systems: None is neither a name nor"),
        ("systems: [{a: {}, b: {}}]", "is neither a name nor one name with its parameters"),
        ("systems: [{a: 5}]", "systems: {'a': 5} is neither a name nor"),
        ("systems:\n- a:k=1: {k: 2}", "systems: 'a:k=1' is given k twice"),
        ("systems:\n- a: {a-b: 1, a_b: 2}", "systems: 'a' is given a key twice"),
        ("- a\n- b", "expected keys such as systems: and datasets:"),
        ("just text", "expected keys such as systems: and datasets:"),
        ("", "expected keys such as systems: and datasets:"),
        ("systems: [a\nmax_examples: 5", "not valid YAML: line 2:"),
        ("a: b: c", "not valid YAML: line 1:"),
        ("a: \x07", "not valid YAML"),
        ("seed: 2024-13-45", "not valid YAML: month must be in 1..12"),
        ("seed: 1\nscore: f1\nseed: 2", "not valid YAML: line 3: 'seed' is given twice"),
        ("fields: {a: b, a: c}", "not valid YAML: line 1: 'a' is given twice"),
        (b"systems: [\xff]", "not valid UTF-8 at byte 10"),
        ("cache_dir: ${ABSENT}", "the environment variable 'ABSENT' is not set"),
        ("systems: ['a:k=${ABSENT}']", "the environment variable 'ABSENT' is not set"),
        ("systems: [{a: {k: [x, '${ABSENT}']}}]", "the environment variable 'ABSENT' is not set"),
    ],
)
def test_a_mistake_is_told_with_the_file(read, tmp_path, text, reason):
    """The message names the file, the key and the value."""
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert caught.value.source == "bench.yaml"
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("sytems", "did you mean systems?"),
        ("max-examples", "did you mean max_examples?"),
        ("dataset", "did you mean datasets?"),
        ("zzzzzz", "known keys: systems, datasets,"),
        (5, "known keys:"),
    ],
)
def test_an_unknown_key_is_an_error_with_a_suggestion(read, key, hint):
    """A misspelt key is never ignored."""
    with pytest.raises(ConfigError, match=f"unknown key {key!r}") as caught:
        read(f"{key}: 5")
    assert hint in caught.value.hint


def test_an_unknown_key_lists_each_key_of_plugins_once(read):
    """Without the other words that mean it, which are not always plurals."""
    read("seed: 1")
    Path("bench.yaml").write_text("zzzzzz: 5")
    with pytest.raises(ConfigError) as caught:
        read_run_file("bench.yaml", plugin_keys={"pricess": "prices", "prices": "prices"})
    assert caught.value.hint.endswith(", prices")
    assert "pricess" not in caught.value.hint


def test_a_missing_variable_comes_with_the_command_that_sets_it(read):
    """The hint can be copied."""
    with pytest.raises(ConfigError) as caught:
        read("cache_dir: ${ABSENT}")
    assert caught.value.hint == "export ABSENT=…"


def test_a_malformed_spec_is_a_spec_error(read):
    """As on the command line."""
    with pytest.raises(SpecError, match="'a:': nothing follows the colon"):
        read("systems: ['a:']")


def test_a_missing_run_file_is_told(tmp_path):
    """With its path and the system's reason."""
    with pytest.raises(ConfigError, match=r"absent\.yaml: cannot be read: No such file"):
        read_run_file(tmp_path / "absent.yaml")
    with pytest.raises(ConfigError, match="this folder has no run file"):
        read_run_file(tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("datasets: [data.jsonl]", {"datasets": [Spec("file", "conf/data.jsonl")]}),
        ("datasets: [/abs/data.jsonl]", {"datasets": [Spec("file", "/abs/data.jsonl")]}),
        ("datasets: [mmlu:anatomy]", {"datasets": [Spec("mmlu", "anatomy")]}),
        ("evaluators: ['py:./e.py:E']", {"evaluators": [Spec("py", "./conf/e.py:E")]}),
        ("evaluators: ['py:pkg.e:E']", {"evaluators": [Spec("py", "pkg.e:E")]}),
        ("evaluators: [a: {p: ../x}]", {"evaluators": [Spec("a", None, {"p": "x"})]}),
        ("evaluators: [a: {p: x/y}]", {"evaluators": [Spec("a", None, {"p": "x/y"})]}),
        (
            "evaluators: [a: {f: 'py:./m.py:f'}]",
            {"evaluators": [Spec("a", None, {"f": "py:./conf/m.py:f"})]},
        ),
        (
            "output: [table, html=o/r.html, r.csv]",
            {"outputs": ["table", "html=conf/o/r.html", "conf/r.csv"]},
        ),
        ("cache_dir: ../kept", {"cache_dir": "kept"}),
        ("import: [one, ./two.py]", {"imports": ["one", "./conf/two.py"]}),
        ("cache_dir: ${API_KEY}", {"cache_dir": ENVIRONMENT["API_KEY"]}),
    ],
)
def test_paths_are_those_of_the_file(tmp_path, monkeypatch, text, expected):
    """From where it is read; names, and what the environment says, stay as they are."""
    monkeypatch.chdir(tmp_path)
    Path("conf").mkdir()
    Path("conf/bench.yaml").write_text(text)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert read_run_file("conf/bench.yaml") == expected


def test_the_environment_of_the_process_is_used_by_default(tmp_path, monkeypatch):
    """Unless another one is given."""
    monkeypatch.setenv("CB_TEST_FOLDER", "here")
    path = tmp_path / "bench.yaml"
    path.write_text("cache_dir: ${CB_TEST_FOLDER}")
    assert read_run_file(str(path)) == {"cache_dir": "here"}


@pytest.mark.parametrize(
    "item",
    [
        "'openai:http://h,key=${API_KEY}'",
        "{openai: {key: '${API_KEY}'}}",
        "{'openai:http://h': {headers: {Other: 'Bearer ${API_KEY}'}}}",
        "{openai: {keys: ['${API_KEY}']}}",
        "'openai:${API_KEY}'",
        "'first | openai:key=${API_KEY}'",
    ],
)
def test_an_expanded_secret_is_used_but_never_shown(read, item):
    """The value reaches the component; `repr`, `str` and the record of the run show its source."""
    *_, spec = read(f"systems: [{item}]")["systems"][0]
    assert ENVIRONMENT["API_KEY"] in to_json({"config": spec.config, **spec.params}).decode()

    class Component:
        def __init__(self, config, params):
            self.config = config
            self.params = params

    shown = [
        repr(spec),
        str(spec),
        spec.label,
        json.dumps(describe(Component(spec.config, dict(spec.params)), name="x")),
    ]
    for text in shown:
        assert "hunter2" not in text
    assert "${API_KEY}" in repr(spec)
    assert "${API_KEY}" in str(spec)


def test_an_expanded_value_is_a_secret_with_its_source(read):
    """Text around a variable belongs to the source."""
    [[spec]] = read("systems: [{a: {k: 'x-${HOST}-y', plain: 'a$b'}}]")["systems"]
    assert spec.params["k"] == "x-example.test-y"
    assert isinstance(spec.params["k"], Secret)
    assert spec.params["k"].source == "x-${HOST}-y"
    assert type(spec.params["plain"]) is str


def test_a_secret_with_separators_in_it_stays_in_one_piece(read):
    """Variables are expanded after the spec was taken apart."""
    [[spec]] = read("systems: ['a:key=${API_KEY},n=1']")["systems"]
    assert spec.params == {"key": ENVIRONMENT["API_KEY"], "n": "1"}


def test_an_error_about_an_item_does_not_show_its_secrets(read):
    """What is typed into the file is redacted as well."""
    with pytest.raises(ConfigError) as caught:
        read("systems: [{a: {api_key: hunter2}, b: {}}]")
    assert "hunter2" not in str(caught.value)
