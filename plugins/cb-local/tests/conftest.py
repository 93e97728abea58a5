"""The bundled model, where it is installed, and files that only look like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from cb_local import ModelNotFoundError
from cb_local.models import BUNDLED, Model, find_model


@pytest.fixture(scope="session")
def bundled() -> Model:
    """SmolLM2; without it the test is skipped, with the command that installs it."""
    try:
        return find_model(BUNDLED)
    except ModelNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    """A file that starts like a model and is none: enough for all that does not load it."""
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF" + bytes(64))
    return path
