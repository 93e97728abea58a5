"""What a run needs beside this plugin, so that the tests need no other one."""

from __future__ import annotations

{% if cookiecutter.kind == "executor" %}
import os
import signal
{% endif %}
{% if cookiecutter.kind not in ("suite", "format", "option") %}
from collections.abc import Mapping
{% endif %}
from typing import Any

from cbcore import EvalResult


{% if cookiecutter.kind == "suite" %}
class Letter:
    """A system that takes the first choice, whatever the question is."""

    name = "letter"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "A"}
{% elif cookiecutter.kind == "format" %}
class Agrees:
    """A system that agrees with everything."""

    name = "agrees"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "Yes, I think so."}
{% elif cookiecutter.kind == "option" %}
class Echo:
    """A system that says the question again."""

    name = "echo"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": example["question"]}
{% else %}
class Parrot:
    """A system that answers with the first word of the context."""

    name = "parrot"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": example["context"].split()[0]}


{% if cookiecutter.kind == "executor" %}
class Crash:
    """A system that tells its process, and at the river ends it."""

    name = "crash"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if example["id"] == "river":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"response": str(os.getpid())}


{% endif %}
class Exact:
    """An evaluator: 1 for the expected answer, 0 for another."""

    name = "exact"
    emits = ("exact",)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        return {"exact": float(original["answer"] == processed["response"])}
{% endif %}


class Json:
    """A reporter: the whole result."""

    name = "json"
    extension = "json"

    def render(self, result: EvalResult) -> str:
        return result.to_json()
