"""Which choice a response settles on, in the many ways a model may say it."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_scorers.multiple_choice import NoAnswerError, extract_choice
from tests.tables import check_each

CITIES = ("Paris", "London", "Rome", "Berlin")
NUMBERS = ("4", "42", "4.5", "-4")
TOWNS = ("New York", "New York City", "York", "All of the above")
VITAMINS = ("Vitamin A", "Vitamin C", "Vitamin D", "Both A and B")
TRUTH = ("Yes", "No")


@check_each(
    ("response", "label"),
    [
        # the table that context-bench gets wrong, and its acceptance checks
        ("The answer is definitely B", "B"),
        ("I think it is C", "C"),
        ("A good choice would be B", "B"),
        ("(D) because", "D"),
        ("not A but B", "B"),
        ("The answer is B.", "B"),
        # alone
        ("B", "B"),
        ("b", "B"),
        ("(b)", "B"),
        ("B.", "B"),
        ("**B**", "B"),
        ("`C`", "C"),
        ("Ｂ", "B"),
        ("Ⓑ", "B"),
        ("（Ｄ）", "D"),
        ("Option C", "C"),
        ("  A  \n", "A"),
        ("$B$", "B"),
        ("Let me think about A and C first.\n\nB", "B"),
        ("A. It rains.\nB. It has the Thames.\nC. It is old.\nD. It is cold.\n\nB", "B"),
        ("<think>The answer is A. No: C.</think>D", "D"),
        # statements
        ("Answer: B", "B"),
        ("Answer: b", "B"),
        ("Answer: B.", "B"),
        ("answer = C", "C"),
        ("**Answer:** **(C)**", "C"),
        ("The answer is (b).", "B"),
        ("The correct answer is option C.", "C"),
        ("The correct answer is:\n\n(B) London", "B"),
        ("The best answer to this question is D, I believe.", "D"),
        ("The answer is most likely C", "C"),
        ("the answer is A", "A"),
        ("The answer is A because it fits.", "A"),
        ("The final answer is \\boxed{C}", "C"),
        ("$\\boxed{\\text{D}}$", "D"),
        ("\\boxed{A} was my first idea, but \\boxed{B}", "B"),
        ("I would go with B", "B"),
        ("I'd say C.", "C"),
        ("I choose option D", "D"),
        ("My pick is 'C'.", "C"),
        ("The correct one is B", "B"),
        ("So it must be C, as shown.", "C"),
        ("Therefore, B.", "B"),
        ("It's D!", "D"),
        ("B is correct.", "B"),
        ("Option B is the right choice, A is wrong.", "B"),
        ("B is the most likely answer", "B"),
        ("Thus the answer would be clearly (D).", "D"),
        # a chain of thought that ends in the answer
        ("A is too small. B is too large. C fits. So the answer is C.", "C"),
        ("The answer is A. Wait, that is wrong. The answer is C.", "C"),
        ("Option A is wrong because it rains. Option B is not right. I pick D.", "D"),
        ("It could be A or B. On reflection, the answer is B.", "B"),
        # negation
        ("The answer is not A but B.", "B"),
        ("The answer isn't A, it's C.", "C"),
        ("It is B, not A.", "B"),
        ("B rather than C", "B"),
        ("Not A, C or D, so B", "B"),
        ("We can rule out A and D. C is wrong too. B", "B"),
        ("A, B and C are wrong, so D.", "D"),
        ("Neither A nor B; D.", "D"),
        ("After eliminating A and B, C is better than D.", "C"),
        ("We eliminate A, C and D. B remains.", "B"),
        ("Let's eliminate. A is out. C is out. D is out. That leaves B.", "B"),
        ("I'm torn between A and B, but I'll go with B.", "B"),
        ("A seems plausible, but B is the best answer.", "B"),
        # what is not so may be what makes a choice right
        ("The answer is C. Rome is not the capital of France.", "C"),
        ("The answer is (C). Rome isn't the capital of France.", "C"),
        ("The answer is C: Rome is not the capital of France.", "C"),
        ("The answer is C, Rome was never the capital of France.", "C"),
        ("C. Rome is not the capital of France.", "C"),
        ("The answer is B. Paris is wrong.", "B"),
        # what is only supposed does not count beside what is stated
        ("The answer is C. But A is tempting.", "C"),
        ("The answer is C. It could be A, but that is weaker.", "C"),
        ("The answer is A. Wait, no, it is B.", "B"),
        ("If the answer is A, then it is dark. So it must be D.", "D"),
        ("Is the answer A? No. The answer is B.", "B"),
        ("It might be D", "D"),
        ("The answer must therefore be C", "C"),
        ("The correct answer, then, is B.", "B"),
        ("So of all of these cities the one on the Tiber is Rome.", "C"),
        # forms that are asked for
        ('{"answer": "B"}', "B"),
        ("Well. <answer>C</answer>", "C"),
        ("Ans: b", "B"),
        ("A: Let's think step by step. It rains there. The answer is (D).", "D"),
        # other languages
        ("答案是B", "B"),
        ("答案:C", "C"),
        ("因此选D。", "D"),
        ("正确答案是 (A)。", "A"),
        ("答えはCです", "C"),
        ("정답은 D입니다", "D"),
        ("Die Antwort ist B.", "B"),
        ("La respuesta correcta es C", "C"),
        ("La réponse est D.", "D"),
        ("La respuesta correcta es la B.", "B"),
        ("La respuesta correcta es la opción B.", "B"),
        ("La réponse correcte est la lettre B", "B"),
        # each choice with its verdict, and a change of mind
        ("A) Incorrect\nB) Correct\nC) Incorrect\nD) Incorrect", "B"),
        ("option b is correct", "B"),
        ("A. No wait, B.", "B"),
        ("It's either A or B, but I lean towards B.", "B"),
        ("The answer is B. Actually, C.", "C"),
        # leading
        ("B) London", "B"),
        ("B. London is the capital.", "B"),
        ("B: it has the Thames", "B"),
        ("A. A long explanation follows.", "A"),
        ("C - the eternal city", "C"),
        ("D because of the wall", "D"),
        ("B\n\nExplanation:\nA) Paris is in France\nB) London is not\nC) Rome is in Italy", "B"),
        # the article and the pronoun
        ("A capital is a city; B", "B"),
        ("I think C", "C"),
        ("I am sure: D", "D"),
        ("A simple question. I say B.", "B"),
        # text
        ("Paris", "A"),
        ("paris.", "A"),
        ("The answer is Rome.", "C"),
        ("Of course it is Berlin", "D"),
        ("The capital is Paris, not London.", "A"),
        ("It is not Paris but Rome.", "C"),
        ("London, because of the Thames", "B"),
        ("The answer is B, London", "B"),
        ("London (B)", "B"),
        ("B) Paris", "B"),  # the letter counts
    ],
)
def test_it_finds_the_choice(response: str, label: str) -> None:
    """Four cities; letters in every dress, statements, negations, texts."""
    assert extract_choice(response, CITIES).label == label


LISTED = "A) Paris\nB) London\nC) Rome\nD) Berlin\n"


@check_each(
    ("response", "label"),
    [
        (f"{LISTED}\nCorrect: B", "B"),
        (f"{LISTED}Correct: B) London", "B"),
        ("Options: A, B, C, D. Correct: B", "B"),
        ("Correct: B\nIncorrect: A, C, D", "B"),
        ("Not correct: A. Correct: C", "C"),
        ("A seems right, but it is not. Correct: D", "D"),
        ("B is correct: A is too small.", "B"),
        ("Incorrect: A", None),
        ("either A or B, but B is more accurate", "B"),
        ("It is either A or B, but B is more accurate.", "B"),
        ("It could be A or C, although C seems the better fit.", "C"),
        ("It might be A, but C is more specific.", "C"),
        ("Both A and B are plausible, but B is stronger.", "B"),
        ("A and D are both possible; D is most likely.", "D"),
        ("A is more plausible at first, but the answer is B.", "B"),
        ("Either A or B is more accurate", None),
        ("Is A more likely? No, it is C.", "C"),
        ("I would not say A; B it is.", "B"),
        ("I would not choose A; I would choose B.", "B"),
        ("A is hardly correct; B is.", "B"),
    ],
)
def test_denials_and_hedges(response: str, label: str | None) -> None:
    """What is denied is not chosen, and of several candidates the preferred one is."""
    cities = ("Paris", "London", "Rome", "Berlin")
    if label is None:
        with pytest.raises(NoAnswerError):
            extract_choice(response, cities)
    else:
        assert extract_choice(response, cities).label == label


@check_each(
    "response",
    [
        "",
        " \n",
        "I don't know.",
        "A good question.",
        "A or B",
        "The answer is A or B.",
        "Answer: A and C",
        "Either Paris or Rome",
        "A) Paris\nB) London\nC) Rome\nD) Berlin",
        "A) Paris B) London C) Rome D) Berlin",
        "(A) no, (B) no, (C) yes, (D) no",
        "Not A.",
        "A is wrong.",
        "E",
        "The answer is Z",
        "Parisian",
        "Plan B-12 and a C-section",
        "I'm not sure",
        "<think>The answer is A.</think>",
        "So the answer is (A) and (B).",
        "(A) and (B)",
        "Both A and C are correct.",
        "It is either A or C.",
        "There is not enough information to answer.",
        # names, variables and units
        "Plan A was bad.",
        "Vitamin C is the best choice",
        "ΔG = 12 kJ, so we continue",
        "$\\Delta D = 12$ kJ, so we continue",
        "The work is 12 C and we go on",
        "Here det(A) is 3.",
        # reasoning that does not get to its end
        "A: Let's think step by step. We know that it rains",
        "Let's think step by step. Paris lies on the Seine, and so",
        "Let us consider each option: (A) is on the Seine, which",
        "Let me go through them: A is too small, B is large, C is just right, D is silly.",
        "As the sources tell us, Rome had many inhabitants even then" + ", and so on" * 10,
    ],
)
def test_no_choice_is_made_up(response: str) -> None:
    """Nothing said, several things said, or only what is wrong: no answer."""
    with pytest.raises(NoAnswerError):
        extract_choice(response, CITIES)


@check_each(
    ("choices", "response", "label"),
    [
        (NUMBERS, "4", "A"),
        (NUMBERS, "42", "B"),
        (NUMBERS, "The answer is 4.5", "C"),
        (NUMBERS, "The answer is 4.", "A"),
        (NUMBERS, "It comes to 42 in the end", "B"),
        (NUMBERS, "-4", "D"),
        (TOWNS, "New York City", "B"),
        (TOWNS, "The answer is New York.", "A"),
        (TOWNS, "I visited New York City once", "B"),
        (TOWNS, "All of the above", "D"),
        (TOWNS, "The answer is: all of the above.", "D"),
        (VITAMINS, "Vitamin C", "B"),
        (VITAMINS, "The answer is Vitamin D", "C"),
        (VITAMINS, "The answer is C", "C"),
        (VITAMINS, "Both A and B", "D"),
        (VITAMINS, "The answer is both A and B.", "D"),
        (TRUTH, "No, it is not so.", "B"),
        (TRUTH, "Yes.", "A"),
        (TRUTH, "yes", "A"),
        (("A B", "A"), "B", "B"),
        (("C", "B", "A"), "A", "A"),
        (("H2O", "CO2"), "It is CO2.", "B"),
        (("日本", "中国"), "答え: 日本", "A"),
        (("日本", "中国"), "答案是中国", "B"),
        (("it rains (often)", "a.*b"), "It rains (often)", "A"),
        ((), "The answer is J", "J"),
        ((), "A good choice would be B", "B"),
    ],
)
def test_texts_that_could_be_taken_for_others(
    choices: tuple[str, ...], response: str, label: str
) -> None:
    """Numbers, texts within texts, texts with letters in them, and no texts at all."""
    assert extract_choice(response, choices).label == label


@pytest.mark.parametrize(
    ("choices", "response"),
    [
        (NUMBERS, "The answer is 4 times 2"),
        (NUMBERS, "$4,000"),
        (NUMBERS, "We get x = 42 and divide"),
        (("same", "same"), "same"),
        (("", " "), "nothing"),
        ((), "The answer is K"),
    ],
)
def test_doubtful_texts_are_no_answer(choices: tuple[str, ...], response: str) -> None:
    """A choice's text within a sum or a longer number is not that choice."""
    with pytest.raises(NoAnswerError):
        extract_choice(response, choices)


