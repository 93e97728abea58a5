"""Content addressing: what changes a result changes the key, and nothing else does."""

from __future__ import annotations

import functools
import importlib.util
import re
import subprocess
import sys
import threading
import types
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.chains import Renamed, chain
from cbcore.columns import map_columns
from cbcore.json_data import to_json
from cbcore.secrets import Secret
from cbcore.store.database import digest
from cbcore.store.identity import Identities
from cbcore.store.own_code import UnidentifiedError

values = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
data = st.recursive(
    values,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def key_of(value, record=None):
    return Identities().key_of(value, record)


class Thing:
    def __init__(self, **attributes):
        self.name = "thing"
        self.__dict__.update(attributes)

    def process(self, example):
        return example


@given(st.dictionaries(st.text(max_size=4), data, max_size=5))
def test_the_order_of_keys_does_not_matter(example):
    """The same content has the same address."""
    backwards = dict(reversed(list(example.items())))
    assert to_json(example, sort_keys=True) == to_json(backwards, sort_keys=True)


@given(data, data)
def test_different_content_has_a_different_address(one, other):
    """Types count: 1, 1.0, True and "1" are four different things."""
    same = repr(one) == repr(other) or (one == other and type(one) is type(other) is dict)
    if not same and one != other:
        assert digest(to_json(one, sort_keys=True)) != digest(to_json(other, sort_keys=True))


@pytest.mark.parametrize(
    ("one", "other"), [(1, "1"), (1, 1.0), (True, 1), (None, "null"), ([], {})]
)
def test_types_are_told_apart(one, other):
    """Ids 1 and "1" are different examples."""
    assert to_json({"id": one}, sort_keys=True) != to_json({"id": other}, sort_keys=True)


@given(st.text(min_size=1, max_size=5).filter(str.isidentifier), data, data)
def test_any_parameter_change_changes_the_identity(name, one, other):
    """Public attributes are part of what an object is."""
    if name.startswith("_") or name in ("name", "identity", "process"):
        return
    same = to_json([one], sort_keys=True) == to_json([other], sort_keys=True)
    assert (key_of(Thing(**{name: one})) == key_of(Thing(**{name: other}))) is same


def test_a_name_counts():
    """It may be the model that is called. A new name for a system is not a part of it."""
    one, other = Thing(model="a"), Thing(model="a")
    other.name = "other"
    assert key_of(one) != key_of(other)
    assert key_of(one) == key_of(Renamed(one, "third"))


def test_version_and_parameters_of_the_record_count():
    """A new plugin version is called again."""
    record = {"component": "thing", "plugin": "cb-thing", "version": "1", "params": {}}
    newer = {**record, "version": "2"}
    tuned = {**record, "params": {"k": 1}}
    keys = {key_of(Thing(), r) for r in (record, newer, tuned)}
    assert len(keys) == 3


def test_a_chain_is_its_stages_in_order():
    """Swapping stages, or changing one, is another system."""
    a, b, c = Thing(k="a"), Thing(k="b"), Thing(k="c")
    keys = {key_of(chain(stages)) for stages in ([a, b], [b, a], [a, c], [a])}
    assert len(keys) == 4


def test_a_secret_is_identified_by_where_it_came_from():
    """Changing the key's value changes nothing; the value is nowhere in the identity."""
    one = Thing(api_key=Secret("sk-one-000000000000", "${KEY}"))
    other = Thing(api_key=Secret("sk-two-000000000000", "${KEY}"))
    assert key_of(one) == key_of(other)
    assert key_of(Thing(api_key="a" * 20)) == key_of(Thing(api_key="b" * 20))


@pytest.mark.parametrize("name", ["base_url", "model", "key"])
def test_a_variable_that_is_no_secret_by_its_name_is_part_of_the_identity(name):
    """Another model or endpoint answers otherwise, although neither is ever shown."""
    keys = {
        key_of(Thing(**{name: made(value)}))
        for value in ("model-a1", "model-b2")
        for made in (lambda value: Secret(value, "${NAME}"), str)
    }
    assert len(keys) == 2


def test_functions_are_identified_by_their_code():
    """Two lambdas that differ only in a constant, a default or a captured value differ."""

    def captured(n):
        return lambda x: x + n

    functions = [
        lambda x: x + 1,
        lambda x: x + 2,
        captured(1),
        captured(2),
        functools.partial(max, 1),
        functools.partial(max, 2),
    ]
    assert len({key_of(Thing(f=f)) for f in functions}) == len(functions)
    assert key_of(Thing(f=captured(1))) == key_of(Thing(f=captured(1)))


def _with_keyword(n):
    def function(x, *, k=n):
        return x + k

    return function


def _class_with_captured(value):
    class Made(Thing):
        def process(self, example):
            return {"response": value}

    return Made


def _class_with_attribute(value):
    class Made(Thing):
        kept = value

    return Made


class _Slotted:
    __slots__ = ("__hidden", "name")

    def __init__(self, hidden):
        self.name = "slotted"
        self.__hidden = hidden


@pytest.mark.parametrize(
    "make",
    [
        lambda n: Thing(
            f=[lambda x: [y for y in x if y > 1], lambda x: [y for y in x if y > 2]][n]
        ),
        lambda n: Thing(f=[lambda x: any(y > 1 for y in x), lambda x: any(y > 2 for y in x)][n]),
        lambda n: Thing(f=_with_keyword(n)),
        lambda n: Thing(f=functools.lru_cache(_with_keyword(n))),
        lambda n: _class_with_captured({"k": n})(),
        lambda n: _class_with_captured([Thing(k=n)])(),
        lambda n: _class_with_attribute(n)(),
        _Slotted,
        lambda n: Thing(limit=[float("inf"), None][n]),
        lambda n: Thing(limit=[float("inf"), float("-inf")][n]),
        lambda n: Thing(table={[1, "1"][n]: "a"}),
    ],
)
def test_what_is_made_twice_in_one_place_is_told_apart(make):
    """The source is the same for both; what was put into it is not."""
    assert key_of(make(0)) != key_of(make(1))
    assert key_of(make(0)) == key_of(make(0))


@pytest.mark.parametrize(
    ("name", "value"), [("k", 2), ("process", lambda self, example: {"response": "other"})]
)
def test_what_is_set_in_a_class_counts(monkeypatch, name, value):
    """A setting or a method replaced after the class was written, as in notebooks."""

    class Changed(Thing):
        k = 1

    before = key_of(Changed())
    monkeypatch.setattr(Changed, name, value)
    assert key_of(Changed()) != before


def test_what_use_changes_in_a_class_is_no_part_of_it():
    """A counter or a cache of the class is state, as one of the object is."""

    class Counting(Thing):
        calls = 0
        cache: dict = {}  # noqa: RUF012 - shared on purpose

    thing, identities = Counting(), Identities()
    before = identities.key_of(thing)
    Counting.calls = 5
    Counting.cache["a"] = 1
    identities.note_state()
    assert key_of(thing) == before
    Counting.calls = 6
    assert key_of(thing) != before


def test_a_method_is_known_by_the_module_settings_it_uses(monkeypatch):
    """`MODEL = os.environ["MODEL"]` is read when the module is loaded, and not in its source."""

    class Reads(Thing):
        def process(self, example):
            return {"response": example[SETTING]}

    before = key_of(Reads())
    monkeypatch.setitem(globals(), "SETTING", "docs")
    assert key_of(Reads()) != before


SETTING = "contexts"


@pytest.mark.parametrize(
    "function",
    [
        lambda row: row[SETTING],
        lambda rows: [row[SETTING] for row in rows],
        lambda: lambda: SETTING,
    ],
)
def test_a_function_is_known_by_the_module_settings_it_uses(monkeypatch, function):
    """A name or number set at module level, as in notebooks, can change what it returns."""
    thing = Thing(f=function)
    before = key_of(thing)
    assert key_of(thing) == before
    monkeypatch.setitem(globals(), "SETTING", "docs")
    assert key_of(thing) != before


WRITTEN = """
import dataclasses
@dataclasses.dataclass
class Mine:
    '''Has a text.'''
    k: int = 1
    name: str = 'mine'
    def process(self, example):
        '''Answers.'''
        assert example
        return {'response': [one for one in example['contexts'] if one]}
"""


def test_what_the_same_source_is_compiled_to_does_not_count(tmp_path):
    """Another Python has other bytecode, as has one that drops assertions and docstrings."""
    (tmp_path / "mine.py").write_text(WRITTEN)
    show = "import mine; from cbcore.store.identity import Identities"
    show += "; print(Identities().key_of(mine.Mine()))"

    def run(*flags):
        command = [sys.executable, *flags, "-c", show]
        return subprocess.run(command, capture_output=True, check=True, cwd=tmp_path).stdout

    assert run() == run("-OO")


def test_a_source_that_was_edited_after_it_was_loaded_is_not_that_of_the_code(tmp_path):
    """What runs is the old code: its outputs must not be those of the new one."""
    path = tmp_path / "edited.py"
    keys = []
    for edit in (("1", "2"), ("1", "1"), ("2", "2")):
        sources = [
            f"class Mine:\n    name = 'mine'\n    def process(self, example):\n"
            f"        return {number}\n"
            for number in edit
        ]
        path.write_text(sources[0])
        spec = importlib.util.spec_from_file_location("edited", path)
        module = importlib.util.module_from_spec(spec)
        exec(compile(sources[0], path, "exec"), vars(module))
        sys.modules["edited"] = module
        path.write_text(sources[1])
        keys.append(key_of(module.Mine()))
        del sys.modules["edited"]
    assert len(set(keys)) == 3


NOTEBOOK = """
PROMPT = 'one'
class Mine:
    name = 'mine'
    k = 1
    def process(self, example):
        return {'response': PROMPT + str(self.k) + '1'}
from cbcore.store.identity import Identities
print(Identities().key_of(Mine()))
"""


@pytest.mark.parametrize("edit", [("'one'", "'two'"), ("k = 1", "k = 2"), ("'1'", "'2'")])
def test_an_edit_of_code_without_a_file_counts(edit):
    """As in a notebook: of a setting of its module, of its class, or of a method."""

    def run(code):
        command = [sys.executable, "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert run(NOTEBOOK) == run(NOTEBOOK) != run(NOTEBOOK.replace(*edit))


def test_an_object_may_declare_its_identity():
    """What it declares replaces looking into it."""
    assert key_of(Thing(identity="v1", noise=1)) == key_of(Thing(identity="v1", noise=2))
    assert key_of(Thing(identity="v1")) != key_of(Thing(identity="v2"))
    assert key_of(Thing(identity=lambda: "v1")) == key_of(Thing(identity="v1"))


def test_an_object_without_readable_source_has_no_identity():
    """Better no store than a wrong answer from it."""
    namespace = {"__name__": "typed_at_a_prompt"}
    exec("class Typed:\n    name = 'typed'", namespace)
    with pytest.raises(UnidentifiedError, match="source of Typed"):
        key_of(namespace["Typed"]())


# -- what is kept in private -------------------------------------------------------------------


class Private:
    """Has its parameters in private attributes, next to what cannot be described."""

    name = "private"

    def __init__(self, k=1, api_key=None):
        self._k = k
        self._api_key = api_key
        self._lock = threading.Lock()

    def process(self, example):
        return example


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2),
        ([1, {"a": 2}], [1, {"a": 3}]),
        (re.compile("a"), re.compile("b")),
        (Decimal("1.0"), Decimal("2.0")),
        (b"a", b"b"),
        (lambda: 1, lambda: 2),
        (Thing(k=1), Thing(k=2)),
        (Thing(_k=1), Thing(_k=2)),
        (ValueError("a"), ValueError("b")),
    ],
)
def test_private_attributes_of_own_objects_count(one, other):
    assert key_of(Private(one)) != key_of(Private(other))
    assert key_of(Private(one)) == key_of(Private(one))


