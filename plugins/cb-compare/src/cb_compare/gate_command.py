"""`cb gate`: may this build pass?"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from cb_compare.outputs import check_outputs, output_options, write_outputs
from cbcore.cli.kit import (
    cache_option,
    clean,
    shared_options,
    tool_table,
)

if TYPE_CHECKING:
    from cb_compare.gating import Gate

_TABLE = "[tool.cb.gate]"


def _rule_option(flag: str, example: str, told: str) -> Callable[..., Any]:
    name = flag.lstrip("-").replace("-", "_")
    return click.option(
        flag, name, multiple=True, metavar=example, help=f"{told} Repeatable; 1% is 0.01."
    )


@click.command("gate", short_help="Fail unless a run keeps its rules, for builds.")
@click.argument("run")
@_rule_option("--min", "NAME=X", "Score or metric that has to be reached.")
@_rule_option("--max", "NAME=X", "Score, metric or error_rate that must not be exceeded.")
@_rule_option("--max-drop", "SCORE=X", "Loss since the baseline that is allowed.")
@click.option("--baseline", metavar="RUN", help="The run that nothing may be lost since.")
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Only this. Repeatable.")
@click.option("--rules", metavar="FILE", help=f"YAML with the rules. Default: {_TABLE}.")
@click.option("--alpha", type=float, metavar="X", help="How often chance may count. Default: 0.05.")
@click.option("--strict", is_flag=True, default=None, help="A drop counts though it may be noise.")
@click.option(
    "--inconclusive",
    type=click.Choice(["pass", "fail"]),
    help="What too few examples to tell count as. Default: pass.",
)
@output_options("text, markdown, junit or json")
@cache_option
@shared_options
def command(run: str, outputs: tuple[str, ...], **chosen: Any) -> None:
    """Hold a run to rules, and exit with 9 when one is broken.

    Rules are given by flags, in [tool.cb.gate] of pyproject.toml, or in a YAML file. RUN and the
    baseline are ids, beginnings of only one, `latest`, `latest~1`, or paths of saved results.
    """
    from cb_compare.gating import check
    from cb_compare.rulefile import assignments, read_file, rules_of
    from cbcore.api import open_run
    from cbcore.exceptions import ConfigError, GateError

    wanted = check_outputs(outputs, FORMATS, as_json=chosen["as_json"])
    where = chosen["rules"] or _TABLE
    data: Any = read_file(where) if chosen["rules"] else tool_table().get("gate", {})
    if not isinstance(data, Mapping):
        raise ConfigError(where, f"must be a table, not {data!r}")
    flags = {key: chosen[key] for key in ("alpha", "strict", "inconclusive")}
    flags["systems"] = list(chosen["systems"]) or None
    given = {key: value for key, value in flags.items() if value is not None}
    for kind in ("min", "max", "max_drop"):
        given[kind] = assignments(chosen[kind], f"--{kind.replace('_', '-')}")
    rules = rules_of(data, where, given)
    baseline = chosen["baseline"] or data.get("baseline")
    store = chosen["cache_dir"]
    result = open_run(run, store)
    before = open_run(str(baseline), store) if baseline and rules.max_drop else None
    gate = check(result, rules, before)
    write_outputs(wanted, lambda name: FORMATS[name](gate))
    if gate.broken:
        is_shown = ("text", "") in wanted
        n_broken = len(gate.broken)
        lines = [f"the gate is closed: {n_broken} rule{'' if n_broken == 1 else 's'} broken"]
        lines += [] if is_shown else [clean(outcome.line) for outcome in gate.broken]
        raise GateError("\n".join(lines))


def _text(gate: Gate) -> str:
    """A line for each rule, and whether the gate is open."""
    lines = [clean(outcome.line) for outcome in gate.outcomes]
    return "\n".join([*lines, f"the gate is {'closed' if gate.broken else 'open'}"]) + "\n"


def _json(gate: Gate) -> str:
    from cbcore.json_data import to_json_safe

    return json.dumps(to_json_safe(gate.to_dict()), indent=2, ensure_ascii=False) + "\n"


def _markdown(gate: Gate) -> str:
    from cb_compare.rendering import as_markdown, escape

    head = f"closed, {len(gate.broken)} broken" if gate.broken else "open"
    lines = ["| | rule | system | |", "| :-- | :-- | :-- | :-- |"]
    for outcome in gate.outcomes:
        state = f"**{outcome.state}**" if outcome in gate.broken else outcome.state
        cells = " | ".join(map(escape, (outcome.rule, outcome.system, outcome.told)))
        lines.append(f"| {state} | {cells} |")
    reports = [as_markdown(report) for report in gate.reports]
    return "\n\n".join([f"### Gate: {head}", "\n".join(lines), *reports])


def _junit(gate: Gate) -> str:
    from cb_compare.junit import gate_as_junit

    return gate_as_junit(gate)


FORMATS = {"text": _text, "markdown": _markdown, "json": _json, "junit": _junit}
