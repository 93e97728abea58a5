"""Spec strings: every form of the grammar, what it refuses, and that it reads back."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cbcore import secrets, specs
from cbcore.exceptions import SpecError
from cbcore.secrets import Secret
from cbcore.specs import Spec, parse_output

names = st.from_regex(r"[a-z][a-z0-9_.-]{0,6}(/[a-z][a-z0-9-]{0,4})?", fullmatch=True)
keys = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)
tricky = st.text(alphabet="ab1 ,|=:'\"[](){}/\\.\n\t", max_size=8) | st.text(max_size=8)


@st.composite
def written_specs(draw):
    """Specs as `parse` makes them: all values are strings, and none looks like a secret."""
    spec = Spec(
        draw(names), draw(st.none() | tricky), draw(st.dictionaries(keys, tricky, max_size=3))
    )
    for key, value in [("", spec.config), *spec.params.items()]:
        assume(value is None or secrets.redact_value(key, value) == value)
    return spec


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("identity", Spec("identity")),
        ("mmlu:anatomy", Spec("mmlu", "anatomy")),
        ("truncate:max_tokens=512", Spec("truncate", None, {"max_tokens": "512"})),
        ("truncate:max-tokens=512", Spec("truncate", None, {"max_tokens": "512"})),
        (
            "openai:http://localhost:7878,model=gpt-4,name=kompact",
            Spec("openai", "http://localhost:7878", {"model": "gpt-4", "name": "kompact"}),
        ),
        ("openai:http://h/v1?a=b,model=m", Spec("openai", "http://h/v1?a=b", {"model": "m"})),
        ("cb-other/mmlu:anatomy", Spec("cb-other/mmlu", "anatomy")),
        ("py:./file.py:Name,key=value", Spec("py", "./file.py:Name", {"key": "value"})),
        ("py:pkg.module:Name", Spec("py", "pkg.module:Name")),
        (
            "py:./file.py:Name:key=value,b=1",
            Spec("py", "./file.py:Name", {"key": "value", "b": "1"}),
        ),
        ("py:pkg.module:Name:key=a:b", Spec("py", "pkg.module:Name", {"key": "a:b"})),
        ("py:./file.py:Name:0.5,b=1", Spec("py", "./file.py:Name:0.5", {"b": "1"})),
        ("py:m:Name,path=./x.py:Other", Spec("py", "m:Name", {"path": "./x.py:Other"})),
        (r"py:C:\code\mine.py:Name,k=1", Spec("py", r"C:\code\mine.py:Name", {"k": "1"})),
        ("  a : b , k = v  ", Spec("a", "b", {"k": "v"})),
        ("a:k='x, y|z'", Spec("a", None, {"k": "x, y|z"})),
        ('a:k="it\'s"', Spec("a", None, {"k": "it's"})),
        ("a:k=it's", Spec("a", None, {"k": "it's"})),
        ("a:k='it''s'", Spec("a", None, {"k": "it's"})),
        ("a:k='a' or 'b'", Spec("a", None, {"k": "'a' or 'b'"})),
        ("a:'x=y'", Spec("a", "x=y")),
        ("a:''", Spec("a", "")),
        ("a:k=", Spec("a", None, {"k": ""})),
        ("a:k=[x,y],j=(1,2)", Spec("a", None, {"k": "[x,y]", "j": "(1,2)"})),
        ("a:k=b=c", Spec("a", None, {"k": "b=c"})),
    ],
)
def test_a_spec_is_a_name_a_config_and_parameters(text, expected):
    """Every form of the grammar, with values left as they were written."""
    assert Spec.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        (":anatomy", "'' is not a name"),
        ("two words", "'two words' is not a name"),
        ("a=b", "'a=b' is not a name"),
        ("a,b", "'a,b' is not a name"),
        ("a|b", "'a|b' is not a name"),
        ("a:", "nothing follows the colon"),
        ("a:  ", "nothing follows the colon"),
        ("a:b,c", "'c' is not key=value"),
        ("a:k=1,", "'' is not key=value"),
        ("a:,k=1", "'' is not key=value"),
        ("a:k=1,k=2", "'k' is given twice"),
        ("a:max-x=1,max_x=2", "'max_x' is given twice"),
        ("a:k='x", "a ' is missing"),
        ("a:k=[x", "a ] is missing"),
    ],
)
def test_a_malformed_spec_is_refused_with_the_reason(text, reason):
    """The error repeats the spec, says what is wrong with it and shows the grammar."""
    with pytest.raises(SpecError) as caught:
        Spec.parse(text)
    assert reason in caught.value.message
    assert repr(text) in caught.value.message
    assert "name:config,key=value" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("a:k=50,100,200", {"k": "[50,100,200]"}),
        ("a:k=50,100,x=1", {"k": "[50,100]", "x": "1"}),
        ("a:b,k=0.5, 1e3 ,-2", {"k": "[0.5,1e3,-2]"}),
        ("a:k=[1,2],3", {"k": "[1,2,3]"}),
        ("a:k=1,2,m=3,4", {"k": "[1,2]", "m": "[3,4]"}),
    ],
)
def test_numbers_that_follow_a_number_are_more_values_of_it(text, params):
    """They can be nothing else: no parameter has a number as its name."""
    assert Spec.parse(text).params == params


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a:keep=head,tail", "write keep=[head,tail] for several values of keep"),
        ("a:k=1,x", "write k=[1,x] for several values of k"),
        ("a:model=m,5", "write model=[m,5] for several values of model"),
        ("a:k=[x,y],z", "write k=[x,y,z] for several values of k"),
    ],
)
def test_a_word_alone_is_refused_with_what_it_may_have_meant(text, hint):
    """It may be another value, or a value that lacks its name."""
    with pytest.raises(SpecError) as caught:
        Spec.parse(text)
    assert caught.value.hint == hint


def test_of_a_secret_nothing_is_repeated_in_a_hint():
    """A key may hold a comma."""
    with pytest.raises(SpecError) as caught:
        Spec.parse("a:api_key=sk-0123456789,abcdef")
    assert "sk-0123456789" not in f"{caught.value.message} {caught.value.hint}"


@given(written_specs())
@example(Spec("a", "k=v"))
@example(Spec("a", "", {"k": "''"}))
@example(Spec("a", "'", {"k": '"'}))
@example(Spec("a", None, {"k": 'it\'s "so"'}))
@example(Spec("a", None, {"k": "a\n"}))
def test_a_spec_reads_back_from_its_text(spec):
    """`parse(str(spec)) == spec`, whatever the values hold."""
    assert Spec.parse(str(spec)) == spec


@given(st.lists(written_specs(), min_size=1, max_size=3))
def test_a_chain_reads_back_from_its_text(stages):
    """Specs joined by ` | ` come apart where they were joined, and nowhere else."""
    assert Spec.parse_chain(" | ".join(map(str, stages))) == stages


@given(st.text(alphabet="ab:,='\"[|]. \\/", max_size=12) | st.text(max_size=12))
def test_any_text_is_read_or_refused(text):
    """No input makes the parser fail in another way than with a `SpecError`."""
    for read in (Spec.parse, Spec.parse_dataset, Spec.parse_chain, parse_output):
        try:
            read(text)
        except SpecError:
            continue


def test_a_chain_has_its_stages_in_order():
    """The example of the design: a compressor in front of a model."""
    assert Spec.parse_chain("bm25:max_tokens=400 | openai:http://localhost:7878") == [
        Spec("bm25", None, {"max_tokens": "400"}),
        Spec("openai", "http://localhost:7878"),
    ]


def test_a_bar_in_quotes_or_brackets_does_not_end_a_stage():
    """Only a bare bar separates."""
    assert Spec.parse_chain("a:k='x|y' | b:k=[x|y]") == [
        Spec("a", None, {"k": "x|y"}),
        Spec("b", None, {"k": "[x|y]"}),
    ]


@pytest.mark.parametrize("text", ["a | ", "| a", "a || b", "|", ""])
def test_an_empty_stage_is_refused(text):
    """A chain with a hole in it is a mistake, not a shorter chain."""
    with pytest.raises(SpecError, match="a stage of the chain is empty"):
        Spec.parse_chain(text)


@pytest.mark.parametrize(
    ("text", "path", "params"),
    [
        ("data.jsonl", "data.jsonl", {}),
        ("./some dir/data.json", "./some dir/data.json", {}),
        ("/abs/data.csv", "/abs/data.csv", {}),
        ("~/data.parquet", "~/data.parquet", {}),
        (r"C:\data\x.jsonl", r"C:\data\x.jsonl", {}),
        ("c:/data/x.JSONL", "c:/data/x.JSONL", {}),
        ("data.jsonl,n=5", "data.jsonl", {"n": "5"}),
        ("data.jsonl:n=5", "data.jsonl", {"n": "5"}),
        (r"C:\x.csv,n=5", r"C:\x.csv", {"n": "5"}),
        ("./a:b.jsonl", "./a:b.jsonl", {}),
        ("a,b.jsonl", "a,b.jsonl", {}),
        ("a.jsonl,other=b.jsonl", "a.jsonl", {"other": "b.jsonl"}),
        ("old.json.d/x.jsonl", "old.json.d/x.jsonl", {}),
        ("file:data.jsonl,n=5", "data.jsonl", {"n": "5"}),
    ],
)
def test_the_path_of_a_data_file_is_a_dataset(text, path, params):
    """A path, on any system, is the `file` dataset with that path."""
    assert Spec.parse_dataset(text) == Spec("file", path, params)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mmlu:anatomy", Spec("mmlu", "anatomy")),
        ("mine:path=data.jsonl", Spec("mine", None, {"path": "data.jsonl"})),
        ("mine:data.jsonl", Spec("mine", "data.jsonl")),
        ("hotpotqa:sample,extra=a.json", Spec("hotpotqa", "sample", {"extra": "a.json"})),
        ("py:./load.py:rows,path=a.jsonl", Spec("py", "./load.py:rows", {"path": "a.jsonl"})),
    ],
)
def test_a_named_dataset_may_be_given_a_path(text, expected):
    """A file name among the parameters of a dataset does not turn the spec into a path."""
    assert Spec.parse_dataset(text) == expected


def test_a_data_file_takes_no_config():
    """What follows a path must be key=value."""
    with pytest.raises(SpecError, match="a data file has no config"):
        Spec.parse_dataset("data.jsonl:anatomy")


@given(written_specs())
def test_a_dataset_spec_reads_back_from_its_text(spec):
    """A path keeps its `file:` when it is written, so that it reads back as the same dataset."""
    written = Spec("file", spec.config or "data.jsonl", spec.params)
    assert Spec.parse_dataset(str(written)) == written


@pytest.mark.parametrize(
    ("text", "spec", "file"),
    [
        ("table", Spec("table"), None),
        ("html=report.html", Spec("html"), "report.html"),
        (r"html=C:\out\a.html", Spec("html"), r"C:\out\a.html"),
        ("json=a=b.json", Spec("json"), "a=b.json"),
        ("html:max_rows=50", Spec("html", None, {"max_rows": "50"}), None),
        ("html:max_rows=50=out/a.html", Spec("html", None, {"max_rows": "50"}), "out/a.html"),
        ("html:title='a=b'=x.html", Spec("html", None, {"title": "a=b"}), "x.html"),
        ("html:title='a=b'", Spec("html", None, {"title": "a=b"}), None),
        ("html:dark,max_rows=5=x.html", Spec("html", "dark", {"max_rows": "5"}), "x.html"),
    ],
)
def test_an_output_is_a_format_and_maybe_a_file(text, spec, file):
    """`FORMAT[=FILE]`, where the format may have parameters of its own."""
    assert parse_output(text) == (spec, file)


@pytest.mark.parametrize("text", ["html=", "html:max_rows=5="])
def test_an_output_with_an_equals_sign_needs_a_file(text):
    """A forgotten file name is an error, not a report on the screen."""
    with pytest.raises(SpecError, match="no file follows"):
        parse_output(text)


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        (Spec("a", None, {"api_key": "hunter2"}), "a:api_key=***"),
        (Spec("a", None, {"key": Secret("hunter2", "${KEY}")}), "a:key=${KEY}"),
        (Spec("a", Secret("hunter2", "${URL}")), "a:${URL}"),
        (Spec("a", "http://me:hunter2@host"), "a:http://me:***@host"),
    ],
)
def test_the_text_of_a_spec_shows_no_secret(spec, shown):
    """What is printed names where a secret came from, or hides it."""
    assert str(spec) == shown


def test_the_label_of_a_dataset_shows_no_secret():
    """Rows are tagged with the label, so it is redacted like everything that is written."""
    assert Spec("d", Secret("hunter2", "${CONFIG}"), {"k": "v"}).default_label == "d:${CONFIG}"
    assert Spec("mmlu", "anatomy").default_label == "mmlu:anatomy"
    assert Spec("mmlu", None, {"k": "v"}).default_label == "mmlu"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("[a,b]", ["a", "b"]),
        ("(a, b)", ["a", "b"]),
        ("a,b", ["a", "b"]),
        ("['x, y',z]", ["x, y", "z"]),
        ("[[1,2],3]", ["[1,2]", "3"]),
        ("[]", []),
        ("", []),
        ("a", ["a"]),
    ],
)
def test_a_list_is_split_at_its_own_commas(text, items):
    """Commas inside quotes and inner brackets belong to the item."""
    assert specs.split_list(text) == items


def test_every_example_of_the_module_parses():
    """The grammar drawn in the documentation of the module is the one that is read."""
    drawn = re.findall(r"^    (name\S*)$", specs.__doc__, re.MULTILINE)
    assert drawn
    assert [str(Spec.parse(text.replace("key=value,key=value", "k=v,j=w"))) for text in drawn] == [
        text.replace("key=value,key=value", "k=v,j=w") for text in drawn
    ]
