"""Content addressing: what changes a result changes the key, and nothing else does."""

from __future__ import annotations

import functools
import re
import threading
import types
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.chains import Renamed, chain
from cbcore.identity import UnidentifiableError, content_key, identify, identity_of
from cbcore.identity._descriptions import note_use
from cbcore.json_data import to_json
from cbcore.secrets import Secret

values = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
data = st.recursive(
    values,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


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
        assert content_key(to_json(one, sort_keys=True)) != content_key(
            to_json(other, sort_keys=True)
        )


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
    assert (identity_of(Thing(**{name: one})) == identity_of(Thing(**{name: other}))) is same


class Priced(Thing):
    identity_without = ("prices",)


class AlsoPriced(Priced):
    pass


@pytest.mark.parametrize(("kind", "counts"), [(Thing, True), (Priced, False), (AlsoPriced, True)])
def test_what_a_class_says_changes_nothing_does_not_count(kind, counts):
    """As attribute and as parameter of the record; a subclass has to say so again."""

    def identity(prices, **more):
        record = {"component": "thing", "params": {"prices": prices, **more}}
        return identity_of(kind(prices=prices, **more), record=record)

    assert (identity("one.json") != identity("other.json")) is counts
    assert identity("one.json") != identity("one.json", model="a")


class Labelled(Thing):
    name_is_label = True


class Inherits(Labelled):
    pass


@pytest.mark.parametrize(("kind", "counts"), [(Thing, True), (Labelled, False), (Inherits, True)])
def test_a_name_counts_unless_its_class_calls_it_a_label(kind, counts):
    """A name may be the model that is asked; a subclass has to say again that it is not."""
    one, other = kind(model="a"), kind(model="a")
    other.name = "other"
    assert (identity_of(one) != identity_of(other)) is counts
    assert identity_of(one) == identity_of(Renamed(one, "third"))


def test_version_and_parameters_of_the_record_count():
    """A new plugin version is called again."""
    record = {"component": "thing", "plugin": "cb-thing", "version": "1", "params": {}}
    newer = {**record, "version": "2"}
    tuned = {**record, "params": {"k": 1}}
    keys = {identity_of(Thing(), record=r) for r in (record, newer, tuned)}
    assert len(keys) == 3


def test_a_chain_is_its_stages_in_order():
    """Swapping stages, or changing one, is another system."""
    a, b, c = Thing(k="a"), Thing(k="b"), Thing(k="c")
    keys = {identity_of(chain(stages)) for stages in ([a, b], [b, a], [a, c], [a])}
    assert len(keys) == 4


def test_a_secret_is_identified_by_where_it_came_from():
    """Changing the key's value changes nothing; the value is nowhere in the identity."""
    one = Thing(api_key=Secret("sk-one-000000000000", "${KEY}"))
    other = Thing(api_key=Secret("sk-two-000000000000", "${KEY}"))
    assert identity_of(one) == identity_of(other)
    assert identity_of(Thing(api_key="a" * 20)) == identity_of(Thing(api_key="b" * 20))


@pytest.mark.parametrize("name", ["base_url", "model", "key"])
def test_a_variable_that_is_no_secret_by_its_name_is_part_of_the_identity(name):
    """Another model or endpoint answers otherwise, although neither is ever shown."""
    keys = {
        identity_of(Thing(**{name: made(value)}))
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
    assert len({identity_of(Thing(f=f)) for f in functions}) == len(functions)
    assert identity_of(Thing(f=captured(1))) == identity_of(Thing(f=captured(1)))


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
        lambda n: Thing(f=_class_with_captured(n)),
        lambda n: _class_with_captured({"k": n})(),
        lambda n: _class_with_captured([Thing(k=n)])(),
        lambda n: _class_with_attribute(n)(),
        lambda n: type("Made", (Thing,), {"kept": n})(),
        lambda n: type("Made", (Thing,), {"kept": property(_with_keyword(n))})(),
        _Slotted,
        lambda n: Thing(limit=[float("inf"), None][n]),
        lambda n: Thing(limit=[float("inf"), float("-inf")][n]),
        lambda n: Thing(table={[1, "1"][n]: "a"}),
    ],
)
def test_what_is_made_twice_in_one_place_is_told_apart(make):
    """The source is the same for both; what was put into it is not."""
    assert identity_of(make(0)) != identity_of(make(1))
    assert identity_of(make(0)) == identity_of(make(0))