def test_arrays_count_by_their_content():
    """They hold what they are outside of any attribute."""
    numpy = pytest.importorskip("numpy")
    one, same, other = (Private(numpy.array([0.5, x])) for x in (1.0, 1.0, 2.0))
    assert key_of(one) == key_of(same) != key_of(other)
    assert key_of(Thing(a=numpy.arange(3))) != key_of(Thing(a=numpy.arange(4)))


def foreign(**attributes):
    """An object of a package that was installed."""
    module = types.ModuleType("installed_somewhere")
    exec("class Client:\n    pass", vars(module))
    client = module.Client()
    vars(client).update(attributes)
    return client


def test_a_parameter_that_nothing_shows_leaves_no_identity():
    """It may be in an object that cannot be described, so nothing is taken for the same."""

    class Asks:
        name = "asks"

        def __init__(self, url="u"):
            self._client = foreign(_url=url)

    class Says(Asks):
        def __init__(self, url="u"):
            super().__init__(url)
            self._url = url

    with pytest.raises(UnidentifiedError, match=r"'_client' .* Declare `identity` in Asks"):
        key_of(Asks("a"))
    assert key_of(Says("a")) == key_of(Says("a")) != key_of(Says("b"))
    made = {"component": "py:./asks.py:Asks", "plugin": "python", "version": None}
    records = [{**made, "params": {"url": url}} for url in "ab"]
    assert len({key_of(Asks(), record) for record in records}) == 2


