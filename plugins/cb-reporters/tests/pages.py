"""Results to look at: small, of many systems, hostile, large. Made in memory, texts included."""

from __future__ import annotations

import random

from cbcore.results import EvalResult, EvalRow, Texts
from cbcore.results.summary import sum_up

SENTENCES = (
    "Sallador Yards was a shipyard in Port Ellisby that closed in 1958.",
    "The first ship it launched was the Lady of Ondry.",
    "At its height the yard employed 2,300 people.",
    "The Ondry Medal is given every three years for a public building.",
    "It was founded by the widow of the banker Lucan Sturt.",
    "The Lady of Ondry is a paddle steamer that was launched in 1861.",
    "Her figurehead was carved by Bruna Keel from a single pear tree.",
    "She has been a floating restaurant since 1966.",
    "Mount Skeld is a mountain in Meridane with a height of 2,417 metres.",
    "A cable car has run to its eastern shoulder since 1961.",
    "The Corriwen serves the route between Port Ellisby and Kestrel Bay.",
    "Her captain for twenty years was Tilda Rennow.",
)
QUESTION = "Who carved the figurehead of the first ship launched by Sallador Yards?"
GOLD = "Bruna Keel"


def metrics():
    """What a run has when none is named."""
    from cb_metrics import CompressionRatio, Latency, MeanScore, PassRate, PerDatasetBreakdown

    field = {"score_field": "f1"}
    return [
        MeanScore(**field),
        PassRate(**field),
        CompressionRatio(),
        Latency(),
        PerDatasetBreakdown(**field),
    ]


def result_of(rows, texts=None, config=None):
    """A result with its summary, estimates and verdicts, as a run makes it."""
    grouped: dict[str, list[EvalRow]] = {}
    for row in rows:
        grouped.setdefault(row.system, []).append(row)
    found = sum_up(grouped, metrics(), "f1")
    told = {"score_field": "f1", "state": "finished", "cbcore": "0.1.0", "run_id": "r-1"}
    return EvalResult(
        rows,
        found.summary,
        {},
        {**told, **(config or {})},
        found.problems,
        estimates=found.estimates,
        undecided=found.undecided,
        verdicts=found.verdicts,
        texts=texts,
    )


def small(n=40):
    """Three systems on two datasets; errors with tracebacks, missing scores, judge's reasons."""
    dice = random.Random(0)
    rows, texts = [], []
    for system, share in (("full context", 1.0), ("bm25 150", 0.5), ("rewriter", 0.6)):
        for i in range(n):
            row, kept = _measured(dice, system, share, i)
            rows.append(row)
            texts.append(kept)
    return result_of(rows, texts, {"systems": [_record("bm25 150")]})


def _record(name, max_tokens=150):
    stage = {"component": "bm25", "plugin": "cb-baselines", "version": "0.1.0"}
    stage |= {"name": "bm25", "params": {"max_tokens": max_tokens, "k1": 1.5}, "digest": "ab12" * 4}
    reader = {**stage, "component": "extractive", "params": {}}
    spec = f"bm25:max_tokens={max_tokens} | extractive:name={name}"
    return {"name": name, "component": "chain", "stages": [stage, reader], "spec": spec,
            "digest": "cd34" * 4}  # fmt: skip


def _measured(dice, system, share, i):
    sentences = random.Random(i).sample(SENTENCES, len(SENTENCES))
    evidence = [SENTENCES[1], SENTENCES[6]]
    example = {
        "id": f"sample-{i:02}",
        "question": f"{QUESTION} ({i})",
        "answer": GOLD,
        "context": " ".join(sentences),
        "evidence": evidence,
        "level": "hard",
    }
    kept = sentences[: round(len(sentences) * share)]
    if system == "rewriter":
        kept = [text.replace("carved by", "the work of").replace("The ", "A ") for text in kept]
        kept.append("This summary was made by a model.")
    context = " ".join(kept)
    tokens = 12 * len(kept)
    dataset = "history" if i % 2 else "ships"
    row = EvalRow(system, example["id"], {}, 150, tokens, {}, 0.2 + dice.random() * share, dataset)
    if system == "rewriter" and i % 9 == 4:
        row.error = f"TimeoutError: no answer in 30 s for example {example['id']!r}"
        row.metadata["traceback"] = 'Traceback (most recent call last):\n  File "mine.py", line 3'
        return row, Texts(example, None)
    found = GOLD if GOLD in context else "Tilda Rennow"
    row.response, row.response_tokens = f"It was {found}.", 6
    if system == "bm25 150" and i % 10 == 7:
        row.missing["f1"] = "the judge's answer could not be read"
    else:
        right = found == GOLD
        row.scores |= {
            "f1": 1.0 if right else dice.choice([0.0, 0.25]),
            "exact_match": float(right),
        }
        row.metadata["judge"] = {"verdict": right, "reason": f"The answer {found} is compared."}
    row.metadata |= {"cost_usd": tokens * 2e-6, "retries": i % 3}
    return row, Texts(example, {**example, "context": context, "response": row.response})


