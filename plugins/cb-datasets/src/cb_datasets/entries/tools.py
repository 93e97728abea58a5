"""Tool use: the user's request, the functions at hand, and the calls that are right."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cb_datasets.mapping import asked
from cb_datasets.reading import Row, described
from cb_datasets.table import Benchmark, Choice, Example
from cbcore.exceptions import DataError, UsageError
from cbcore.hf import HubDataset

WITHOUT_CALLS = ("irrelevance", "live_irrelevance")
"""Parts of BFCL in which no function fits, so that the right answer is no call."""

EXECUTED = ("exec_simple", "exec_multiple", "exec_parallel", "exec_parallel_multiple")
"""Parts of BFCL that keep the expected calls beside the question, written as Python."""

_RENAMED = {"simple": "simple_python", "java": "simple_java", "javascript": "simple_javascript"}
"""How the fourth version of BFCL calls parts of the third."""

LANGUAGES = {"java": "Java", "javascript": "JavaScript"}
"""Parts of BFCL whose functions are not Python, so that arguments are texts of code."""

_INSTRUCTION = "Call the functions that this request needs, with their arguments.\n\n{question}"


def bfcl_rows(source: HubDataset, choice: Choice) -> Iterator[Mapping[str, Any] | DataError]:
    """Questions with their expected calls, which BFCL keeps in another file, by id."""
    config = choice.config or ""
    expected: dict[str, Any] = {}
    if config not in (*WITHOUT_CALLS, *EXECUTED):
        for row in _json_lines(_bfcl_file(source, config, "possible_answer/")):
            if not isinstance(row, DataError):  # a question that lacks its calls will say so
                expected[row["id"]] = row.get("ground_truth")
    for row in _json_lines(_bfcl_file(source, config, "")):
        if isinstance(row, DataError):
            yield row
            continue
        found = (
            [] if config in WITHOUT_CALLS else row.get("ground_truth") or expected.get(row["id"])
        )
        yield {**row, "ground_truth": found}


def _bfcl_file(source: HubDataset, config: str, folder: str) -> Path:
    """A file of the repository, or of a local copy of its third or fourth version."""
    local = source.local_folder()
    if local is not None:
        for part in dict.fromkeys((config, _RENAMED.get(config, config))):
            found = sorted((local / folder).glob(f"BFCL_v[0-9]_{part}.json*"))
            if found:
                return found[0]
        raise UsageError(
            f"bfcl: no file for config {config!r} in {local / folder}",
            hint=f"expected for example {local / folder / f'BFCL_v3_{config}.json'}",
        )
    return source.file(f"{folder}BFCL_v3_{config}.json")


def _json_lines(path: Path) -> Iterator[dict[str, Any] | DataError]:
    """The rows of a file that is called .json and has one object per line.

    In the place of a line that is none stands the error that names it.
    """
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                yield DataError(f"{path}, line {number}: not valid JSON: {error}")
                continue
            if isinstance(row, dict) and isinstance(row.get("id"), str):
                yield row
            else:
                yield DataError(f"{path}, line {number}: expected an object with an id")


def bfcl(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    turns = row.items("question")
    if len(turns) != 1 or not isinstance(turns[0], list):
        raise row.bad("question", f"expected the messages of one turn, found {len(turns)} turns")
    messages = [row.record("question", message) for message in turns[0]]
    request = "\n\n".join(_message(m, alone=len(messages) == 1) for m in messages)
    example["question"] = asked(benchmark.instruction, request)
    tools = row.records("function")
    if choice.config in LANGUAGES:
        example["language"] = choice.config
        example["signatures"] = [tool.values for tool in tools]
        _add_tools(example, [_in_writing(tool, LANGUAGES[choice.config]) for tool in tools])
    else:
        _add_tools(example, [tool.values for tool in tools])
    if row.get("ground_truth") is None:
        raise row.bad("ground_truth", f"no expected call has the id {example['id']}")
    calls = [_accepted(row, call) for call in row.items("ground_truth")]
    example["ground_truth"] = calls
    example["answer_calls"] = [
        {"name": name, "arguments": _first_accepted(row.record("ground_truth", arguments).values)}
        for call in calls
        for name, arguments in call.items()
    ]
    _add_call_text(example)


def _in_writing(tool: Row, language: str) -> dict[str, Any]:
    """A function as a model is shown it: with types of JSON, which are texts, and its own told.

    BFCL's checker takes arguments of these languages only as texts, and its prompts say so.
    """
    properties = tool.record("parameters", tool.get("parameters.properties")).values
    shown = {}
    for name, schema in properties.items():
        field = tool.record("parameters", schema)
        inner = field.get("items") or field.get("properties")
        within = f" of {json.dumps(inner, ensure_ascii=False)}" if inner else ""
        kind = f"{field.get('type')}{within}"
        told = f"{field.get('description') or ''} Written as {language} code, type {kind}."
        shown[name] = {"type": "string", "description": told.strip()}
    described = f"{tool.get('description') or ''} The function is written in {language}."
    parameters = {**tool.get("parameters"), "properties": shown}
    return {**tool.values, "description": described.strip(), "parameters": parameters}


def _accepted(row: Row, call: Any) -> Mapping[str, Any]:
    """An expected call with the values it accepts, also where it is written as Python.

    What is no plain value there, such as `1/6`, is kept as the text it is.
    """
    if not isinstance(call, str):
        return row.record("ground_truth", call).values
    try:
        parsed = ast.parse(call.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise row.bad("ground_truth", f"{call!r:.80} is not a call") from error
    if not isinstance(parsed, ast.Call):
        raise row.bad("ground_truth", f"{call!r:.80} is not a call")
    name = ast.unparse(parsed.func)
    names = [*_parameters(row, name)[: len(parsed.args)], *(k.arg for k in parsed.keywords)]
    values = [*parsed.args, *(keyword.value for keyword in parsed.keywords)]
    if len(names) != len(values) or None in names:
        raise row.bad("ground_truth", f"{call!r:.80} has arguments without a name")
    return {name: {str(n): [_value(v)] for n, v in zip(names, values, strict=True)}}


def _parameters(row: Row, name: str) -> list[str]:
    """The parameters of a function, in order."""
    for tool in row.records("function"):
        if tool.get("name") == name:
            return list(row.record("function", tool.get("parameters.properties")).values)
    return []


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return ast.unparse(node)


def _message(message: Row, *, alone: bool) -> str:
    text = message.text("content")
    return text if alone else f"{message.text('role')}: {text}"


def _first_accepted(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """One call that is right. BFCL lists what it accepts; an empty text means: may be left out."""
    chosen = {}
    for name, accepted in arguments.items():
        value = accepted[0] if isinstance(accepted, list) and accepted else accepted
        if value != "":
            chosen[name] = _settled(value)
    return chosen


def _settled(value: Any) -> Any:
    """The same within records and lists of records, where accepted values are listed too."""
    if isinstance(value, Mapping):
        return _first_accepted(value)
    return [_settled(item) for item in value] if isinstance(value, list) else value


def apigen(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """Tools and calls are JSON in a text field."""
    tools, calls = row.parsed("tools"), row.parsed("answers")
    for field, value in (("tools", tools), ("answers", calls)):
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise row.bad(field, f"expected a list of records, found {described(value)}")
    _add_tools(example, tools)
    example["answer_calls"] = calls
    _add_call_text(example)


def _add_tools(example: Example, tools: list[Any]) -> None:
    """The tools, and the text in which a model is shown them."""
    example["tools"] = tools
    example["context"] = json.dumps(tools, ensure_ascii=False, indent=1)


def _add_call_text(example: Example) -> None:
    """The expected calls as the text of an answer: `f(a=1)`, in brackets where there are several.

    Where no call is right there is no such text.
    """
    calls = [
        f"{call.get('name')}({_arguments(call.get('arguments'))})"
        for call in example["answer_calls"]
    ]
    if calls:
        example["answer"] = calls[0] if len(calls) == 1 else f"[{', '.join(calls)}]"
        example["answers"] = [example["answer"]]


def _arguments(arguments: Any) -> str:
    if not isinstance(arguments, Mapping):
        return "" if arguments is None else repr(arguments)
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
