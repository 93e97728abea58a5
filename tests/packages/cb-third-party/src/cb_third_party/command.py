"""A command of `cb`."""

from __future__ import annotations

import click


@click.command()
def wave() -> None:
    """Wave."""
    click.echo("waving")
