"""The evaluator: were the right functions called, with the right arguments?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from cb_scorers.tool_use.call import Call
from cb_scorers.tool_use.calls import calls_of
from cb_scorers.tool_use.languages import PYTHON, Language, language_of
from cb_scorers.tool_use.matching import Expected, argument_matches, problem_with, same_name
from cb_scorers.tool_use.python import number_in
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored

UNREADABLE = Call("(unreadable)", {})
"""Stands for tool calls that no call can be made of: something was called, nothing right."""


class ToolCallMatch:
    """Whether the expected functions were called with accepted arguments, by the rules of BFCL."""

    name = "tool_call_match"
    emits = ("tool_call_accuracy", "tool_name_f1", "argument_precision", "argument_recall")
    applies_to = ("tool-use",)
    automatic = True
    needs = ("answer_calls",)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """Compare the calls a system made with those expected, in any order."""
        expected = expected_calls(original)
        calls = calls_of(processed, language_of(original))
        if calls is None and processed.get("tool_calls"):
            calls = [UNREADABLE]
        elif calls is None:
            if not isinstance(processed.get("response"), str):
                raise MissingScoreError("there is neither a tool call nor a text as response")
            calls = []
        problems = _problems(calls, expected)
        pairs = _paired(calls, expected)
        scores = {
            "tool_call_accuracy": float(not problems),
            "tool_name_f1": _f1(len(pairs), len(calls), len(expected)),
        }
        missing = {}
        right = [
            sum(argument_matches(name, value, wanted) for name, value in call.arguments.items())
            for call, wanted in pairs
        ]
        given = sum(len(call.arguments) for call in calls)
        wanted_arguments = sum(
            not each.may_lack(name) for each in expected for name in each.accepted
        )
        needed = [
            sum(
                not wanted.may_lack(name)
                and argument_matches(name, call.arguments.get(name), wanted)
                for name in wanted.accepted
                if name in call.arguments
            )
            for call, wanted in pairs
        ]
        for name, found, total, reason in (
            ("argument_precision", sum(right), given, "no arguments were given"),
            ("argument_recall", sum(needed), wanted_arguments, "no arguments are expected"),
        ):
            if total:
                scores[name] = found / total
            else:
                missing[name] = reason
        details = {"calls": [{"name": c.name, "arguments": c.arguments} for c in calls]}
        return Scored(scores, missing, {**details, "problems": problems})


def expected_calls(original: Mapping[str, Any]) -> list[Expected]:
    """The expected calls: `ground_truth` as BFCL writes it, or `answer_calls`, with the schemas
    of the functions: `signatures`, or else the `tools` that a model is shown."""
    schemas = _schemas(original.get("signatures") or original.get("tools"))
    language = language_of(original)
    truth = original.get("ground_truth")
    if isinstance(truth, list) and truth and all(isinstance(call, Mapping) for call in truth):
        pairs = [(str(name), accepted) for call in truth for name, accepted in call.items()]
        if all(isinstance(accepted, Mapping) for _, accepted in pairs):
            return [_expected(name, accepted, schemas, language) for name, accepted in pairs]
    calls = original.get("answer_calls")
    if not isinstance(calls, list):
        raise MissingScoreError("the example has no expected calls")
    read = calls_of({"tool_calls": calls}) if calls else []
    if read is None:
        raise MissingScoreError("the example's expected calls cannot be read")
    return [
        attrs.evolve(
            _expected(call.name, {k: [v] for k, v in call.arguments.items()}, schemas, language),
            exact=True,
        )
        for call in read
    ]


def _expected(
    name: str,
    accepted: Mapping[str, Any],
    schemas: Mapping[str, Mapping[str, Any]],
    language: Language,
) -> Expected:
    schema = schemas.get(name, {})
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        properties = {}
    required = schema.get("required")
    listed = {key: v if isinstance(v, list) else [v] for key, v in accepted.items()}
    for key, values in listed.items():
        # BFCL's expected calls that are written as Python have `1 / 6` for a number, as text.
        if language is PYTHON and language.type_of(properties.get(key)) in (int, float):
            listed[key] = [number_in(value) for value in values]
    return Expected(
        name,
        listed,
        properties,
        frozenset(required if isinstance(required, list) else ()) & accepted.keys(),
        language,
    )


def _schemas(tools: Any) -> dict[str, Mapping[str, Any]]:
    """Parameters by function, from tools as published or as OpenAI's endpoint takes them."""
    found = {}
    for tool in tools if isinstance(tools, list) else ():
        function = tool.get("function", tool) if isinstance(tool, Mapping) else None
        if isinstance(function, Mapping) and isinstance(function.get("parameters"), Mapping):
            found[str(function.get("name"))] = function["parameters"]
    return found


def _problems(calls: Sequence[Call], expected: Sequence[Expected]) -> list[str]:
    """What is wrong with the calls as a whole; nothing when each expected one was made."""
    if len(calls) != len(expected):
        return [f"{len(calls)} calls were made, {len(expected)} are expected"]
    left = list(calls)
    problems = []
    for wanted in expected:
        reasons = [problem_with(call, wanted) for call in left]
        if None in reasons:
            del left[reasons.index(None)]
        else:
            named = [
                r for c, r in zip(left, reasons, strict=True) if same_name(c.name, wanted.name)
            ]
            problems.append(next(iter(named or reasons)) or "")
    return problems


def _paired(calls: Sequence[Call], expected: Sequence[Expected]) -> list[tuple[Call, Expected]]:
    """Each expected call with the one that comes nearest to it, of those of its name."""
    left = list(calls)
    pairs = []
    for wanted in expected:
        named = [call for call in left if same_name(call.name, wanted.name)]
        if named:
            best = max(
                named,
                key=lambda call: (
                    problem_with(call, wanted) is None,
                    sum(argument_matches(name, v, wanted) for name, v in call.arguments.items()),
                ),
            )
            left.remove(best)
            pairs.append((best, wanted))
    return pairs


def _f1(found: int, made: int, expected: int) -> float:
    """2·found / (made + expected); 1 when nothing was to be called and nothing was."""
    return 2 * found / (made + expected) if made + expected else 1.0
