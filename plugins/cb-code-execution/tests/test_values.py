"""Solutions and their tests are in two processes: what goes from one to the other, and how.

Each case is a right solution that has to pass, and a wrong one that must not, with tests as
people write them: nothing in them knows of two processes.
"""

from __future__ import annotations

import contextlib
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_code_execution import Outcome, SandboxError, _examiner, _wire
from cb_code_execution.limits import Limits
from cb_code_execution.machine import MECHANISMS, find, unconfined
from cb_code_execution.sandbox import Examination
from cb_code_execution.testplan import planned


@pytest.fixture(scope="module")
def sandbox():
    """The one that is used here: values do not depend on the mechanism."""
    try:
        return find(Limits(time_s=30), mechanisms=MECHANISMS)
    except SandboxError as error:
        pytest.skip(error.message)


def outcome(sandbox, solution, tests, entry_point=None):
    return sandbox.run(solution, Examination(tests, planned(tests, entry_point), entry_point))


RETURNED = [
    "None",
    "True",
    "-7",
    "10**400",
    "-(10**4000)",
    "1.5",
    "float('inf')",
    "-0.0",
    "1+2j",
    "'é\\ud800\\0'",
    "b'\\x00\\xff'",
    "bytearray(b'x')",
    "[1, [2, ['three']]]",
    "[1, True, None, 2.0, 10**30]",
    "(1, (2,), ())",
    "{1, 2}",
    "frozenset({(1, 2)})",
    "{'a': [1], (1, 2): {3: 4}, None: ()}",
    "range(1, 10, 3)",
    "slice(1, None)",
    "...",
    "__import__('decimal').Decimal('1.10')",
    "__import__('fractions').Fraction(1, 3)",
    "__import__('datetime').datetime(2024, 2, 29, 12, 30, fold=1)",
    "__import__('datetime').datetime(2024, 1, 1, tzinfo=__import__('datetime').timezone.utc)",
    "__import__('datetime').date(2024, 2, 29)",
    "__import__('datetime').time(1, 2, 3, 4)",
    "__import__('datetime').timedelta(days=-1, microseconds=5)",
    "__import__('uuid').UUID(int=7)",
    "__import__('pathlib').Path('/a/b')",
    "__import__('collections').deque([1, 2], 3)",
    "__import__('collections').Counter('aab')",
    "__import__('collections').OrderedDict(a=1)",
    "__import__('collections').defaultdict(list, {1: [2]})",
    "__import__('array').array('i', [1, 2])",
    "int",
    "__import__('collections').Counter",
    "ValueError",
]


@pytest.mark.parametrize("value", RETURNED)
def test_plain_values_come_back_as_they_are(sandbox, value):
    """Equal, and of the same type; what is given comes back, too."""
    tests = (
        f"expected = {value}\n"
        "for got in (make(), same(expected)):\n"
        "    assert got == expected and type(got) is type(expected), got\n"
        "    assert repr(got) == repr(expected)\n"
    )
    right = f"def make():\n    return {value}\ndef same(x):\n    return x\n"
    assert outcome(sandbox, right, tests).status == "passed"
    wrong = "def make():\n    return 'other'\ndef same(x):\n    return x\n"
    assert outcome(sandbox, wrong, tests).status == "failed"


def test_a_float_that_is_not_a_number_stays_one(sandbox):
    """It is not equal to itself on either side."""
    nan = "def nan():\n    return float('nan')\n"
    assert outcome(sandbox, nan, "x = nan()\nassert x != x").passed


