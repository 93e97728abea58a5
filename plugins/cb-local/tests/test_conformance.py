"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from pathlib import Path

import pytest

from cb_testing import check_plugin


@pytest.mark.usefixtures("bundled")
def test_conformance(gguf: Path) -> None:
    """Every rule of the kit holds for the system, with the real model, and for the command."""
    local = {
        "params": {"max_tokens": 2, "n_ctx": 512},
        "variants": {"model": str(gguf), "prompt": "{question}", "system_prompt": "Be brief."},
    }
    check_plugin("cb-local", examples={"local": local}).assert_ok()
