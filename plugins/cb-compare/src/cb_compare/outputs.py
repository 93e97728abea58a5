"""Where the documents of a command go: each to its file, or to standard output."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from cbcore.cli.kit import clean, echo
from cbcore.exceptions import UsageError
from cbcore.names import hint


def output_options(formats: str) -> Callable[[Any], Any]:
    """The options of a command that can print or write its document in several formats."""

    def decorate(command: Any) -> Any:
        told = f"{formats}; to FILE, or printed. Repeatable. Default: text."
        as_json = click.option(
            "--json", "as_json", is_flag=True, help="A JSON object, for machines."
        )
        output = click.option(
            *("-o", "--output", "outputs"), multiple=True, metavar="FORMAT[=FILE]", help=told
        )
        return output(as_json(command))

    return decorate


def check_outputs(
    wanted: Sequence[str], formats: Mapping[str, object], *, as_json: bool
) -> list[tuple[str, str]]:
    """The formats and files of `-o FORMAT[=FILE]`, refused before anything is read."""
    found = []
    for text in (*wanted, *(("json",) if as_json else ())) or ("text",):
        name, _, file = text.partition("=")
        if name not in formats:
            known = ", ".join(formats)
            raise UsageError(
                f"there is no format {name!r}", hint=hint(name, formats, f"one of {known}")
            )
        found.append((name, file))
    return found


def write_outputs(outputs: Sequence[tuple[str, str]], render: Callable[[str], str]) -> None:
    """Write every document; `render` makes that of a format."""
    for name, file in outputs:
        document = render(name).encode("utf-8", "replace").decode()
        if not file:
            echo(document.rstrip("\n"))
            continue
        try:
            _write(Path(file), document)
        except OSError as error:
            raise UsageError(f"cannot write {file!r}: {error.strerror}") from error
        echo(f"{clean(name)} report: {clean(file)}", err=True)


def _write(path: Path, document: str) -> None:
    """Write a file, whole: until it is, what was there before stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or (path.exists() and not path.is_file()):  # such as /dev/stdout
        path.write_text(document, encoding="utf-8")
        return
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        part.write_text(document, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
