"""What a run asks for and nobody offers: one message that names all of it."""

from __future__ import annotations

import pytest

from cbcore.assembly.builder import Builder
from cbcore.exceptions import UsageError
from cbcore.plugins import Catalog, read_distributions
from cbcore.settings import RunSettings
from cbcore.specs import parse_output


@pytest.fixture
def bare() -> Builder:
    """Only the core is installed, and the directory of packages."""
    installed = [one for one in read_distributions() if one.name in ("cbcore", "cb-manage")]
    return Builder(Catalog(installed))


def asked(request: RunSettings, *outputs: str):
    return [*request.components(), *(("reporter", parse_output(text)[0]) for text in outputs)]


def test_everything_that_lacks_is_named_with_what_brings_it(bare):
    """Stages of chains and reports too, each once; the hint is one command."""
    request = RunSettings(
        systems=["bm25:max_tokens=4 | extractive", "identity | extractive"],
        datasets=["hotpotqa:sample"],
        tokenizer="py:./mine.py:Counter",
    )
    with pytest.raises(UsageError) as caught:
        bare.require_all(asked(request, "html=report.html"))
    assert caught.value.message == (
        "not installed: system 'bm25', system 'extractive', system 'identity', "
        "dataset 'hotpotqa', reporter 'html'"
    )
    assert caught.value.hint == "cb install cb-baselines cb-hotpotqa cb-reporters"


def test_what_no_package_is_known_to_offer_is_told_beside(bare):
    """A name may be misspelt."""
    request = RunSettings(systems=["nonsense"], datasets=["hotpotqa"], tokenizer="py:m:x")
    with pytest.raises(UsageError) as caught:
        bare.require_all(asked(request))
    assert "cb install cb-hotpotqa\nsystem 'nonsense': `cb list systems`" in str(caught.value.hint)


def test_a_single_one_is_told_where_it_is_looked_up(bare):
    """With names like it, or the package that has it."""
    request = RunSettings(systems=[object()], datasets=[[{"id": 1}]], tokenizer="words")
    bare.require_all(asked(request))


def test_own_code_and_objects_are_nobody_elses(bare):
    """Whatever they turn out to be."""
    request = RunSettings(systems=["py:m:x", object()], datasets=[[]], tokenizer="py:m:x")
    bare.require_all(asked(request, "py:m:R=out.txt"))