def test_a_secret_in_private_is_no_part_of_the_identity():
    """As in public."""
    one, other = Private(api_key="sk-one-0000000000"), Private(api_key="sk-two-0000000000")
    assert key_of(one) == key_of(other)


def test_attributes_of_a_plugin_are_its_own_business():
    """Its version and parameters identify it; what it keeps in private may be anything."""
    record = {"component": "thing", "plugin": "cb-thing", "version": "1", "params": {}}
    assert key_of(Thing(_kept=1), record) == key_of(Thing(_kept=2), record)


def test_what_a_class_took_from_its_function_counts():
    """Two classes of one source, made with different values."""

    def make(k):
        class Local:
            name = "local"

            def process(self, example):
                return {"response": k}

        return Local()

    assert key_of(make(1)) == key_of(make(1)) != key_of(make(2))


def test_what_use_changes_is_state_and_what_changes_between_uses_is_not():
    """A counter or a cache does not call a system again; another setting does."""
    thing = Thing(k=1, _calls=0, _cache={})
    before = key_of(thing)
    for _ in range(2):
        identities = Identities()
        identities.key_of(Renamed(chain([thing, Thing()]), "c"))
        thing._calls += 1
        thing._cache["x"] = 1
        thing._made_later = "index"
        identities.note_state()
        assert key_of(thing) == before
    thing._calls = 7
    assert key_of(thing) != before
    thing._calls = 2
    assert key_of(thing) == before
    thing._k = 2
    assert key_of(thing) != before


