"""Equal as mathematics: the pairs that string comparison gets wrong, both ways.

Pairs marked "peer" are those on which another evaluator of this field is known to err; the
last column is what is right. The others follow from the definitions of their notations.
"""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_math import MathEquivalence
from cb_math._workers import Workers
from cb_math.comparison import decided, number, split_unit
from cbcore.exceptions import MissingScoreError

PEER = [
    ("12", "1,2", False),
    (r"\displaystyle 5", r"\displaystyle 7", False),
    (r"x=1 \quad y=2", r"x=1 \quad y=3", False),
    ("10000000", "10000009", False),
    ("42", "The answer is 42", True),
    (r"-\frac{1}{2}", "-0.5", True),
    (r"\dfrac{1}{2}", "0.5", True),
    ("(1,2)", "(1, 2)", True),
    ("4", r"\boxed{3} was wrong, so \boxed{4}", True),
    (r"\frac{1}{2}", "0.5", True),
    ("50%", "0.5", True),
    ("1000", "1,000", True),
    ("42", r"\boxed{42}", True),
    ("50%", "50", False),
]
NOTATION = [
    (r"\frac12", "0.5", True),
    (r"1\frac{3}{4}", "1.75", True),
    (r"\frac{3}{4}", r"75\%", True),
    (r"\frac{3}{4}", r"75", False),
    (r"\frac{x}{4}", r"25x\%", True),
    ("10^{3}", "1000", True),
    ("6.02e23", "602000000000000000000000", True),
    ("0.333", "1/3", False),
    ("0.3333333", "1/3", True),
    (r"\$18.90", "18.9", True),
    (r"5\text{ cm}", "5", True),
    (r"5\text{ cm}", "5 cm", True),
    (r"5\text{ cm}", r"5\text{ m}", False),
    (r"5\text{ cm}^2", r"5\text{ cm}", False),
    (r"90^\circ", "90", True),
    (r"90^\circ", "90 degrees", True),
    ("x^2+2x+1", "(x+1)^2", True),
    ("x^2+2x+1", "(x+2)^2", False),
    (r"2\sqrt{2}", r"\sqrt{8}", True),
    (r"\frac{\pi}{2}", r"\pi/2", True),
    ("x=5", "5", True),
    ("[1,2)", "[1,2)", True),
    ("[1,2)", "[1,2]", False),
    ("(1,2)", "(2,1)", False),
    (r"\{1,2\}", r"\{2,1\}", True),
    (r"(-\infty,3)\cup(5,\infty)", r"(-\infty, 3) \cup (5, \infty)", True),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{bmatrix}1&2\\3&4\end{bmatrix}", True),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&2\\3&5\end{pmatrix}", False),
    (r"\text{even}", "even", True),
]


@pytest.mark.parametrize(("gold", "response", "equal"), PEER + NOTATION)
def test_answers_are_equal_as_mathematics(gold, response, equal):
    """However they are written."""
    scored = MathEquivalence().score({"answer": gold}, {"response": response})
    assert scored.scores == {"math_equiv": float(equal)}


def test_one_of_several_golds_is_enough():
    """And the row keeps the answer that was read."""
    scored = MathEquivalence().score({"answers": ["3", "5"]}, {"response": "It must be 5."})
    assert scored.scores == {"math_equiv": 1.0}
    assert scored.details == {"answer": "5"}


def test_gold_may_be_a_number_or_a_worked_solution():
    """As JSON has it, and as some datasets publish it."""
    assert MathEquivalence().score({"answer": 42}, {"response": "42.0"}).scores["math_equiv"] == 1
    worked = {"answer": "6 times 7 makes 42\n#### 42"}
    assert MathEquivalence().score(worked, {"response": "42"}).scores["math_equiv"] == 1


@pytest.mark.parametrize(
    ("example", "output", "reason"),
    [
        ({}, {"response": "1"}, "no gold answer"),
        ({"answer": ""}, {"response": "1"}, "no gold answer"),
        ({"answer": "1"}, {}, "no response"),
        ({"answer": "1"}, {"response": " "}, "no response"),
        ({"answer": "1"}, {"response": "it cannot be told"}, "no answer was found"),
    ],
)
def test_what_cannot_be_compared_is_missing(example, output, reason):
    """Never a zero."""
    with pytest.raises(MissingScoreError, match=reason):
        MathEquivalence().score(example, output)


def test_a_comparison_that_takes_too_long_is_ended():
    """The process is killed, and the next comparison has another."""
    evaluator = MathEquivalence(timeout_s=0.5)
    with pytest.raises(MissingScoreError, match=r"took longer than 0.5 s"):
        evaluator.score({"answer": "9"}, {"response": "9^{9^{9^{9}}}"})
    patient = MathEquivalence(timeout_s=60)
    assert patient.score({"answer": "(x+1)^2"}, {"response": "x^2+2x+1"}).scores["math_equiv"] == 1


def test_comparisons_work_from_any_thread():
    """math-verify by itself refuses to work in threads."""
    found = []
    compare = MathEquivalence(timeout_s=60).equivalent
    threads = [
        threading.Thread(target=lambda: found.append(compare("x+x", "2x"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_processes_are_shared_and_ended():
    """One after another uses one process; closing ends it."""
    workers = Workers(most=2)
    for _ in range(3):
        assert workers.equal("x+x", "2x", 60)
    (process,) = workers._idle
    workers.close()
    assert process.returncode is not None


def test_the_time_limit_is_checked():
    """With the value."""
    with pytest.raises(ValueError, match="not 0"):
        MathEquivalence(timeout_s=0)


@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12))
def test_integers_are_equal_only_when_they_are(left, right):
    """Whether they have separators or not, and whatever the sign."""
    assert decided(f"{left:,}", str(right)) is (left == right)


@pytest.mark.parametrize(
    ("gold", "answer", "equal"),
    [
        ("9" * 5000, "9" * 5000 + ".0", True),
        ("7", "9" * 100_000, False),
        ("1/" + "3" * 5000, "2/" + "3" * 5000, False),
        ("1", "1" + " " * 100_000 + "x", None),
    ],
)
def test_numbers_may_have_any_length(gold, answer, equal):
    """Python itself refuses to read integers of more than 4,300 digits."""
    assert decided(gold, answer) is equal


@given(st.fractions(max_denominator=10**6))
def test_a_fraction_is_its_own_decimal(value):
    """Read back exactly from each way of writing it."""
    sign = "-" if value < 0 else ""
    written = rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    assert number(written) == value == number(f"{value.numerator}/{value.denominator}")


@given(st.text(max_size=40), st.text(max_size=40))
def test_deciding_never_fails_and_has_no_favourite_side(left, right):
    """Odd texts are left to algebra."""
    assert decided(left, right) is decided(right, left)
    assert decided(left, left) is True


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("5 cm", "5", "cm"),
        (r"5\text{ cm}", "5", "cm"),
        (r"12\mathrm{ hours}", "12", "hour"),
        (r"3\text{ m}^2", "3", "m^2"),
        ("2x", "2x", ""),
        ("5", "5", ""),
        ("45°", "45", "degrees"),
    ],
)
def test_a_unit_is_told_from_a_variable(text, value, unit):
    """A single bare letter is a variable."""
    assert split_unit(text) == (value, unit)