def many_systems(n_systems=20, n=25):
    """Systems with long names that differ at either end, some of one family."""
    dice = random.Random(1)
    rows, texts, records = [], [], []
    for number in range(n_systems):
        size = 40 * (number + 1)
        family = (
            "retrieve-and-rerank-with-cross-encoder" if number % 2 else "bm25-passage-selection"
        )
        name = f"{family} max_tokens={size} reader=extractive"
        share = (number + 1) / n_systems
        records.append(_record(name, size))
        for i in range(n):
            row, kept = _measured(dice, name, 0.3 + 0.7 * share, i)
            rows.append(row)
            texts.append(kept)
    return result_of(rows, texts, {"systems": records})


HOSTILE = (
    "<script>document.title='owned'</script>",
    "</script><img src=x onerror=\"document.title='owned'\">",
    "<!-- <script> --> ]]>",
    "nul \x00 bell \x07 escape \x1b[31mred\x1b[0m",
    "right\u202eot left \u2066iso\u2069 \u200b zero",
    "lone \ud800 surrogate",
    "{{7*7}} ${7*7} javascript:alert(1)",
    "line\u2028separator\r\nreturn",
    "x" * 1_000_000,
)


def hostile():
    """Every hostile text as system, id, dataset, question, gold, context, response and reason."""
    rows, texts = [], []
    for number, text in enumerate(HOSTILE):
        name = text[:60]
        example = {"id": name, "question": text, "answer": text, "context": f"{text} {text[::-1]}",
                   "evidence": [text], name: {name: text}}  # fmt: skip
        for system in ("plain", name):
            row = EvalRow(system, name, {"f1": number / 10, name: 1.0}, 10, 5, {name: {name: text}},
                          0.1, name, response=text)  # fmt: skip
            rows.append(row)
            texts.append(Texts(example, {**example, "context": text, "response": text}))
        rows.append(EvalRow("plain", f"e{number}", dataset=name, error=text))
        rows.append(EvalRow(name, f"e{number}", {}, 1, 1, dataset=name, missing={"f1": text}))
        texts += [Texts(example, None), Texts(example, example)]
    result = result_of(rows, texts, {"systems": [_record(name) for name in HOSTILE[:4]]})
    result.problems.extend(text[:200] for text in HOSTILE)
    return result


def large(n_rows=100_000, n_systems=10):
    """As many rows; texts are made when they are asked for, and differ."""
    dice = random.Random(2)
    rows = []
    for number in range(n_systems):
        for i in range(n_rows // n_systems):
            scores = {"f1": round(dice.random(), 3), "exact_match": float(dice.random() > 0.5)}
            row = EvalRow(f"system-{number}", i, scores, 200, 20 * (number + 1), {},
                          round(dice.random(), 4), "data", response=_words(dice, 12))  # fmt: skip
            rows.append(row)
    return result_of(rows, LargeTexts(rows))


def _words(dice, count):
    return " ".join(
        f"{dice.choice('bdfgklmnprst')}{dice.choice('aeiou')}{dice.randrange(4000)}"
        for _ in range(count)
    )


class LargeTexts:
    """The texts of `large`: an example is made once, and put together when it is asked for."""

    def __init__(self, rows):
        self._rows = rows
        self._examples: dict[int, tuple[dict[str, str], list[str]]] = {}

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, position):
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        row = self._rows[position]
        if row.example_id not in self._examples:
            self._examples[row.example_id] = _example(row.example_id)
        example, sentences = self._examples[row.example_id]
        kept = sentences[: 1 + row.output_tokens // 30]
        return Texts(example, {**example, "context": " ".join(kept), "response": row.response})


def _example(number):
    dice = random.Random(number)
    sentences = [f"{_words(dice, 9).capitalize()}." for _ in range(8)]
    example = {"id": number, "question": f"What of {_words(dice, 6)}?",
               "answer": _words(dice, 2), "context": " ".join(sentences)}  # fmt: skip
    return example, sentences
