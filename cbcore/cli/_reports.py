"""Reports: made before anything is spent, written when there is a result."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings

if TYPE_CHECKING:
    from cbcore.results import EvalResult


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


def report(result: EvalResult, outputs: list[tuple[Any, Path | None]]) -> None:
    """Write every report; one that fails does not keep the others from being written."""
    from cbcore._logging import get_logger
    from cbcore.boundary import contained

    for reporter, path in outputs:
        with contained() as tried:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            if path is not None and hasattr(reporter, "write"):
                reporter.write(result, path)
            else:
                _write(reporter.render(result), path)
        if tried.error is not None:
            get_logger().error(f"reporter {reporter.name!r} failed: {tried.reason}")
        elif path is not None:
            click.echo(f"{reporter.name} report: {path}", err=True)


def _write(document: str, path: Path | None) -> None:
    # Text of models may hold code points that no file can: they become question marks.
    document = document.encode("utf-8", "replace").decode()
    if path is None:
        click.echo(document.rstrip("\n"))
    else:
        path.write_text(document, encoding="utf-8")


def raise_if_nothing_worked(result: EvalResult) -> None:
    """After the reports: raise when there is no row, only errored ones, or none with a score."""
    from cbcore.exceptions import DataError, RunError

    if not result.rows:
        reasons = [line["reason"] for line in result.suites if line.get("reason")]
        if reasons:
            raise DataError(f"no task has a row; the first failed: {reasons[0]}")
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
    expected = not result.suites and any(score in row.missing for row in result.rows)
    others = dict.fromkeys(name for row in result.rows for name in row.scores)
    if others and not expected:
        return
    hint = f"--score-field can choose another: {', '.join(others)}" if others else None
    raise NothingScoredError(
        f"not one of {len(result.rows)} rows has a score {score!r}\n{told(result, score)}",
        hint=hint,
    )
