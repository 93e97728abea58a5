"""The commands: one ready-made, one made when it is asked for."""

from __future__ import annotations

import click


@click.command("good-greet")
@click.argument("name")
def greet(name: str) -> None:
    """Greet somebody."""
    click.echo(f"hello {name}")


def make_wave() -> click.Command:
    """Make the command."""
    return click.Command("good-wave", callback=lambda: click.echo("waving"))
