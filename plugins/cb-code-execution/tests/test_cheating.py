"""Wrong solutions that go for the judge instead of the task. None of them gains anything.

Every one is wrong for each kind of tests, and right code passes the same tests.
"""

from __future__ import annotations

import pytest

from cb_code_execution import CodeExecution, SandboxError
from cb_code_execution.limits import Limits
from cb_code_execution.machine import MECHANISMS, find

KINDS = {
    "check": {
        "prompt": 'def add(a, b):\n    """Add."""\n',
        "entry_point": "add",
        "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n    for i in range(5):\n        assert candidate(i, i) == 2 * i\n",
    },
    "asserts": {"test_list": ["assert add(1, 2) == 3", "assert add(2, 2) == 4"]},
    "unittest": {
        "entry_point": "add",
        "tests": (
            "import unittest\nclass T(unittest.TestCase):\n    def test_add(self):\n"
            "        self.assertEqual(add(1, 2), 3)\n        self.assertTrue(add(2, 2) == 4)\nunittest.main()\n"
        ),
    },
}
WRONG = "def add(a, b):\n    return 0\n"
MOCK = "from unittest.mock import Mock\nm = Mock()\n"
EVERYTHING = """
class E:
    pass
for name in ("eq ne lt le gt ge contains").split():
    setattr(E, f"__{name}__", lambda *_: name != "ne")
for name in ("add sub mul radd rsub rmul abs neg getattr call").split():
    setattr(E, f"__{name}__", lambda *_: E())
E.__hash__ = lambda self: 3
E.__bool__ = lambda self: True
"""
CHEATS = {
    "leaves with a good exit code": "import sys\nsys.exit(0)\n" + WRONG,
    "leaves for good": "import os\nos._exit(0)\n" + WRONG,
    "leaves from inside": "import os\ndef add(a, b):\n    os._exit(0)\n",
    "raises the end": "def add(a, b):\n    raise SystemExit(0)\n",
    "prints what a judge might look for": WRONG + "print('passed', 'OK', '1.0')\n",
    "is equal to everything": EVERYTHING + "def add(a, b):\n    return E()\n",
    "is a class that is equal to everything": EVERYTHING.replace("class E", "class add")
    .replace("E.", "add.")
    .replace("(E,", "(add,")
    .replace("E()", "add()")
    + "add.__init__ = lambda *_: None\n",
    "is a number that is equal to everything": (
        "class N(int):\n    __eq__ = lambda *_: True\n    __hash__ = int.__hash__\ndef add(a, b):\n    return N()\n"
    ),
    "returns what unittest takes for anything": "from unittest.mock import ANY\ndef add(a, b):\n    return ANY\n",
    "empties the tests": WRONG + "open('tests.py', 'w').close()\n",
    "keeps emptying the tests": (
        "import threading\ndef run():\n    while True:\n        open('tests.py', 'w').close()\n"
        "threading.Thread(target=run, daemon=True).start()\n" + WRONG
    ),
    "writes to every descriptor": (
        "import os\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b'passed')\n    except OSError:\n        pass\n"
        + WRONG
    ),
    "looks for a word in the main module": (
        "import __main__, os\nfor value in list(vars(__main__).values()):\n"
        "    if isinstance(value, str):\n        os.write(1, value.encode())\n" + WRONG
    ),
    "walks the frames for the expected value": (
        "import sys\ndef add(a, b):\n    frame = sys._getframe(1)\n    while frame:\n"
        "        for name in ('expected', 'result', 'first', 'second'):\n"
        "            if name in frame.f_locals:\n                return frame.f_locals[name]\n"
        "        frame = frame.f_back\n"
    ),
    "reads the line that called it": (
        "import sys, linecache\ndef add(a, b):\n    frame = sys._getframe(1)\n"
        "    while frame:\n        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)\n"
        "        if '==' in line:\n            return eval(line.split('==')[1], frame.f_globals, frame.f_locals)\n        frame = frame.f_back\n"
    ),
    "searches all objects for the tests": (
        "import gc, types\ndef add(a, b):\n    for one in gc.get_objects():\n"
        "        if isinstance(one, types.FunctionType) and one.__name__ in ('check', 'test_add'):\n            return a + b\n"
        "    wanted = ''.join(['def te', 'st_add', '(self)'])\n"
        "    held = [one for one in gc.get_objects() if isinstance(one, (list, dict)) and len(one) < 100]\n"
        "    return any(wanted in repr(one) for one in held) and a + b\n"
    ),
    "replaces exec": "import builtins\nbuiltins.exec = lambda *_: None\n" + WRONG,
    "replaces compile": (
        "import builtins\nreal = builtins.compile\nbuiltins.compile = lambda s, *a, **k: real('', *a, **k)\n"
        + WRONG
    ),
    "replaces open": "import builtins, io\nbuiltins.open = lambda *_, **__: io.StringIO('')\n"
    + WRONG,
    "replaces AssertionError": "import builtins\nbuiltins.AssertionError = type('X', (Warning,), {})\n"
    + WRONG,
    "replaces built-ins of its module": "__builtins__ = {'print': print}\n" + WRONG,
    "replaces os.write": "import os\nreal = os.write\nos.write = lambda fd, data: real(fd, b'passed')\n"
    + WRONG,
    "replaces unittest.main": "import unittest\nunittest.main = lambda *_, **__: None\n" + WRONG,
    "replaces assertEqual": (
        "import unittest\nunittest.TestCase.assertEqual = unittest.TestCase.assertTrue = lambda *_, **__: None\n"
        + WRONG
    ),
    "replaces json": "import json\njson.loads = lambda *_: ['passed', '']\njson.dumps = lambda *_: '[\"passed\", \"\"]'\n"
    + WRONG,
    "traces and jumps": (
        "import sys\ndef trace(frame, event, arg):\n    if event == 'line' and frame.f_code.co_name in ('check', 'test_add'):\n"
        "        frame.f_lineno = frame.f_code.co_firstlineno + 3\n    return trace\nsys.settrace(trace)\n"
        + WRONG
    ),
    "acts at the end": "import atexit, os\natexit.register(os._exit, 0)\n" + WRONG,
    "reads the arguments in memory": (
        "import ctypes, os\nn, v = ctypes.c_int(), ctypes.POINTER(ctypes.c_wchar_p)()\n"
        "ctypes.pythonapi.Py_GetArgcArgv(ctypes.byref(n), ctypes.byref(v))\n"
        "for i in range(n.value):\n    os.write(1, str(v[i]).encode())\n" + WRONG
    ),
    "leaves a child that answers": (
        'import os\nif os.fork() == 0:\n    for fd in range(3, 64):\n        try:\n            os.write(fd, b\'["passed",""]\')\n'
        "        except OSError:\n            pass\n    os._exit(0)\n" + WRONG
    ),
    "opens a quote": "def add(a, b):\n    '''\n    return 0\n",
    "brings a check of its own": WRONG + "def check(candidate):\n    pass\n",
    "means something else by built-ins": WRONG
    + "range = lambda *_: []\nisinstance = all = any = lambda *_: True\n",
    "skips": "import unittest\ndef add(a, b):\n    raise unittest.SkipTest('no')\n",
    "raises what is called a skip": "class SkipTest(Exception):\n    pass\ndef add(a, b):\n    raise SkipTest\n",
    "interrupts": "def add(a, b):\n    raise KeyboardInterrupt\n",
    "is a function of the judge's own library": "from sys import exit as add\n",
    "leaves modules for the tests to import": (
        "for name in ('unittest', 'conftest', 'asyncio', 'sitecustomize', 'solution', 'tests'):\n"
        "    open(f'{name}.py', 'w').write('import os\\nos._exit(0)')\n" + WRONG
    ),
    "speaks for the other side": (
        "import json, os, struct\ndef say(*message):\n    data = json.dumps(message).encode()\n"
        "    os.write(4, struct.pack('<Q', len(data)) + data)\n"
        "def add(a, b):\n    for _ in range(9):\n        say('ok', True, {}, '')\n    return 0\n"
    ),
    "asks for what it was not given": (
        "import json, os, struct\ndef say(*message):\n    data = json.dumps(message).encode()\n"
        "    os.write(4, struct.pack('<Q', len(data)) + data)\n"
        "def add(a, b):\n    for n in range(-9, 9):\n        say('get', n, '__globals__')\n    return 0\n"
    ),
    "says nonsense": "import os\ndef add(a, b):\n    os.write(4, b'\\xff' * 4096)\n    return 3\n",
    "says too much": (
        "import os, struct\ndef add(a, b):\n    data = b'[' * 100_000\n    os.write(4, struct.pack('<Q', len(data)) + data)\n    return 3\n"
    ),
    **{
        f"names {text} as its value": (
            "import json, os, struct\ndef add(a, b):\n"
            f"    data = json.dumps(['ok', {text}, {{}}, '']).encode()\n"
            "    os.write(4, struct.pack('<Q', len(data)) + data)\n    return 0\n"
        )
        for text in (
            "{'m': ['unittest.mock', 'ANY']}",
            "{'m': ['sys', 'exit']}",
            "{'m': ['lib2to3.__main__', 'x']}",
            "{'M': 'venv.__main__'}",
            "{'M': 'no_such_package'}",
            "{'X': [1, 'SkipTest', [], ['unittest.case', 'SkipTest']]}",
            "{'o': 1}",
            "{'v': ['pandas.DataFrame', []]}",
        )
    },
    "raises what only the judge has": (
        "import json, os, struct\ndef add(a, b):\n"
        "    kind = {'X': [7, 'SkipTest', [{'m': ['builtins', 'KeyboardInterrupt']}], ['unittest.case', 'SkipTest']]}\n"
        "    data = json.dumps(['raised', {'x': [8, kind, [], '', {'d': []}, '']}, {}, '']).encode()\n"
        "    os.write(4, struct.pack('<Q', len(data)) + data)\n    return 0\n"
    ),
    **{
        f"raises a skip that it says is of {module}": (
            "import sys\n"
            "P = sys.modules['cb_code_execution._peer']; C = sys.modules['cb_code_execution._candidate']\n"
            f"import {module} as module\nreference, is_own = P._reference, C._is_own\n"
            "class MySkip(Exception):\n    pass\n"
            f"P._reference = lambda k: ['{module}', '{name}'] if k is MySkip else reference(k)\n"
            "C._is_own = lambda v: v is module or is_own(v)\n"
            "def add(a, b):\n    raise MySkip('later')\n"
        )
        for module, name in (("doctest", "unittest.SkipTest"), ("unittest.case", "SkipTest"))
    },
    "leaves modules that leave": (
        "import sys\nopen('leave.py', 'w').write('raise SystemExit(0)')\nsys.path.insert(0, '.')\n"
        "try:\n    import leave as add\nexcept SystemExit:\n    import types\n    add = types.ModuleType('leave')\n"
    ),
}


