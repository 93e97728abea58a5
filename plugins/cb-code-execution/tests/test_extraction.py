"""Which part of a response is code, and what belongs in front of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_code_execution.extraction import code_of, compiles, program

PROMPT = 'import math\n\n\ndef area(r):\n    """The area of a circle."""\n'
SOLUTION = "def f():\n    return 1\n"


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (SOLUTION, SOLUTION),
        (f"```python\n{SOLUTION}```", SOLUTION),
        (f"```\n{SOLUTION}```", SOLUTION),
        (f"Here you are:\n\n```py\n{SOLUTION}```\nIt returns 1.", SOLUTION),
        (f"~~~python\n{SOLUTION}~~~", SOLUTION),
        (f"````python\n{SOLUTION}````", SOLUTION),
        (f"```Python title=x\n{SOLUTION}```", SOLUTION),
        (f"```python\n{SOLUTION}", SOLUTION),
        (f"```bash\npip install x\n```\n```python\n{SOLUTION}```\n```text\n1\n```", SOLUTION),
        (
            f"1. So:\n   ```python\n   {SOLUTION.replace(chr(10) + '    ', chr(10) + '       ')}   ```",
            SOLUTION,
        ),
        (f"```{{.python}}\n{SOLUTION}```", SOLUTION),
        ("", ""),
        (f"<think>I'd say\n```python\nx = 1\n```\n</think>\n{SOLUTION}", SOLUTION),
        (f"<think>It isn't hard</think>\n```python\n{SOLUTION}```", SOLUTION),
    ],
)
def test_code_stands_in_fences_or_alone(response, code):
    """Prose around it, other languages, and a fence left open do not matter."""
    assert code_of(response).strip() == code.strip()


def test_of_several_blocks_the_last_that_defines_the_function_counts():
    """A model that corrects itself is taken at its last word; an example of use is none."""
    response = (
        "```python\ndef f():\n    return 0\n```\nBetter:\n"
        "```python\ndef f():\n    return 1\n```\nUse it:\n```python\nprint(f())\n```"
    )
    assert code_of(response, "f") == "def f():\n    return 1\n"


def test_blocks_that_only_work_together_are_joined():
    """None defines the function asked for."""
    response = "```python\na = 1\n```\nand\n```python\nb = a\n```"
    assert code_of(response, "f") == "a = 1\n\nb = a\n"


@pytest.mark.parametrize(
    "response",
    [
        "    return math.pi * r ** 2\n",
        "return math.pi * r ** 2",
        "def area(r):\n    return math.pi * r ** 2\n",
        "```python\ndef area(r):\n    return math.pi * r ** 2\n```",
        "```python\n    return math.pi * r ** 2\n```",
        "import cmath\n\ndef area(r):\n    return math.pi * r ** 2\n",
    ],
)
def test_a_response_continues_its_prompt_or_replaces_its_function(response):
    """Whichever way a model answers, the program has the function and the prompt's imports."""
    space = {}
    exec(program(response, PROMPT, "area"), space)
    assert space["area"](2) == pytest.approx(12.566370614359172)


def test_without_a_prompt_the_code_stands_for_itself():
    """As in MBPP, where the task is a sentence."""
    assert program(SOLUTION, None, "f") == SOLUTION
    assert program(SOLUTION, "Write a function f.", "f") == SOLUTION


@given(st.text(max_size=200), st.text(max_size=50))
def test_any_text_becomes_some_program(response, prompt):
    """Odd responses are wrong programs, never an exception here."""
    assert isinstance(program(response, prompt, "f"), str)
    assert compiles(response) in (True, False)


@pytest.mark.parametrize("part", ["`", "~", "```", "```a", "``` ", "```\n~~~\n", "\n    ```", " "])
def test_extraction_takes_time_that_grows_with_the_text(part):
    """A hundred kilobytes of fences that fit nowhere would take hours otherwise."""
    response = part * (100_000 // len(part))
    assert isinstance(program(response, PROMPT, "area"), str)
    assert code_of("```" + response + "\n") is not None
