"""Reports: made before anything is spent, and written when there is a result."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from cbcore.cli.click_options import Settings
from cbcore.cli.console import abandon_output, clean, echo
from cbcore.exceptions import (
    DataError,
    NothingScoredError,
    PluginError,
    ReportError,
    RunError,
    RunStoppedError,
    UsageError,
)
from cbcore.secrets import hide

if TYPE_CHECKING:
    from cbcore.assembly.builder import Builder
    from cbcore.results import EvalResult
    from cbcore.results.causes import Cause

_DEFAULT = "table"
_MOST_CAUSES = 5
_INDENT = "    "


@attrs.frozen(eq=False, repr=False)
class Output:
    """A reporter and where it writes: to a file, or to standard output if there is no path.

    `shown` is the path as the user wrote it. An output that is `added` was not asked for: it is
    not an error if it cannot be printed.
    """

    reporter: Any
    path: Path | None = None
    shown: str = ""
    added: bool = False


def make_outputs(settings: Settings, wanted: Sequence[str] | None) -> list[Output]:
    """The reporters of a command, and where they write.

    The table is printed too, unless another report is printed or `--quiet` is given.
    """
    from cbcore.assembly.builder import Builder

    builder = Builder(settings.catalog())
    outputs = [_make_output(builder, text) for text in wanted or ()]
    is_shown = any(output.path is None for output in outputs)
    is_due = not outputs or not (is_shown or settings.verbosity < 0)
    offered = builder.catalog.list_known("reporter")  # no table, if its plugins are left out
    if is_due and any(one.name == _DEFAULT for one in offered):
        table = _make_output(builder, _DEFAULT)
        outputs.insert(0, attrs.evolve(table, added=bool(outputs)))
    builder.catalog.descriptions.save()
    return outputs


def _make_output(builder: Builder, text: str) -> Output:
    from cbcore.specs import Spec, parse_output

    file: str | None
    if name := _find_reporter(builder, text):
        spec = Spec(name)
        file = text
    else:
        spec, file = parse_output(text)
    reporter = builder.build("reporter", spec).value
    if file:
        try:
            # Absolute now, since components may change the working folder.
            path = Path(file).absolute()
            _check_writable(path)
        except OSError as error:
            raise UsageError(f"cannot write {file!r}: {error.strerror}") from error
        return Output(reporter, path, file)
    if not hasattr(reporter, "render"):
        raise UsageError(
            f"the format {reporter.name!r} is not text and needs a file",
            hint=f"--output {reporter.name}=FILE",
        )
    return Output(reporter)


def _find_reporter(builder: Builder, text: str) -> str | None:
    """The reporter for an `--output` that is a file name; None if it is a format.

    If several write this kind of file, the reporter of the plugin that offers the table is used.
    """
    ending = Path(text).suffix.removeprefix(".").lower()
    if not ending or "=" in text or text.startswith("py:"):
        return None
    known: set[str] = set()
    for list_reporters in (builder.catalog.list_known, builder.catalog.components):
        reporters = list_reporters("reporter")  # first without those that only hook modules offer
        found = [one for one in reporters if one.name == ending]
        for one in [] if found else reporters:
            with contextlib.suppress(PluginError):
                extension = builder.catalog.describe(one).extension.lower()
                known.add(f".{extension}")
                if extension == ending:
                    found.append(one)
        if found:
            break
    if len(found) > 1:
        usual = {one.plugin for one in reporters if one.name == _DEFAULT}
        found = [one for one in found if one.plugin in usual] or found
    if len(found) == 1:
        return found[0].qualified_name
    if found:
        raise UsageError(
            f"{text!r} can be written by {' and '.join(one.name for one in found)}",
            hint=f"say which: --output {found[0].name}={text}",
        )
    raise UsageError(
        f"no installed reporter writes files that end in .{ending}: {text!r}",
        hint=f"endings that are known: {', '.join(sorted(known - {'.'}))}; or write FORMAT={text}",
    )


def _check_writable(path: Path) -> None:
    """Raise OSError if a file cannot be written or made. Nothing is changed."""
    place = next(place for place in (path, *path.parents) if place.exists())
    if place != path:
        probe = place / f".cb-part-{os.urandom(4).hex()}"
        probe.touch()
        probe.unlink()
    elif path.is_file() or path.is_dir():
        path.open("ab").close()
    elif not os.access(path, os.W_OK):  # opening a pipe would end it for its reader
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """A new file to write to. It replaces `path` if everything went well, and is removed if not.

    A device, a pipe, a link and a file in a read-only folder are written directly.
    """
    is_plain = path.is_file() and not path.is_symlink() and os.access(path.parent, os.W_OK)
    if os.path.lexists(path) and not is_plain:
        yield path
        return
    # With the same suffix, since a reporter may go by it.
    part = path.with_name(f".cb-part-{os.urandom(4).hex()}{path.suffix}")
    try:
        yield part
        if path.exists():
            part.chmod(path.stat().st_mode & 0o7777)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def execute_and_write(execute: Callable[[], EvalResult], outputs: Sequence[Output]) -> None:
    """Execute a run and write its reports, also if it ends early.

    Ctrl-C, SIGTERM and SIGHUP end the run with the rows that are finished.
    """
    with stop_on_signals():
        try:
            with contextlib.redirect_stdout(sys.stderr):
                result = execute()
        except RunStoppedError as stopped:
            if stopped.result is not None and stopped.result.rows:
                with contextlib.suppress(ReportError):  # printed, and not why the run ended
                    write_reports(stopped.result, outputs)
                    stopped.hint = stopped.hint or "The reports cover them."
            raise
        write_reports(result, outputs)
        _raise_if_incomplete(result)


def execute_and_report(
    settings: Settings, execute: Callable[[], EvalResult], outputs: Sequence[str]
) -> None:
    """Execute a run and write the reports that `--output` names, also if it ends early."""
    execute_and_write(execute, make_outputs(settings, outputs))


@contextlib.contextmanager
def stop_on_signals() -> Iterator[None]:
    """Around a run: Ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt, a second one ends the process."""
    handled = [signal.SIGINT, signal.SIGTERM]
    # A run that is started with `nohup` outlives the terminal.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handled.append(signal.SIGHUP)

    def stop(*_: object) -> None:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def write_reports(result: EvalResult, outputs: Sequence[Output]) -> None:
    """Write every report, then print why rows failed.

    If a report fails, the others are written all the same, and `ReportError` is raised at the end.
    """
    from cbcore._logging import get_logger
    from cbcore.boundary import describe_exception

    failed = []
    gone = None
    for output in outputs:
        name = output.reporter.name
        where = output.shown or output.path or "standard output"
        try:
            _write(result, output)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the plugin boundary
            if output.path is None and isinstance(error, OSError):
                abandon_output()
                if output.added:
                    continue
                if isinstance(error, BrokenPipeError):
                    gone = error
                    continue
            get_logger().error(f"reporter {name!r} failed: {describe_exception(error)}")
            failed.append(f"{name} ({where})")
        else:
            if output.path is not None:
                with contextlib.suppress(OSError, ValueError):
                    echo(f"{clean(name)} report: {clean(where)}", err=True)
    _print_causes(result)
    if failed:
        raise ReportError(
            f"not every report was written: {', '.join(failed)}",
            hint="Run the same command again to write it: cached outputs are reused.",
        )
    if gone is not None:
        raise gone


def _write(result: EvalResult, output: Output) -> None:
    reporter = output.reporter
    path = output.path
    with contextlib.redirect_stdout(sys.stderr):
        if path is not None and hasattr(reporter, "write"):
            path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(path) as place:
                reporter.write(result, place)
            return
        # Text of models may hold code points that no file can: they become question marks.
        text = hide(reporter.render(result)).encode("utf-8", "replace").decode()
    if path is None:
        click.echo(text.rstrip("\n"))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as place:
        place.write_text(text, encoding="utf-8")


def _print_causes(result: EvalResult) -> None:
    """Print why rows failed and scores are missing, most frequent first; nothing with `--quiet`.

    With `--verbose`, each reason has the traceback of its first row.
    """
    from cbcore._logging import is_quiet
    from cbcore.results.causes import causes_of

    if is_quiet():
        return
    causes = causes_of(result.rows)
    errors = [cause for cause in causes if cause.kind == "error"]
    if errors:
        n_failed = sum(cause.count for cause in errors)
        _list_causes(f"{n_failed:,} of {len(result.rows):,} rows failed:", errors)
    missing = [cause for cause in causes if cause.kind == "missing"]
    if failed := [cause for cause in missing if cause.is_failure]:
        _list_causes("Scores are missing because an evaluator failed:", failed)
    if others := [cause for cause in missing if not cause.is_failure]:
        _list_causes("Scores are missing:", others)


def _list_causes(title: str, causes: list[Cause]) -> None:
    from cbcore._logging import is_verbose

    groups: dict[tuple[str, str], list[Cause]] = {}  # of scores that are missing in the same rows
    for cause in causes:
        groups.setdefault((cause.reason, str(cause.systems)), []).append(cause)
    echo(title, err=True)
    for group in list(groups.values())[:_MOST_CAUSES]:
        cause = group[0]
        where = f"example {cause.example_id!r}" + (f" of {cause.dataset}" if cause.dataset else "")
        missing = f"no {_join_names([one.score for one in group])}: " if cause.score else ""
        line = f"{cause.count:,} × {missing}{cause.reason} (first: {where}, {cause.system})"
        echo(f"  {clean(line)}", err=True)
        if cause.traceback and is_verbose():
            echo("\n".join(_INDENT + line for line in cause.traceback.split("\n")), err=True)
    if left := list(groups.values())[_MOST_CAUSES:]:
        n_rows = sum(group[0].count for group in left)
        echo(f"  {n_rows:,} × {len(left):,} other reasons", err=True)


def _join_names(scores: list[str]) -> str:
    shown = ", ".join(scores[:_MOST_CAUSES])
    n_more = len(scores) - _MOST_CAUSES
    return f"{shown} and {n_more} more" if n_more > 0 else shown


def _raise_if_incomplete(result: EvalResult) -> None:
    """Raise if there are no rows, all of them failed, a system was stopped, or no row has the score.

    There may be examples of which none was selected.
    """
    rows = result.rows
    if not rows:
        settings = result.config.get("settings", {})
        if wanted := settings.get("examples"):
            raise UsageError(f"No selected example has the id {' or '.join(map(repr, wanted))}.")
        if failed := settings.get("failed"):
            raise UsageError(f"No selected example is one that failed in run {failed}.")
        if any(record.get("n_examples") for record in result.config.get("datasets", ())):
            return
        lines = [line for section in result.sections.values() for line in section.lines]
        if reasons := [line["reason"] for line in lines if line.get("reason")]:
            raise DataError(f"there is no row; the first that failed: {reasons[0]}")
        raise DataError("the dataset is empty: there is nothing to report")
    errors = [row.error for row in rows if row.error is not None]
    if len(errors) == len(rows):
        hint = "--max-errors none runs all examples." if result.config.get("stopped") else None
        raise RunError(f"every row errored; the first: {errors[0]}", hint=hint)
    if stopped := result.config.get("stopped"):
        problems = [f"{system} was stopped: {reason}" for system, reason in stopped.items()]
        raise RunError("\n".join(problems), hint="--max-errors none runs all examples.")
    if result.metrics and not any(hasattr(metric, "score_field") for metric in result.metrics):
        return  # metrics were chosen, and none of them is about a score
    score = result.config["score_field"]
    if any(score in row.scores for row in rows):
        return
    is_expected = not result.sections and any(score in row.missing for row in rows)
    others = dict.fromkeys(name for row in rows for name in row.scores)
    if others and not is_expected:
        return
    raise NothingScoredError(
        f"not one of {len(rows)} rows has a score {score!r}\n{_list_reasons(result, score)}",
        hint=f"--score can choose another: {', '.join(others)}" if others else None,
    )


def _list_reasons(result: EvalResult, score: str) -> str:
    """The reasons why rows have no such score, the most frequent first, each with its count."""
    from cbcore.results.causes import causes_of

    causes = causes_of(result.rows, score) or causes_of(result.rows)
    lines = [f"{cause.count} × {cause.reason}" for cause in causes[:_MOST_CAUSES]]
    if rest := sum(cause.count for cause in causes[_MOST_CAUSES:]):
        lines.append(f"{rest} × other reasons")
    none = "No evaluator gave a score."
    if not result.config.get("evaluators"):
        none = "No installed evaluator applies to the dataset."
    return "\n".join(lines) or none
