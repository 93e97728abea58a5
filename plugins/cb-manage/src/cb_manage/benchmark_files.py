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


_RESPONSE = ', "response": cut.rstrip(".").rpartition(" ")[2]'
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
        files[Path(WORKFLOW)] = _read_template("workflow.yml").format(place=folder)
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
        answers = _read_template("system.py").format(
            response="" if benchmark.has_reader else _RESPONSE
        )
        files[STUB] = answers + (_read_template("evaluator.py") if own_score else "")
    reports = [r for r in ("html", "json") if benchmark.is_installed("reporter", r)]
    names = {"html": "report.html", "json": "result.json"}
    run_file = _read_template("cb.yaml").format(
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


def _read_template(name: str) -> str:
    return Path(__file__).with_name("templates").joinpath(f"{name}.txt").read_text("utf-8")


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
