"""Where in a response the answer stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_scorers.math import final_answer
from cb_scorers.math.answers import last_boxed
from tests.tables import check_each


@check_each(
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
        ("2 + 1 = <<2+1=3>>3 bolts of fabric\nA: 3", "3"),
        ("The answer is not 4. It is 5.", "5"),
        ("The final answer is:\n\n\\[\n\\frac{1}{2}\n\\]", r"\frac{1}{2}"),
        ("The answer is 5 + 3 = 8 apples in all", "8"),
        ("The solution is as follows:\nShe had 3 and then 4, so 7.", "7"),
        ("The answer is 7 of the 12 apples", "7"),
        (r"The answer is 99\pi square inches.", r"99\pi square inches"),
        ("The area is 36π square units.", "36π"),
        ("They earn 1 million dollars.", "1 million"),
        ("It's 14!", "14"),
        ("The answer is: `14`.", "14"),
        ("The correct answer is option 14.", "14"),
        ("The answer is approximately $2.5$.", "2.5"),
        ("Answer: There are 3 boxes of 4 apples.\nSo there are 3 * 4 = 12 apples.", "12"),
        ("A: 15 trees were there. Then there were 21, so 21 - 15 = 6 were planted.", "6"),
        ("As $x = 5$, we go on.\nSolution: Let y be the rest.\nHe has 12 of them.", "12"),
        ("Final Answer: The final answer is $5$. I hope that it is right for $x$.", "5"),
        ("Half of 12 is 6. The answer is Navin and Luis.", "Navin and Luis"),
        ("The answer is that it cannot be told", "that it cannot be told"),
        ("#### Step 2: add them\nThat makes 9 apples.", "9"),
        ("#### 2. Add them\nThat makes 9 apples.", "9"),
        ("nobody can tell how many there were", None),
        ("", None),
        ("\\boxed{}", None),
    ],
)
def test_the_last_word_counts(response, answer):
    """Boxes first, then marks, then statements, then formulas, then numbers."""
    assert final_answer(response) == answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("She sells 9 eggs at $2 each, so she makes 9 * $2 = $18 every day.", "18"),
        ("It cost 80,000+50,000=$<<80000+50000=130000>>130,000 and he lost $5*2=$10.", "10"),
        ("He pays $80-$<<8*6=48>>48, that is $32", "32"),
        ("Either ($5 + $3) or 4$ and 5$, in all $17.50.", "17.50"),
        ("US$5 and US$7 make US$12 for both", "12"),
        ("He had $5. Let $x$ be the rest, so $x = 7$.", "x = 7"),
        ("It costs \\$5 and then \\$6 more of them.", "6"),
        (r"The answer is $\$18$.", r"\$18"),
        (r"So she makes $\$18$ a day", r"\$18"),
        ("So it is $ 5 + x $ then", "5 + x"),
        (r"We get $\frac13 $ of it", r"\frac13"),
        ("From $a$$b$ we take the second", "b"),
        ("We see that $AB + CD$ does it", "AB + CD"),
        (r"It holds for $x \text{ and all the others}$", r"x \text{ and all the others}"),
        ("A dollar $ alone\n\nand another $ in the next paragraph: 4", "4"),
    ],
)
def test_a_dollar_is_a_price_or_a_bracket(response, answer):
    """Two prices in a sentence have no formula between them."""
    assert final_answer(response) == answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("Therefore the largest $n$ is 34.", "34"),
        ("Final Answer: The largest $n$ is 34.", "34"),
        ("Let $x$ be the price. So he pays 3 * 5 = 15 dollars.", "15"),
        ("$$x = 2y$$ Therefore it increases by 100%.", "100%"),
        ("We find $x = 5$ in all 3 cases.", "x = 5"),
        ("We find $x = 5$. This works for 3 of them.", "x = 5"),
    ],
)
def test_a_number_that_is_stated_comes_before_an_earlier_formula(response, answer):
    """And a number that is only mentioned after it does not."""
    assert final_answer(response) == answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("So he scored 4+5=<<4+5=9>>9 points in the 40 minutes", "9"),
        ("This is 12/20 x 100% = 60% of all 20 students.", "60%"),
        ("Since 3 + 4 = 7, she has 14 in both of them.", "14"),
        ("She buys 15 4-packs of them", "15"),
        ("It is 16-3 and then -3 at the end", "-3"),
        ("They walked for 3 1/2 hours or so", "3 1/2"),
        ("She lost, so she has -$5 by now", "-$5"),
        ("He has 1,200,000.50 of them all", "1,200,000.50"),
        ("It is .75 of what it was", ".75"),
    ],
)
def test_a_sentence_comes_to_the_result_of_its_equation(response, answer):
    """Else to its last number, with the sign that belongs to it."""
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
        "the answer is " * 10_000,
        "answer: " * 10_000,
        "the answer" + " " * 100_000,
        "$" + "\\" * 100_000,
        "$" * 100_000,
        "$5 " * 30_000,
        "$a = " * 20_000,
        "= 5 " * 30_000,
        "<<" * 50_000,
        "9" * 100_000 + " apples of his",
        "It = 5. " + "4 5 " * 25_000 + ", 6",
        "#### a " + ":*" * 50_000 + "x",
    ],
)
def test_looking_takes_time_that_grows_with_the_text(response):
    """A hundred kilobytes that lead nowhere would take minutes otherwise."""
    answer = final_answer(response)
    assert answer is None or len(answer) <= len(response)


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("$40 + $24 = $64.\nThus, Kylar needs to pay $64 for the 16 glasses.", "64"),
        ("5 * 85 = 425 miles.\nJohn is 425 miles away at the end of those 4 hours.", "425"),
        ("\\[84 / 12 = 7\\]\nTherefore Claire eats 7 dozens in 4 weeks.", "7"),
        ("2 * 48 = 96.\nAs $125 > $96, he buys jewelry, making a profit of $125", "125"),
        ("8 * 2 = 16.\nSo he has 16 boxes, and they hold 40 eggs", "40"),
        ("400 + 664 = 1,064.\nHe needs to pay 1,064 for the 16 glasses.", "1,064"),
        ("Kylar needs to pay **$64** for the 16 glasses.", "64"),
        ("James runs a total of **540 meters** in 3 sprints.", "540"),
        ("**2. Second part** They have 7 left", "7"),
        ("18\n\nExplanation: she sells 9 eggs at $2.", "18"),
        ("**$18**\n\nShe sells 9 eggs at $2.", "$18"),
        ("18\n\nShe sells 9 eggs at $2. So she makes $20.", "20"),
        ("16\n9 eggs at $2 are 18", "18"),
    ],
)
def test_the_sentence_that_gives_the_answer_may_name_other_numbers(response, answer):
    """What it repeats of the last equation, emphasises or has alone above it is the answer."""
    assert final_answer(response) == answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("<think>Perhaps \\boxed{7}.</think>\n\n5", "5"),
        ("<think>The answer is 7</think>It is 5 apples.", "5"),
        ("Total: 5", "5"),
        ("Total: $5", "$5"),
        ("Roughly 5 hours", "5 hours"),
        ("Area: 2√3", "2√3"),
        ("n equals 5", "5"),
        ("USD 12", "12"),
        ("sin 30", "sin 30"),
        ("答案是12", "12"),
        ("答えは12です。", "12"),
        ("Ответ 12 яблок", "12"),
        ('{"answer": "12"}', "12"),
        ("#### Answer\n\n12", "12"),
        ("#### Final\nIt is 12 apples.", "12"),
        ("#### Evelyn", "Evelyn"),
        ("The answer is negative 5.", "-5"),
        ("It lasts 3½ hours.", "3½"),
    ],
)
def test_words_around_an_answer_are_none_of_it(response, answer):
    """Reasoning before it, a name in front of it, another script, a heading above it."""
    assert final_answer(response) == answer
