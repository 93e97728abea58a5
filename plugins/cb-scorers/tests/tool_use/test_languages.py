"""Java and JavaScript, by tables of what `bfcl-eval` 2026.3.23 says of each.

That whole categories agree is tested in `test_bfcl.py`.
"""

from __future__ import annotations

import pytest

from cb_scorers.tool_use import Call, ToolCallMatch
from cb_scorers.tool_use.calls import from_text
from cb_scorers.tool_use.languages import language_of
from tests.tables import check_each

JAVA, JAVASCRIPT = (language_of({"language": name}) for name in ("java", "javascript"))


def verdicts(language, schema, accepted, written):
    """Whether an argument is right: written out in a call, and as the text of a native one."""
    signature = {"name": "f", "parameters": {"properties": {"a": schema}, "required": ["a"]}}
    example = {
        "language": language,
        "tools": [{"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}],
        "signatures": [signature],
        "ground_truth": [{"f": {"a": accepted}}],
    }
    outputs = (
        {"response": f"[f(a={written})]"},
        {"tool_calls": [{"name": "f", "arguments": {"a": written}}]},
    )
    scores = [ToolCallMatch().score(example, output).scores for output in outputs]
    return [bool(score["tool_call_accuracy"]) for score in scores]


STRING, ANY, INTEGER = {"type": "String"}, {"type": "any"}, {"type": "integer"}
LONG, DOUBLE, FLOAT = {"type": "long"}, {"type": "double"}, {"type": "float"}
LONGS = {"type": "ArrayList", "items": {"type": "long"}}
STRINGS = {"type": "ArrayList", "items": {"type": "String"}}
NUMBERS = {"type": "Array", "items": {"type": "integer"}}
ARRAY_OF_STRINGS = {"type": "Array", "items": {"type": "String"}}
MAP = {"type": "HashMap"}
LIMIT = [{"limit": [50], "schema": ["public"]}]
FILLED = 'new HashMap<String, Object>() {{ put("limit", 50); put("schema", "public"); }}'


@check_each(
    ("schema", "accepted", "written", "in_text", "native"),
    [
        (STRING, ["LED TV"], '"LED TV"', True, False),
        (STRING, ["LED TV"], "'led tv'", True, False),
        (STRING, ["LED TV"], "`LED TV`", False, False),
        (ANY, ["System.out"], "System.out", True, True),
        (ANY, ["new Path('/a')"], 'new Path("/a")', True, True),
        (ANY, ["new Path('/a')"], "Path('/a')", False, False),
        (ANY, ["X::get"], "X :: get", True, True),
        (INTEGER, [5], "5", True, True),
        (INTEGER, [5], '"5"', True, False),
        (INTEGER, [5], "5L", False, False),
        (INTEGER, [5], "5 + 0", False, False),
        (INTEGER, ["Set.OPEN"], "Set.OPEN", True, True),
        (INTEGER, ["Set.OPEN"], "set.open", False, False),
        (LONG, [5], "5L", True, True),
        (LONG, [5], "5", False, False),
        (DOUBLE, [0.5], "0.5", True, True),
        (DOUBLE, [0.5], "0.5f", False, False),
        (FLOAT, [0.5], "5e-1F", True, True),
        ({"type": "boolean"}, [True], "true", True, True),
        ({"type": "boolean"}, [True], "True", False, False),
        (LONGS, [[1, 2]], "new ArrayList<>(Arrays.asList(1L, 2L))", True, True),
        (LONGS, [[1, 2]], "new ArrayList<Long>(Arrays.asList(1L,2L))", True, True),
        (LONGS, [[1, 2]], "new ArrayList<>(Arrays.asList(1, 2))", False, False),
        (LONGS, [[1, 2]], "Arrays.asList(1L, 2L)", False, False),
        (LONGS, [[1, 2]], "new ArrayList<>() {{ add(1L); add(2L); }}", False, True),
        (LONGS, [[1, 2], ""], "new ArrayList<>()", True, True),
        (STRINGS, [["a b", "c"]], 'new ArrayList<>(Arrays.asList("a b", "c"))', True, True),
        (STRINGS, [["a,b"]], 'new ArrayList<>(Arrays.asList("a,b"))', False, False),
        (NUMBERS, [[1, 2]], "new int[]{1, 2}", True, True),
        (NUMBERS, [[1, 2]], "new int[] { 1, 2 }", True, True),
        (NUMBERS, [[1, 2]], "[1, 2]", False, False),
        (ARRAY_OF_STRINGS, [["a"]], 'new String[]{"a"}', False, False),
        (ARRAY_OF_STRINGS, [["a"]], "new String[]{a}", True, True),
        (MAP, LIMIT, FILLED, False, True),
        (MAP, [{}], "new HashMap<String, Object>()", True, True),
        (
            MAP,
            [{"format": "millis"}],
            'new HashMap<>() {{ put("format", "millis"); }}',
            True,
            False,
        ),
        (MAP, LIMIT, 'Map.of("limit", 50, "schema", "public")', False, False),
    ],
)
def test_java_arguments(schema, accepted, written, in_text, native):
    """Typed by the signature; the official reading, with what it loses."""
    assert verdicts("java", schema, accepted, written) == [in_text, native]


TEXTS = {"type": "array", "items": {"type": "String"}}
FLOATS = {"type": "array", "items": {"type": "float"}}
OBJECT = {"type": "dict"}
ENTRIES = [{"name": ["x y"], "on": [True], "tags": [["a", "b"]], "size": [3, ""]}]


@check_each(
    ("schema", "accepted", "written", "in_text", "native"),
    [
        (STRING, ["a b"], '"a b"', True, True),
        (STRING, ["a b"], "'A b.'", True, True),
        (STRING, ["a b"], "`a b`", False, False),
        (ANY, ["handler"], "handler", True, True),
        (ANY, ["handler"], '"handler"', True, False),
        (ANY, ["handler"], "() => handler", False, False),
        (INTEGER, [3], "3", True, True),
        (INTEGER, [3], "'3'", True, False),
        (INTEGER, [3], "3.0", False, False),
        (FLOAT, [4.0], "4", True, True),
        (FLOAT, [4.0], "4.0", True, True),
        (FLOAT, [4.0], "4e0", False, False),
        ({"type": "Bigint"}, [5], "5n", True, True),
        ({"type": "Bigint"}, [5], "5", False, False),
        ({"type": "Boolean"}, [True], "true", True, True),
        ({"type": "Boolean"}, [True], "1", False, False),
        (TEXTS, [["a b", "c"]], "['a b', \"c\"]", True, True),
        (TEXTS, [["a b", "c"]], 'new Array("a b", "c")', True, True),
        (TEXTS, [["a b", "c"]], "[\n'a b', 'c']", False, False),
        (TEXTS, [["a,b"]], "['a,b']", False, False),
        (TEXTS, ["names"], "names", True, True),
        (TEXTS, [["a"], ""], "[]", True, True),
        (FLOATS, [[1.0, 2.5]], "[1, 2.5]", True, True),
        (FLOATS, [[[1, 2], [3, 4]]], "[[1, 2],\n [3, 4]]", True, True),
        (OBJECT, ENTRIES, "{name: 'x y', on: true, tags: ['a', 'b']}", True, True),
        (OBJECT, ENTRIES, "{'name': \"x y\", on: true, tags: [a, b], size: 3}", True, True),
        (OBJECT, ENTRIES, "{name: 'x y', on: false, tags: ['a', 'b']}", False, False),
        (OBJECT, ENTRIES, "{name: 'x y',\n on: true, tags: ['a', 'b']}", False, False),
        (OBJECT, [{}], "{}", True, True),
    ],
)
def test_javascript_arguments(schema, accepted, written, in_text, native):
    """Typed by the signature; the official reading, with what it loses."""
    assert verdicts("javascript", schema, accepted, written) == [in_text, native]


@pytest.mark.parametrize("language", ["java", "javascript"])
@pytest.mark.parametrize("given", [True, 5, ["x"], {"k": 1}, None])
def test_native_arguments_are_texts(language, given):
    """Tools are shown with every parameter a text in the language, as BFCL shows them."""
    tool = {"name": "f", "parameters": {"properties": {"a": {"type": "any"}}}}
    example = {"language": language, "tools": [tool], "ground_truth": [{"f": {"a": [given]}}]}
    call = {"name": "f", "arguments": {"a": given}}
    assert ToolCallMatch().score(example, {"tool_calls": [call]}).scores["tool_call_accuracy"] == 0


F = [Call("x.f", {"a": "1", "b": "two"})]


@pytest.mark.parametrize(
    ("text", "java", "javascript"),
    [
        ('[x.f(a=1, b="two")]', F, F),
        ("x.f(a=1, b='two');", F, F),
        ('`x.f(a = 1 ,\n b = "two" )`', F, F),
        ('```\nx.f(a=1, b="two")\n```', F, F),
        ('Sure: [x.f(a=1, b="two")].', F, F),
        ('{"name": "x.f", "arguments": {"a": "1", "b": "two"}}', F, F),
        ('x.f(a=1, b="two"); g(c=3)', F, F),
        ('x.f(a=1, b="two")\ng(c=3)', F, F),
        ('// first\nx.f(a=1, b="two") // done', F, F),
        ('x.f(a=1, b="two";', F, F),
        ('return x.f(a=1, b="two");', F, None),
        ('Type t = x.f(a=1, b="two");', F, None),
        ('if (t) { x.f(a=1, b="two"); }', F, None),
        ('await x.f(a=1, b="two")', None, None),
        ('new x.f(a=1, b="two")', None, None),
        ('x.f(a=1, b="two",)', None, F),
        ('x.f(5, a=1, "y", b="two")', F, F),
        ("x.f(a=1, a=2)", None, None),
        ("x.f(a=1, y)", [Call("x.f", {"a": "1", "": "y"})], [Call("x.f", {"a": "1", "": "y"})]),
        ("x.f(a=1", None, None),
        ("x.f(a=[1)]", None, None),
        ("The function x.f fits.", None, None),
        ("", None, None),
    ],
)
def test_calls_in_java_and_javascript(text, java, javascript):
    """The first call is read; arguments without a name count only when they are variables."""
    assert from_text(text, JAVA) == java
    assert from_text(text, JAVASCRIPT) == javascript


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("a . b", "a.b"),
        ("g( 1,  2 ) . c", "g( 1,  2 ).c"),
        ('new A<B, C>( 1,"x" )', 'new A<B,C>(1, "x")'),
        ("new A() { void b() {} }.c", "new A().c"),
        ("new A(1).b( 2 )", "new A(1).b( 2 )"),
        ("o.new A(1)", "new A(1)"),
        ("new int[][] { {1}, {2, 3} }", "new int[]{{1},{2,3}}"),
        ("(String) b[ 0 ]", "(String)b[0]"),
        ("x -> x + 1", "x->x+1"),
        ('"a" + "b"', '"a"+"b"'),
    ],
)
def test_java_expressions_as_text(written, text):
    """Without spaces, except within calls, and without the bodies of classes."""
    assert from_text(f"f(a={written}, b=1);", JAVA) == [Call("f", {"a": text, "b": "1"})]
