"""Results: exact through JSON, always strict JSON, filtered with a new summary, tabulated."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import weakref
from pathlib import Path

import numpy
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cbcore import evaluate
from cbcore.exceptions import MissingExtraError, ResultError, UsageError
from cbcore.results import Counts, EvalResult, EvalRow, Scored
from cbcore.results.eval_row import ROW_FIELDS


def joined(text):
    """A text whose pairs of surrogates are the characters they stand for, as in all of JSON."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


texts = st.text(st.characters(), max_size=8).map(joined)
finite = st.floats(allow_nan=False, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
rows = st.builds(
    EvalRow,
    system=texts,
    example_id=texts | st.integers(),
    scores=st.dictionaries(texts, finite, max_size=3),
    input_tokens=st.integers(0, 2**63 - 1),
    output_tokens=st.integers(0, 2**63 - 1),
    metadata=st.dictionaries(texts, plain, max_size=3),
    latency=st.floats(0, allow_infinity=False),
    dataset=texts,
    error=st.none() | texts,
    missing=st.dictionaries(texts, texts, max_size=2),
    response=st.none() | texts,
    response_tokens=st.integers(0, 2**63 - 1),
    repeat=st.integers(0, 2**63 - 1),
)
results = st.builds(
    EvalResult,
    rows=st.lists(rows, max_size=3),
    summary=st.dictionaries(texts, st.dictionaries(texts, st.none() | finite), max_size=2),
    timing=st.dictionaries(texts, finite, max_size=2),
    config=st.dictionaries(texts, plain, max_size=3),
    problems=st.lists(texts, max_size=2),
)
odd = st.sampled_from(
    [math.nan, math.inf, -math.inf, object(), b"\xff", {1, 2}, frozenset("ab"), 1j, print, ...]
) | st.builds(numpy.float64, st.floats())


class Mean:
    name = "mean"

    def compute(self, rows):
        values = [row.scores["f1"] for row in rows if "f1" in row.scores]
        return {"mean": sum(values) / len(values) if values else math.nan}


def strict(text):
    """Parse JSON as the standard has it: no NaN, no Infinity, valid UTF-8."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text.encode("utf-8"), parse_constant=refuse)


def made(metrics=(), **config):
    result = EvalResult(
        rows=[
            EvalRow("a", 1, {"f1": 0.5}, dataset="x"),
            EvalRow("a", 2, {"f1": 1.0}, dataset="y"),
            EvalRow("b", 1, {"f1": 0.0}, dataset="x"),
            EvalRow("b", 2, dataset="y", error="TimeoutError"),
        ],
        summary={"a": {"mean": 0.75}, "b": {"mean": 0.0}},
        timing={"a": 1.0, "b": 2.0},
        config=config,
    )
    result.metrics = metrics
    return result


def test_the_fields_of_a_row_are_in_the_documented_order():
    """Rows may be made by position."""
    assert ROW_FIELDS[:9] == (
        "system",
        "example_id",
        "scores",
        "input_tokens",
        "output_tokens",
        "metadata",
        "latency",
        "dataset",
        "error",
    )
    row = EvalRow("s", "e", {"f1": 1.0}, 10, 5, {"k": 1}, 0.5, "d", "why")
    assert list(row.to_dict().values())[:9] == [
        *("s", "e", {"f1": 1.0}, 10, 5),
        *({"k": 1}, 0.5, "d", "why"),
    ]


@settings(deadline=None)
@given(results, st.sampled_from([None, 2]))
@example(EvalResult(rows=[EvalRow("s", 2**64, {}, 1, 1)]), None)
def test_a_result_is_the_same_after_json(result, indent):
    """`from_json(to_json(r)) == r`, through a UTF-8 file, to the last bit of every number."""
    again = EvalResult.from_json(result.to_json(indent=indent).encode("utf-8"))
    assert again == result
    assert repr(again) == repr(result)


class Odd:
    """A system whose outputs hold what JSON cannot."""

    name = "odd"

    def process(self, example):
        return {
            "response": "fine \ud800",
            "metadata": {
                "tuple": (1, 2),
                "nan": math.nan,
                "numpy": numpy.float32(0.5),
                "object": Path("x"),
                5: "a key that is no string",
            },
        }


class Scores:
    name = "scores"

    def __init__(self, scores):
        self.scores = scores

    def score(self, original, processed):
        return self.scores


def run(scores):
    return evaluate(
        systems=[Odd()],
        dataset=[{"id": 1, "context": "c \udfff", "question": "q"}, {"question": "q"}],
        evaluators=[Scores(scores)],
        metrics=[Mean()],
        tokenizer="words",
        progress=False,
    )


def test_a_result_as_the_runner_makes_it_is_the_same_after_json():
    """Whatever a system puts into its metadata."""
    result = run({"f1": 0.5, "nan": math.nan, "numpy": numpy.float32(1.0)})
    assert strict(result.to_json())
    assert EvalResult.from_json(result.to_json()) == result


def test_score_names_that_are_no_strings_do_not_survive_into_a_row():
    """A row's scores have names; anything else is the evaluator's fault and told as missing."""
    result = run({"f1": 0.5, 5: 1.0})
    assert result.rows[0].scores == {"f1": 0.5}
    assert EvalResult.from_json(result.to_json()) == result


@settings(deadline=None)
@given(st.recursive(plain | odd, lambda x: st.lists(x) | st.dictionaries(st.integers(), x)))
def test_the_json_of_a_result_is_always_strict(value):
    """No NaN, no infinity, no surprise, whatever was put into it."""
    row = EvalRow("s", 1, {"f1": math.nan}, metadata={"value": value}, latency=math.inf)
    result = EvalResult([row], {"s": {"m": math.nan}}, {"s": math.inf}, {"value": value})
    data = strict(result.to_json())
    assert data["rows"][0]["scores"] == {"f1": None}
    assert data["summary"] == {"s": {"m": None}}
    assert EvalResult.from_json(result.to_json()).rows[0].system == "s"


def test_a_result_read_from_a_file_is_the_one_written(tmp_path):
    """Non-ASCII text stays readable in the file."""
    result = made(note="naïve 中文 \ud800")
    path = tmp_path / "r.json"
    path.write_text(result.to_json(), encoding="utf-8")
    assert "naïve 中文 \\ud800" in path.read_text(encoding="utf-8")
    assert EvalResult.load(path) == result
    assert EvalResult.load(str(path)) == result


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{bad", "this is not a saved result: "),
        (b"\xff", "this is not a saved result: "),
        ("[]", "it has no 'schema' and 'rows'"),
        ("{}", "it has no 'schema' and 'rows'"),
        ('{"schema": 2}', "it has no 'schema' and 'rows'"),
        ('{"schema": 2, "rows": 5}', "a row of this result cannot be read"),
        ('{"schema": 2, "rows": [5]}', "a row of this result cannot be read"),
        ('{"schema": 2, "rows": [{"system": "s"}]}', "a row of this result cannot be read"),
        ('{"schema": 2, "rows": [{"unknown": 1}]}', "a row of this result cannot be read"),
        (
            '{"schema": 2, "rows": [{"system": "s", "example_id": 1, "scores": {"f1": "high"}}]}',
            "'f1' of the scores of row 0 cannot be 'high'",
        ),
        (
            '{"schema": 2, "rows": [{"system": "s", "example_id": 1, "metadata": []}]}',
            "'metadata' of row 0 cannot be []",
        ),
        ('{"schema": 2, "rows": [], "summary": []}', "'summary' of this result cannot be []"),
        ('{"schema": 2, "rows": [], "problems": {}}', "'problems' of this result cannot be {}"),
        ("[" * 100_000, "nested too deeply"),
        ('{"schema": 2, "rows": ' + "[" * 500 + "]" * 500 + "}", "nested too deeply"),
        *(
            (
                f'{{"schema": 2, "rows": [{{"system": "s", "example_id": 1, "{name}": {value}}}]}}',
                f"'{name}' of row 0",
            )
            for name in ("input_tokens", "output_tokens", "response_tokens", "repeat", "latency")
            for value in ("-1" + "0" * 30, "1e999", "[]")
        ),
        (
            '{"schema": 2, "rows": [{"system": "s", "example_id": 1, "missing": {"f1": 5}}]}',
            "'missing' of row 0",
        ),
        *(
            (f'{{"schema": 2, "rows": [], "config": {{"{name}": {value}}}}}', f"'{name}'")
            for name, value in (
                *(
                    ("score_field", "{}"),
                    ("systems", "{}"),
                    ("systems", "[1]"),
                ),
                *(("settings", "[]"), ("run_id", "5"), ("state", "{}"), ("filter", "[]")),
            )
        ),
        *(
            (
                f'{{"schema": 2, "rows": [], "config": {{"settings": {{"{name}": {value}}}}}}}',
                f"'{name}'",
            )
            for name, value in (("threshold", "[]"), ("threshold", "1e999"), ("repeats", "1e999"))
        ),
        *(
            (f'{{"schema": 2, "rows": [], "config": {{"systems": [{record}]}}}}', "of a component")
            for record in ('{"name": {}}', '{"params": []}', '{"stages": [{"plugin": []}]}')
        ),
        ('{"schema": 2, "rows": [], "summary": {"s": {"f1": "x"}}}', "'summary' of this result"),
        ('{"schema": 2, "rows": [], "timing": {"s": []}}', "'timing' of this result"),
        ('{"schema": 2, "rows": [], "verdicts": [{"system": []}]}', "'system' of a verdict"),
    ],
)
def test_what_is_no_result_is_refused(text, reason, tmp_path):
    """With the reason, and with the path when it was a file."""
    with pytest.raises(ResultError) as caught:
        EvalResult.from_json(text)
    assert reason in caught.value.message
    path = tmp_path / "r.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ResultError) as caught:
        EvalResult.load(path)
    assert caught.value.message.startswith(f"{path}: ")
    assert reason in caught.value.message


@pytest.mark.parametrize(
    ("schema", "hint"), [(1, "Run the benchmark again"), (99, "Update cbcore"), (None, "Run the")]
)
def test_a_result_of_another_version_is_refused_with_what_to_do(schema, hint, tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"schema": schema, "rows": []}))
    with pytest.raises(ResultError, match=f"This result has schema {schema!r}") as caught:
        EvalResult.load(path)
    assert hint in caught.value.hint


def test_a_missing_result_file_is_told(tmp_path):
    """With the system's reason."""
    with pytest.raises(ResultError, match=r"cannot read .*r\.json: No such file"):
        EvalResult.load(tmp_path / "r.json")


def test_a_short_result_file_is_enough():
    """Parts that are absent are empty."""
    assert EvalResult.from_json('{"schema": 2, "rows": []}') == EvalResult(rows=[])


def test_filtering_recomputes_the_summary():
    """Metrics see the rows that are left."""
    result = made([Mean()])
    assert result.filter(dataset="x").summary == {"a": {"mean": 0.5}, "b": {"mean": 0.0}}
    assert result.filter(dataset="y").summary == {"a": {"mean": 1.0}, "b": {"mean": None}}
    assert result.filter(error=None, system="b").summary == {"b": {"mean": 0.0}}


def test_filtering_by_system_leaves_only_that_system():
    """In rows, summary and timing."""
    left = made([Mean()]).filter(system="a")
    assert [row.example_id for row in left.rows] == [1, 2]
    assert left.systems == ["a"]
    assert left.summary == {"a": {"mean": 0.75}}
    assert left.timing == {"a": 1.0}


def test_filtering_leaves_the_result_itself_alone():
    """A new result is made."""
    result = made([Mean()], seed=1)
    result.filter(system="a")
    assert result == made(seed=1)


def test_filters_add_up():
    """In the rows, and in what the config says of them."""
    left = made([Mean()], seed=1).filter(system="a").filter(dataset="x")
    assert [(row.system, row.dataset) for row in left.rows] == [("a", "x")]
    assert left.config == {"seed": 1, "filter": {"system": "a", "dataset": "x"}}


def test_a_filter_that_matches_nothing_leaves_nothing():
    """Which is no error."""
    left = made([Mean()]).filter(system="c")
    assert (left.rows, left.summary, left.timing) == ([], {}, {})


@pytest.mark.parametrize(
    ("name", "hint"), [("sytem", "did you mean system?"), ("zzz", "one of system, example_id,")]
)
def test_filtering_by_an_unknown_attribute_is_an_error(name, hint):
    """A misspelt filter must not pass for one that matches nothing."""
    with pytest.raises(UsageError, match=f"cannot be filtered by '{name}'") as caught:
        made([Mean()]).filter(**{name: "x"})
    assert hint in caught.value.hint


def test_a_result_made_by_hand_is_filtered_by_system():
    """Without metrics, the values of the system stay as they are."""
    rows = [EvalRow("a", 1, {"f1": 1.0}), EvalRow("b", 1, {"f1": 0.0})]
    result = EvalResult(rows=rows, summary={"a": {"mean": 1.0}, "b": {"mean": 0.0}})
    left = result.filter(system="a")
    assert (left.rows, left.summary) == (rows[:1], {"a": {"mean": 1.0}})


def test_a_result_from_a_file_is_filtered_once_it_has_metrics():
    """Without them no summary of some rows could be made, and an old one would be wrong."""
    read = EvalResult.from_json(made([Mean()]).to_json())
    with pytest.raises(ResultError, match="does not record its metrics"):
        read.filter(dataset="x")
    read.metrics = [Mean()]
    assert read.filter(system="a").summary == {"a": {"mean": 0.75}}


def test_a_metric_that_fails_on_what_is_left_is_a_problem_of_the_new_result():
    """As in the run itself."""

    class Failing(Mean):
        def compute(self, rows):
            return {"mean": 1 / len(rows)}

    left = made([Failing()]).filter(system="a", dataset="z")
    assert left.summary == {"a": {}}
    assert "ZeroDivisionError" in left.problems[0]


def test_rows_are_counted_as_scored_errored_and_missing():
    """For any score, or for one."""
    result = made()
    result.rows.append(EvalRow("b", 3, {"recall": 1.0}))
    assert result.counts() == {"a": Counts(2, 2, 0), "b": Counts(3, 2, 1)}
    assert result.counts("f1") == {"a": Counts(2, 2, 0), "b": Counts(3, 1, 1)}
    assert result.counts("f1")["b"].missing == 1


class Weak(EvalRow):
    """A row to which weak references can be made."""


class OneAtATime(list):
    """Rows as they come from a disk: each is made when it is asked for."""

    def __init__(self):
        super().__init__([None] * 5)
        self.most_alive = 0

    def __iter__(self):
        made = []
        for number in range(len(self)):
            row = Weak("s", number, {"f1": 1.0})
            made.append(weakref.ref(row))
            self.most_alive = max(self.most_alive, sum(one() is not None for one in made))
            yield row
            del row


def test_counting_rows_keeps_none_of_them():
    """Those of a large run are on disk, and stay there."""
    rows = OneAtATime()
    assert EvalResult(rows).counts("f1") == {"s": Counts(5, 5, 0)}
    assert rows.most_alive <= 2


def test_systems_keep_the_order_in_which_they_ran():
    """A system without rows is listed as well."""
    result = EvalResult([EvalRow("z", 1), EvalRow("a", 1)], {"none": {}, "z": {}})
    assert result.systems == ["none", "z", "a"]
    assert {s: len(rows) for s, rows in result.rows_by_system().items()} == {
        "none": 0,
        "z": 1,
        "a": 1,
    }


def test_a_data_frame_has_a_line_per_row_and_a_column_per_score():
    """Scores by their names, metadata with a prefix, reasons in one text."""
    result = EvalResult(
        [
            EvalRow("a", 1, {"f1": 0.5}, metadata={"cost": 2}, missing={"em": "no gold"}),
            EvalRow("a", 2, {"recall": 1.0}),
        ]
    )
    frame = result.to_dataframe()
    assert list(frame["system"]) == ["a", "a"]
    assert frame["f1"].tolist()[0] == 0.5
    assert math.isnan(frame["f1"].tolist()[1])
    assert frame["metadata.cost"].tolist()[0] == 2
    assert frame["missing"].tolist() == ["em: no gold", ""]


@settings(deadline=None, max_examples=50)
@given(
    st.dictionaries(
        st.sampled_from([*ROW_FIELDS, "f1", "scores.error", "metadata.k", "scores.scores.error"]),
        finite,
    ),
    st.dictionaries(st.sampled_from([*ROW_FIELDS, "k", "f1"]), st.integers()),
)
def test_no_column_of_a_data_frame_overwrites_another(scores, metadata):
    """Neither a score nor metadata takes the place of a field of the row, or of each other."""
    row = EvalRow("sys", "ex", scores, 1, 2, metadata, 0.5, "data", "why", {}, "resp", 3)
    (line,) = EvalResult([row]).to_dataframe().to_dict("records")
    others = ("scores", "metadata", "position")  # the last is that of the line
    core = {name: getattr(row, name) for name in ROW_FIELDS if name not in others}
    assert {name: line[name] for name in core} == {**core, "missing": ""}
    assert len(line) == len(core) + len(scores) + len(metadata)
    for name, value in scores.items():
        assert value in (line.get(name), line.get(f"scores.{name}"))
    for key, value in metadata.items():
        assert line[f"metadata.{key}"] == value


def test_the_data_frame_of_nothing_has_its_columns():
    """Code that selects by system works on an empty result too."""
    frame = EvalResult(rows=[]).to_dataframe()
    assert len(frame[frame["system"] == "a"]) == 0


def test_without_pandas_the_extra_to_install_is_named(monkeypatch):
    """It is optional."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="'pandas'") as caught:
        made().to_dataframe()
    assert "cbcore[dataframe]" in caught.value.hint


def test_what_an_evaluator_returned_reads_as_its_scores():
    """Whoever calls an evaluator by hand need not know that it has more to say."""
    scored = Scored({"f1": 0.5}, {"recall": "no gold"}, {"why": "so"})
    assert scored["f1"] == 0.5
    assert dict(scored) == {"f1": 0.5}
    assert "recall" not in scored
    assert scored == Scored({"f1": 0.5}, {"recall": "no gold"}, {"why": "so"})
    assert scored != Scored({"f1": 0.5})


@given(rows)
def test_row_is_read_like_a_dataclass(row):
    """Code written for dataclasses sees the same fields and values."""
    assert dataclasses.is_dataclass(row)
    assert dataclasses.asdict(row) == row.to_dict()
    assert [field.name for field in dataclasses.fields(EvalRow)] == list(ROW_FIELDS)


def test_row_and_result_are_replaced_like_dataclasses():
    """`replace` makes a changed copy, with what the class itself keeps out of comparisons too."""
    row = EvalRow("a", 1, {"f1": 0.5})
    result = EvalResult([row], {"a": {"m": 1.0}}, metrics=[print])

    assert dataclasses.replace(row, system="b") == EvalRow("b", 1, {"f1": 0.5})
    changed = dataclasses.replace(result, rows=[])
    assert (changed.rows, changed.summary, changed.metrics) == ([], {"a": {"m": 1.0}}, [print])
    assert dataclasses.asdict(result)["rows"] == [row.to_dict()]


@pytest.mark.parametrize(
    ("field", "default"), [("scores", {}), ("error", None), ("latency", 0.0), ("repeat", 0)]
)
def test_dataclass_fields_know_their_defaults(field, default):
    """What can be left out has the default it gets."""
    (found,) = (one for one in dataclasses.fields(EvalRow) if one.name == field)
    made = found.default_factory() if found.default is dataclasses.MISSING else found.default

    assert made == default


@pytest.mark.parametrize("section", [{"lines": []}, {"title": "T", "lines": ["x"]}, "text"])
def test_a_saved_section_that_is_none_is_refused(section):
    """With its name."""
    text = json.dumps({"schema": 2, "rows": [], "sections": {"mine": section}})
    with pytest.raises(ResultError, match="the section 'mine'"):
        EvalResult.from_json(text)
