"""The same verdicts as BFCL's own checker, on its own data.

The checker and the data are those of the distribution `bfcl-eval`, installed without its
dependencies: only the checker is imported, with an empty table in place of the models' settings.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import types
from collections import defaultdict
from importlib import metadata
from pathlib import Path

import pytest

from cb_tool_use import ToolCallMatch

CATEGORIES = (
    *("simple_python", "multiple", "parallel", "parallel_multiple"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
)


@pytest.fixture(scope="module")
def bfcl():
    """The folder of the data, and the checker as a function."""
    try:
        folder = Path(str(metadata.distribution("bfcl-eval").locate_file("bfcl_eval")))
    except metadata.PackageNotFoundError:
        pytest.skip("bfcl-eval is not installed (pip install --no-deps bfcl-eval)")
    settings = types.ModuleType("bfcl_eval.constants.model_config")
    model = types.SimpleNamespace(underscore_to_dot=True)
    settings.MODEL_CONFIG_MAPPING = defaultdict(lambda: model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "bfcl_eval.constants.model_config", settings)
        from bfcl_eval.constants.enums import Language
        from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

        def check(tools, calls, truth, category):
            return ast_checker(tools, calls, truth, Language.PYTHON, category, "any")["valid"]

        yield folder / "data", check


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def accepted(truth):
    """The expected calls with the first accepted value of each argument."""
    return [
        (
            name,
            {
                key: plain(values[0])
                for key, values in arguments.items()
                if values and values[0] != ""
            },
        )
        for call in truth
        for name, arguments in call.items()
    ]


def plain(value):
    if isinstance(value, dict):
        firsts = {k: v[0] if isinstance(v, list) and v else v for k, v in value.items()}
        return {key: plain(first) for key, first in firsts.items() if first != ""}
    return [plain(item) for item in value] if isinstance(value, list) else value


def spoilt(calls, chance):
    """The calls with one thing about them changed."""
    calls = copy.deepcopy(calls)
    position = chance.randrange(len(calls))
    name, arguments = calls[position]
    key = chance.choice(sorted(arguments)) if arguments else None
    value = arguments.get(key)
    change = chance.choice(("name", "drop", "type", "value", "add", "twice", "none", "case"))
    if change == "name":
        calls[position] = (name + "_x", arguments)
    elif change == "add":
        arguments["surprise"] = 1
    elif change == "twice":
        calls.append((name, arguments))
    elif change == "none":
        del calls[position]
    elif key is not None and change == "drop":
        del arguments[key]
    elif key is not None and change == "type":
        arguments[key] = 7 if isinstance(value, str) else str(value)
    elif isinstance(value, str):
        arguments[key] = f" {value.upper()}." if change == "case" else value + "x"
    elif isinstance(value, int | float):
        arguments[key] = value + 1
    return calls


@pytest.mark.parametrize("category", CATEGORIES)
def test_verdicts_agree_with_the_official_checker(bfcl, category):
    """On every item of a category: as expected, and spoilt in two ways."""
    data, check = bfcl
    items = {item["id"]: item for item in lines(data / f"BFCL_v4_{category}.json")}
    chance = random.Random(category)
    verdicts = []
    for answer in lines(data / "possible_answer" / f"BFCL_v4_{category}.json"):
        tools, truth = items[answer["id"]]["function"], answer["ground_truth"]
        right = accepted(truth)
        for calls in (right, spoilt(right, chance), spoilt(right, chance)):
            made = [(name.replace(".", "_"), arguments) for name, arguments in calls]
            official = check(tools, [{name: copy.deepcopy(a)} for name, a in made], truth, category)
            ours = ToolCallMatch().score(
                {"tools": tools, "ground_truth": truth},
                {"tool_calls": [{"name": name, "arguments": a} for name, a in made]},
            )
            assert bool(ours.scores["tool_call_accuracy"]) is official, (answer["id"], calls)
            verdicts.append(official)
    assert len(verdicts) == 3 * len(items)
    assert {True, False} == set(verdicts)
