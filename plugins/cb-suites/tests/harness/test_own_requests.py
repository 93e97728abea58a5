"""Tasks that are a class with `construct_requests`: asked as it says, or refused with the reason."""

from __future__ import annotations

import pytest

from cbcore import evaluate

CLASSES = '''
from types import SimpleNamespace


def request(kind, *arguments, idx=0, **more):
    return SimpleNamespace(request_type=kind, arguments=arguments, idx=idx, **more)


class Base:
    VERSION = 3

    def __init__(self, config=None):
        self.recipe = (config or {}).get("recipe")

    def test_docs(self):
        return [{"q": "one", "a": "1"}, {"q": "two", "a": "2"}]

    def doc_to_text(self, doc):
        return f"{self.recipe or 'say'} {doc['q']}:"

    def process_results(self, doc, results):
        return {"hit": float(results[0] == doc["a"])}

    def aggregation(self):
        return {"hit": mean}

    def higher_is_better(self):
        return {"hit": True}


def mean(values):
    return sum(values) / len(values)


class Text(Base):
    def construct_requests(self, doc, ctx, **kwargs):
        return [request("generate_until", ctx, {"until": ["\\n"], "max_gen_toks": 48})]


class Choices(Base):
    """Likelihoods in an order of its own; a number that only all documents make."""

    def construct_requests(self, doc, ctx, **kwargs):
        return [request("loglikelihood", ctx, " " + c, idx=i) for i, c in reversed([(0, "1"), (1, "2")])]

    def process_results(self, doc, results):
        values = [value for value, _ in results]
        return {"hit": (values.index(max(values)), int(doc["a"]) - 1)}

    def aggregation(self):
        return {"hit": lambda pairs: 10.0 * sum(a == b for a, b in pairs)}


class Rolling(Base):
    def construct_requests(self, doc, ctx, **kwargs):
        return request("loglikelihood_rolling", doc["q"])

    def process_results(self, doc, results):
        return {"hit": results[0]}


class Both(Base):
    def construct_requests(self, doc, ctx, **kwargs):
        return [request("generate_until", ctx, {}), request("loglikelihood", ctx, " no")]


class Twice(Base):
    def construct_requests(self, doc, ctx, **kwargs):
        return [request("generate_until", ctx, {}), request("generate_until", ctx, {})]


class Seen(Base):
    def construct_requests(self, doc, ctx, **kwargs):
        return request("generate_until", ctx, {}, {"visual": [b""]})


class Shown(Base):
    """Makes its whole prompt itself, from a generator that it is given a seed for."""

    def set_fewshot_seed(self, seed):
        self.left = iter(range(seed, seed + 100))

    def fewshot_context(self, doc, num_fewshot, system_instruction=None):
        return f"{system_instruction}|{num_fewshot}|{next(self.left)}|{doc['q']}"

    def construct_requests(self, doc, ctx, **kwargs):
        return request("generate_until", ctx, {})


class Votes(Base):
    """Filters of its own, made as the harness makes them."""

    def __init__(self, config=None):
        class Loud:
            def apply(self, resps, docs):
                return [[r.upper() for r in one] for one in resps]

        class Last:
            def apply(self, resps, docs):
                return [one[-1] for one in resps]

        self._filters = [
            SimpleNamespace(name="last", filters=[Last]),
            SimpleNamespace(name="loud", filters=[Loud, Last]),
        ]
        self.recipe = None

    def test_docs(self):
        return [{"q": "x", "a": "yes"}, {"q": "y", "a": "YES"}]

    def construct_requests(self, doc, ctx, **kwargs):
        return request("generate_until", ctx, {})
'''


@pytest.fixture
def ran(tmp_path, monkeypatch, says):
    """Run a class by its name; gives the table's lines, the result and the folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "task.py").write_text(CLASSES, encoding="utf-8")

    def start(*names, system, more="", **options):
        for name in names:
            text = f"task: {name.lower()}\nclass: !function task.{name}\n{more}\n"
            (tmp_path / f"{name.lower()}.yaml").write_text(text, encoding="utf-8")
        suites = {"suites": [name.lower() for name in names], "include_path": tmp_path}
        options = {**suites, "trust": tmp_path, **options}
        result = evaluate([system], metrics=[], progress=False, **options)
        lines = {line["name"]: line for line in result.sections["suites"].lines}
        return lines, result

    return start


def value(line, name="none", metric="hit"):
    (score,) = [s for s in line["scores"] if (s["metric"], s["filter"]) == (metric, name)]
    (found,) = score["values"].values()
    return found["value"]


def test_a_class_is_asked_with_its_own_request(ran, says):
    """Prompt, stops and the most tokens are those of its request; keys of its own reach it."""
    system = says(lambda example: "1\nand more")
    lines, _ = ran("Text", system=system, more="recipe: card=x")
    assert [example["question"] for example in system.seen] == ["card=x one:", "card=x two:"]
    assert system.seen[0]["generation"] == {"until": ["\n"], "max_gen_toks": 48}
    assert (value(lines["text"]), lines["text"]["version"]) == (0.5, "3")


def test_likelihoods_come_back_in_the_order_of_their_numbers(ran, says):
    """And what only all documents make a number of is made by the class."""
    asked = []

    def likely(context, continuation):
        asked.append((context, continuation))
        return (-1.0 if continuation == " 1" else -2.0), False

    lines, _ = ran("Choices", system=says(likely=likely))
    assert asked[:2] == [("say one:", " 1"), ("say one:", " 2")]
    assert value(lines["choices"]) == 10.0


def test_a_text_is_measured_as_a_whole(ran, says):
    """Of a rolling request the likelihood alone is the result."""
    lines, _ = ran(
        "Rolling", system=says(likely=lambda context, text: (-2.0 * len(context + text), True))
    )
    assert value(lines["rolling"]) == -6.0


def test_a_system_without_likelihoods_has_no_number_and_the_reason(ran, says):
    """Nothing is read from its text: only the class knows what its likelihoods are for."""
    lines, _ = ran("Choices", system=says(lambda example: "1"))
    assert lines["choices"]["state"] == "unavailable"
    assert "measured by likelihood" in lines["choices"]["reason"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Both", "asks of one document both generate_until and loglikelihood"),
        ("Twice", "asks for 2 texts of one document"),
        ("Seen", "only text is put to systems"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_ends_no_other(ran, says, name, reason):
    """The table has the exact reason beside the number of the other task."""
    lines, _ = ran(name, "Text", system=says(lambda example: "1"))
    assert lines[name.lower()]["state"] == "unavailable"
    assert reason in lines[name.lower()]["reason"]
    assert value(lines["text"]) == 0.5


def test_prompts_that_the_class_makes_are_drawn_from_the_seed_of_the_harness(ran, says):
    """From the beginning of the run, whatever was looked at before it."""
    system = says(lambda example: "1")
    ran("Shown", system=system, system_instruction="Be brief.", num_fewshot=2)
    asked = [example["question"] for example in system.seen]
    assert asked == ["Be brief.|2|1234|one", "Be brief.|2|1235|two"]


def test_the_filters_of_the_object_are_applied(ran, says):
    """Each has its own number."""
    lines, _ = ran("Votes", system=says(lambda example: "yes"))
    assert (value(lines["votes"], "last"), value(lines["votes"], "loud")) == (0.5, 0.5)