STACK = """
class Stack:
    '''Last in, first out.'''
    limit = 3
    class FullError(Exception):
        pass
    def __init__(self, items=()):
        self.items = list(items)
    def push(self, x):
        if len(self.items) == self.limit:
            raise StackError('full', 3)
        self.items.append(x)
        return self
    def pop(self):
        return self.items.pop()
    def __len__(self):
        return len(self.items)
    def __iter__(self):
        return iter(self.items)
    def __getitem__(self, i):
        return self.items[i]
    def __contains__(self, x):
        return x in self.items
    def __eq__(self, other):
        return isinstance(other, Stack) and self.items == other.items
    def __add__(self, other):
        return Stack(self.items + (other.items if isinstance(other, Stack) else [other]))
    def __repr__(self):
        return f'Stack({self.items})'
    @classmethod
    def of(cls, *items):
        return cls(items)
    @property
    def top(self):
        return self.items[-1]
class StackError(ValueError):
    def __init__(self, why, size):
        super().__init__(f'{why} at {size}')
        self.size = size
"""
TREE = """
class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right
def total(node):
    return 0 if node is None else node.value + total(node.left) + total(node.right)
def mirror(node):
    if node:
        node.left, node.right = mirror(node.right), mirror(node.left)
    return node
"""
USES = {
    "objects of its own class": (
        STACK,
        (
            "s = Stack()\ns.push(1).push(2)\nassert len(s) == 2 and s.top == 2 and s.pop() == 2\n"
            "assert list(s) == [1] and s[0] == 1 and 1 in s and 5 not in s\n"
            "assert s == Stack([1]) and s != Stack([2]) and s != [1]\n"
            "assert s + Stack([2]) == Stack.of(1, 2) and s + 2 == Stack([1, 2])\n"
            "assert repr(s) == 'Stack([1])' and str(s) == f'{s}' and isinstance(s, Stack)\n"
            "assert type(s).__name__ == 'Stack' and not isinstance(1, Stack)\n"
            "s.items = [7]\nassert s.pop() == 7 and not s and Stack.limit == 3\n"
        ),
        "return self.items.pop()",
        "return None",
    ),
    "its own exceptions": (
        STACK,
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test_full(self):\n"
            "        s = Stack([1, 2, 3])\n        with self.assertRaises(StackError) as caught:\n            s.push(4)\n"
            "        self.assertEqual(str(caught.exception), 'full at 3')\n"
            "        self.assertEqual(caught.exception.size, 3)\n"
            "        self.assertIsInstance(caught.exception, ValueError)\n"
        ),
        "raise StackError",
        "raise KeyError",
    ),
    "built-in exceptions": (
        "def f(x):\n    return {'a': 1}[x]\n",
        "try:\n    f('b')\nexcept KeyError as error:\n    assert error.args == ('b',)\nelse:\n    raise AssertionError\n",
        "{'a': 1}[x]",
        "{'a': 1}.get(x)",
    ),
    "exceptions of libraries": (
        "import json\ndef f(x):\n    return json.loads(x)\n",
        (
            "try:\n    f('{')\nexcept ValueError as error:\n    assert type(error).__name__ == 'JSONDecodeError' and error.pos == 1\nelse:\n    raise AssertionError\n"
            "import json, unittest\nwith unittest.TestCase().assertRaises(json.JSONDecodeError):\n    f('[')\n"
        ),
        "return json.loads(x)",
        "raise KeyError(x)",
    ),
    "an exit that is expected": (
        "import sys\ndef f():\n    sys.exit(3)\n",
        "try:\n    f()\nexcept SystemExit as left:\n    assert left.code == 3\nelse:\n    raise AssertionError\n",
        "sys.exit(3)",
        "sys.exit(4)",
    ),
    "arguments that are changed": (
        "def f(a, b, *, c):\n    a.sort()\n    b['k'] = a[0]\n    c.add(1)\n    a[0] = 9\n",
        (
            "a, inner = [3, 1], [5]\nb, c = {'old': inner}, set()\nassert f(a, b, c=c) is None\n"
            "assert a == [9, 3] and b == {'old': [5], 'k': 1} and c == {1} and b['old'] is inner\n"
        ),
        "a.sort()",
        "a = sorted(a)",
    ),
    "arguments that are changed and then an exception": (
        "def f(a):\n    a.append(1)\n    raise ValueError\n",
        "a = []\ntry:\n    f(a)\nexcept ValueError:\n    pass\nassert a == [1]\n",
        "a.append(1)",
        "a.append(2)",
    ),
    "an argument that is returned": (
        "def f(a):\n    a.append(1)\n    return a\n",
        "a = []\nassert f(a) is a and a == [1]\n",
        "return a",
        "return list(a)",
    ),
    "generators": (
        "def count(n):\n    for i in range(n):\n        got = yield i\n        if got: yield got\ndef endless():\n    while True: yield 1\n",
        (
            "import inspect, itertools\nassert list(count(3)) == [0, 1, 2]\ng = count(2)\nassert next(g) == 0 and g.send('x') == 'x'\n"
            "assert inspect.isgenerator(g) and list(itertools.islice(endless(), 3)) == [1, 1, 1]\n"
        ),
        "yield i",
        "yield -i",
    ),
    "iterators": (
        "def f(x):\n    return map(str, x)\n",
        "it = f([1, 2])\nassert next(it) == '1' and list(it) == ['2']\n",
        "str",
        "repr, x) if 0 else map(float",
    ),
    "functions that it makes": (
        "def adder(n):\n    return lambda x: x + n\n",
        "assert adder(2)(3) == 5 and callable(adder(1)) and list(map(adder(1), [1])) == [2]\n",
        "x + n",
        "x - n",
    ),
    "functions that it is given": (
        "def apply(f, xs):\n    return [f(x) for x in xs]\n",
        (
            "calls = []\ndef square(x):\n    calls.append(x)\n    return x * x\n"
            "assert apply(square, [1, 2]) == [1, 4] and calls == [1, 2]\n"
            "assert apply(len, ['ab']) == [2] and apply(str.upper, ['a']) == ['A']\n"
            "def fails(x):\n    raise LookupError(x)\n"
            "try:\n    apply(fails, [1])\nexcept LookupError as error:\n    assert error.args == (1,)\nelse:\n    raise AssertionError\n"
        ),
        "[f(x) for",
        "[x for",
    ),
    "a decorator": (
        "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def inner(*a, **k):\n        f(*a, **k)\n        return f(*a, **k)\n    return inner\n",
        "n = []\n@twice\ndef f(x, *, y):\n    n.append((x, y))\n    return len(n)\nassert f(1, y=2) == 2 and n == [(1, 2)] * 2\n",
        "return f(",
        "return 2 or f(",
    ),
    "objects of classes that the tests define": (
        TREE.split("def total")[1].join(["def total", ""]),
        (
            "class Node:\n    def __init__(self, value, left=None, right=None):\n        self.value, self.left, self.right = value, left, right\n"
            "root = Node(1, Node(2), Node(3, Node(4)))\nassert total(root) == 10\n"
            "assert mirror(root) is root and root.left.value == 3 and root.left.right.value == 4\n"
        ),
        "mirror(node.right), mirror(node.left)",
        "mirror(node.left), mirror(node.right)",
    ),
    "what is done to an attribute's content": (
        (
            "class Box:\n    def __init__(self):\n        self.items, self.names = [], {}\n    def total(self):\n        return sum(self.items) + len(self.names)\n"
            "def fill(shelf):\n    shelf.things.append(1)\n    shelf.by['k'] = 2\n"
        ),
        (
            "box = Box()\nbox.items.append(3)\nbox.names['a'] = 1\nassert box.total() == 4\nbox.items += [1]\nassert box.items == [3, 1] and box.total() == 5\n"
            "class Shelf:\n    def __init__(self):\n        self.things, self.by = [], {}\nshelf = Shelf()\nthings = shelf.things\nfill(shelf)\nassert things == [1] and shelf.by == {'k': 2}\n"
        ),
        "shelf.things.append(1)",
        "shelf.things = [1]",
    ),
    "copies of what it is given": (
        "import copy\ndef f(node):\n    other = copy.deepcopy(node)\n    other.value += 1\n    return other\n",
        "class Node:\n    def __init__(self):\n        self.value = 1\nnode = Node()\nother = f(node)\nassert isinstance(other, Node) and other.value == 2 and node.value == 1\n",
        "copy.deepcopy(node)",
        "node",
    ),
    "trees of its own": (
        TREE,
        "root = Node(1, Node(2))\nroot.right = Node(3)\nassert total(root) == 6\nassert mirror(root).left.value == 3\n",
        "node.value + total(node.left)",
        "node.value",
    ),
    "named tuples, data classes, enumerations": (
        (
            "from collections import namedtuple\nfrom dataclasses import dataclass\nimport enum\n"
            "P = namedtuple('P', 'x y')\n@dataclass\nclass D:\n    x: int\nclass Color(enum.Enum):\n    RED = 1\n    BLUE = 2\nclass N(enum.IntEnum):\n    ONE = 1\n"
            "def p():\n    return P(1, 2)\ndef d():\n    return D(1)\ndef c():\n    return Color.RED\ndef n():\n    return N.ONE\n"
        ),
        (
            "assert p() == (1, 2) and p().x == 1 and isinstance(p(), tuple) and p()._asdict() == {'x': 1, 'y': 2}\n"
            "assert d() == D(1) and d().x == 1 and d() != D(2)\n"
            "assert c() is Color.RED and c() == Color['RED'] and c() != Color.BLUE and c().name == 'RED'\nassert n() == 1 and n().name == 'ONE'\n"
        ),
        "P(1, 2)",
        "P(1, 3)",
    ),
    "what it prints": (
        "def hello(name):\n    print('Hello,', name)\n",
        "import io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n    hello('you')\nassert out.getvalue() == 'Hello, you\\n'\n",
        "'Hello,'",
        "'Bye,'",
    ),
    "what it reads": (
        "import sys\ndef add():\n    a = int(input('a? '))\n    return a + sum(map(int, sys.stdin))\n",
        (
            "import io, sys\nsys.stdin = io.StringIO('1\\n2\\n3\\n')\nassert add() == 6\n"
            "from unittest.mock import patch\nwith patch('builtins.input', side_effect=['5']):\n    assert add() == 5\n"
        ),
        "return a +",
        "return 1 +",
    ),
    "files": (
        "def copy(a, b):\n    with open(a) as f, open(b, 'w') as g:\n        g.write(f.read().upper())\n",
        "open('a.txt', 'w').write('x')\ncopy('a.txt', 'b.txt')\nassert open('b.txt').read() == 'X'\n",
        ".upper()",
        "",
    ),
    "a program of its own": (
        "def main():\n    print(int(input()) + int(input()))\nif __name__ == '__main__':\n    main()\n",
        "import subprocess, sys\ndone = subprocess.run([sys.executable, 'solution.py'], input='1\\n2\\n', capture_output=True, text=True)\nassert done.stdout == '3\\n', done\n",
        None,
        None,
    ),
    "coroutines": (
        "import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x + 1\n",
        "import asyncio\nassert asyncio.run(f(1)) == 2\nasync def main():\n    return await asyncio.gather(f(1), f(2))\nassert asyncio.run(main()) == [2, 3]\n",
        "x + 1",
        "x",
    ),
    "a context manager": (
        "import contextlib\n@contextlib.contextmanager\ndef opened(log):\n    log('in')\n    yield 5\n    log('out')\n",
        "log = []\nwith opened(log.append) as x:\n    assert x == 5 and log == ['in']\nassert log == ['in', 'out']\n",
        "log('out')",
        "log('in')",
    ),
    "mocks that are filled": (
        "import decimal\ndef f(m, user):\n    m.total = decimal.Decimal(3)\n    m.tags = ['a', {'b': 1}]\n    m.user = user\n    m.other = m.last\n    m.send(3)\n",
        (
            "from unittest.mock import Mock\nclass User:\n    pass\nm, user = Mock(), User()\nf(m, user)\n"
            "m.send.assert_called_once_with(3)\nassert (m.total, m.tags) == (3, ['a', {'b': 1}])\n"
            "assert m.user is user and m.other is m.last\n"
        ),
        "m.send(3)",
        "m.send(4)",
    ),
    "patches": (
        "import time\ndef f():\n    return time.time() + helper()\ndef helper():\n    return 1\n",
        (
            "from unittest.mock import patch\nwith patch('time.time', return_value=5) as fake:\n    assert f() == 6\n    fake.assert_called_once_with()\nassert f() > 1000\n"
            "with patch('solution.helper', lambda: -5), patch('time.time', return_value=5):\n    assert f() == 0\nassert helper() == 1\n"
        ),
        "time.time() +",
        "5 +",
    ),
    "seeds": (
        "import random\ndef f():\n    return random.randint(0, 10**9)\n",
        "import random\nrandom.seed(7)\nx = random.randint(0, 10**9)\nrandom.seed(7)\nassert f() == x\n",
        "random.randint",
        "0 * random.randint",
    ),
    "the environment and the folder": (
        "import os\ndef f():\n    return os.environ['NAME'] + open('x').read()\n",
        (
            "import os\nos.environ['NAME'] = 'a'\nos.mkdir('d')\nos.chdir('d')\nopen('x', 'w').write('b')\nassert f() == 'ab'\n"
            "from unittest.mock import patch\nwith patch.dict(os.environ, {'NAME': 'c'}):\n    assert f() == 'cb'\nassert f() == 'ab'\n"
        ),
        "os.environ['NAME']",
        "'a'",
    ),
    "modules that only the solution imports": (
        "import math\nfrom collections import Counter\nTABLE = {1: [2]}\ndef f(x):\n    return math.sqrt(x)\n",
        "assert math.isclose(f(2), math.sqrt(2)) and Counter('aa') == {'a': 2} and TABLE == {1: [2]}\n",
        "math.sqrt(x)",
        "x",
    ),
    "a name of a built-in": (
        "def sum(a, b):\n    return a * b\n",
        "assert sum(2, 5) == 10\n",
        "a * b",
        "a + b",
    ),
    "deep copies": (
        STACK,
        "import copy\na = Stack([1])\nb = copy.deepcopy(a)\nb.push(2)\nassert len(a) == 1 and len(b) == 2 and copy.copy(a) == a\n",
        "self.items.append(x)",
        "pass",
    ),
}


