"""A user's own components. Each call adds one line to calls.log, in whatever process it is made."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

from cb_memory import QueryResult, Retrieved

HERE = Path(__file__).parent


def note_call(name):
    log = os.open(HERE / "calls.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, f"{name}\n".encode())
    os.close(log)


def first_part(example, share: float = 0.5):
    note_call("first_part")
    context = example["context"]
    return {"context": context[: int(len(context) * share)]}


def length(original, processed):
    note_call("length")
    return {"length": float(len(processed["response"]))}


class FirstWords:
    """Keeps the first words of the context."""

    name = "first words"

    def __init__(self, n: int = 10) -> None:
        self.n = n

    def process(self, example):
        note_call("first_words")
        return {"context": " ".join(example["context"].split()[: self.n])}


class Finder:
    """Answers with the name in the context, and fails on one example if `failing` is its id."""

    name = "finder"

    def __init__(self, failing: str = "") -> None:
        self.failing = failing

    def process(self, example):
        note_call("finder")
        if example["id"] == self.failing:
            raise ValueError("refused")
        found = re.search(r"is called (\w+)", example["context"])
        return {"response": found[1] if found else "I do not know"}


class Blocking(Finder):
    """From the fourth example on, a call does not return unless the file `unblocked` exists."""

    name = "blocking"

    def process(self, example):
        output = super().process(example)
        if example["id"] > "t3" and not (HERE / "unblocked").exists():
            (HERE / f"blocked-{example['id']}").touch()
            threading.Event().wait()
        return output


class Notebook:
    """A memory that finds the items with most words of the question."""

    name = "notebook"
    answers = False

    def __init__(self) -> None:
        self.items = []

    def reset(self):
        note_call("reset")
        self.items = []

    def ingest(self, items):
        note_call("ingest")
        self.items.extend(items)

    def query(self, question, budget=None):
        note_call("query")
        words = set(question.lower().split())
        found = sorted(self.items, key=lambda item: -len(words & {*item.text.lower().split()}))
        return QueryResult(contexts=[Retrieved(item.text, id=item.id) for item in found[:4]])
