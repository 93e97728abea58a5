"""Components that keep the contract, and for every rule some that break exactly that one."""

from __future__ import annotations

import itertools
import json
import pickle
import random
import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from html import escape

from cbcore import Component, DataError, MissingScoreError
from cbcore.builtin.processes import Processes
from cbcore.json_data import to_json_safe
from cbcore.protocols import WorkerLost
from cbcore.run.workers import open_worker


class Evaluator:
    """Whether the response is the answer."""

    name = "exact"
    emits = ("exact",)

    def __init__(self, case: bool = False, scale: float = 1.0) -> None:
        self.case = case
        self.scale = scale

    def score(self, original, processed):
        answer, response = original.get("answer"), processed.get("response")
        if answer is None or response is None:
            raise MissingScoreError("there is no answer or no response")
        return {"exact": self.scale * float(answer == response)}


class Undocumented(Evaluator):
    pass


class UndeclaredScore(Evaluator):
    def score(self, original, processed):
        return {**super().score(original, processed), "extra": 1.0}


class NeverReturned(Evaluator):
    emits = ("exact", "never")


class EmitsNothing(Evaluator):
    emits = ()


class Boolean(Evaluator):
    def score(self, original, processed):
        return {name: bool(value) for name, value in super().score(original, processed).items()}


class NotFinite(Evaluator):
    def score(self, original, processed):
        return dict.fromkeys(super().score(original, processed), float("inf"))


class ListOfScores(Evaluator):
    emits = ("exact",)

    def score(self, original, processed):
        if processed.get("response") == "Paris":
            return super().score(original, processed)
        return [1.0]


class Random(Evaluator):
    def score(self, original, processed):
        super().score(original, processed)
        return {"exact": random.random()}


