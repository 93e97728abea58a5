"""Reports: made before anything is spent, and written when there is a result."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from cbcore.boundary import contained
from cbcore.cli.click_options import Settings
from cbcore.cli.console import abandon_output, echo, stop_on_signals
from cbcore.components import Component
from cbcore.exceptions import (
    DataError,
    NothingScoredError,
    PluginError,
    ReportError,
    RunError,
    RunStoppedError,
    UnknownComponentError,
    UsageError,
)
from cbcore.secrets import hide
from cbcore.settings.run_settings import DEFAULT_CACHE_DIR
from cbcore.specs import Spec, parse_output
from cbcore.texts import clean

if TYPE_CHECKING:
    from cbcore.assembly.builder import Builder
    from cbcore.plugins import Catalog
    from cbcore.results import EvalResult
    from cbcore.results.causes import Cause
    from cbcore.settings.run_settings import RunSettings

_DEFAULT = "table"
_MOST_CAUSES = 5


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


@contextlib.contextmanager
def report_result(
    settings: Settings, wanted: Sequence[str] | None, asked: RunSettings | None = None
) -> Iterator[Callable[[EvalResult], None]]:
    """Around a run: report the result that the yielded function gets, as `--output` asks.

    Reporters are built before the run. What the run prints goes to standard error. A run that ends
    early is reported, too; if it was `asked` to store its outputs, the error names `cb resume`.
    Raises for a result that is of no use, such as one without rows.
    """
    from cbcore._logging import show_plugin_loggers

    show_plugin_loggers()
    outputs = make_outputs(settings, wanted, asked)
    results: list[EvalResult] = []
    with stop_on_signals():
        try:
            with contextlib.redirect_stdout(sys.stderr):
                yield results.append
        except RunStoppedError as stopped:
            if (result := stopped.result) is not None:
                if result.rows:
                    with contextlib.suppress(ReportError):  # printed, and not why the run ended
                        write_reports(result, outputs)
                if asked is not None and asked.cache_dir is not None:
                    command = f"cb resume {result.config['run_id']}"
                    if str(asked.cache_dir) != DEFAULT_CACHE_DIR:
                        command += f" --cache-dir {shlex.quote(str(asked.cache_dir))}"
                    before = f"{stopped.hint.rstrip('.')}. " if stopped.hint else ""
                    stopped.hint = f"{before}Continue it with `{command}`."
            raise
        for result in results:
            write_reports(result, outputs)
            _raise_if_incomplete(result)


def make_outputs(
    settings: Settings, wanted: Sequence[str] | None, asked: RunSettings | None = None
) -> list[Output]:
    """The reporters of a command, and where they write.

    The table is printed too, unless another report is printed or `--quiet` is given. One error
    names all that is missing, components of the run that is `asked` for included.
    """
    from cbcore.assembly.builder import Builder

    builder = Builder(settings.catalog())
    try:
        outputs = [_make_output(builder, text) for text in wanted or ()]
    except UnknownComponentError as error:
        components = asked.components() if asked else ()
        builder.require_all([*components, (error.kind, Spec(error.name))])
        raise
    is_printed = any(output.path is None for output in outputs)
    if not outputs or not (is_printed or settings.verbosity < 0):
        with contextlib.suppress(UnknownComponentError, PluginError):  # no plugin has a table
            table = builder.build("reporter", _DEFAULT).value
            outputs.insert(0, Output(table, added=bool(outputs)))
    builder.catalog.descriptions.save()
    return outputs


def _make_output(builder: Builder, text: str) -> Output:
    spec, file = parse_output(text)
    reporter = builder.build("reporter", spec or _find_reporter(builder.catalog, text)).value
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


def _find_reporter(catalog: Catalog, file: str) -> str:
    """The reporter for a file, by its ending. Of several, that of the plugin that has the table."""
    ending = Path(file).suffix[1:].lower()
    found, known = _match_ending(catalog, catalog.list_known("reporter"), ending)
    if not found:
        found, known = _match_ending(catalog, catalog.components("reporter"), ending)
    if len(found) == 1:
        return found[0].qualified_name
    if found:
        raise UsageError(
            f"{file!r} can be written by {' and '.join(one.name for one in found)}",
            hint=f"say which: --output {found[0].name}={file}",
        )
    endings = ", ".join(f".{one}" for one in sorted(known - {"", ending}))
    raise UsageError(
        f"no installed reporter writes files that end in .{ending}: {file!r}",
        hint=f"endings that are known: {endings}; or write FORMAT={file}",
    )


def _match_ending(
    catalog: Catalog, offered: Sequence[Component], ending: str
) -> tuple[list[Component], set[str]]:
    """The reporters for an ending, if that is not unique those beside the table; all endings."""
    usual = {one.plugin for one in offered if one.name == _DEFAULT}
    found = [one for one in offered if one.name == ending]
    known = {ending}
    for one in [] if found else offered:
        with contextlib.suppress(PluginError):
            extension = catalog.describe(one).extension.lower()
            known.add(extension)
            found += [one] * (extension == ending)
    return [one for one in found if one.plugin in usual] or found, known


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


def write_reports(result: EvalResult, outputs: Sequence[Output]) -> None:
    """Write every report, then print why rows failed.

    If a report fails, the others are written all the same, and `ReportError` is raised at the end.
    """
    from cbcore._logging import get_logger

    failed = []
    gone = None
    for output in outputs:
        name = output.reporter.name
        where = output.shown or output.path or "standard output"
        with contained() as writing:
            _write(result, output)
        error = writing.error
        if error is None:
            if output.path is not None:
                with contextlib.suppress(OSError, ValueError):
                    echo(f"{clean(name)} report: {clean(where)}", err=True)
            continue
        if output.path is None and isinstance(error, OSError):
            abandon_output()
            if output.added:
                continue
            if isinstance(error, BrokenPipeError):
                gone = error
                continue
        get_logger().error(f"reporter {name!r} failed: {writing.reason}")
        failed.append(f"{name} ({where})")
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
    text = None
    with contextlib.redirect_stdout(sys.stderr):
        if output.path is None or not hasattr(reporter, "write"):
            # Text of models may hold code points that no file can: they become question marks.
            text = hide(reporter.render(result)).encode("utf-8", "replace").decode()
    if output.path is None:
        click.echo((text or "").rstrip("\n"))
        return
    output.path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.redirect_stdout(sys.stderr), replace_file(output.path) as place:
        if text is None:
            reporter.write(result, place)
        else:
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
    n_failed = sum(cause.count for cause in errors)
    missing = [cause for cause in causes if cause.kind == "missing"]
    for title, listed in (
        (f"{n_failed:,} of {len(result.rows):,} rows failed:", errors),
        (
            "Scores are missing because an evaluator failed:",
            [cause for cause in missing if cause.is_failure],
        ),
        ("Scores are missing:", [cause for cause in missing if not cause.is_failure]),
    ):
        if listed:
            _list_causes(title, listed)


def _list_causes(title: str, causes: list[Cause]) -> None:
    from cbcore._logging import is_verbose

    groups: dict[tuple[str, str], list[Cause]] = {}  # of scores that are missing in the same rows
    for cause in causes:
        groups.setdefault((cause.reason, str(cause.systems)), []).append(cause)
    listed = list(groups.values())
    echo(title, err=True)
    for group in listed[:_MOST_CAUSES]:
        cause = group[0]
        where = f"example {cause.example_id!r}" + (f" of {cause.dataset}" if cause.dataset else "")
        names = ", ".join(one.score for one in group[:_MOST_CAUSES])
        n_more = len(group) - _MOST_CAUSES
        missing = f"no {names}{f' and {n_more} more' * (n_more > 0)}: " if cause.score else ""
        line = f"{cause.count:,} × {missing}{cause.reason} (first: {where}, {cause.system})"
        echo(f"  {clean(line)}", err=True)
        if cause.traceback and is_verbose():
            echo(textwrap.indent(cause.traceback, "    "), err=True)
    if left := listed[_MOST_CAUSES:]:
        n_rows = sum(group[0].count for group in left)
        echo(f"  {n_rows:,} × {len(left):,} other reasons", err=True)


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
    stopped = result.config.get("stopped", {})
    problems = [f"{system} was stopped: {reason}" for system, reason in stopped.items()]
    if len(errors) == len(rows):
        problems = [f"every row errored; the first: {errors[0]}"]
    if problems:
        hint = "--max-errors none runs all examples." if stopped else None
        raise RunError("\n".join(problems), hint=hint)
    if result.metrics and not any(hasattr(metric, "score_field") for metric in result.metrics):
        return  # metrics were chosen, and none of them is about a score
    score = result.config["score_field"]
    if any(score in row.scores for row in rows):
        return
    is_expected = not _has_section_scores(result) and any(score in row.missing for row in rows)
    others = dict.fromkeys(name for row in rows for name in row.scores)
    if others and not is_expected:
        return
    raise NothingScoredError(
        f"not one of {len(rows)} rows has a score {score!r}\n{_list_reasons(result, score)}",
        hint=f"--score can choose another: {', '.join(others)}" if others else None,
    )


def _has_section_scores(result: EvalResult) -> bool:
    """Whether a section reports scores of its own."""
    return any(line.get("scores") for section in result.sections.values() for line in section.lines)


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