# -- code and files ----------------------------------------------------------------------------


class Reads:
    name = "reads"

    def __init__(self, *files):
        self.identity_files = files

    def score(self, original, processed):
        return {}


def test_declared_files_count_by_their_content(tmp_path, monkeypatch):
    """By path, pattern and folder, from the working folder or absolute."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    for name in ("prompt.txt", "parts/a.txt"):
        (tmp_path / name).write_text("one")
    everyone = [Reads("prompt.txt"), Reads(tmp_path / "prompt.txt"), Reads("*.txt")]
    inside = [Reads("parts"), Reads("parts/*"), Reads("**/a.txt")]
    before = [key_of(reads) for reads in everyone + inside]
    assert before == [key_of(reads) for reads in everyone + inside]
    (tmp_path / "prompt.txt").write_text("other")
    changed = [key_of(reads) for reads in everyone + inside]
    assert [a != b for a, b in zip(before, changed, strict=True)] == [True] * 3 + [False] * 3
    (tmp_path / "parts" / "a.txt").write_text("other")
    assert all(key_of(reads) != old for reads, old in zip(inside, changed[3:], strict=True))


def test_files_stand_beside_the_class_too(tmp_path, monkeypatch):
    """Wherever the run is started."""
    monkeypatch.chdir(tmp_path)
    assert key_of(Reads("test_identity.py")) != key_of(Reads("test_own_code.py"))


def test_files_count_beside_a_declared_identity(tmp_path):
    """What is declared says nothing of them."""
    reads = Reads(tmp_path / "prompt.txt")
    reads.identity = "v1"
    (tmp_path / "prompt.txt").write_text("one")
    before = key_of(reads)
    (tmp_path / "prompt.txt").write_text("other")
    assert key_of(reads) != before


def test_files_count_of_what_a_component_is_made_of(tmp_path):
    """An evaluator with mapped columns reads its prompt all the same."""
    reads = Reads(tmp_path / "prompt.txt")
    holders = [Thing(inner=reads), chain([reads, Thing()]), map_columns(reads, a_column="b")]
    (tmp_path / "prompt.txt").write_text("one")
    before = [key_of(holder) for holder in holders]
    (tmp_path / "prompt.txt").write_text("other")
    assert all(key_of(holder) != old for holder, old in zip(holders, before, strict=True))


def test_files_that_are_not_there_leave_no_identity():
    """Nobody can say what will be read."""
    with pytest.raises(UnidentifiedError, match=r"no file 'absent.txt', named in identity_files"):
        key_of(Reads("absent.txt"))


# -- inherited identities ----------------------------------------------------------------------


class Declared:
    identity = "fixed"

    def __init__(self, model="a"):
        self.model = model


class Warmer(Declared):
    """Knows a parameter that the identity of its base does not."""

    def __init__(self, model="a", temperature=0.0):
        super().__init__(model)
        self.temperature = temperature


class Hotter(Warmer):
    identity = ("hotter",)


class Same(Declared):
    pass


class Opaque(Declared):
    def __init__(self, model="a", client=None):
        super().__init__(model)
        self._held = client


def test_an_inherited_identity_does_not_hide_new_parameters():
    """Its base could not know of them."""
    assert key_of(Declared("a")) == key_of(Declared("b"))
    assert key_of(Declared()) != key_of(Warmer()) != key_of(Warmer(temperature=0.5))
    assert key_of(Hotter()) == key_of(Hotter(temperature=0.5))
    assert key_of(Same("a")) == key_of(Same("b")) != key_of(Declared())


def test_a_new_parameter_that_is_not_known_cannot_be_told_apart():
    with pytest.raises(UnidentifiedError, match="Declare `identity` in Opaque"):
        key_of(Opaque(client=threading.Lock()))
