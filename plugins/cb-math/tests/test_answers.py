"""Where in a response the answer stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_math import final_answer
from cb_math.answers import last_boxed


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (r"So \boxed{42}.", "42"),
        (r"First \boxed{3}, then \boxed{4}.", "4"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{\text{a set } \{1, 2\}}", r"\text{a set } \{1, 2\}"),
        (r"\fbox{7}", "7"),
        (r"It is \boxed 5.", "5"),
        (r"cut off: \boxed{12", "12"),
        ("48 + 24 = 72\n#### 72", "72"),
        ("#### 1,000\n", "1,000"),
        ("The answer is 42", "42"),
        ("The answer is 42.", "42"),
        ("The final answer is: $\\frac{3}{4}$.", r"\frac{3}{4}"),
        ("**Answer: 3.5**", "3.5"),
        ("The answer is 7, because 3 + 4 is 7.", "7"),
        ("The answer is 7. I am sure of 100%.", "7"),
        ("The answer is 12 apples in all", "12"),
        ("It is 42", "42"),
        ("So it is 42.", "42"),
        ("xy + ab", "xy + ab"),
        ("(1, 2)", "(1, 2)"),
        ("x^2 + 1", "x^2 + 1"),
        ("-0.5", "-0.5"),
        ("\\(x\\) is it: \\(7\\)", "7"),
        (r"So \[\begin{matrix}1\\[2pt]2\end{matrix}\]", r"\begin{matrix}1\\[2pt]2\end{matrix}"),
        ("We find $x = 3$ and then $y = 5$", "y = 5"),
        ("There were 5 and then 12 of them left over", "12"),
        ("It grew by 12% over the year in question", "12%"),
        ("nobody can tell how many there were", None),
        ("", None),
        ("\\boxed{}", None),
    ],
)
def test_the_last_word_counts(response, answer):
    """Boxes first, then marks, then statements, then formulas, then numbers."""
    assert final_answer(response) == answer


@given(st.text())
def test_any_text_has_an_answer_or_none(text):
    """What models write breaks nothing."""
    answer = final_answer(text)
    assert answer is None or answer.strip() == answer != ""


@given(st.text(alphabet="ab{} "))
def test_a_balanced_box_gives_back_what_was_put_in(content):
    """Braces nest."""
    depth = 0
    for character in content:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return
    if depth == 0:
        assert last_boxed(f"\\boxed{{{content}}} and more") == content


@pytest.mark.parametrize(
    "response",
    [
        "\\(" * 50_000,
        "\\[" * 50_000,
        "\\boxed" + " " * 100_000,
        "the answer is" + "\n" * 100_000,
        "the answer is" + ":" * 100_000,
        "the answer" + " " * 100_000,
        "$" + "\\" * 100_000,
    ],
)
def test_looking_takes_time_that_grows_with_the_text(response):
    """A hundred kilobytes that lead nowhere would take minutes otherwise."""
    answer = final_answer(response)
    assert answer is None or len(answer) <= len(response)
