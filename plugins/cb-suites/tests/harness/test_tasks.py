"""Tasks in the words of lm-evaluation-harness, from file to number.

The numbers that its own program gives for public tasks are compared in `benchmarks/harness`.
"""

from __future__ import annotations

import math

import pytest

from cb_suites.engine.metric_scoring import NEEDS_LIKELIHOODS
from cbcore.exceptions import UsageError

QUESTIONS = [
    {"question": "One?", "choices": ["cat", "dog bone"], "answer": 0},
    {"question": "Two?", "choices": ["owl", "fox"], "answer": 1},
    {"question": "Three?", "choices": ["hen", "bee"], "answer": 1},
]
CHOICE = """
output_type: multiple_choice
doc_to_text: "Q: {{question}}\\nA:"
doc_to_choice: choices
doc_to_target: answer
"""
GENERATE = """
output_type: generate_until
doc_to_text: "Q: {{question}}"
doc_to_target: "{{choices[answer]}}"
"""


def test_choices_are_compared_by_likelihood_where_a_system_gives_it(run, says):
    """`acc` by the likelihood, `acc_norm` by that of a character; the table says so."""
    likely = {" cat": -3.0, " dog bone": -4.0, " owl": -1.0, " fox": -9.0, " hen": -5.0}
    system = says(likely=lambda _, after: (likely.get(after, -2.0), False))
    line, scores, _ = run(CHOICE, QUESTIONS, system)
    # cat before dog bone by itself, and behind it by the character; then owl, which is wrong, and bee.
    assert scores == {"acc,none": pytest.approx(2 / 3), "acc_norm,none": pytest.approx(1 / 3)}
    assert line["by"] == "likelihood"


def test_choices_are_read_from_text_where_it_does_not(run, says):
    """`acc` alone, and what needs likelihoods has its reason."""
    line, scores, problems = run(CHOICE, QUESTIONS, says(lambda _: "B"))
    assert scores == {"acc,none": pytest.approx(2 / 3)}
    assert line["by"] == "text"
    told = "says gives no likelihoods: choices of 1 tasks were read from its text"
    assert f"{told}, and acc_norm cannot be told" in problems
    row = run.result.rows[0]
    assert row.missing == {"acc_norm": NEEDS_LIKELIHOODS}


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ([[-1.0, True]], "the system returned 1 likelihoods for 2 requests"),
        ([[-1.0, True], [float("inf"), True]], "not a finite number and a truth value"),
        ([[-1.0, True], ["x", True]], "not a finite number and a truth value"),
        ("none", "the system returned 'none' likelihoods for 2 requests"),
    ],
)
def test_likelihoods_that_cannot_be_used_are_missing_scores(run, says, returned, reason):
    system = says()
    system.process = lambda example: {"loglikelihoods": returned}
    run(CHOICE, QUESTIONS[:1], system)
    missing = run.result.rows[0].missing
    assert reason in missing["acc"]


def test_what_is_asked_for_is_what_the_harness_asks_for(run, says):
    """The context ends where the choice begins, with the delimiter before the choice."""
    asked = []
    system = says(likely=lambda *request: (asked.append(request), (-1.0, True))[1])
    run(CHOICE, QUESTIONS[:1], system)
    assert asked == [("Q: One?\nA:", " cat"), ("Q: One?\nA:", " dog bone")]


def test_classes_have_the_f1_of_classes(run, says):
    """Not that of the words: always "yes" for [1, 1, 0] is 0.8."""
    pytest.importorskip("sklearn")
    documents = [{"question": str(i), "answer": label} for i, label in enumerate([1, 1, 0])]
    yaml = CHOICE.replace("doc_to_choice: choices", 'doc_to_choice: ["no", "yes"]')
    system = says(likely=lambda _, after: (0.0 if after == " yes" else -5.0, False))
    _, scores, _ = run(f"{yaml}metric_list: [{{metric: f1}}]\n", documents, system)
    assert scores == {"f1,none": pytest.approx(0.8)}