@pytest.mark.parametrize(
    ("response", "rule"),
    [
        ("B", "alone"),
        ("Rome", "alone"),
        ("The answer is B", "statement"),
        ("(D) because", "leading"),
        ("certainly B", "letter"),
        ("certainly Rome", "text"),
        ("Paris and London fight, but (C) wins", "statement"),
    ],
)
def test_the_rule_is_named(response: str, rule: str) -> None:
    """The order of the rules is part of the contract."""
    assert extract_choice(response, CITIES).rule == rule


QUESTION = "Which of these cities is the capital of Germany?"
OTHER = (
    "Which of these lies on the river Thames?\nOptions:\nA. Paris\nB. London\nC. Rome\nD. Berlin"
)


@check_each(
    "heading",
    ["Question: ", "Question 2:\n", "**Question 2**\n", "Q: ", "Next question: ", "User: "],
)
@check_each("answer", ["D", "(D) Berlin", "We know it. The answer is (D).", "certainly D"])
@check_each("rest", ["\nAnswer: The answer is (B).", "\nAnswer: B", "\nA", ""])
def test_what_follows_a_question_of_its_own_is_not_read(
    heading: str, answer: str, rest: str
) -> None:
    """A model that answers and then invents a further question has answered before it."""
    response = f"{answer}\n\n{heading}{OTHER}{rest}"
    assert extract_choice(response, CITIES).label == "D"


