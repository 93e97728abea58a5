"""The files of a new benchmark that `cb init` writes: a run file, own code, data, a workflow."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from cbcore.columns import propose_fields
from cbcore.exceptions import UsageError
from cbcore.files import FileDataset

RUN_FILE, STUB, DATA = "cb.yaml", "system.py", "data.jsonl"
WORKFLOW = ".github/workflows/benchmark.yml"

_BASELINES = ("identity | extractive:name=full context", "bm25:max_tokens=150 | extractive")
_MINE = "py:./system.py:compress"
_READER = "extractive"

_RUN_FILE = """\
# A benchmark for cb. Run it with: cb run {place}
# Paths are relative to this file, and flags beside it replace its values.

# What is compared. The first system is the baseline that the others are held to.
systems:
{systems}
# More to try: "truncate:max_tokens=150 | extractive", "openai:http://localhost:8000/v1,model=NAME",
# or own code: "py:./system.py:compress". `cb list systems` shows what is installed.

# On which data: names that `cb list datasets` shows, or files of your own.
datasets:
{datasets}

# Where the fields of your data stand, if it calls them something else.
{fields}
{evaluators}
# Examples per dataset; leave it out to run all of them.
max_examples: 100

# What components draw at random is the same each time.
seed: 0

# Where results go, beside the terminal.
output:
{outputs}
"""

_STUB = '''\
"""A system of your own: a function from an example to what becomes of it.

It gets `context` and `question`, and returns a shorter `context`, or a `response`. Its second
argument can be set in cb.yaml: "py:./system.py:compress:share=0.3".
"""


def compress(example, share: float = 0.5):
    """Keeps the first part of the context, up to the end of a sentence."""
    context = example["context"]
    cut = context[: int(len(context) * share)]
    end = cut.rfind(". ")
    return {{"context": cut[: end + 1] if end > 0 else cut{response}}}
'''
_RESPONSE = ', "response": cut.rstrip(".").rpartition(" ")[2]'
_EVALUATOR = '''

def mentions(original, processed) -> float:
    """Scores 1 where the response has the answer in it."""
    return float(str(original["answer"]).lower() in str(processed.get("response", "")).lower())
'''
_DATA = (
    {
        "id": "basel",
        "context": "Bern lies on the Aare. Basel lies on the Rhine.",
        "question": "On which river does Basel lie?",
        "answer": "Rhine",
    },
    {
        "id": "bern",
        "context": "Bern lies on the Aare. Basel lies on the Rhine.",
        "question": "On which river does Bern lie?",
        "answer": "Aare",
    },
)

_WORKFLOW = """\
name: benchmark
on: pull_request
permissions:
  contents: read
jobs:
  benchmark:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "3.12"}}
      - run: pip install cb-bench
      - run: cb run {place}
      # Add rules, such as --min f1=0.5 or --max-drop f1=0.02 --baseline main.json.
      - run: cb gate {place}/results/result.json --max error_rate=1%
      - if: always()
        uses: actions/upload-artifact@v4
        with: {{name: benchmark, path: {place}/results}}
"""


@attrs.frozen(kw_only=True)
class Benchmark:
    """A benchmark to write.

    `stub` adds a system of the user's own, `ci` a workflow. `is_installed` decides whether a
    component of a kind and name can be used: the files name no other component.
    """

    systems: Sequence[str] = ()
    datasets: Sequence[str] = ()
    stub: bool = False
    ci: bool = False
    is_installed: Callable[[str, str], bool]

    @property
    def has_reader(self) -> bool:
        """Whether a reader is installed that works offline."""
        return self.is_installed("system", _READER)


def check_free(folder: Path) -> None:
    """Raise `UsageError` if a folder has a run file."""
    _check_free([folder / RUN_FILE])


def _check_free(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.exists():
            raise UsageError(
                f"{path} exists already and is left as it is", hint="name another folder"
            )


def write_files(benchmark: Benchmark, folder: Path) -> list[Path]:
    """Write the files into a folder, which is created if needed. No file is ever replaced.

    The workflow goes to the place where GitHub looks for it, below the working folder.
    """
    files = {folder / name: text for name, text in _make_files(benchmark, folder).items()}
    if benchmark.ci:
        files[Path(WORKFLOW)] = _WORKFLOW.format(place=folder)
    _check_free(files)
    written = []
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error
        written.append(path)
    return written


def _make_files(benchmark: Benchmark, folder: Path) -> dict[str, str]:
    systems = list(benchmark.systems)
    baselines = list(_BASELINES) if benchmark.has_reader else []
    stub = benchmark.stub or not (systems or baselines)
    if not systems:
        systems = baselines
    if stub:
        systems.append(f"{_MINE} | {_READER}:name=mine" if benchmark.has_reader else _MINE)
    datasets = list(benchmark.datasets) or ["hotpotqa:sample"]
    files: dict[str, str] = {}
    if not benchmark.datasets and not benchmark.is_installed("dataset", "hotpotqa"):
        datasets = [DATA]
        files[DATA] = "".join(json.dumps(row) + "\n" for row in _DATA)
    own_score = stub and not benchmark.is_installed("evaluator", "answer_quality")
    if stub:
        answers = _STUB.format(response="" if benchmark.has_reader else _RESPONSE)
        files[STUB] = answers + (_EVALUATOR if own_score else "")
    reports = [r for r in ("html", "json") if benchmark.is_installed("reporter", r)]
    names = {"html": "report.html", "json": "result.json"}
    run_file = _RUN_FILE.format(
        place=folder,
        systems=_format_list(systems),
        datasets=_format_list(_name_from(folder, dataset) for dataset in datasets),
        fields=_format_fields(datasets),
        evaluators='\n# How answers are scored.\nevaluators: ["py:./system.py:mentions"]\n'
        if own_score
        else "",
        outputs=_format_list(["table", *(f"{r}=results/{names[r]}" for r in reports)]),
    )
    return {RUN_FILE: run_file, **files}


def _format_list(items: Any) -> str:
    # A JSON string is a YAML string, whatever it contains.
    return "\n".join(f"  - {json.dumps(item, ensure_ascii=False)}" for item in items)


def _is_file(dataset: str) -> bool:
    return Path(dataset).suffix.lower() in FileDataset.suffixes and Path(dataset).is_file()


def _name_from(folder: Path, dataset: str) -> str:
    """A data file relative to the folder; any other dataset unchanged."""
    return os.path.relpath(dataset, folder) if _is_file(dataset) else dataset


def _format_fields(datasets: Sequence[str]) -> str:
    """The field mapping for the first data file that needs one, or an example in a comment."""
    for dataset in filter(_is_file, datasets):
        first = next((row for row in FileDataset(dataset) if isinstance(row, Mapping)), {})
        if first and not {"context", "question"} & first.keys():
            lines = [f"  {f}: {json.dumps(c)}" for f, c in propose_fields(first).items()]
            return "\n".join(["fields:", *lines]) if lines else "# fields: {context: COLUMN}"
    return "# fields: {context: passage, question: query, answer: gold, id: no}"