@pytest.mark.parametrize("kind", USES)
def test_right_solutions_pass_and_wrong_ones_do_not(sandbox, kind):
    """Whatever they make, take, change, raise, print or read."""
    solution, tests, right, wrong = USES[kind]
    assert outcome(sandbox, solution, tests) == Outcome("passed")
    broken = solution.replace(right, wrong) if right else solution.replace("+", "-")
    assert broken != solution
    assert outcome(sandbox, broken, tests).status == "failed"


HANDOVER = """
import threading
class Handover:
    def __init__(self):
        self.ready, self.value = threading.Event(), None
    def put(self, value):
        self.value = value
        self.ready.set()
    def take(self):
        self.ready.wait()
        return self.value
"""


def test_a_call_of_one_thread_may_wait_for_that_of_another(sandbox):
    """Each thread of the tests has one of the solution's."""
    tests = (
        "import threading\nh, got = Handover(), []\n"
        "threads = [threading.Thread(target=lambda: got.append(h.take())) for _ in range(32)]\n"
        "for t in threads:\n    t.start()\nh.put(7)\nfor t in threads:\n    t.join()\nassert got == [7] * 32\n"
    )
    assert outcome(sandbox, HANDOVER, tests) == Outcome("passed")
    assert outcome(sandbox, HANDOVER.replace("= value", "= 1"), tests).status == "failed"


