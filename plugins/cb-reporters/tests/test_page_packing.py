"""Examples as a file holds them: what the script puts together is what was opened."""

from __future__ import annotations

import json

import pytest

from cb_reporters.page.index import ExampleIndex
from cb_reporters.page.opening import open_example
from cb_reporters.page.packing import find_part, join_packed, pack

UNPACK = """
import { buildSync } from "esbuild";
import { readFileSync } from "node:fs";
const built = buildSync({ entryPoints: ["src/packing.ts"], bundle: true, format: "esm", write: false });
const code = Buffer.from(built.outputFiles[0].text).toString("base64");
const { unpacked, examplesWith } = await import(`data:text/javascript;base64,${code}`);
const { texts, structure, datasets, searches } = JSON.parse(readFileSync(0, "utf8"));
const rows = JSON.parse(structure);
console.log(JSON.stringify({
  examples: datasets.map((name, place) => unpacked(texts, rows, place, name)),
  found: searches.map((terms) => [...examplesWith(terms, texts.toLowerCase())]),
}));
"""


@pytest.fixture
def in_script(load_beside):
    """What the page's script makes of examples that were packed."""
    node = load_beside("test_page_sources").node

    def run(examples, searches=()):
        whole = join_packed([pack(example) for example in examples])
        told = {
            "texts": whole.texts,
            "structure": whole.structure,
            "datasets": [example["dataset"] for example in examples],
            "searches": searches,
        }
        return json.loads(node("--input-type=module", "-e", UNPACK, input=json.dumps(told)))

    return run


def all_of(result):
    index = ExampleIndex.of(result)
    return [open_example(result, index, example) for example in range(len(index.keys))]


@pytest.mark.parametrize("which", ["small", "many_systems", "hostile"])
def test_the_script_puts_together_what_was_taken_apart(which, pages, in_script):
    """Every field of every example comes back, hostile texts among them, to the letter."""
    examples = all_of(getattr(pages, which)())
    assert in_script(examples)["examples"] == json.loads(json.dumps(examples))


def test_characters_that_end_texts_may_stand_in_them(pages, in_script):
    """Those that stand between texts and examples are data like any other."""
    (example, *_) = all_of(pages.small(1))
    odd = "a\x1eb\x1fc\x10d\x10R\x10E\x1e\ud83d \x10Sd800"
    example |= {"question": odd, "fields": {"1": odd, "0": [odd, {"\x1f": ""}]}}
    (found,) = in_script([example])["examples"]
    assert found == json.loads(json.dumps(example))


def test_a_search_finds_the_examples_that_have_every_term(pages, in_script):
    """In any of their texts; names of fields, of datasets and numbers are no texts."""
    examples = all_of(pages.small())
    searches = [["bruna"], ["tilda", "sample-03"], ["made by a model", "sample-1"], ["judge"],
                ["ships"], ["response"], ["carved by bruna keel from a single pear tree"]]  # fmt: skip

    def strings(value):
        if isinstance(value, str):
            yield value.lower()
        elif isinstance(value, dict | list):
            for part in value.values() if isinstance(value, dict) else value:
                yield from strings(part)

    def has(example, term):
        return any(term in text for text in strings({**example, "dataset": ""}))

    expected = [
        [i for i, one in enumerate(examples) if all(has(one, term) for term in terms)]
        for terms in searches
    ]
    assert in_script(examples, searches)["found"] == expected
    assert [len(found) for found in expected[4:6]] == [0, 0]
    assert all(len(found) > 0 for found in expected[:4])


def test_a_context_that_is_a_part_of_the_original_has_its_place_there():
    """Any other is a text of its own, as is one with characters that a browser counts as two."""
    original = "Ship 1 sailed on. Ship 2 sank. It was found."
    assert find_part("Ship 2 sank.", original) == [[18, 30]]
    assert find_part(original, original) == [[0, len(original)]]
    assert find_part("Ship 2 sank. Other words.", original) == "Ship 2 sank. Other words."
    assert find_part("", original) == ""
    assert find_part("\U0001f6a2 sank.", "A \U0001f6a2 sank.") == "\U0001f6a2 sank."
