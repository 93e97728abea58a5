"""The front end's sources: what is vendored is what they give, and the difference is right."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest

FRONTEND = Path(__file__).parents[1] / "frontend"
ASSETS = resources.files("cb_reporters.page") / "assets"
BUILT = ("page.js", "style.css", "LICENSES.txt")


def node(*arguments, **options):
    """Run node in the folder of the sources; skipped, with the reason, where it cannot be."""
    if shutil.which("node") is None:
        pytest.skip("no node")
    if not (FRONTEND / "node_modules/esbuild").exists():
        pytest.skip("the tools to build with are not installed: make frontend")
    done = subprocess.run(
        ["node", *arguments], cwd=FRONTEND, capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_vendored_is_what_the_sources_give(tmp_path):
    """`make frontend` was run after the last change."""
    node("build.mjs", str(tmp_path))
    for name in BUILT:
        assert (tmp_path / name).read_bytes() == (ASSETS / name).read_bytes(), name


def test_every_bundled_package_has_its_licence():
    """With its version, as it is pinned."""
    told = (ASSETS / "LICENSES.txt").read_text(encoding="utf-8")
    found = re.findall(r"={80}\n(\S+) (\S+) \(([^)]+)\)\n\n(.{200})", told, re.DOTALL)
    package = json.loads((FRONTEND / "package.json").read_text(encoding="utf-8"))
    pinned = {**package["devDependencies"], **package["overrides"]}
    assert {name for name, *_ in found} >= {"@observablehq/plot", "d3-scale", "d3-shape"}
    assert len(found) == told.count("=" * 80)
    assert all(pinned[name] == version for name, version, *_ in found)
    assert {licence for _, _, licence, _ in found} <= {"ISC", "MIT", "BSD-3-Clause"}


def test_versions_are_pinned_exactly():
    """And no lock file stands beside them."""
    package = json.loads((FRONTEND / "package.json").read_text(encoding="utf-8"))
    versions = [*package["devDependencies"].values(), *package["overrides"].values()]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+(-[\w.]+)?", version) for version in versions)


COMPARE = """
import { buildSync } from "esbuild";
import { readFileSync } from "node:fs";
const built = buildSync({ entryPoints: ["src/difference.ts"], bundle: true, format: "esm", write: false });
const code = Buffer.from(built.outputFiles[0].text).toString("base64");
const { difference } = await import(`data:text/javascript;base64,${code}`);
const cases = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(([before, after]) => difference(before, after))));
"""


def differences(cases):
    told = node("--input-type=module", "-e", COMPARE, input=json.dumps(cases))
    return json.loads(told)


def shown(before, after, found):
    """The runs as marks: [-dropped-] {+added+} kept."""
    text = ""
    for run in found["runs"]:
        part = (after if run["kind"] == "added" else before)[run["from"] : run["to"]]
        text += {"kept": "{}", "dropped": "[-{}-]", "added": "{{+{}+}}"}[run["kind"]].format(part)
    return text


KNOWN = [
    ("A b. C d. E f.", "A b. E f.", "A b. [-C d. -]E f.", (2, 0, 1, 0)),
    ("A b. C d.", "A b. C d.", "A b. C d.", (2, 0, 0, 0)),
    ("A b. C d.", "", "[-A b. C d.-]", (0, 0, 2, 0)),
    ("", "New one.", "{+New one.+}", (0, 0, 0, 1)),
    ("One. Two. Three.", "Three. One.", "One. [-Two. -]Three.", (2, 0, 1, 0)),
    (
        "The ship was carved by Bruna Keel. It sank.",
        "The ship was made by Bruna Keel. It sank.",
        "The ship was [-carved -]{+made +}by Bruna Keel. It sank.",
        (1, 1, 0, 0),
    ),
    (
        "It rose to 2,417 metres in 1.5 hours. Then it fell.",
        "It rose to 2,417 metres",
        "It rose to 2,417 metres [-in 1.5 hours. Then it fell.-]",
        (0, 1, 1, 0),
    ),
    (
        "The old cat sat on the red mat. The big dog ran to the far hill.",
        "old cat sat red mat. big dog ran far hill.",
        "[-The -]old cat sat [-on the -]red mat. [-The -]big dog ran [-to the -]far hill.",
        (0, 2, 0, 0),
    ),
    ("Same  words\nhere.", "Same words here.", "Same  words\nhere.", (2, 0, 0, 0)),
    ("Nothing alike at all.", "Wholly other text!", "[-Nothing alike at all.-]{+Wholly other text!+}",
     (0, 0, 1, 1)),
]  # fmt: skip


def test_known_differences():
    """Sentences kept, dropped, added, moved and rewritten; words where they were rewritten."""
    found = differences([(before, after) for before, after, *_ in KNOWN])
    for (before, after, marks, counts), one in zip(KNOWN, found, strict=True):
        assert shown(before, after, one) == marks
        told = one["sentences"]
        assert tuple(told[k] for k in ("kept", "rewritten", "dropped", "added")) == counts, before


def test_every_character_of_the_original_is_told_once():
    """Kept and dropped parts make up the original, whatever the new text is."""
    dice = random.Random(4)
    words = ["a", "the", "ship", "Keel", "1958", "x.", "end.", "no!", "\n", "und", "é", "日本。"]
    cases = []
    for _ in range(300):
        before = " ".join(dice.choices(words, k=dice.randrange(40)))
        kept = [word for word in before.split(" ") if dice.random() < 0.6]
        after = " ".join(kept + dice.choices(words, k=dice.randrange(4)))
        cases.append((before, after))
    for (before, after), found in zip(cases, differences(cases), strict=True):
        parts = sorted((r["from"], r["to"]) for r in found["runs"] if r["kind"] != "added")
        edges = [0, *(edge for part in parts for edge in part), len(before)]
        assert edges[::2] == edges[1::2], before
        added = [after[r["from"] : r["to"]] for r in found["runs"] if r["kind"] == "added"]
        assert all(added)


def test_large_texts_are_compared():
    """A megabyte of words, half of them dropped, and a megabyte without a space."""
    dice = random.Random(5)
    sentences = [
        " ".join(f"w{dice.randrange(9999)}" for _ in range(12)) + "." for _ in range(12_000)
    ]
    before, after = " ".join(sentences), " ".join(sentences[::2])
    found, one_word = differences([(before, after), ("x" * 1_000_000, "x" * 500_000)])
    assert found["sentences"] == {"kept": 6000, "rewritten": 0, "dropped": 6000, "added": 0}
    assert one_word["sentences"]["kept"] == 0