@pytest.mark.parametrize("intro", ["", "Here are the answers.\n\n"])
def test_who_goes_through_several_questions_is_read_to_the_end(intro: str) -> None:
    """A model that answers the worked examples too comes to the question last."""
    response = (
        f"{intro}Question 1: {OTHER}\nThe answer is (B).\n\nQuestion 2: x\nThe answer is (D)."
    )
    assert extract_choice(response, CITIES).label == "D"


def test_where_the_question_is_repeated_its_answer_follows() -> None:
    """Known by its text, whatever else is asked and answered before and after it."""
    shown = f"{QUESTION}\n\nA) Paris\nB) London\nC) Rome\nD) Berlin"
    other = f"Question: {OTHER}\nThe answer is (B).\n\n"
    response = f"{other}Question: {shown}\nThe answer is (D).\n\n{other}"
    assert extract_choice(response, CITIES, shown).label == "D"
    assert extract_choice("The answer is (D). " + QUESTION, CITIES, shown).label == "D"


@pytest.mark.parametrize("end", ["", "Which of them is the oldest?"])
def test_a_question_of_the_same_kind_is_another(end: str) -> None:
    """It begins alike and has other choices, or begins alike, has the same and ends otherwise."""
    table = "Here is a table of birds and of how old and heavy each of them was last year."
    asked = f"{table} {end and 'Which of them is the heaviest?'}\nOptions:\n(A) Ann\n(B) Bob"
    names = "(A) Ann\n(B) Bob" if end else "(A) Cid\n(B) Dan"
    response = (
        f"So the answer is (A).\n\nQ: {table} {end}\nOptions:\n{names}\nA: So the answer is (B)."
    )
    assert extract_choice(response, ("Ann", "Bob"), asked).label == "A"