@pytest.mark.parametrize(
    ("solution", "tests", "reason"),
    [
        (STACK, "class More(Stack):\n    pass\nassert More()", "derive from a class"),
        ("x = 1", "exec(open('solution.py').read())\nassert x", "read solution.py"),
        (
            "import logging\ndef f():\n    logging.error('x')\n",
            "import unittest\nclass T(unittest.TestCase):\n    def test_log(self):\n        with self.assertLogs():\n            f()\n",
            "the tests use assertLogs",
        ),
    ],
)
def test_what_cannot_be_done_from_another_process_is_missing(sandbox, solution, tests, reason):
    """With the reason: it says nothing about the solution."""
    found = outcome(sandbox, solution, tests)
    assert found.status == "not measured"
    assert reason in found.message


TABLES = """
import numpy as np, pandas as pd
table = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [1.5, None]}, index=[5, 6])
table["d"] = pd.to_datetime(["2024-01-01", "2024-02-01"])
wanted = table.assign(e=table.a * 2)
pd.testing.assert_frame_equal(more(table), wanted)
assert more(table).equals(wanted) and isinstance(more(table).e, pd.Series)
pd.testing.assert_series_equal(totals(table), table.groupby("d").a.sum())
array = np.arange(6.0).reshape(2, 3)
np.testing.assert_array_equal(halves(array), np.arange(6.0).reshape(2, 3) / 2)
assert array[1, 2] == 2.5 and halves(np.float64(1)).dtype == np.float64
fill(table)
assert list(table.e) == [0, 0]
"""
WITH_TABLES = """
def more(table):
    return table.assign(e=table.a * 2)
def totals(table):
    return table.groupby("d").a.sum()
def halves(array):
    array /= 2
    return array
def fill(table):
    table["e"] = 0
"""