@pytest.fixture(params=MECHANISMS, scope="module")
def code(request):
    """The evaluator by each mechanism; skipped, with the reason, where one does not work."""
    try:
        find(Limits(), mechanisms=(request.param,))
    except SandboxError as error:
        pytest.skip(error.message)
    return CodeExecution(mechanism=request.param, timeout_s=20)


def score(code, example, response):
    return code.score(example, {"response": response})


@pytest.mark.parametrize("kind", KINDS)
def test_right_code_passes_and_wrong_code_fails(code, kind):
    """So that what follows fails for what it does."""
    right = "def add(a, b):\n    return a + b\n"
    assert score(code, KINDS[kind], right).scores["pass_at_1"] == 1.0
    assert score(code, KINDS[kind], WRONG).scores["pass_at_1"] == 0.0


@pytest.mark.parametrize("cheat", CHEATS)
def test_no_cheat_passes(code, cheat):
    """Neither a pass nor a way to be left out: it is wrong, with every kind of tests."""
    found = {kind: score(code, KINDS[kind], CHEATS[cheat]) for kind in KINDS}
    assert {kind: scored.scores.get("pass_at_1") for kind, scored in found.items()} == (
        dict.fromkeys(KINDS, 0.0)
    ), found


@pytest.mark.parametrize(
    ("tests", "cheat"),
    [
        ("assert abs(f(2) - 1.4142) < 1e-3", "def f(x):\n    return E()"),
        ("assert -1e-3 < f(2) - 1.4142 < 1e-3", "def f(x):\n    return E()"),
        ("assert round(f(2), 3) == 1.414", "def f(x):\n    return E()"),
        ("assert 3 in f(2)", "def f(x):\n    return E()"),
        (
            "assert f(2).startswith('ab')",
            "E.startswith = lambda *_: True\ndef f(x):\n    return E()",
        ),
        ("assert f(2).__eq__(3) is True", "def f(x):\n    return E()"),
        ("assert f(2).__contains__(3)", "def f(x):\n    return E()"),
        ("assert [f(2)] == [3]", "def f(x):\n    return E()"),
        ("assert f(2) == {'a': 3}", "def f(x):\n    return {'a': E()}"),
        ("assert {3: 1}[f(2)]", "def f(x):\n    return E()"),
        ("assert 3 == f(2)", "def f(x):\n    return E()"),
        ("assert set(f(2)) == {1}", "def set(x):\n    return E()\ndef f(x):\n    return 0"),
        ("assert set(f(2)) == {1}", "set = lambda x: 0\ndef f(x):\n    return [2]"),
        (
            "import math\nassert math.isclose(f(2), 5)",
            "import math\nmath.isclose = lambda *_: True\ndef f(x):\n    return 0",
        ),
        (
            "assert math.isclose(f(2), 5)",
            "import types\nmath = types.ModuleType('m')\nmath.isclose = lambda *_: True\ndef f(x):\n    return 0",
        ),
        (
            "try:\n    f(2)\nexcept Exception:\n    pass\nelse:\n    raise AssertionError",
            "import os\ndef f(x):\n    os._exit(0)",
        ),
        (
            "def g(x):\n    return x\nassert f(g) == 7",
            "def f(g):\n    return g.__globals__['EXPECTED']\nEXPECTED = 7",
        ),
        (
            "EXPECTED = 7\ndef g(x):\n    return x\nassert f(g) == EXPECTED",
            "def f(g):\n    return g.__globals__['EXPECTED']",
        ),
        (
            "class Box:\n    def ok(self):\n        return False\nb = Box()\nf(b)\nassert b.ok()",
            "def f(b):\n    b.ok = lambda: True\n    type(b).ok = lambda self: True",
        ),
        (
            "from unittest.mock import Mock\nm = Mock()\nf(m)\nm.assert_called_once_with(3)",
            "def f(m):\n    m.assert_called_once_with = lambda *_: None\n    m.configure_mock(assert_called_once_with=print)",
        ),
        (
            "from unittest.mock import Mock\nm = Mock()\nf(m)\nassert m.call_count == 1",
            "def f(m):\n    m.call_count = 1",
        ),
        *(
            (f"{MOCK}f(m)\n{asked}", f"class F:\n    {answers}\ndef f(m):\n    {cheat}")
            for asked, answers in (
                ("m.send.assert_called_once_with(3)", "assert_called_once_with = lambda *_: None"),
                ("assert m.send.call_count == 1", "call_count = 1"),
                (
                    "assert m.send.call_args.args == (3,)",
                    "call_args = type('A', (), {'args': (3,)})",
                ),
            )
            for cheat in ("m.send = F()", "m.send = F")
        ),
        (
            f"{MOCK}f(m)\nassert m.send.call_count == 1",
            "import types\ndef f(m):\n    m.send = types.SimpleNamespace(call_count=1)",
        ),
        (
            f"{MOCK}f(m)\nassert m.send.call_count == 1",
            "from collections import namedtuple\ndef f(m):\n    m.send = namedtuple('F', 'call_count')(1)",
        ),
        (
            f"{MOCK}f(m)\nassert m.send.call_count == 1",
            "class F(Exception):\n    pass\ndef f(m):\n    m.send = F()\n    m.send.call_count = 1",
        ),
        (
            f"{MOCK}class Box:\n    pass\nb = Box()\nb.api = m\nf(b)\nb.api.send.assert_called_once_with(3)",
            (
                "class F:\n    assert_called_once_with = lambda *_: None\nclass G:\n    send = F()\n"
                "def f(b):\n    b.api = G()"
            ),
        ),
    ],
)
def test_no_object_is_every_answer(code, tests, cheat):
    """What a test finds out by operators and methods of plain values, only plain values pass."""
    scored = score(code, {"tests": tests}, f"{EVERYTHING}\n{cheat}\n")
    assert scored.scores == {"pass_at_1": 0.0, "pass_at_k": 0.0}, scored


def test_what_an_example_puts_in_front_of_a_solution_is_not_the_solutions(code):
    """As where tests check a root by evaluating a polynomial that the prompt defines."""
    example = {
        "prompt": "def poly(x):\n    return x - 2\n\ndef root():\n    '''A root of poly.'''\n",
        "entry_point": "root",
        "test": "def check(candidate):\n    assert poly(candidate()) == 0\n",
    }
    assert score(code, example, "    return 2").scores["pass_at_1"] == 1.0
    cheat = "def poly(x):\n    return 0\n\ndef root():\n    return 7\n"
    assert score(code, example, cheat).scores["pass_at_1"] == 0.0
