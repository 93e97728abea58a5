"""The same verdicts as BFCL's own checker, on its own data.

The checker and the data are those of the distribution `bfcl-eval`, installed without its
dependencies: only the checker is imported, with an empty table in place of the models' settings.
Its readers of Java and JavaScript need `tree_sitter==0.21.3`, `tree-sitter-java==0.21.0` and
`tree-sitter-javascript==0.21.4` as well.
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

from cb_scorers.tool_use import ToolCallMatch

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
            language = {"simple_java": Language.JAVA, "simple_javascript": Language.JAVASCRIPT}
            spoken = language.get(category, Language.PYTHON)
            return ast_checker(tools, calls, truth, spoken, category, "any")["valid"]

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


def java_writings(value, item_type):
    """One value in Java: rightly, and in other ways."""
    if isinstance(value, bool):
        return [str(value).lower(), str(value), f'"{str(value).lower()}"', str(not value).lower()]
    if isinstance(value, int | float):
        return [f"{value}{end}" for end in ("", "L", "f", ".5", " + 0")] + [f'"{value}"', "x"]
    if isinstance(value, list):
        items = ", ".join(java_writings(item, None)[0] for item in value)
        items = items.replace(",", "L,") + "L" if item_type == "long" else items
        forms = ("new ArrayList<>(Arrays.asList({}))", "new ArrayList<T>() {{{{ add({}); }}}}")
        forms += ("new int[]{{{}}}", "new T[] {{ {} }}", "Arrays.asList({})", "new ArrayList<>()")
        return [form.format(items) for form in forms]
    if isinstance(value, dict):
        firsts = {k: v[0] if isinstance(v, list) else v for k, v in value.items()}
        puts = " ".join(f'put("{k}", {java_writings(v, None)[0]});' for k, v in firsts.items())
        return [f"new HashMap<A, B>() {{{{ {puts} }}}}", "new HashMap<>()", f"Map.of({puts})"]
    quoted = value.replace('"', '\\"')
    return [f'"{quoted}"', value, f"'{value}'", f'"{quoted}x"', f"new {value}()", f"{value}.x"]


def javascript_writings(value, item_type):
    """One value in JavaScript: rightly, and in other ways."""
    if isinstance(value, bool | int | float):
        written = json.dumps(value)
        return [written, f"'{written}'", f"{written}n", f"{written}.5", "x", f"{written} + 0"]
    if isinstance(value, list):
        items = ", ".join(javascript_writings(item, None)[0] for item in value)
        forms = ("[{}]", "new Array({})", "[{},]", "[[{}]]", "[\n{}]", "'[{}]'", "x", "[]")
        return [form.format(items) for form in forms]
    if isinstance(value, dict):
        firsts = {k: v[0] if isinstance(v, list) else v for k, v in value.items()}
        entries = [f"{k}: {javascript_writings(v, None)[0]}" for k, v in firsts.items()]
        forms = ("{{{}}}", "{{{},}}", "{{\n{}}}", "{{{}, x: 1}}", "{{}}", "x")
        return [form.format(", ".join(entries)) for form in forms]
    return [f"'{value}'", f'"{value}"', value, f"`{value}`", f"'{value}x'", f"() => {value}"]


def written_calls(truth, tool, writings, chance):
    """The expected call with each argument written in one of its ways, and calls around it."""
    ((name, accepted),) = truth[0].items()
    arguments = {}
    for key, values in accepted.items():
        wanted = [value for value in values if value != ""]
        items = tool["parameters"]["properties"][key].get("items", {})
        if wanted:
            ways = writings(wanted[0], items.get("type"))
            arguments[key] = chance.choice(ways) if chance.random() < 0.4 else ways[0]
    if chance.random() < 0.1:
        arguments.pop(next(iter(arguments)))
    call = f"{name}({', '.join(f'{key}={value}' for key, value in arguments.items())})"
    around = ("[{}]", "[{}]", "[{}]", "{};", "`{}`", "[{}", "{}\nother(a=1)", "{}.x()", "[{}, {}]")
    return name, arguments, chance.choice(around).replace("{}", call)


WRITTEN = [("java", java_writings), ("javascript", javascript_writings)]


@pytest.mark.parametrize(("language", "writings"), WRITTEN)
def test_native_verdicts_agree_in_java_and_javascript(bfcl, language, writings):
    """On every item, with arguments as texts in the language, in many ways."""
    data, check = bfcl
    verdicts = []
    for tools, truth, chance in items_of(data, language):
        for _ in range(20):
            name, arguments, _ = written_calls(truth, tools[0], writings, chance)
            made = name.replace(".", "_")
            official = check(tools, [{made: dict(arguments)}], truth, f"simple_{language}")
            output = {"tool_calls": [{"name": made, "arguments": arguments}]}
            assert verdict(language, tools, truth, output) is official, arguments
            verdicts.append(official)
    assert {True, False} == set(verdicts)


@pytest.mark.parametrize(("language", "writings"), WRITTEN)
def test_written_verdicts_agree_in_java_and_javascript(bfcl, language, writings):
    """On every item that the official reader can read."""
    pytest.importorskip("tree_sitter_java")
    pytest.importorskip("tree_sitter_javascript")
    from bfcl_eval.model_handler.parser.java_parser import parse_java_function_call
    from bfcl_eval.model_handler.parser.js_parser import parse_javascript_function_call

    read = {"java": parse_java_function_call, "javascript": parse_javascript_function_call}
    data, check = bfcl
    verdicts = []
    for tools, truth, chance in items_of(data, language):
        for _ in range(20):
            _, _, text = written_calls(truth, tools[0], writings, chance)
            try:
                calls = read[language](text.strip("`\n ").removeprefix("[").removesuffix("]"))
            except Exception:  # whatever it raises, it did not read the text
                continue
            if not calls:
                continue
            made = [
                {name.replace(".", "_"): given} for call in calls for name, given in call.items()
            ]
            official = check(tools, made, truth, f"simple_{language}")
            assert verdict(language, tools, truth, {"response": text}) is official, text
            verdicts.append(official)
    assert {True, False} == set(verdicts)


def items_of(data, language):
    items = {item["id"]: item for item in lines(data / f"BFCL_v4_simple_{language}.json")}
    for answer in lines(data / "possible_answer" / f"BFCL_v4_simple_{language}.json"):
        chance = random.Random(answer["id"])
        yield items[answer["id"]]["function"], answer["ground_truth"], chance


def verdict(language, tools, truth, output):
    example = {"tools": tools, "ground_truth": truth, "language": language}
    return bool(ToolCallMatch().score(example, output).scores["tool_call_accuracy"])
