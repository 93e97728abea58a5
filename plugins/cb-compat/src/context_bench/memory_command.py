"""`context-bench memory`: its flags, carried out by the memory mode of `cb`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cbcore.exceptions import UsageError

if TYPE_CHECKING:
    from cbcore.settings import RunSettings

KEY_VARIABLE = "CONTEXT_BENCH_API_KEY"
SYSTEMS = ("naive", "embedding", "mem0")
_NOT_HERE = ("rlm", "zep")


def build_parser() -> argparse.ArgumentParser:
    """The flags of the command."""
    parser = argparse.ArgumentParser(
        prog="context-bench memory",
        description="Benchmark memory systems. `cb run --memory` does the same and more.",
        epilog="context-bench memory --system naive --relay http://localhost:8000 --dataset locomo",
    )
    add = parser.add_argument
    choices = [*SYSTEMS, *_NOT_HERE]
    add("--system", action="append", required=True, choices=choices, help="Memory. Repeatable.")
    add("--relay", required=True, metavar="URL", help="Endpoint that reads, and judges.")
    add(
        "--dataset",
        default="locomo",
        metavar="NAME",
        help="locomo or longmemeval, also with what `cb` takes: locomo:data_dir=FOLDER.",
    )
    add("--model", default="haiku", help="Model asked for. Default: haiku.")
    add("--api-key", metavar="KEY", help=f"Key of the relay; better in {KEY_VARIABLE}.")
    add("-n", "--max-examples", type=int, metavar="N", help="Conversations.")
    add("--qa-types", nargs="+", metavar="TYPE", help="Only questions of these types.")
    add("--output", choices=["table", "json", "html"], default="table", help="Default: table.")
    add("--score-field", default="f1", help="The score that quality means. Default: f1.")
    add("--seed", type=int, default=42, help="Default: 42.")
    return parser


def settings_of(flags: argparse.Namespace) -> RunSettings:
    """The run that the flags ask for."""
    from cb_memory.scoring.judges import MemoryJudge
    from cbcore.settings import RunSettings

    if flags.api_key:
        os.environ[KEY_VARIABLE] = flags.api_key
    key = KEY_VARIABLE if KEY_VARIABLE in os.environ else None
    known: dict[str, Any] = {} if key is None else {"api_key_env": key}
    try:
        wanted = [_memory(name, flags, known) for name in flags.system]
        judge = MemoryJudge(flags.relay, flags.model, **known)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return RunSettings(
        datasets=[Chosen(flags.dataset, flags.qa_types, flags.max_examples)],
        plugin_options={"memory": wanted},
        added_evaluators=[judge],
        score=flags.score_field,
        seed=flags.seed,
    )


def _memory(name: str, flags: argparse.Namespace, known: dict[str, Any]) -> list[Any]:
    """A memory of `cb`, with the relay as its reader. None of its prompts holds an answer."""
    from cbcore.specs import Spec

    if name in _NOT_HERE:
        raise UsageError(
            f"--system {name} is not offered",
            hint="write a memory around it: docs/how-to/benchmark-a-memory.md",
        )
    reader = Spec(
        "openai", None, {"base_url": flags.relay, "model": flags.model, "name": name, **known}
    )
    if name == "mem0":
        url = flags.relay.rstrip("/").removesuffix("/v1") + "/v1"
        return [Spec("mem0", None, {"base_url": url, "model": flags.model, **known}), reader]
    return [Spec("full" if name == "naive" else "embedding"), reader]


class Chosen:
    """The questions of a benchmark that are of some types, about its first conversations."""

    def __init__(self, spec: str, types: list[str] | None, n: int | None) -> None:
        from cbcore.registry import load_dataset
        from cbcore.specs import Spec

        self.name = Spec.parse_dataset(spec).default_label
        self._examples = load_dataset(spec)
        self._types = types
        self._n = n
        self.tasks = getattr(self._examples, "tasks", ())

    def __iter__(self) -> Iterator[Any]:
        seen: set[str] = set()
        for example in self._examples:
            if not isinstance(example, dict):
                yield example
                continue
            if example["cluster"] not in seen and self._n is not None and len(seen) >= self._n:
                return
            seen.add(example["cluster"])
            if self._types is None or _type_of(example) in self._types:
                yield example


def _type_of(example: dict[str, Any]) -> str:
    return str(example.get("category") or example.get("question_type") or "")
