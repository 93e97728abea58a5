"""Reports: made before anything is spent, written when there is a result."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings

if TYPE_CHECKING:
    from cbcore.results import EvalResult


def find_result(settings: Settings, text: str) -> EvalResult:
    """The result that a `RUN` of the command line names: the path of a saved one."""
    from cbcore.exceptions import ResultError
    from cbcore.results import EvalResult

    if Path(text).is_file():
        return EvalResult.load(text)
    raise ResultError(
        f"there is no file {text!r}, and runs are not kept yet by their ids",
        hint="save a result with `cb run … --output json=FILE`, and name that file",
    )


def make_outputs(settings: Settings, wanted: Any) -> list[tuple[Any, Path | None]]:
    """Reporters and where they write, made before anything is spent."""
    from cbcore._build.builder import Builder
    from cbcore.exceptions import UsageError
    from cbcore.specs import parse_output

    builder = Builder(settings.host())
    outputs = []
    for text in wanted or ("table",):
        spec, file = parse_output(text)
        path = Path(file) if file else None
        reporter = builder.build("reporter", spec).value
        if path is not None:
            try:
                _try_to_write(path)
            except OSError as error:
                raise UsageError(f"cannot write {file!r}: {error.strerror}") from error
        if path is None and not hasattr(reporter, "render"):
            raise UsageError(
                f"the format {reporter.name!r} is not text and needs a file",
                hint=f"--output {reporter.name}=FILE",
            )
        outputs.append((reporter, path))
    return outputs


def _try_to_write(path: Path) -> None:
    """Make sure that a file can be written, and leave everything as it was."""
    made = [folder for folder in path.parents if not folder.exists()]
    is_new = not path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
        if is_new:
            path.unlink()
    finally:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()


def report(result: EvalResult, outputs: Sequence[tuple[Any, Path | None]]) -> None:
    """Write every report, to its file or to standard output; one that fails is told and left out.

    A reporter has a `name`, and `render(result) -> str` or `write(result, path)`.
    """
    from cbcore._logging import get_logger
    from cbcore.boundary import contained

    for reporter, path in outputs:
        document = ""
        with contained() as tried:
            if path is None:
                document = _writable(reporter.render(result))
            else:
                _write(reporter, result, path)
        if tried.error is not None:
            get_logger().error(f"reporter {reporter.name!r} failed: {tried.reason}")
        elif path is not None:
            click.echo(f"{reporter.name} report: {path}", err=True)
        else:  # outside of the above: a reader that went away is no fault of the reporter
            click.echo(document.rstrip("\n"))


def _write(reporter: Any, result: EvalResult, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if hasattr(reporter, "write"):
        reporter.write(result, path)
    else:
        path.write_text(_writable(reporter.render(result)), encoding="utf-8")


def _writable(document: str) -> str:
    """Text of models may hold code points that no file can: they become question marks."""
    return document.encode("utf-8", "replace").decode()


def raise_if_nothing_worked(result: EvalResult) -> None:
    """After the reports: raise when there is no row, only errored ones, or none with a score."""
    from cbcore.exceptions import DataError, RunError

    if not result.rows:
        lines = [line for section in result.sections.values() for line in section.lines]
        reasons = [line["reason"] for line in lines if line.get("reason")]
        if reasons:
            raise DataError(f"there is no row; the first that failed: {reasons[0]}")
        raise DataError("the dataset is empty: there is nothing to report")
    errors = [row.error for row in result.rows if row.error is not None]
    if len(errors) == len(result.rows):
        raise RunError(f"every row errored; the first: {errors[0]}")
    _raise_if_nothing_scored(result)


def _raise_if_nothing_scored(result: EvalResult) -> None:
    from cbcore._run.reasons import told
    from cbcore.exceptions import NothingScoredError

    if result.metrics and not any(hasattr(metric, "score_field") for metric in result.metrics):
        return  # metrics were chosen, and none of them is about a score
    score = result.config["score_field"]
    if any(score in row.scores for row in result.rows):
        return
    expected = not result.sections and any(score in row.missing for row in result.rows)
    others = dict.fromkeys(name for row in result.rows for name in row.scores)
    if others and not expected:
        return
    hint = f"--score-field can choose another: {', '.join(others)}" if others else None
    raise NothingScoredError(
        f"not one of {len(result.rows)} rows has a score {score!r}\n{told(result, score)}",
        hint=hint,
    )
