"""The documentation is true: it is up to date, its links lead somewhere, and its code runs."""

from __future__ import annotations

import ast
import contextlib
import inspect
import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from cbcore import evaluate, hookspecs
from cbcore.results.eval_row import ROW_FIELDS
from cbcore.store.database import SCHEMA, Store
from tests.tables import check_each
from tools.docs import notebook, snippets

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<!!)\[(?:[^\]\[]|\[[^\]]*\])*\]\((?P<target>[^)\s]+)\)")
FENCED = re.compile(r"^(```+).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} (?P<text>.+?)\s*$", re.MULTILINE)
HOOK = re.compile(r"^### `(?P<name>cb_\w+)\((?P<arguments>[^)]*)\)`$", re.MULTILINE)


PAGES = [*snippets.pages(), ROOT / "CHANGELOG.md"]


def page_id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as they are made for rendered Markdown."""
    found: set[str] = set()
    for match in HEADING.finditer(FENCED.sub("", page)):
        text = re.sub(r"[^\w\- ]", "", match["text"].lower()).replace(" ", "-")
        unique, number = text, 0
        while unique in found:
            number += 1
            unique = f"{text}-{number}"
        found.add(unique)
    return found


# -- generated pages ---------------------------------------------------------------------------


def test_generated_pages_are_up_to_date() -> None:
    """What the reference says is what the code says."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.docs.generate", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"run `make docs`\n{done.stderr}"


