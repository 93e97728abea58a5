"""Run the code that the documentation shows, and compare what it prints with what is shown.

Everything in a fenced block runs, page by page, in an empty folder of its own:

- A block with `title="path"` is a file; it is written there.
- A `python` block is executed; all those of a page share one namespace.
- A `console` block is a dialogue. A line after `$ ` is a command, continued by a final
  backslash; the lines below it are its output, standard error included.
- A `sql` block is a query over `.cb/runs.sqlite3`, and selects at least one row.
- A `text` block right after one of these is what the block prints.
- Blocks in other languages, or in none, are pictures.

In shown output a line of three dots stands for any number of lines, and three dots inside a
line for any text. Dates, durations, run identifiers and the width of columns are not compared.

A comment in front of a block changes how it is treated:

    <!-- exit: 2 -->           the command fails with this code
    <!-- raises: UsageError -->  the Python block ends in this exception
    <!-- not run: why -->      the block is only shown
    <!-- install: folder -->   only shown; the project in that folder is installed instead

`python -m tools.docs.snippets PAGE …` runs pages by hand; `--update` puts the real output in the
place of output that no longer matches, unless three dots are in it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 110
TIME_LIMIT_S = 120

_FENCE = re.compile(
    r"(?P<fence>```+)(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL
)
_COMMENT = re.compile(
    r"<!--\s*(?P<key>exit|raises|not run|install):\s*(?P<value>.*?)\s*-->\s*\Z", re.DOTALL
)
_TITLE = re.compile(r'title="(?P<title>[^"]+)"')
_VARYING = [
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: UTC|Z)?"), "DATE"),
    (re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}"), "RUN"),
    (re.compile(r"\d[\d.,]* (?:µs|ms|s)\b(?: (?:\[|&#91;)[^]│|&]*(?:\]|&#93;))?[*≈]?"), "DURATION"),
    (re.compile(r'(?<="latency": )[\d.e-]+'), "SECONDS"),
    (re.compile(r"─+"), "─"),
    (re.compile(r"-{3,}"), "---"),
    (re.compile(r"[ \t]+"), " "),
]


class SnippetError(AssertionError):
    """A block did not do what its page says."""


@attrs.define
class Block:
    """One fenced block of a page, with the comment in front of it and the output after it."""

    language: str
    title: str
    body: str
    line: int
    start: int
    comment: tuple[str, str] = ("", "")
    output: Block | None = None


@attrs.frozen
class Command:
    """One command of a dialogue, the output shown below it, and where in the block that starts."""

    text: str
    start: int
    shown: str = ""


def blocks(page: str) -> list[Block]:
    """The blocks of a page in order; a `text` block that shows output is kept with its cause."""
    found: list[Block] = []
    previous: Block | None = None
    end = 0
    for match in _FENCE.finditer(page):
        language = match["info"].strip().partition(" ")[0]
        title = _TITLE.search(match["info"])
        gap = page[end : match.start()]
        comment = _COMMENT.search(gap)
        block = Block(
            language=language,
            title=title["title"] if title else "",
            body=match["body"],
            line=page.count("\n", 0, match.start()) + 1,
            start=match.start("body"),
            comment=(comment["key"], comment["value"]) if comment else ("", ""),
        )
        end = match.end()
        if language == "text" and not title and previous is not None and not gap.strip():
            previous.output = block
            previous = None
            continue
        previous = block if language in ("python", "sql") and not title else None
        found.append(block)
    return found


def dialogue(body: str) -> list[Command]:
    """The commands of a console block with the output shown for each."""
    commands: list[Command] = []
    place = 0
    continued = False
    for line in body.splitlines(keepends=True):
        place += len(line)
        text = line.rstrip("\n")
        if continued:
            last = commands.pop()
            commands.append(Command(last.text[:-1] + text.removeprefix("> ").lstrip(), place))
        elif text.startswith("$ "):
            commands.append(Command(text[2:], place))
        elif commands:
            commands[-1] = attrs.evolve(commands[-1], shown=commands[-1].shown + line)
        continued = bool(commands) and not commands[-1].shown and commands[-1].text.endswith("\\")
    return commands


def same(shown: str, real: str) -> bool:
    """Whether real output is what is shown, wildcards and varying parts aside."""
    pattern = ""
    for line in _settled(shown):
        if line == "...":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _settled(real))) is not None


def _settled(text: str) -> list[str]:
    lines = []
    for line in text.strip("\n").splitlines():
        settled = line.rstrip()
        for varying, stand_in in _VARYING:
            settled = varying.sub(stand_in, settled)
        lines.append(settled.strip())
    return lines


class Page:
    """A page being run in a folder."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.folder = folder
        self.updates: list[tuple[int, int, str]] = []
        self._site = folder / ".site"
        self._python: subprocess.Popen[str] | None = None

    def run(self, *, update: bool = False) -> int:
        """Run every block; returns how many did something. Raises `SnippetError`."""
        shutil.copytree(ROOT / "examples", self.folder / "examples", dirs_exist_ok=True)
        ran = 0
        try:
            for block in blocks(self.text):
                ran += self._run_block(block, update=update)
        finally:
            if self._python is not None:
                self._python.kill()
                self._python.communicate()
        return ran

    def _run_block(self, block: Block, *, update: bool) -> int:
        key, value = block.comment
        if key == "not run":
            if len(value.split()) < 2:
                raise self._failure(block, "does not say why it is not run")
            return 0
        if key == "install":
            self._install(block, value)
        elif block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8")
        elif block.language == "python":
            self._run_python(block, update=update)
        elif block.language in ("console", "sh"):
            self._run_dialogue(block, update=update)
        elif block.language == "sql":
            self._run_query(block, update=update)
        else:
            return 0
        return 1

    def _run_dialogue(self, block: Block, *, update: bool) -> None:
        wanted = int(block.comment[1]) if block.comment[0] == "exit" else 0
        commands = dialogue(block.body)
        if not commands:
            raise self._failure(block, "has no line that starts with $")
        for command in commands:
            done = subprocess.run(
                ["/bin/sh", "-c", command.text],
                cwd=self.folder,
                env=self.environ(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                encoding="utf-8",
                timeout=TIME_LIMIT_S,
                check=False,
            )
            if done.returncode != wanted:
                raise self._failure(
                    block, f"{command.text}: exit {done.returncode}, not {wanted}\n{done.stdout}"
                )
            self._compare(
                block, command.text, command.shown, done.stdout, block.start + command.start, update
            )

    def _run_query(self, block: Block, *, update: bool) -> None:
        """Print as `sqlite3 -header` does."""
        path = self.folder / ".cb" / "runs.sqlite3"
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
            found = database.execute(block.body)
            lines = [[column[0] for column in found.description], *found]
        if len(lines) == 1:
            raise self._failure(block, "selects no rows")
        if block.output is not None:
            cells = [["" if value is None else str(value) for value in line] for line in lines]
            printed = "\n".join("|".join(line) for line in cells)
            output = block.output
            self._compare(block, "it", output.body, printed, output.start, update)

    def _run_python(self, block: Block, *, update: bool) -> None:
        if self._python is None:
            self._python = subprocess.Popen(
                [sys.executable, "-c", _INTERPRETER],
                cwd=self.folder,
                env=self.environ(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
        name = f"{self.path.name}:{block.line}"
        stdin, stdout = self._python.stdin, self._python.stdout
        if stdin is None or stdout is None:
            raise self._failure(block, "has no interpreter to talk to")
        stdin.write(json.dumps({"name": name, "source": block.body}) + "\n")
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            raise self._failure(block, "ended the interpreter")
        told = json.loads(answer)
        wanted = block.comment[1] if block.comment[0] == "raises" else ""
        if told["raised"] != wanted:
            raise self._failure(block, f"raised {told['raised'] or 'nothing'}\n{told['traceback']}")
        if block.output is not None:
            output = block.output
            self._compare(block, "it", output.body, told["printed"], output.start, update)

    def _compare(
        self, block: Block, what: str, shown: str, real: str, start: int, update: bool
    ) -> None:
        if not shown.strip() or same(shown, real):
            return
        if update and not any("..." in line for line in shown.splitlines()):
            end = start + len(shown.rstrip("\n"))
            self.updates.append((start, end, real.strip("\n")))
            return
        raise self._failure(block, f"{what} printed\n\n{real}\nbut the page shows\n\n{shown}")

    def _install(self, block: Block, value: str) -> None:
        project = value.partition(";")[0].strip()
        options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
        options += ["--disable-pip-version-check", "--target", str(self._site)]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", *options, str(self.folder / project)],
            env=self.environ(),
            capture_output=True,
            encoding="utf-8",
            timeout=TIME_LIMIT_S,
            check=False,
        )
        if done.returncode:
            raise self._failure(block, f"cannot install {project}\n{done.stderr}")

    def environ(self) -> dict[str, str]:
        """What programs of the page find around them: nothing of this machine's user."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CB_", "PYTEST_"))}
        kept.pop("PYTHONWARNINGS", None)
        return {
            **kept,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": str(self._site),
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": str(self.folder / ".cache"),
            "HOME": str(self.folder),
            "HF_HUB_OFFLINE": "1",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "COLUMNS": str(COLUMNS),
        }

    def _failure(self, block: Block, what: str) -> SnippetError:
        return SnippetError(f"{self.path.name}, line {block.line}: {what}")

    def updated(self) -> str:
        """The page with the real output in the place of output that no longer matches."""
        text = self.text
        for start, end, real in sorted(self.updates, reverse=True):
            text = text[:start] + real + text[end:]
        return text


_INTERPRETER = """
import contextlib, io, json, linecache, sys, traceback
namespace = {"__name__": "__main__"}
sys.path.insert(0, "")
for line in sys.stdin:
    block = json.loads(line)
    name, source = block["name"], block["source"]
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    printed, raised, told = io.StringIO(), "", ""
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, name, "exec"), namespace)
    except BaseException as error:
        raised, told = type(error).__name__, traceback.format_exc()
    answer = {"printed": printed.getvalue(), "raised": raised, "traceback": told}
    sys.stdout.write(json.dumps(answer) + chr(10))
    sys.stdout.flush()
"""


def pages() -> list[Path]:
    """Every page a reader may follow."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main() -> int:
    """Run pages from the command line."""
    parser = argparse.ArgumentParser(description="Run the code that the documentation shows.")
    parser.add_argument("pages", nargs="*", type=Path, help="pages to run; all by default")
    parser.add_argument("--update", action="store_true", help="write real output into the pages")
    arguments = parser.parse_args()
    failed = 0
    for path in arguments.pages or pages():
        with tempfile.TemporaryDirectory() as folder:
            page = Page(path.resolve(), Path(folder))
            try:
                page.run(update=arguments.update)
            except SnippetError as error:
                failed += 1
                print(f"{error}\n", file=sys.stderr)
            if page.updates:
                path.write_text(page.updated(), encoding="utf-8")
                print(f"{path}: {len(page.updates)} outputs written")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