@pytest.mark.parametrize("heading", ["Question: ", ""])
def test_a_list_that_breaks_off_at_a_label_is_no_answer(heading: str) -> None:
    """The last line is the next label of the options, not what is settled on."""
    options = "\n".join(f"{label}. something" for label in "ABCDEF")
    listed = f"{heading}What comes next?\n{options}\nG."
    assert extract_choice(f"The answer is (A).\n\n{listed}").label == "A"
    with pytest.raises(NoAnswerError):
        extract_choice(listed)


def test_unfinished_reasoning_before_another_question_is_no_answer() -> None:
    """The answer to an invented question is not the answer to the one that was asked."""
    reasoning = "We look at the map, and there we find that the city lies on the river Spree, which"
    with pytest.raises(NoAnswerError):
        extract_choice(f"{reasoning}\n\nQuestion: {OTHER}\nThe answer is (B).", CITIES)


def test_too_many_choices_are_refused() -> None:
    """There are 26 letters."""
    with pytest.raises(ValueError, match="27 choices"):
        extract_choice("A", ["x"] * 27)


LABELS = st.sampled_from("ABCD")
DRESSES = st.sampled_from(["{}", "({})", "**{}**", "{}.", "[{}]", "'{}'", '"{}"', "\\boxed{{{}}}"])
FRAMES = st.sampled_from(
    [
        "{}",
        "The answer is {}",
        "Answer: {}",
        "I think the correct answer is {}",
        "Therefore, the answer is {}",
        "I would choose {}",
        "Well.\n\nThe best option is {}",
        "The final answer is:\n{}",
    ]
)


@given(LABELS, DRESSES, FRAMES, st.permutations(CITIES))
def test_dress_and_frame_do_not_matter(
    label: str, dress: str, frame: str, choices: list[str]
) -> None:
    """Any letter, however decorated, in any usual frame, whatever the order of the choices."""
    response = frame.format(dress.format(label))
    assert extract_choice(response, choices).label == label


@given(LABELS, FRAMES, LABELS, FRAMES)
def test_running_on_does_not_matter(label: str, frame: str, other: str, again: str) -> None:
    """However the question is answered, and whatever an invented one is answered with."""
    response = f"{frame.format(label)}\n\nQuestion: And then?\n{again.format(other)}"
    assert extract_choice(response, CITIES).label == label


@given(st.permutations(CITIES), st.sampled_from(CITIES), FRAMES)
def test_the_order_of_choices_does_not_matter_to_their_texts(
    choices: list[str], city: str, frame: str
) -> None:
    """A text is the choice it stands at."""
    assert choices["ABCD".index(extract_choice(frame.format(city), choices).label)] == city


@given(st.text() | st.text(st.sampled_from("ABab()[] .,*\\boxed{}answer is not\n\ue000\ue100")))
def test_any_text_has_a_choice_or_none(response: str) -> None:
    """Nothing but `NoAnswerError` is raised, and a label is one of the choices'."""
    with contextlib.suppress(NoAnswerError):
        assert extract_choice(response, CITIES).label in "ABCD"
