"""A name is parsed once and looked up once in a run, whoever needs the component."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from cbcore.plugins import Catalog, default_catalog
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from cbcore.specs import Spec

SYSTEM = "bm25:max_tokens=150 | extractive"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """How often each name was looked up, and each text parsed."""
    counts: Counter[tuple[str, str]] = Counter()
    find = Catalog.find

    def counting_find(self: Catalog, kind: str, name: str) -> object:
        counts[f"find {kind}", name] += 1
        return find(self, kind, name)

    monkeypatch.setattr(Catalog, "find", counting_find)
    depth = 0

    def counting(parse: Callable[[str], Any]) -> Callable[[str], Any]:
        def call(text: str) -> Any:
            nonlocal depth
            if depth == 0:  # one of them may hand a text on to another
                counts["parse", text] += 1
            depth += 1
            try:
                return parse(text)
            finally:
                depth -= 1

        return call

    for name in ("parse", "parse_chain", "parse_dataset"):
        monkeypatch.setattr(Spec, name, staticmethod(counting(getattr(Spec, name))))
    return counts


def test_each_name_of_a_run_is_found_and_parsed_once(counted: Counter[tuple[str, str]]) -> None:
    """Checks, builds and records use the same component."""
    settings = RunSettings(
        systems=[SYSTEM],
        datasets=["hotpotqa:sample"],
        evaluators=["answer_quality"],
        metrics=["mean_score"],
        max_examples=1,
        progress=False,
    )
    compose(settings, default_catalog()).run()

    asked = {(what, name) for what, name in counted if what != "find tokenizer"}
    assert asked == {
        ("find system", "bm25"),
        ("find system", "extractive"),
        ("find dataset", "hotpotqa"),
        ("find evaluator", "answer_quality"),
        ("find metric", "mean_score"),
        ("parse", SYSTEM),
        ("parse", "hotpotqa:sample"),
        ("parse", "answer_quality"),
        ("parse", "mean_score"),
        ("parse", str(settings.tokenizer)),
    }
    assert set(counted.values()) == {1}