def test_the_notebook_shows_what_its_cells_give() -> None:
    """Its cells are those of the page, run one after another; a result is a table in it."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.docs.notebook", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kept = json.loads(notebook.NOTEBOOK.read_text(encoding="utf-8"))
    tables = [
        "".join(output["data"]["text/html"])
        for cell in kept["cells"]
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    assert len(tables) == 1
    assert tables[0].count("<tr>") == 3
    assert "bm25:max_tokens=60 | extractive keeps" in tables[0]


@pytest.mark.parametrize(
    ("page", "told"),
    [("## Other\n\n```python\nprint(1)\n```\n", "cells"), ("", "is not that of the page")],
)
def test_a_notebook_that_is_not_the_pages_is_told(page: str, told: str, tmp_path: Path) -> None:
    """Too many cells, or a cell that shows something else."""
    text = "# A\n\n```python\nprint(1 + 1)\n```\n```text\n2\n```\n"
    kept = notebook.notebook_of(text, tmp_path)
    assert [cell["cell_type"] for cell in kept["cells"]] == ["markdown", "code"]
    assert kept["cells"][1]["outputs"][0]["text"] == ["2\n"]
    assert notebook.difference(kept, notebook.notebook_of(text, tmp_path)) == ""
    changed = (text + page) if page else text.replace("1 + 1", "1 + 2")
    assert told in notebook.difference(kept, notebook.notebook_of(changed, tmp_path))


def test_every_hook_is_documented_with_exactly_its_arguments() -> None:
    page = (DOCS / "reference" / "hooks.md").read_text(encoding="utf-8")
    documented = {
        match["name"]: [word for word in match["arguments"].split(", ") if word]
        for match in HOOK.finditer(page)
    }
    specified = {
        name: list(inspect.signature(spec).parameters)
        for name, spec in vars(hookspecs).items()
        if name.startswith("cb_")
    }
    assert documented == specified


def test_every_field_of_a_row_and_key_of_a_config_is_documented() -> None:
    page = (DOCS / "reference" / "results.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (`[^|]+`) \|", page, re.MULTILINE)
    documented = {name for cell in listed for name in re.findall(r"`(\w+)`", cell)}
    example = {"id": 1, "question": "Who?", "answer": "me"}
    result = evaluate(systems=["identity"], dataset=[example], progress=False)
    assert {*ROW_FIELDS, *result.config} <= documented


def test_every_column_of_the_store_is_documented_with_its_type() -> None:
    page = (DOCS / "reference" / "store.md").read_text(encoding="utf-8")
    documented: dict[str, dict[str, str]] = {}
    for section in page.split("\n## ")[1:]:
        columns = documented.setdefault(section.partition("\n")[0].strip("`"), {})
        for names, types in re.findall(r"^\| (`[^|]+`) \| ([A-Z, ]+) \|", section, re.MULTILINE):
            names_ = re.findall(r"`(\w+)`", names)
            columns |= zip(names_, types.split(", ") * len(names_), strict=False)
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        tables = {
            table: {
                name: kind for _, name, kind, *_ in database.execute(f"PRAGMA table_info({table})")
            }
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
        }
    assert {name: columns for name, columns in documented.items() if columns} == tables


CODE_PAGES = ["architecture.md", "life-of-an-example.md"]


@pytest.mark.parametrize("page", CODE_PAGES)
def test_code_that_is_explained_exists(page: str) -> None:
    """Files and folders, and after `file.py: Name` or as `Class.method` the names in them."""
    text = (DOCS / "explanation" / page).read_text(encoding="utf-8")
    quoted = re.findall(r"`((?:cbcore|plugins|tests)/[\w/.-]+)(?:: ([\w.]+))?`", text)
    assert len(quoted) > 10
    assert {path for path, _ in quoted if not (ROOT / path).exists()} == set()
    defined = defined_names(ROOT / "cbcore")
    named = {name for _, name in quoted if name}
    named |= set(re.findall(r"`([A-Z]\w+\.\w+)`", text))
    assert named - defined == set()


def defined_names(folder: Path) -> set[str]:
    """The classes and functions of a package, methods and attributes as `Class.name`."""
    names: set[str] = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            if isinstance(node, ast.ClassDef):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                        names.add(f"{node.name}.{inner.name}")
                    elif isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
                        names.add(f"{node.name}.{inner.attr}")
                    elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                        names.add(f"{node.name}.{inner.target.id}")
    return names


# -- links -------------------------------------------------------------------------------------


@check_each("path", PAGES)
def test_relative_links_resolve(path: Path) -> None:
    """Files exist, and so do the headings that anchors name."""
    page = path.read_text(encoding="utf-8")
    for match in LINK.finditer(FENCED.sub("", page)):
        target, _, anchor = unquote(match["target"]).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        linked = path if not target else (path.parent / target).resolve()
        assert linked.exists(), f"{path.name} links to {target}, which does not exist"
        if anchor:
            known = anchors(linked.read_text(encoding="utf-8"))
            assert anchor in known, f"{path.name} links to #{anchor}; there are {sorted(known)}"


def test_every_page_can_be_reached_from_the_index() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = {(DOCS / m["target"]).resolve() for m in LINK.finditer(index)}
    assert {p for p in DOCS.rglob("*.md") if p.name != "index.md"} <= linked


# -- code --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_everything_shown_runs(path: Path, tmp_path: Path) -> None:
    """Every block does what the page says, in an empty folder and without network."""
    snippets.Page(path, tmp_path).run()


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=page_id)
def test_examples_run(path: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```console\n$ cb run {path.relative_to(ROOT)}\n```\n", encoding="utf-8")
    assert snippets.Page(page, tmp_path).run() == 1


# -- the tests' own tools ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("```python\nprint(1)\n```\n```text\n2\n```\n", "but the page shows"),
        ("```python\n1 / 0\n```\n", "raised ZeroDivisionError"),
        ("<!-- raises: KeyError -->\n```python\npass\n```\n", "raised nothing"),
        ("```console\n$ false\n```\n", "exit 1, not 0"),
        ("<!-- exit: 1 -->\n```console\n$ true\n```\n", "exit 0, not 1"),
        ("```console\n$ echo one\ntwo\n```\n", "but the page shows"),
        ("```sql\nSELECT 1 WHERE 0\n```\n", "selects no rows"),
        ("```sql\nSELECT 1 AS n\n```\n```text\nn\n2\n```\n", "but the page shows"),
        ("```console\nno command\n```\n", "no line that starts with"),
        ("<!-- not run: because -->\n```console\n$ true\n```\n", "does not say why"),
    ],
)
def test_a_page_that_is_wrong_is_noticed(block: str, complaint: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(block, encoding="utf-8")
    Store(tmp_path / ".cb").close()
    with pytest.raises(snippets.SnippetError, match=complaint):
        snippets.Page(page, tmp_path).run()


@pytest.mark.parametrize(
    ("shown", "real", "equal"),
    [
        ("a\n...\nz\n", "a\nb\nc\nz\n", True),
        ("a\n...\nz\n", "a\nz\n", True),
        ("a\n...\nz\n", "a\nb\n", False),
        ("id=...,done\n", "id=17,done\n", True),
        ("took 12 ms*\n", "took 1.5 s\n", True),
        ("│ a │ 900 µs  │\n", "│ a   │ 1.20 ms* │\n", True),
        ("scored 40\n", "scored 39\n", False),
    ],
)
def test_shown_output_is_compared(shown: str, real: str, equal: bool) -> None:
    """Three dots stand for anything, times may differ, nothing else may."""
    assert snippets.same(shown, real) is equal


def test_output_is_updated_in_place(tmp_path: Path) -> None:
    """Output that differs is replaced where it stands, also when it stands there twice."""
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one\nx\n\n$ echo two\nx\n```\n", encoding="utf-8")
    running = snippets.Page(page, tmp_path)
    running.run(update=True)
    assert running.updated() == "```console\n$ echo one\none\n\n$ echo two\ntwo\n```\n"