class OneThread(Evaluator):
    """As an object of sqlite: usable in the thread that made it."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()

    def score(self, original, processed):
        if threading.get_ident() != self._thread:
            raise MissingScoreError("used in another thread")
        return super().score(original, processed)


class ChangesOutput(Evaluator):
    def score(self, original, processed):
        scores = super().score(original, processed)
        processed["response"] = processed["response"].lower() + "!"
        return scores


class ChangesDeeply(Evaluator):
    def score(self, original, processed):
        scores = super().score(original, processed)
        original.get("documents", []).append({})
        return scores


class NoneIsTooMuch(Evaluator):
    def score(self, original, processed):
        super().score({"answer": original["answer"]}, processed)
        return super().score(original, processed)


class HugeIsTooMuch(Evaluator):
    def score(self, original, processed):
        if len(processed.get("response") or "") > 10_000:
            raise RecursionError
        return super().score(original, processed)


class AsyncEvaluator(Evaluator):
    """An evaluator that is awaited, on one event loop."""

    score = None
    _loop = None

    async def ascore(self, original, processed):
        import asyncio

        self._loop = self._loop or asyncio.get_running_loop()
        assert self._loop is asyncio.get_running_loop()
        return Evaluator.score(self, original, processed)


class Forgetful(Evaluator):
    """Uses a parameter that nobody can see."""

    def __init__(self, weight: float = 1.0) -> None:
        super().__init__()
        self._hidden = [weight]
        self.identity = {"scale": self.scale}


class Labeled(Evaluator):
    """Has a parameter that changes no score."""

    def __init__(self, note: str = "a") -> None:
        super().__init__()
        self.note = note
        self.identity = {"scale": self.scale}


class Counting(Evaluator):
    """Counts its calls, which changes no score."""

    calls = 0

    def score(self, original, processed):
        self.calls += 1
        return super().score(original, processed)


class Opening(Evaluator):
    def score(self, original, processed):
        self.lock = threading.Lock()
        return super().score(original, processed)


class Numbered(Evaluator):
    _numbers = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.number = next(self._numbers)


class ShowsItsKey(Evaluator):
    def __init__(self, api_key: str = "") -> None:
        super().__init__()
        self._api_key = api_key

    def __repr__(self) -> str:
        return f"ShowsItsKey({self._api_key!r})"


class RecordsItsKey(Evaluator):
    def __init__(self, api_key: str = "") -> None:
        super().__init__()
        self.headers = [f"key {api_key}"]


class KeepsItsKey(Evaluator):
    """Keeps a secret."""

    def __init__(self, api_key: str = "") -> None:
        super().__init__()
        self._api_key = api_key


# -- systems -------------------------------------------------------------------------------------


class System:
    """Keeps the first words of the context."""

    def __init__(self, n_words: int = 5, *, name: str | None = None) -> None:
        self.n_words = n_words
        self.name = name or f"first-{n_words}"

    def process(self, example):
        context = example.get("context")
        if not isinstance(context, str):
            raise DataError(f"{self.name}: the example has no 'context'")
        return {"context": " ".join(context.split()[: self.n_words])}


class ReturnsText(System):
    def process(self, example):
        return super().process(example)["context"]


class NeedsTools(System):
    """Works on examples of another kind than those made up."""

    def process(self, example):
        if "tools" not in example:
            raise DataError("the example has no 'tools'")
        return super().process(example)


class NeedsOneOf(Evaluator):
    """Has a default for every parameter, and none that would do alone."""

    def __init__(self, model: str = "", judge: str = "") -> None:
        if not model and not judge:
            raise ValueError("a judge needs model or judge")
        super().__init__()
        self.model, self.judge = model, judge


class Changes(System):
    def process(self, example):
        output = super().process(example)
        example["context"] = output["context"]
        return output


class ChangesInside(System):
    def process(self, example):
        output = super().process(example)
        for document in example.get("documents", ()):
            document["sentences"].clear()
        return output


class Renames(System):
    def process(self, example):
        self.name = "used"
        return super().process(example)


class RandomName(System):
    _numbers = itertools.count()

    def __init__(self) -> None:
        super().__init__(name=f"system-{next(self._numbers)}")


class KeyErrors(System):
    def process(self, example):
        return {"context": example["context"] and super().process(example)["context"]}


class AsyncSystem(System):
    """A system that is awaited."""

    process = None

    async def aprocess(self, example):
        return System.process(self, example)


class CallsOut(System):
    def process(self, example):
        socket.create_connection(("service.example", 443))
        return super().process(example)


# -- datasets ------------------------------------------------------------------------------------


class Dataset:
    """Numbers and their names."""

    tasks = ("qa",)

    def __init__(self, config: str = "small") -> None:
        self.config = config

    def __iter__(self):
        for number in itertools.count():
            asked = f"What is {number}?"
            yield {"id": number, "context": asked, "question": asked, "answer": str(number)}


def one_shot():
    """Numbers, once."""
    yield from itertools.islice(Dataset(), 5)


def said_one_shot():
    """Numbers, once, as is said below."""
    return one_shot()


said_one_shot.reiterable = False


class Eager(Dataset):
    def __iter__(self):
        return iter(list(super().__iter__()))


class WithoutId(Dataset):
    def __iter__(self):
        return ({"context": "Who?", "question": "Who?"} for _ in range(2))


class SameId(Dataset):
    def __iter__(self):
        return ({"id": 1, "context": "Who?", "question": "Who?"} for _ in range(2))


class NothingToDo(Dataset):
    def __iter__(self):
        return ({"id": number, "answer": "me"} for number in range(2))


class OnlyAsks(Dataset):
    def __iter__(self):
        return ({"id": number, "question": "Who?"} for number in range(2))


class OnlyTalks(Dataset):
    def __iter__(self):
        return ({"id": number, "turns": ["Who?", "Why?"]} for number in range(2))


class OneBadRow(Dataset):
    """Numbers, and a row among them that is none."""

    def __iter__(self):
        yield {"id": 1, "context": "Who?", "question": "Who?"}
        yield DataError("row 1 has no question")
        yield {"id": 2, "context": "Who?", "question": "Who?"}


class NotDicts(Dataset):
    def __iter__(self):
        return iter(["Who?"])


class Empty(Dataset):
    def __iter__(self):
        return iter(())


class Crashes(Dataset):
    def __iter__(self):
        yield {"id": 1, "question": "Who?"}
        raise KeyError("field")


class Elsewhere(Dataset):
    def __iter__(self):
        raise DataError("cannot load it from the hub")


# -- metrics -------------------------------------------------------------------------------------


class Metric:
    """The share of rows without an error."""

    name = "worked"

    def __init__(self, score_field: str = "f1") -> None:
        self.score_field = score_field

    def compute(self, rows):
        total = worked = 0
        for row in rows:
            total += 1
            worked += row.error is None
        return {"worked": worked / total if total else float("nan")}


class ReturnsNone(Metric):
    def compute(self, rows):
        value = super().compute(rows)["worked"]
        return {"worked": value if value != 0.75 else None}


class ReturnsFloat(Metric):
    def compute(self, rows):
        values = super().compute(rows)
        return values if values["worked"] != 0.75 else 1.0


class DividesByZero(Metric):
    def compute(self, rows):
        n_rows = sum(row.error is None for row in rows)
        return {"worked": 1 / n_rows}


class NeedsScores(Metric):
    def compute(self, rows):
        return {"f1": sum(row.scores["f1"] for row in rows if row.error is None and row.missing)}


class TwoPasses(Metric):
    def compute(self, rows):
        sum(row.error is None for row in rows)
        return super().compute(rows)


class ByNumber(Metric):
    def compute(self, rows):
        return super().compute([rows[number] for number in range(len(rows))])


class ChangesRows(Metric):
    def compute(self, rows):
        kept = list(rows)
        for row in kept:
            row.scores.clear()
        return super().compute(kept)


class RandomMetric(Metric):
    def compute(self, rows):
        super().compute(rows)
        return {"worked": random.random()}


class Comparing(Metric):
    """Ranks systems."""

    compute = None

    def compare(self, rows_by_system):
        return {system: Metric.compute(self, rows) for system, rows in rows_by_system.items()}


# -- reporters -----------------------------------------------------------------------------------


class Reporter:
    """Lines of JSON."""

    name = "lines"
    extension = "jsonl"

    def render(self, result):
        return "".join(json.dumps(to_json_safe(row.to_dict())) + "\n" for row in result.rows)


class Page:
    """A page that escapes."""

    name = "page"
    extension = "html"

    def render(self, result):
        names = (escape(ascii(name)) for name in result.systems)
        return f"<html><body>{''.join(f'<p>{name}</p>' for name in names)}</body></html>"


class RawPage(Page):
    def render(self, result):
        names = (ascii(name) for name in result.systems)
        return f"<html><body>{''.join(f'<p>{name}' for name in names)}</body></html>"


class OpenPage(Page):
    def render(self, result):
        return super().render(result) + "<table>"


class RawText:
    name = "text"
    extension = "txt"

    def render(self, result):
        return "\n".join(result.systems).encode("utf-8", "replace").decode()


class Surrogates(RawText):
    def render(self, result):
        return "".join(s for s in "".join(result.systems) if s.isprintable() or s == "\ud800")


class NotJson(Reporter):
    def render(self, result):
        return "".join(f"{row.to_dict()}\n" for row in result.rows)


class Ragged(Reporter):
    extension = "csv"

    def render(self, result):
        return "system\n" + "".join(f"{number},b\n" for number, _ in enumerate(result.rows))


class Bytes(Reporter):
    def render(self, result):
        return super().render(result).encode()


class NoRowsNoReport(Reporter):
    def render(self, result):
        return super().render(result) if len(result.rows) > 0 else result.rows[0]


class ChangesResult(Reporter):
    def render(self, result):
        result.config["seen"] = True
        return super().render(result)


class Writer:
    """Writes a file."""

    name = "writer"
    extension = "bin"

    def write(self, result, path):
        path.write_bytes(b"report")


class WritesNothing(Writer):
    def write(self, result, path):
        pass


# -- executors and tokenizers --------------------------------------------------------------------


class Wrapped:
    """A pool of processes, of which a part is done wrong."""

    def __init__(self, pool):
        self._pool = pool
        self.n_workers = pool.n_workers

    def submit(self, task, begin):
        return self._pool.submit(task, begin)

    def end(self, future):
        self._pool.end(future)

    def close(self):
        self._pool.close()


class Here(Processes):
    """Makes calls in the process of the run."""

    def open(self, worker, *, workers):
        return HerePool(worker, workers)


class HerePool:
    def __init__(self, worker, workers):
        self.n_workers = workers
        self._run_task = open_worker(worker)
        self._threads = ThreadPoolExecutor(workers)

    def submit(self, task, begin):
        def call():
            begin()
            return self._run_task(task)

        return self._threads.submit(call)

    def end(self, future):
        pass

    def close(self):
        self._threads.shutdown(wait=False)


class TooMany(Processes):
    def open(self, worker, *, workers):
        return super().open(worker, workers=workers + 2)


class Changing(Wrapped):
    """Gives another reply in the place of some."""

    def __init__(self, pool, change):
        super().__init__(pool)
        self._change = change
        self._behind = {}
        self._ended = set()

    def submit(self, task, begin):
        shown = Future()
        done = self._behind[shown] = super().submit(task, begin)
        done.add_done_callback(lambda done: self._pass_on(done, shown))
        return shown

    def _pass_on(self, done, shown):
        try:
            shown.set_result(self._change(done, shown in self._ended))
        except WorkerLost as error:
            shown.set_exception(error)

    def end(self, future):
        self._ended.add(future)
        super().end(self._behind[future])


class Garbles(Processes):
    def open(self, worker, *, workers):
        return Changing(super().open(worker, workers=workers), lambda f, _: f.result()[:50_000])


ANOTHER_REPLY = pickle.dumps(({"response": ""}, None, 0.0, 0.0, []))


def excuse(done):
    return ANOTHER_REPLY if done.exception() else done.result()


class HidesLosses(Processes):
    def open(self, worker, *, workers):
        pool = super().open(worker, workers=workers)
        return Changing(pool, lambda done, ended: done.result() if ended else excuse(done))


class HidesEnds(Processes):
    def open(self, worker, *, workers):
        pool = super().open(worker, workers=workers)
        return Changing(pool, lambda done, ended: excuse(done) if ended else done.result())


class Stuttering(Wrapped):
    def submit(self, task, begin):
        return super().submit(task, lambda: (begin(), begin()))


class BeginsTwice(Processes):
    def open(self, worker, *, workers):
        return Stuttering(super().open(worker, workers=workers))


class Polite(Wrapped):
    def __init__(self, pool):
        super().__init__(pool)
        self._futures = []

    def submit(self, task, begin):
        self._futures.append(super().submit(task, begin))
        return self._futures[-1]

    def close(self):
        is_busy = not all(future.done() for future in self._futures)
        super().close()
        if is_busy:
            raise RuntimeError("a worker is at work")


class WillNotClose(Processes):
    def open(self, worker, *, workers):
        return Polite(super().open(worker, workers=workers))


class Tokenizer:
    """Counts characters."""

    name = "characters"

    def count(self, text):
        return len(text)


class Halves(Tokenizer):
    def count(self, text):
        return len(text) / 2


class AlwaysOne(Tokenizer):
    def count(self, text):
        return 1


# -- the table -----------------------------------------------------------------------------------


GOOD = [
    ("evaluator", Evaluator),
    ("evaluator", AsyncEvaluator),
    ("evaluator", KeepsItsKey),
    ("evaluator", Counting),
    ("system", System),
    ("system", AsyncSystem),
    ("dataset", Dataset),
    ("dataset", said_one_shot),
    ("dataset", OneBadRow),
    ("metric", Metric),
    ("metric", Comparing),
    ("reporter", Reporter),
    ("reporter", Page),
    ("reporter", Writer),
    ("executor", Processes),
    ("tokenizer", Tokenizer),
]

WRONG = [
    ("evaluator-emits", "evaluator", UndeclaredScore, "add 'extra' to `emits`"),
    ("evaluator-emits", "evaluator", NeverReturned, "never returned 'never'"),
    ("evaluator-emits", "evaluator", EmitsNothing, "declare `emits`, the names of its scores: exact"),
    ("evaluator-finite", "evaluator", Boolean, "return 'exact' as a finite float, not True"),
    ("evaluator-finite", "evaluator", NotFinite, "not inf"),
    ("evaluator-finite", "evaluator", ListOfScores, "return a dict of scores, not a list"),
    ("evaluator-deterministic", "evaluator", Random, "seed what is random"),
    ("evaluator-thread-safe", "evaluator", OneThread, "used in another thread"),
    ("evaluator-pure", "evaluator", ChangesOutput, "score changed 'response'"),
    ("evaluator-pure", "evaluator", ChangesDeeply, "copy the example before changing it"),
    ("evaluator-copes", "evaluator", NoneIsTooMuch, "whose 'answer' is missing: it raised KeyError"),
    ("evaluator-copes", "evaluator", HugeIsTooMuch, "whose 'response' is huge"),
    ("identity-distinguishes", "evaluator", Forgetful, "add 'weight' to `identity`"),
    ("identity-stable", "evaluator", Opening, "after its first run: The attribute 'lock'"),
    ("identity-stable", "evaluator", Numbered, "two instances with the same parameters differ"),
    ("secrets-hidden", "evaluator", ShowsItsKey, "leave api_key out of repr"),
    ("secrets-hidden", "evaluator", RecordsItsKey, "results would record ['headers']"),
    ("system-returns-dict", "system", ReturnsText, "not a str"),
    ("system-pure", "system", Changes, "it changed 'context'"),
    ("system-pure", "system", ChangesInside, "it changed 'documents'"),
    ("system-name-stable", "system", Renames, "to 'used' by being used"),
    ("system-name-stable", "system", RandomName, "two instances with the same parameters"),
    ("system-copes", "system", KeyErrors, "raise DataError that names the field"),
    ("dataset-reiterable", "dataset", one_shot, "`reiterable = False`"),
    ("dataset-lazy", "dataset", Eager, "yield examples as they are read"),
    ("dataset-examples", "dataset", WithoutId, "give example 0 an 'id'"),
    ("dataset-examples", "dataset", SameId, "1 is there twice"),
    ("dataset-examples", "dataset", NothingToDo, "a 'context' or a 'question'"),
    ("dataset-context", "dataset", OnlyAsks, "give example 0 a 'context'"),
    ("dataset-context", "dataset", OnlyTalks, "the turns with a blank line between"),
    ("dataset-examples", "dataset", NotDicts, "example 0 is a str"),
    ("dataset-examples", "dataset", Empty, "at least one example"),
    ("dataset-examples", "dataset", Crashes, "raise DataError for data that cannot be used"),
    ("metric-returns", "metric", ReturnsNone, "math.nan where there is no value"),
    ("metric-returns", "metric", ReturnsFloat, "return a dict of numbers, not a float"),
    ("metric-copes", "metric", DividesByZero, "no rows: it raised ZeroDivisionError"),
    ("metric-one-pass", "metric", TwoPasses, "more than once"),
    ("metric-one-pass", "metric", ByNumber, "takes rows by number"),
    ("metric-pure", "metric", ChangesRows, "copy a row before changing it"),
    ("metric-pure", "metric", RandomMetric, "the same values for the same rows"),
    ("reporter-parses", "reporter", NotJson, "make it valid jsonl"),
    ("reporter-parses", "reporter", Ragged, "lines have 1 and 2 cells"),
    ("reporter-parses", "reporter", OpenPage, "<table> is not closed"),
    ("reporter-escapes", "reporter", RawPage, "html.escape"),
    ("reporter-escapes", "reporter", RawText, "can command a terminal"),
    ("reporter-escapes", "reporter", Surrogates, "what UTF-8 cannot hold"),
    ("reporter-copes", "reporter", NoRowsNoReport, "a result without rows"),
    ("reporter-pure", "reporter", ChangesResult, "the result was another"),
    ("executor-replies", "executor", Garbles, "byte for byte"),
    ("executor-replies", "executor", BeginsTwice, "call begin() once, when a worker takes the task"),
    ("executor-size", "executor", TooMany, "start no more than workers=2: n_workers is 4"),
    ("executor-lost", "executor", Here, "in another process than that of the run"),
    ("executor-lost", "executor", HidesLosses, "as the exception of a task if its worker died"),
    ("executor-ends", "executor", HidesEnds, "as the exception of a task if its worker was ended"),
    ("executor-closes", "executor", WillNotClose, "it raised RuntimeError: a worker is at work"),
    ("tokenizer-counts", "tokenizer", Halves, "return a whole number of tokens, not 0.0"),
    ("tokenizer-counts", "tokenizer", AlwaysOne, "no tokens in an empty text"),
]  # fmt: skip


def component(kind, target, **description):
    """A component that is described, whether its class has a docstring or not."""
    description.setdefault("summary", "Made for a test")
    return Component(kind=kind, name="subject", target=target, **description)