def test_arrays_and_tables_cross_by_value():
    """Those of numpy and pandas, where they are installed: here, in the interpreter of the tests."""
    pytest.importorskip("pandas")
    here = unconfined(Limits(time_s=60, memory_mb=2048), sys.executable)
    assert outcome(here, WITH_TABLES, TABLES) == Outcome("passed")
    assert outcome(here, WITH_TABLES.replace("* 2", "* 3"), TABLES).status == "failed"


def test_a_solution_may_recurse_as_deep_as_in_a_script(sandbox):
    """What calls it takes nothing of the depth that Python allows."""
    deep = "def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\n"
    assert outcome(sandbox, deep, "assert f(990) == 990").passed
    assert outcome(sandbox, deep, "f(1100)").message.startswith("RecursionError")


def test_long_lists_cross_quickly_enough(sandbox):
    """A list of a million numbers is no reason to time out."""
    tests = "xs = list(range(10**6))\nassert double(xs)[-1] == 2 * (10**6 - 1)"
    assert outcome(sandbox, "def double(xs):\n    return [2 * x for x in xs]", tests).passed


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text()
    | st.binary()
    | st.decimals()
    | st.fractions()
    | st.datetimes()
    | st.timedeltas()
    | st.uuids(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.frozensets(st.integers() | st.text(), max_size=1)
        | st.sets(st.floats(allow_nan=False), max_size=1)
    ),
    max_leaves=20,
)


@given(PLAIN)
def test_every_plain_value_is_its_text(value):
    """There and back is the same value of the same type, also inside others."""
    codec = _wire.Codec()
    back = codec.decode(json.loads(json.dumps(codec.encode(value))))
    assert repr(back) == repr(value)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from("itsfdbBcrlnvoXxhpmMgwz"), inner, max_size=2)
        | st.tuples(st.sampled_from(["decimal.Decimal", "collections.deque", "builtins"]), inner)
    ),
    max_leaves=15,
)


class Silent:
    """A channel on which nobody is."""

    def send(self, message):
        raise _wire.ClosedError

    receive = send


@given(ANYTHING)
def test_whatever_a_solution_says_is_a_value_or_not_understood(text):
    """Never another exception, which a test might expect, and never anything that is run."""
    with contextlib.suppress(_wire.WireError, _wire.ClosedError):
        _examiner.Examiner(Silent()).decode(json.loads(json.dumps(text)))