@pytest.mark.parametrize(
    ("name", "value"), [("k", 2), ("process", lambda self, example: {"response": "other"})]
)
def test_what_is_set_in_a_class_counts(monkeypatch, name, value):
    """A setting or a method replaced after the class was written, as in notebooks."""

    class Changed(Thing):
        k = 1

    before = identity_of(Changed())
    monkeypatch.setattr(Changed, name, value)
    assert identity_of(Changed()) != before


def test_what_use_changes_in_a_class_is_no_part_of_it():
    """A counter or a cache of the class is state, as one of the object is."""

    class Counting(Thing):
        calls = 0
        cache: dict = {}  # noqa: RUF012 - shared on purpose

    thing = Counting()
    before = identity_of(thing)
    parts = identify(thing, None)[1]
    Counting.calls = 5
    Counting.cache["a"] = 1
    note_use(parts)
    assert identity_of(thing) == before
    Counting.calls = 6
    assert identity_of(thing) != before


def test_a_method_is_known_by_the_module_settings_it_uses(monkeypatch):
    """`MODEL = os.environ["MODEL"]` is read when the module is loaded, and not in its source."""

    class Reads(Thing):
        def process(self, example):
            return {"response": example[SETTING]}

    before = identity_of(Reads())
    monkeypatch.setitem(globals(), "SETTING", "docs")
    assert identity_of(Reads()) != before


SETTING = "contexts"


def test_a_function_is_known_by_the_module_settings_it_uses(monkeypatch):
    """A name or number set at module level, as in notebooks, can change what it returns."""
    thing = Thing(f=lambda row: row[SETTING])
    before = identity_of(thing)
    assert identity_of(thing) == before
    monkeypatch.setitem(globals(), "SETTING", "docs")
    assert identity_of(thing) != before


def test_an_object_may_declare_its_identity():
    """What it declares replaces looking into it."""
    assert identity_of(Thing(identity="v1", noise=1)) == identity_of(Thing(identity="v1", noise=2))
    assert identity_of(Thing(identity="v1")) != identity_of(Thing(identity="v2"))
    assert identity_of(Thing(identity=lambda: "v1")) == identity_of(Thing(identity="v1"))


def test_an_object_without_readable_source_has_no_identity():
    """Better no store than a wrong answer from it."""
    namespace = {"__name__": "typed_at_a_prompt"}
    exec("class Typed:\n    name = 'typed'", namespace)
    with pytest.raises(UnidentifiableError, match="source of Typed"):
        identity_of(namespace["Typed"]())


# -- what is kept in private -------------------------------------------------------------------


class Private:
    """Keeps what it is given under other names, as most classes do."""

    name = "private"

    def __init__(self, k=1, **more):
        self._keep = k
        self._lock = threading.Lock()
        self.__dict__.update(more)

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
    """Whatever the parameter is called that they were set from."""
    assert identity_of(Private(one)) != identity_of(Private(other))
    assert identity_of(Private(one)) == identity_of(Private(one))


def test_arrays_count_by_their_content():
    """They hold what they are outside of any attribute."""
    numpy = pytest.importorskip("numpy")
    one, same, other = (Private(numpy.array([0.5, x])) for x in (1.0, 1.0, 2.0))
    assert identity_of(one) == identity_of(same) != identity_of(other)
    assert identity_of(Thing(a=numpy.arange(3))) != identity_of(Thing(a=numpy.arange(4)))


def foreign(**attributes):
    """An object of a package that was installed."""
    module = types.ModuleType("installed_somewhere")
    exec("class Client:\n    pass", vars(module))
    client = module.Client()
    vars(client).update(attributes)
    return client


