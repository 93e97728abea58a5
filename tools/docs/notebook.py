"""The page about notebooks as one: its blocks as cells, run, with what they show.

Cells are run as a notebook runs them, one after another in one process: what they print is
shown, and of a last line that is an expression its value, as a table where it can be one. That
needs no kernel. `python -m tools.docs.notebook` writes the notebook anew; `--check` runs it, and fails
where its cells are not those of the page, or show something else than what it holds.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.docs.snippets import ROOT, Page, blocks, same

PAGE = ROOT / "docs/how-to/use-notebooks.md"
NOTEBOOK = PAGE.with_suffix(".ipynb")
TIME_LIMIT_S = 120

_KERNEL = """
import ast, contextlib, io, json, sys
cells, namespace, shown = json.load(sys.stdin), {"__name__": "__main__"}, []
for number, source in enumerate(cells):
    tree, value, printed = ast.parse(source), None, io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace)
    data = {} if value is None else {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_()
    shown.append({"printed": printed.getvalue(), "data": data})
json.dump(shown, sys.stdout)
"""


def cells_of(page: str) -> Iterator[tuple[str, str]]:
    """The cells of a page in order: `markdown` or `code`, and the source."""
    end = 0
    for block in blocks(page):
        if block.language != "python" or block.title or block.comment[0]:
            continue
        before = page[end : block.start].rpartition("```")[0].strip()
        if before:
            yield "markdown", before
        yield "code", block.body.rstrip("\n")
        shown = block.output or block
        end = page.index("```", shown.start + len(shown.body)) + len("```")
    if rest := page[end:].strip():
        yield "markdown", rest


def outputs_of(sources: list[str], folder: Path) -> list[dict[str, Any]]:
    """What each of the cells shows, run one after another in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", _KERNEL],
        cwd=folder,
        env=Page(PAGE, folder).environ(),
        input=json.dumps(sources),
        capture_output=True,
        encoding="utf-8",
        timeout=TIME_LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"a cell failed:\n{done.stderr}")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def notebook_of(page: str, folder: Path) -> dict[str, Any]:
    """The whole notebook, in version 4.5 of the format."""
    cells = list(cells_of(page))
    shown = iter(outputs_of([source for kind, source in cells if kind == "code"], folder))
    made, n_run = [], 0
    for number, (kind, source) in enumerate(cells):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        cell["source"] = source.splitlines(keepends=True)
        if kind == "code":
            n_run += 1
            cell["execution_count"] = n_run
            cell["outputs"] = list(_outputs(next(shown), n_run))
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _outputs(shown: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    if shown["printed"]:
        lines = shown["printed"].splitlines(keepends=True)
        yield {"name": "stdout", "output_type": "stream", "text": lines}
    if shown["data"]:
        data = {kind: text.splitlines(keepends=True) for kind, text in shown["data"].items()}
        yield {
            "data": data,
            "execution_count": number,
            "metadata": {},
            "output_type": "execute_result",
        }


def difference(kept: dict[str, Any], made: dict[str, Any]) -> str:
    """Where a notebook is not what the page gives now; empty where it is."""
    if len(kept["cells"]) != len(made["cells"]):
        return f"it has {len(kept['cells'])} cells, and the page gives {len(made['cells'])}"
    for one, other in zip(kept["cells"], made["cells"], strict=True):
        if one["source"] != other["source"]:
            return f"{one['id']} is not that of the page: {''.join(one['source'])}"
        shown, real = map(_settled, (one, other))
        if not same(shown.replace("...", "…"), real.replace("...", "…")):
            return f"{one['id']} shows\n{real}\nand not\n{shown}"
    return ""


def _settled(cell: dict[str, Any]) -> str:
    """What a cell shows, without how long anything took."""
    text = json.dumps(cell.get("outputs", []), indent=1, ensure_ascii=False)
    head, *lines = text.split("<tr>")
    if not lines:
        return text
    names, *rows = (re.split(r"(?=<t[dh][ >])", line) for line in lines)
    timed = {place for place, name in enumerate(names) if "latency" in name}
    kept = [[c for place, c in enumerate(row) if place not in timed] for row in (names, *rows)]
    return "\n".join((head, *("|".join(row) for row in kept)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether it is as it should")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = notebook_of(PAGE.read_text(encoding="utf-8"), Path(folder))
    if not wanted.check:
        NOTEBOOK.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return 0
    told = difference(json.loads(NOTEBOOK.read_text(encoding="utf-8")), made)
    if told:
        print(f"{NOTEBOOK.name}: {told}\nrun `make docs`", file=sys.stderr)
    return 1 if told else 0


if __name__ == "__main__":
    raise SystemExit(main())
