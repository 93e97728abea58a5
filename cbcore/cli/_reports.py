"""Reports: made before anything is spent, written when there is a result."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from cbcore.cli._settings import Settings
from cbcore.cli._streams import give_output_up
from cbcore.cli._text import clean, echo
from cbcore.secrets import blot

if TYPE_CHECKING:
    from cbcore._build.builder import Builder
    from cbcore.results import EvalResult

_DEFAULT = "table"


@attrs.frozen(eq=False, repr=False)
class Output:
    """A reporter and where it writes: a whole path, as asked for in `shown`, or to the terminal.

    One that nobody asked for is `added`: where it cannot be printed, nothing is amiss.
    """

    reporter: Any
    path: Path | None = None
    shown: str = ""
    added: bool = False


def make_outputs(settings: Settings, wanted: Any) -> list[Output]:
    """Reporters and where they write, made before anything is spent.

    Files are written beside the table on the terminal, unless `--quiet` asks for none.
    """
    from cbcore._build.builder import Builder
    from cbcore.exceptions import UnknownComponentError

    builder = Builder(settings.catalog())
    outputs = [_output(builder, text) for text in wanted or ()]
    is_shown = any(output.path is None for output in outputs)
    if not outputs or not (is_shown or settings.verbosity < 0):
        try:
            outputs.insert(0, attrs.evolve(_output(builder, _DEFAULT), added=bool(outputs)))
        except UnknownComponentError:
            if not outputs:
                raise
    builder.catalog.descriptions.save()
    return outputs


def _output(builder: Builder, text: str) -> Output:
    from cbcore.cli._endings import written_as
    from cbcore.exceptions import UsageError
    from cbcore.specs import Spec, parse_output

    file: str | None
    if format_name := written_as(text, builder, first=_DEFAULT):
        spec, file = Spec(format_name), text
    else:
        spec, file = parse_output(text)
    path = None
    reporter = builder.build("reporter", spec).value
    if file:
        try:
            # Now: components may go to another folder.
            path = Path(file).absolute()
            _try_to_write(path)
        except OSError as error:
            raise UsageError(f"cannot write {file!r}: {error.strerror}") from error
    if path is None and not hasattr(reporter, "render"):
        raise UsageError(
            f"the format {reporter.name!r} is not text and needs a file",
            hint=f"--output {reporter.name}=FILE",
        )
    return Output(reporter, path, file or "")


def _try_to_write(path: Path) -> None:
    """Make sure that a file can be written, and leave everything as it was."""
    if path.exists() and not path.is_file() and not path.is_dir():
        # Whoever reads a pipe would take its closing for the end of the report.
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return
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


def execute_and_report(execute: Callable[[], EvalResult], outputs: Sequence[Output]) -> None:
    """Carry a run out and report it, also when it ends early; raise what the exit code tells."""
    from cbcore.cli._streams import output_for_reports_only
    from cbcore.exceptions import ReportError, RunStoppedError

    try:
        with output_for_reports_only():
            result = execute()
    except RunStoppedError as stopped:
        if stopped.result is not None and stopped.result.rows:
            with contextlib.suppress(ReportError):  # which is told, and not why the run ended
                report(stopped.result, outputs)
                stopped.hint = stopped.hint or "the reports cover them"
        raise
    report(result, outputs)
    raise_if_nothing_worked(result)


def report(result: EvalResult, outputs: Sequence[Output]) -> None:
    """Write every report; one that fails does not keep the others from being written.

    Raises `ReportError` at the end when one did.
    """
    from cbcore.cli._causes import tell_causes
    from cbcore.exceptions import ReportError

    failures = [_failure(result, output) for output in outputs]
    tell_causes(result)
    failed = [o for o, failure in zip(outputs, failures, strict=True) if failure is not None]
    gone = [failure for failure in failures if isinstance(failure, BrokenPipeError)]
    if len(failed) > len(gone):
        names = ", ".join(f"{o.reporter.name} ({o.shown or 'standard output'})" for o in failed)
        raise ReportError(
            f"not every report was written: {names}",
            hint="run the same command again to have it: what is stored is not asked again",
        )
    if gone:
        raise gone[0]  # the reader of our output went away


def _failure(result: EvalResult, output: Output) -> BaseException | None:
    """Write one report. What went wrong is told, and returned."""
    from cbcore._logging import get_logger
    from cbcore.components import describe_exception

    try:
        _write(result, output)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the plugin boundary
        if output.added and isinstance(error, OSError):
            give_output_up()
            return None
        if not (isinstance(error, BrokenPipeError) and output.path is None):
            described = describe_exception(error)
            get_logger().error(f"reporter {output.reporter.name!r} failed: {described}")
        if output.path is None and isinstance(error, OSError):
            give_output_up()  # or the end of the process would try again
        return error
    if output.path is not None:
        with contextlib.suppress(OSError, ValueError):
            where = clean(output.shown or output.path)
            echo(f"{clean(output.reporter.name)} report: {where}", err=True)
    return None


def _write(result: EvalResult, output: Output) -> None:
    from cbcore.cli._written import replacing

    reporter, path = output.reporter, output.path
    if path is None:
        click.echo(_rendered(reporter, result).rstrip("\n"))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as place:
        if hasattr(reporter, "write"):
            reporter.write(result, place)
        else:
            place.write_text(_rendered(reporter, result), encoding="utf-8")


def _rendered(reporter: Any, result: EvalResult) -> str:
    """A document without known secrets: a reporter has parameters of its own."""

    document: str = reporter.render(result)
    # Text of models may hold code points that no file can: they become question marks.
    return blot(document).encode("utf-8", "replace").decode()


def raise_if_nothing_worked(result: EvalResult) -> None:
    """After the reports: raise when there is no row, only errored ones, or none with a score.

    To a shard of few examples none may fall, and nothing is amiss.
    """
    from cbcore.exceptions import DataError, RunError

    if not result.rows and result.config.get("settings", {}).get("shard"):
        return
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
    hint = f"--score can choose another: {', '.join(others)}" if others else None
    raise NothingScoredError(
        f"not one of {len(result.rows)} rows has a score {score!r}\n{told(result, score)}",
        hint=hint,
    )