def test_a_parameter_that_nothing_shows_leaves_no_identity():
    """It may be inside an object that cannot be looked into, so nothing is taken for the same."""

    class Asks:
        name = "asks"

        def __init__(self, url="u"):
            self._client = foreign(_url=url)

    class Says(Asks):
        def __init__(self, url="u"):
            super().__init__(url)
            self._url = url

    with pytest.raises(UnidentifiableError, match=r"nothing tells what 'url' of .*Asks was"):
        identity_of(Asks("a"))
    assert identity_of(Says("a")) == identity_of(Says("a")) != identity_of(Says("b"))
    made = {"component": "py:./asks.py:Asks", "plugin": "python", "version": None}
    records = [{**made, "params": {"url": url}} for url in "ab"]
    assert len({identity_of(Asks(), record=record) for record in records}) == 2


def test_a_secret_in_private_is_no_part_of_the_identity():
    """As in public."""
    one, other = Private(_api_key="sk-one-0000000000"), Private(_api_key="sk-two-0000000000")
    assert identity_of(one) == identity_of(other)


def test_attributes_of_a_plugin_are_its_own_business():
    """Its version and parameters identify it; what it keeps in private may be anything."""
    record = {"component": "thing", "plugin": "cb-thing", "version": "1", "params": {}}
    assert identity_of(Private(1), record=record) == identity_of(Private(2), record=record)


def test_what_a_class_took_from_its_function_counts():
    """Two classes of one source, made with different values."""

    def make(k):
        class Local:
            name = "local"

            def process(self, example):
                return {"response": k}

        return Local()

    assert identity_of(make(1)) == identity_of(make(1)) != identity_of(make(2))


def test_what_use_changes_is_state_and_what_changes_between_uses_is_not():
    """A counter or a cache does not call a system again; another setting does."""
    thing = Thing(k=1, _calls=0, _cache={})
    before = identity_of(thing)
    for _ in range(2):
        parts = identify(Renamed(chain([thing, Thing()]), "c"), None)[1]
        thing._calls += 1
        thing._cache["x"] = 1
        thing._made_later = "index"
        note_use(parts)
        assert identity_of(thing) == before
    thing._calls = 7
    assert identity_of(thing) != before
    thing._calls = 2
    assert identity_of(thing) == before
    thing._k = 2
    assert identity_of(thing) != before


# -- code and files ----------------------------------------------------------------------------


class Reads:
    name = "reads"

    def __init__(self, *files):
        self.identity_files = files


def test_declared_files_count_by_their_content(tmp_path, monkeypatch):
    """By path, pattern and folder, from the working folder or absolute."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    for name in ("prompt.txt", "parts/a.txt"):
        (tmp_path / name).write_text("one")
    everyone = [Reads("prompt.txt"), Reads(tmp_path / "prompt.txt"), Reads("*.txt")]
    inside = [Reads("parts"), Reads("parts/*"), Reads("**/a.txt")]
    before = [identity_of(reads) for reads in everyone + inside]
    assert before == [identity_of(reads) for reads in everyone + inside]
    (tmp_path / "prompt.txt").write_text("other")
    changed = [identity_of(reads) for reads in everyone + inside]
    assert [a != b for a, b in zip(before, changed, strict=True)] == [True] * 3 + [False] * 3
    (tmp_path / "parts" / "a.txt").write_text("other")
    assert all(identity_of(reads) != old for reads, old in zip(inside, changed[3:], strict=True))


def test_files_stand_beside_the_class_too(tmp_path, monkeypatch):
    """Wherever the run is started."""
    monkeypatch.chdir(tmp_path)
    assert identity_of(Reads("test_identity.py")) != identity_of(Reads("test_sources.py"))


def test_files_count_beside_a_declared_identity(tmp_path):
    """What is declared says nothing of them."""
    reads = Reads(tmp_path / "prompt.txt")
    reads.identity = "v1"
    (tmp_path / "prompt.txt").write_text("one")
    before = identity_of(reads)
    (tmp_path / "prompt.txt").write_text("other")
    assert identity_of(reads) != before


@pytest.mark.parametrize(
    ("files", "reason"),
    [(("absent.txt",), "'absent.txt', which identity_files of Reads names, is not there")]
    + [((wrong,), "is not a list of paths") for wrong in (1, None)],
)
def test_files_that_are_not_there_leave_no_identity(files, reason):
    """Nobody can say what will be read."""
    with pytest.raises(UnidentifiableError, match=reason):
        identity_of(Reads(*files))
