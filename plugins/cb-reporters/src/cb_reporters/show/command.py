"""`cb show`: look at the examples of a run without a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cbcore.cli.kit import cache_option, shared_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from cb_reporters.show.choosing import Chosen
    from cbcore.results import EvalResult, EvalRow


@click.command("show", short_help="Look at examples: what each system kept, dropped and answered.")
@click.argument("run")
@click.argument("example", required=False)
@click.option(
    "--worst", type=click.IntRange(1), metavar="N", help="The N examples with the lowest scores."
)
@click.option("--lost-by", metavar="NAME", help="Examples on which this system scores less …")
@click.option("--kept-by", metavar="NAME", help="… than this one; those that lose most first.")
@click.option("--errors", is_flag=True, help="Examples on which a system failed.")
@click.option(
    "--cause",
    metavar="NAME",
    help="Examples with this cause in the loss analysis: evidence-dropped, reader-missed, unknown, "
    "reader-fails, improved or still-right.",
)
@click.option(
    "--system", "systems", multiple=True, metavar="NAME", help="This system only. Repeatable."
)
@click.option("--dataset", metavar="NAME", help="Examples of this dataset only.")
@click.option("--score", metavar="NAME", help="The score to go by. Default: that of the run.")
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=10, show_default=True, help="At most N."
)
@cache_option
@click.option("--full", is_flag=True, help="Long texts whole.")
@shared_options
def command(run: str, example: str | None, **chosen: Any) -> None:
    """Show examples of a RUN: question, gold, each response, and what was dropped of the context.

    RUN is the id of a saved run or its beginning, `latest`, or a saved result. With neither an
    EXAMPLE nor a choice, examples are listed. Where there are no colours (NO_COLOR, or no
    terminal), what was dropped stands in [- -] and what was added in {+ +}.

    \b
    cb show latest --worst 5 --system bm25
    cb show latest --lost-by bm25 --kept-by identity
    cb show latest --cause evidence-dropped --system bm25
    cb show latest sample-03 --full
    """
    from cb_reporters.show.choosing import find_system, read_examples
    from cb_reporters.show.looks import Look, listed
    from cb_reporters.show.painting import Paint
    from cbcore.api import open_run

    _check(example, chosen)
    result = open_run(run, chosen["cache_dir"])
    names = [find_system(result, name) for name in chosen["systems"]] or None
    keys, total = _choose(result, example, names, chosen)
    paint = Paint.of_output()
    if not keys:
        paint.echo("no example fits")
        return
    score = chosen["score"] or result.config.get("score_field")
    ways = ("worst", "lost_by", "errors", "cause")
    opens = example is not None or any(chosen[way] for way in ways)
    if opens:
        look = Look(paint, chosen["full"], score)
        shown = names or _compared(result, chosen)
        for position, one in enumerate(read_examples(result, keys)):
            if position:
                paint.echo("\n")
            for line in look.lines(one, shown):
                paint.echo(line)
    else:
        systems = names or result.systems
        if len(systems) > 1:
            paint.echo(paint(f"{score or 'score'} of {', '.join(systems)}:", "faint"))
        for one in read_examples(result, keys):
            paint.echo(listed(one, score, paint, systems))
    if total > len(keys):
        option = "--worst" if chosen["worst"] else "-n"
        told = f"{len(keys):,} of {total:,} examples; {option} shows more"
        paint.echo(f"\n{paint(told, 'faint')}")


def _check(example: str | None, chosen: dict[str, Any]) -> None:
    from cbcore.exceptions import UsageError

    if (chosen["lost_by"] is None) != (chosen["kept_by"] is None):
        raise UsageError(
            "--lost-by and --kept-by name the two systems to compare: one of them is missing",
            hint="cb show RUN --lost-by A --kept-by B",
        )
    ways = {
        "an EXAMPLE": example is not None,
        "--worst": chosen["worst"] is not None,
        "--lost-by": chosen["lost_by"] is not None,
        "--errors": chosen["errors"],
        "--cause": chosen["cause"] is not None,
    }
    given = [way for way, is_given in ways.items() if is_given]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} choose examples in different ways: give one")


def _choose(
    result: EvalResult, example: str | None, names: list[str] | None, chosen: dict[str, Any]
) -> Chosen:
    from cb_reporters.show import choosing
    from cb_reporters.show.choosing import find_system

    dataset = chosen["dataset"]

    def keep(row: EvalRow) -> bool:
        return dataset in (None, row.dataset) and (names is None or row.system in names)

    if example is not None:
        return choosing.by_id(result, example, dataset)
    if chosen["errors"]:
        return choosing.first(
            result, chosen["limit"], lambda row: row.error is not None and keep(row)
        )
    if chosen["cause"] is not None:
        caused = _with_cause(result, chosen["cause"])
        return choosing.first(result, chosen["limit"], lambda row: caused(row) and keep(row))
    if chosen["lost_by"] is not None:
        loser, keeper = (find_system(result, chosen[side]) for side in ("lost_by", "kept_by"))
        score = _score(result, chosen)
        return choosing.lost(result, chosen["limit"], score, loser, keeper, dataset)
    if chosen["worst"]:
        return choosing.worst(result, chosen["worst"], _score(result, chosen), keep)
    return choosing.first(result, chosen["limit"], keep)


def _with_cause(result: EvalResult, cause: str) -> Callable[[EvalRow], bool]:
    """Whether a row has this cause. Raises `UsageError` where none can have any."""
    from cbcore.exceptions import MissingExtraError, UsageError
    from cbcore.names import hint

    try:
        from cb_metrics.loss import CAUSES, attributions_of
    except ImportError as error:
        raise MissingExtraError("--cause", "cb-metrics", "cb-reporters[loss]") from error

    names = {name.replace("_", "-"): name for name in CAUSES}
    if cause.replace("_", "-") not in names:
        told = f"Causes are {', '.join(names)}."
        raise UsageError(f"Unknown cause {cause!r}.", hint=hint(cause, list(names), told))
    found = attributions_of(result)
    if all(one.missing for one in found):
        told = found[0].missing if found else "no system shortens the context of a reader"
        raise UsageError(f"no cause is known: {told}")
    named = names[cause.replace("_", "-")]
    wanted = {
        (one.system, *key) for one in found for key, told in one.causes.items() if told == named
    }
    return lambda row: (row.system, row.dataset, row.example_id, row.repeat) in wanted


def _compared(result: EvalResult, chosen: dict[str, Any]) -> list[str] | None:
    from cb_reporters.show.choosing import find_system

    if chosen["lost_by"] is None:
        return None
    return [find_system(result, chosen[side]) for side in ("lost_by", "kept_by")]


def _score(result: EvalResult, chosen: dict[str, Any]) -> str:
    """The score to go by; an error where no row has it."""
    from cbcore.exceptions import UsageError
    from cbcore.names import hint

    wanted: str = chosen["score"] or result.config.get("score_field") or "f1"
    known: dict[str, None] = {}
    for row in result.rows:
        if wanted in row.scores:
            return wanted
        known |= dict.fromkeys(row.scores)
    raise UsageError(
        f"no row of this run has a score {wanted!r}",
        hint=hint(wanted, list(known), f"--score one of {', '.join(known)}") if known else None,
    )
