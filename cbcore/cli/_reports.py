"""Reports: made before anything is spent, written when there is a result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings

if TYPE_CHECKING:
    from cbcore.results import EvalResult


def make_outputs(settings: Settings, wanted: Any) -> list[tuple[Any, Path | None]]:
    """Reporters and where they write, made before anything is spent."""
    from cbcore._building import Builder
    from cbcore.exceptions import UsageError
    from cbcore.specs import parse_output

    builder = Builder(settings.host())
    outputs = []
    for text in wanted or ("table",):
        spec, file = parse_output(text)
        path = Path(file) if file else None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            except OSError as error:
                raise UsageError(f"cannot write {file!r}: {error.strerror}") from error
        reporter = builder.build("reporter", spec).value
        if path is None and not hasattr(reporter, "render"):
            raise UsageError(
                f"the format {reporter.name!r} is not text and needs a file",
                hint=f"--output {reporter.name}=FILE",
            )
        outputs.append((reporter, path))
    return outputs


def report(result: EvalResult, outputs: list[tuple[Any, Path | None]]) -> None:
    """Write every report; one that fails does not keep the others from being written."""
    from cbcore._logging import get_logger
    from cbcore.components import describe_exception

    for reporter, path in outputs:
        try:
            if path is not None and hasattr(reporter, "write"):
                reporter.write(result, path)
            else:
                _write(reporter.render(result), path)
        except Exception as error:  # noqa: BLE001 - the plugin boundary
            get_logger().error(f"reporter {reporter.name!r} failed: {describe_exception(error)}")
            continue
        if path is not None:
            click.echo(f"{reporter.name} report: {path}", err=True)


def _write(document: str, path: Path | None) -> None:
    # Text of models may hold code points that no file can: they become question marks.
    document = document.encode("utf-8", "replace").decode()
    if path is None:
        click.echo(document.rstrip("\n"))
    else:
        path.write_text(document, encoding="utf-8")
