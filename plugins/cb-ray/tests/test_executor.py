"""The parameters of the executor, before any Ray is started."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cb_ray import RayExecutor
from cb_ray.env_file import read_variables
from cbcore.exceptions import RunError, UsageError
from cbcore.secrets import Secret


def test_importing_and_making_it_imports_no_ray():
    """Ray takes half a second and a hundred megabytes."""
    code = "import sys; from cb_ray import RayExecutor; RayExecutor(workers=2); print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"num_cpus": -1}, "num_cpus must be 0 or more, not -1"),
        ({"num_gpus": -0.5}, "num_gpus must be 0 or more, not -0.5"),
        ({"workers": 0}, "workers must be 1 or more, not 0"),
        ({"start_timeout_s": 0}, "start_timeout_s must be positive, not 0"),
        ({"address": "ray://head:10001"}, "give HOST:PORT of the head.*ray job submit"),
        ({"runtime_env": "nowhere.yaml"}, "runtime_env cannot be read: .*nowhere.yaml"),
        ({"runtime_env": "{not json"}, "runtime_env cannot be read: "),
    ],
)
def test_what_cannot_be_is_refused_in_words(given, told):
    """With the value and what would do."""
    with pytest.raises(ValueError, match=told):
        RayExecutor(**given)


@pytest.mark.parametrize("value", [Secret("hush-hush-hush"), "hush-hush-hush"])
def test_a_runtime_env_takes_no_secrets(value):
    """Ray writes it into its logs; a file on the nodes is for them."""
    with pytest.raises(ValueError, match=r"OPENAI_API_KEY.*on the nodes.*env_file") as refused:
        RayExecutor(runtime_env={"env_vars": {"OPENAI_API_KEY": value}})
    assert "hush" not in str(refused.value)


def test_a_runtime_env_is_a_mapping_json_or_a_file(tmp_path):
    """All mean the same."""
    path = tmp_path / "env.yaml"
    path.write_text("pip: [cb-bench]\n")
    given = {"pip": ["cb-bench"]}
    for value in (given, '{"pip": ["cb-bench"]}', str(path)):
        assert RayExecutor(runtime_env=value).runtime_env == given


def test_a_file_of_variables_is_read_as_shells_write_it(tmp_path, monkeypatch):
    """Comments, quotes and `export` are passed over; a relative name is that of a file here."""
    path = tmp_path / "keys.env"
    path.write_text("# keys\n\nexport ONE='a b'\nTWO = c=d\nTHREE=\n")
    assert read_variables(str(path)) == {"ONE": "a b", "TWO": "c=d", "THREE": ""}
    monkeypatch.chdir(tmp_path)
    assert RayExecutor(env_file="keys.env").env_file == str(path)
    assert RayExecutor(env_file="~/keys.env").env_file == "~/keys.env"


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("ONE=a\nsk-hush-hush\n", "line 2 is not NAME=value"),
        (b"\xff\xfe", "not UTF-8"),
        (None, "No"),
    ],
)
def test_what_is_wrong_with_a_file_of_variables_is_said_without_what_is_in_it(
    written, told, tmp_path
):
    """By its name and its line."""
    path = tmp_path / "keys.env"
    if written is not None:
        path.write_bytes(written if isinstance(written, bytes) else written.encode())
    with pytest.raises(UsageError, match=told) as refused:
        read_variables(str(path))
    assert "hush" not in str(refused.value)
    assert str(path) in str(refused.value)


def test_the_address_comes_from_the_environment_too(monkeypatch):
    """As for any program that uses Ray; `local` means one of our own."""
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert RayExecutor().address == "10.0.0.1:6379"
    assert RayExecutor("10.0.0.2:6379").address == "10.0.0.2:6379"
    assert RayExecutor("local").address is None


def test_a_cluster_that_is_not_there_is_reported_at_once():
    """And not waited for."""
    pytest.importorskip("ray")
    with pytest.raises(RunError, match=r"127\.0\.0\.1:1 could not be joined.*refused") as refused:
        RayExecutor("127.0.0.1:1").open(b"", workers=None)
    assert "ray start --head" in str(refused.value.hint)
