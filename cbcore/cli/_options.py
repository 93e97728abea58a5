"""Options of the command line, made from what declares them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from cbcore.request._options import COLUMNS, FLAG, FOLDER, INTEGER, LIMIT, NUMBER, Declared


class ErrorLimitType(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A number of rows (`5`) or a share of them (`2%`)."""

    name = "N|P%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int | float):
            return value
        text = str(value).strip()
        try:
            limit = float(text[:-1]) / 100 if text.endswith("%") else int(text)
        except ValueError:
            limit = -1
        if limit < 0:
            self.fail(f"{value!r} is neither a number of rows nor a share such as 5%", param, ctx)
        return limit


class FieldType(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """`FIELD=COLUMN`, where the column may be a path or `py:./file.py:function`."""

    name = "FIELD=COLUMN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        field, equals, column = str(value).partition("=")
        if not field.strip().isidentifier() or not equals or not column.strip():
            self.fail(f"{value!r} is not FIELD=COLUMN, such as context=passage", param, ctx)
        return field.strip(), column.strip()


def options(declared: Sequence[Declared]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command these options, in this order. What is not given is None or empty."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(declared):
            command = _click_option(option)(command)
        return command

    return decorate


def _click_option(option: Declared) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    if option.kind is FLAG:
        return click.option(
            *option.flags, option.name, is_flag=True, default=None, help=option.help
        )
    if option.kind is COLUMNS:
        return click.option(
            *option.flags,
            option.name,
            type=FieldType(),
            multiple=True,
            callback=lambda ctx, param, pairs: dict(pairs) or None,
            metavar=option.metavar,
            help=option.help,
        )
    return click.option(
        *option.flags,
        option.name,
        type=_type(option),
        multiple=option.many,
        metavar=option.metavar,
        help=option.help,
    )


def _type(option: Declared) -> Any:
    bounded = option.least is not None or option.above is not None
    is_open = option.above is not None
    lowest = option.least if option.above is None else option.above
    if option.choices:
        return click.Choice(option.choices)
    if option.kind is INTEGER:
        return click.IntRange(lowest, option.most, min_open=is_open) if bounded else int
    if option.kind is NUMBER:
        return click.FloatRange(lowest, option.most, min_open=is_open) if bounded else float
    if option.kind is LIMIT:
        return ErrorLimitType()
    return click.Path(file_okay=False) if option.kind is FOLDER else str