def test_a_generated_letter_is_not_turned_into_the_text_of_a_choice(run, says):
    """That documents have a field `choices` means nothing where a task generates."""
    yaml = GENERATE.replace("{{choices[answer]}}", "{{'AB'[answer]}}")
    _, scores, _ = run(yaml, QUESTIONS, says(lambda _: "B"))
    assert scores == {"exact_match,none": pytest.approx(2 / 3)}


def test_a_filter_that_finds_nothing_is_no_answer(run, says):
    """Its fallback "[invalid]" is not equal to a gold "invalid"."""
    yaml = """
    doc_to_text: question
    doc_to_target: gold
    metric_list: [{metric: exact_match}]
    filter_list: [{name: strict, filter: [{function: regex, regex_pattern: "is (.+)"}, {function: take_first}]}]
    """
    _, scores, _ = run(yaml, [{"question": "?", "gold": "invalid"}], says(lambda _: "No idea"))
    assert scores == {"exact_match,strict": 0.0}


def test_process_results_sees_the_document_as_it_is(run, says):
    """Fields called `answer` or `choices` are the dataset's own; lists and tuples are kept."""
    code = """
    def process_results(doc, results):
        return {"right": float(doc["answer"]["text"] in results), "both": [1, 0], "pair": (2, 3)}

    def flat(items):
        every = [one for item in items for one in item]
        return sum(every) / len(every)
    """
    yaml = """
    doc_to_text: question
    doc_to_target: question
    process_results: !function utils.process_results
    metric_list:
      - {metric: right}
      - {metric: both, aggregation: !function utils.flat, higher_is_better: true}
      - {metric: pair, aggregation: weighted_perplexity}
    """
    documents = [{"question": "a", "answer": {"text": "x"}, "choices": 3}]
    _, scores, _ = run(yaml, documents, says(lambda _: "x"), code)
    assert scores == {
        "right,none": 1.0,
        "both,none": 0.5,
        "pair,none": pytest.approx(math.exp(-2 / 3)),
    }


def test_a_response_ends_where_the_task_lets_it_end(run, says):
    """`until` is told to the system, and what runs on is not scored."""
    system = says(lambda _: "dog\n\nQ: and then?")
    yaml = GENERATE + 'generation_kwargs: {until: ["\\n\\n"], max_gen_toks: 5}\n'
    _, scores, _ = run(yaml, [{"question": "", "choices": ["dog"], "answer": 0}], system)
    assert scores == {"exact_match,none": 1.0}
    assert system.seen[0]["generation"] == {"until": ["\n\n"], "max_gen_toks": 5}


def test_worked_examples_are_asked_as_fewshot_config_says(run, says):
    """Own text and delimiters for them, the first of their split, and none of the document."""
    yaml = GENERATE + (
        "training_split: train\nfewshot_split: train\nnum_fewshot: 2\n"
        'fewshot_config: {sampler: first_n, doc_to_text: "E: {{question}}", target_delimiter: "="}\n'
    )
    system = says(lambda _: "cat")
    run(yaml, QUESTIONS[:1], system, shots=QUESTIONS)
    assert system.seen[0]["question"] == "E: One?=cat\n\nE: Two?=fox\n\nQ: One?"


def test_worked_examples_can_be_turns_of_a_conversation(run, says):
    """With the system instruction before all."""
    yaml = GENERATE + "training_split: train\nnum_fewshot: 1\nfewshot_config: {sampler: first_n}\n"
    system = says(lambda _: "cat")
    options = {"system_instruction": "Be brief.", "fewshot_as_multiturn": "yes"}
    run(yaml, QUESTIONS[:1], system, shots=QUESTIONS[1:], **options)
    assert [(t["role"], t["content"]) for t in system.seen[0]["turns"]] == [
        ("system", "Be brief."),
        ("user", "Q: Two?"),
        ("assistant", "fox"),
        ("user", "Q: One?"),
    ]


def test_the_beginning_of_a_reply_is_put_into_the_prompt(run, says):
    """`gen_prefix`, after the delimiter where none stands there already."""
    system = says(lambda _: "cat")
    run(GENERATE + 'gen_prefix: "The answer is"\n', QUESTIONS[:1], system)
    assert system.seen[0]["question"] == "Q: One? The answer is"


