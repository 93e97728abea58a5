"""Examples as a file holds them: what the script puts together is what was opened."""

from __future__ import annotations

import json
import random

import pytest

from cb_reporters.page.index import ExampleIndex
from cb_reporters.page.opening import open_example
from cb_reporters.page.packing import join_packed, pack, parts_of

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


def joined(parts, original):
    if isinstance(parts, str):
        return parts
    return "".join(p if isinstance(p, str) else original[p[0] : p[1]] for p in parts)


def test_a_context_is_told_by_the_parts_of_the_original():
    """What was cut out is told by where it stood, and what was added by itself."""
    sentences = [f"Ship {i} {'sailed on ' * 12}and sank{end}" for i, end in enumerate(".!?.")]
    original = "\n".join(sentences)
    assert parts_of(original[4:300], original) == [[4, 300]]
    ends = [(original.find(one), original.find(one) + len(one)) for one in sentences]
    told = parts_of(" ".join((sentences[0], sentences[2], "New.", sentences[3])), original)
    assert told == [list(ends[0]), " ", list(ends[2]), " New. ", list(ends[3])]
    assert parts_of("Wholly other words.", original) == "Wholly other words."
    assert parts_of("\U0001f6a2 sank.", "A \U0001f6a2 sank.") == "\U0001f6a2 sank."


def test_parts_of_a_context_make_it_up_again():
    """Whatever was dropped, moved, repeated and added."""
    dice = random.Random(6)
    for _ in range(500):
        sentences = [
            " ".join(dice.choices(["a", "ship", "Keel", "1,958", "é"], k=dice.randrange(1, 9)))
            + dice.choice([".", "!", "?!", "\n", ""])
            for _ in range(dice.randrange(1, 12))
        ]
        original = dice.choice([" ", "\n", "  "]).join(sentences)
        kept = [one for one in sentences if dice.random() < 0.7]
        dice.shuffle(kept) if dice.random() < 0.3 else None
        kept.insert(dice.randrange(len(kept) + 1), dice.choice(["", "New words here.", " "]))
        made = dice.choice([" ", "\n"]).join(kept)
        assert joined(parts_of(made, original), original) == made