def test_repeats_are_filtered_together(run, says):
    """The vote of three responses, where one by one two of three were right."""
    said = iter(["cat", "dog", "cat"])
    yaml = GENERATE + (
        "repeats: 3\nfilter_list: [{name: vote, filter: "
        "[{function: majority_vote}, {function: take_first}]}]\n"
    )
    _, scores, _ = run(yaml, QUESTIONS[:1], says(lambda _: next(said)))
    assert scores == {"exact_match,vote": 1.0}


def test_perplexities_are_of_the_words_and_bytes_of_all_documents(run, says):
    """-20 for four words in all is e to the fifth."""
    system = says(likely=lambda _, text: (-10.0, False))
    yaml = 'output_type: loglikelihood_rolling\ndoc_to_text: ""\ndoc_to_target: "{{text}}"\n'
    _, scores, _ = run(yaml, [{"text": "a b"}, {"text": "c d"}], system)
    assert scores["word_perplexity,none"] == pytest.approx(math.exp(20 / 4))
    assert scores["bits_per_byte,none"] == pytest.approx(20 / 6 / math.log(2))


def test_a_task_that_text_cannot_measure_says_so_in_its_line(run, says):
    """It is unavailable with the reason, not an empty line."""
    yaml = 'output_type: loglikelihood_rolling\ndoc_to_text: ""\ndoc_to_target: "{{text}}"\n'
    line, scores, problems = run(yaml, [{"text": "a b"}], says(lambda _: "x"))
    assert (line["state"], scores) == ("unavailable", {})
    assert NEEDS_LIKELIHOODS in line["reason"]
    assert any(NEEDS_LIKELIHOODS in problem for problem in problems)


@pytest.mark.parametrize(
    ("more", "says_so"),
    [
        ("doc_to_image: image\n", "asks about images"),
        ("metric_list: [{metric: bleurt}]\n", "'bleurt' is code that the package evaluate"),
        ("process_docs: !function utils.broken\n", "has no 'broken'"),
        (
            "filter_list: [{name: f, filter: [{function: guess}]}]\n",
            "there is no filter called 'guess'",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(run, says, more, says_so):
    """Nothing is measured in its place."""
    with pytest.raises(UsageError, match=says_so):
        run(GENERATE + more, QUESTIONS, says(lambda _: "x"))


def test_one_that_cannot_be_run_does_not_end_the_others(run, says):
    """The group goes on, and the table has the reason."""
    (run.folder / "broken.yaml").write_text(
        "task: broken\ndataset_path: json\nmetric_list: [{metric: acc}]\ndoc_to_text: a\n"
        "doc_to_target: !function missing_package.f\n"
        "dataset_kwargs: {data_files: {test: test.jsonl}}\ntest_split: test\n"
    )
    (run.folder / "missing_package.py").write_text("import no_such_package_at_all\ndef f(d): ...\n")
    (run.folder / "g.yaml").write_text("group: g\ntask: [broken, t]\n")
    run(GENERATE, QUESTIONS, says(lambda _: "cat"), name="g")
    lines = {line["name"]: line for line in run.result.sections["suites"].lines}
    assert lines["broken"]["state"] == "unavailable"
    assert "no_such_package_at_all" in lines["broken"]["reason"]
    assert lines["t"]["scores"][0]["metric"] == "exact_match"


def test_choices_can_be_the_questions(run, says):
    """As for sentences with a gap: the number is which, the target what follows them all."""
    yaml = """
    output_type: multiple_choice
    doc_to_text: !function utils.which
    doc_to_choice: "{{[a, b]}}"
    doc_to_target: rest
    metric_list: [{metric: acc}]
    """
    code = "def which(doc):\n    return doc['right']\n"
    asked = []

    def likely(context, after):
        asked.append((context, after))
        return (-1.0 if context == "Eve" else -2.0), False

    documents = [{"a": "Ann", "b": "Eve", "rest": "left.", "right": 1}]
    _, scores, _ = run(yaml, documents, says(likely=likely), code)
    assert scores == {"acc,none": 1.0}
    assert asked == [("Ann", " left."), ("Eve", " left.")]
