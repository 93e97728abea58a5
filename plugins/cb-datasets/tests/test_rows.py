"""From rows to examples: what each source's peculiarities become. Rows are made by hand.

Where a test says "the peer", it means context-bench 0.1 and a defect verified in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import islice

import pytest

from cb_datasets import dataset
from cb_datasets.entries.reasoning import last_boxed
from cbcore.exceptions import DataError, UsageError

# -- questions and answers ----------------------------------------------------------------------


def test_all_gold_answers_are_kept(examples_of):
    """The peer kept the first only."""
    row = {"question": "how many", "answer": ["seven", "7", "seven"]}
    (example,) = examples_of("natural-questions", row)
    assert example["answer"] == example["answers"] == ["seven", "7"]


def test_one_gold_is_a_text(examples_of):
    """`answer` is a list only when there is a choice."""
    (example,) = examples_of("natural-questions", {"question": "when", "answer": ["1839"]})
    assert example["answer"] == "1839"
    assert example["answers"] == ["1839"]


def qasper(*answers):
    none = {"unanswerable": False, "extractive_spans": [], "yes_no": None, "free_form_answer": ""}
    return {
        "id": "1",
        "title": "A Paper",
        "abstract": "Short.",
        "full_text": {"section_name": ["One", None], "paragraphs": [["First."], ["Second."]]},
        "qas": {
            "question": ["Is it?"],
            "question_id": ["q"],
            "answers": [{"answer": [{**none, "evidence": [], **a} for a in answers]}],
        },
    }


@pytest.mark.parametrize(
    ("answers", "golds"),
    [
        ([{"yes_no": True}], ["yes"]),
        ([{"yes_no": False}], ["no"]),
        ([{"unanswerable": True}], ["unanswerable"]),
        ([{"extractive_spans": ["a", "b"]}], ["a, b"]),
        ([{"free_form_answer": "because"}], ["because"]),
        ([{"yes_no": True}, {"unanswerable": True}, {"yes_no": True}], ["yes", "unanswerable"]),
    ],
)
def test_every_form_of_a_qasper_answer_is_a_gold(examples_of, answers, golds):
    """The peer made yes, no and unanswerable an empty gold, which any reply matched."""
    (example,) = examples_of("qasper", qasper(*answers))
    assert example["answers"] == golds
    assert "unanswerable" in example["question"]
    assert example["context"] == "A Paper\n\nShort.\n\nOne\n\nFirst.\n\nSecond."


def test_musique_aliases_and_evidence(examples_of):
    """Aliases are golds too; supporting paragraphs are named by title and number."""
    first, second, _ = dataset("musique", "sample")
    assert first["answers"] == ["Sallowmere", "Sallowmere town"]
    assert first["supporting_facts"] == [["Ondry Bridge", 1], ["Ada Holm", 2]]
    assert first["context"].startswith("Quiet Mill: The Quiet Mill grinds")
    assert second["answer"] == "1964"


def test_triviaqa_takes_what_pages_there_are():
    """Search results, else Wikipedia, else no text but the question."""
    searched, wiki, nothing = dataset("triviaqa", "sample")
    assert "kite fair is held" in searched["context"]
    assert wiki["context"].startswith("Dunvesk: The seal")
    assert nothing["context"] == nothing["question"]
    assert nothing["answers"] == ["February", "Feb"]


def drop_row(answer, *validated, **more):
    """A row as `EleutherAI/drop` has it: one answer, and further annotators' by column."""
    date = {"day": "", "month": "", "year": ""}
    given = [{"number": "", "date": date, "spans": [], **a} for a in (answer, *validated)]
    columns = {kind: [a[kind] for a in given[1:]] for kind in ("number", "date", "spans")}
    shared = {"query_id": "q", "passage": "P.", "question": "Q?"}
    return {**shared, "answer": given[0], "validated_answers": columns, **more}


@pytest.mark.parametrize(
    ("row", "answers", "spans"),
    [
        (drop_row({"number": "0"}), ["0"], [["0"]]),
        (drop_row({"number": "3"}, {"number": "4"}), ["3", "4"], [["3"], ["4"]]),
        (drop_row({"spans": ["A", "B"]}), ["A, B"], [["A", "B"]]),
        (drop_row({"spans": ["A", "B"]}, {"spans": ["A"]}), ["A, B", "A"], [["A", "B"], ["A"]]),
        (
            drop_row({"date": {"day": "9", "month": "March", "year": ""}}, {"spans": ["spring"]}),
            ["9 March", "spring"],
            [["9 March"], ["spring"]],
        ),
        (
            drop_row({"spans": ["A"]}, validated_answers=[{"number": "7"}]),
            ["A", "7"],
            [["A"], ["7"]],
        ),
    ],
)
def test_drop_golds_are_what_annotators_answered(examples_of, row, answers, spans):
    """Spans of one answer belong together; each annotator's answer is an alternative."""
    (example,) = examples_of("drop", row)
    assert (example["answers"], example["answer_spans"]) == (answers, spans)


@pytest.mark.parametrize(
    ("spans", "kinds", "expected"),
    [
        (["A", "B"], "ss", [["A", "B"]]),
        (["A", "B", "A", "B"], "ssss", [["A", "B"]]),
        (["A", "A", "B"], "sss", [["A"], ["A", "B"]]),
        (["3", "4"], "nn", [["3"], ["4"]]),
        (["3", "A", "B", "4"], "nssn", [["3"], ["A", "B"], ["4"]]),
    ],
)
def test_drop_annotators_whose_spans_were_run_together(examples_of, spans, kinds, expected):
    """A local copy of `ucinlp/drop` does not say whose a span is; repetition tells."""
    names = {"s": "span", "n": "number"}
    found = {"spans": spans, "types": [names[kind] for kind in kinds]}
    row = {"query_id": "q", "passage": "P.", "question": "Q?", "answers_spans": found}
    (example,) = examples_of("drop", row)
    assert example["answer_spans"] == expected


# -- multiple choice ----------------------------------------------------------------------------


def test_gpqa_choices_are_shuffled_by_seed():
    """The peer's right letter was always A. Here it moves, and the seed decides how."""
    letters = [[e["answer"] for e in dataset("gpqa", "sample", seed=s)] for s in range(8)]
    assert len({letter for seed in letters for letter in seed}) == 4
    assert len({tuple(seed) for seed in letters}) > 1
    for example in dataset("gpqa", "sample", seed=5):
        right = {
            "rec0": "The photon",
            "rec1": "A cyclohexene",
            "rec2": "Helicase",
            "rec3": "The electron",
            "rec4": "A triple bond",
        }
        assert example["answer_text"] == right[example["id"]]


@pytest.mark.parametrize("spec", ["gpqa", "nolima", "truthfulqa"])
def test_shuffles_are_the_same_in_every_process(spec):
    """The peer's needle stood in line 767, 37 or 682, as PYTHONHASHSEED went from 0 to 2."""
    code = f"from cb_datasets import dataset; print(list(dataset({spec!r}, 'sample', seed=1)))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "2")
    }
    assert outputs == {f"{list(dataset(spec, 'sample', seed=1))}\n"}


def test_truthfulqa_multiple_choice_is_shuffled_too(examples_of):
    """Its source lists the right answer first, as GPQA's does."""
    row = {
        "question": "Is it?",
        "category": "Weather",
        "mc1_targets": {"choices": ["yes", "no", "perhaps", "never"], "labels": [1, 0, 0, 0]},
    }
    made = [examples_of("truthfulqa", row, "multiple_choice", seed=s)[0] for s in range(12)]
    assert {example["answer_text"] for example in made} == {"yes"}
    assert len({example["answer"] for example in made}) > 1


def test_arc_labels_are_letters_or_digits():
    """A gold of "1" is choice A."""
    lettered, numbered, _ = dataset("arc-challenge", "sample")
    assert (lettered["answer"], lettered["answer_text"]) == ("B", "An ice cube")
    assert (numbered["answer"], numbered["answer_text"]) == ("A", "A trout")


@pytest.mark.parametrize(
    ("name", "golds"),
    [
        ("quality", ["B", "A", "D"]),
        ("mmlu", ["A", "B", "D"]),
        ("mmlu-pro", ["D", "B", "F"]),
        ("hellaswag", ["A", "B", "C"]),
        ("winogrande", ["A", "B", "B"]),
        ("longbench-v2", ["B", "C", "A"]),
    ],
)
def test_golds_counted_from_zero_from_one_and_by_letter(name, golds):
    """Each source has its own way; examples have one."""
    assert [example["answer"] for example in dataset(name, "sample")] == golds


@pytest.mark.parametrize("name", ["hellaswag", "winogrande"])
def test_a_split_without_gold_has_none(name, examples_of):
    """Labels of a test split are published empty; that is no gold, and no error."""
    (row, *_) = dataset(name, "sample").rows()
    field = {"hellaswag": "label", "winogrande": "answer"}[name]
    (example,) = examples_of(name, {**row, field: ""}, split="test")
    assert "answer" not in example
    assert example["choices"]


BBH_DATE = "What is tomorrow?\nOptions:\n(A) Monday\n(B) Tuesday"


@pytest.mark.parametrize(
    ("config", "text", "target", "answer", "choices"),
    [
        ("date_understanding", BBH_DATE, "(B)", "B", ["Monday", "Tuesday"]),
        ("movie_recommendation", BBH_DATE, "Tuesday", "B", ["Monday", "Tuesday"]),
        ("movie_recommendation", BBH_DATE, "Friday", "Friday", None),
        ("causal_judgement", "Did it?\nOptions:\n- Yes\n- No", "No", "No", None),
        ("dyck_languages", "Complete ( [", "] )", "] )", None),
    ],
)
def test_bbh_targets_are_letters_or_texts(examples_of, config, text, target, answer, choices):
    """Options in the input become choices, and are not shown twice."""
    (example,) = examples_of("bbh", {"input": text, "target": target}, config)
    assert example["answer"] == answer
    assert example.get("choices") == choices
    assert example["question"] == text


# -- mathematics --------------------------------------------------------------------------------


def test_gsm8k_final_numbers():
    """What stands behind the last ####, without separators of thousands."""
    assert [e["answer"] for e in dataset("gsm8k", "sample")] == ["19", "1400", "21"]
    first = next(iter(dataset("gsm8k", "sample")))
    assert first["reasoning"].endswith("19 are left.")


@pytest.mark.parametrize(
    ("solution", "boxed"),
    [
        (r"so $\boxed{42}$.", "42"),
        (r"\boxed{3}, no: \boxed{4}", "4"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{\text{a {b} c}} done", r"\text{a {b} c}"),
        (r"$\boxed 5$", "5"),
        (r"\fbox{7}", "7"),
        (r"\boxed{unclosed", None),
        (r"\boxed{}", None),
        ("none", None),
    ],
)
def test_the_last_box_counts(solution, boxed):
    """The peer took the first, which is where a solution may still be wrong."""
    assert last_boxed(solution) == boxed


def test_mgsm_has_a_number_and_a_language(examples_of):
    """Test rows have no worked answer; train rows do."""
    row = {"question": "Wie viele?", "answer": None, "answer_number": 36}
    (example,) = examples_of("mgsm", row, "de")
    assert (example["answer"], example["language"]) == ("36", "de")
    assert "reasoning" not in example
    (example,) = examples_of("mgsm", {**row, "answer": "Schritt: 36"}, "de", split="train")
    assert example["reasoning"] == "Schritt: 36"


# -- code ---------------------------------------------------------------------------------------


def test_mbpp_tests_bring_their_imports():
    """The peer read `test_setup_code`, which the sanitized part does not have."""
    first = next(iter(dataset("mbpp", "sample")))
    assert first["tests"].startswith("import math\nassert math.isclose(")
    assert "assert math.isclose(circle_area(1), math.pi)" in first["question"]
    assert first["entry_point"] == "circle_area"


def test_mbpp_full_brings_its_setup_code(examples_of):
    """The other part has another schema."""
    row = {
        "task_id": 1,
        "text": "Add.",
        "code": "def add(a, b):\n    return a + b + ZERO",
        "test_list": ["assert add(1, 1) == 2"],
        "test_setup_code": "ZERO = 0",
        "challenge_test_list": [],
    }
    (example,) = examples_of("mbpp", row, "full")
    assert example["tests"] == "ZERO = 0\nassert add(1, 1) == 2\n"
    assert example["id"] == "1"


def test_humaneval_keeps_the_source_to_the_letter():
    """White space matters to Python; the tests call `check` by themselves."""
    first = next(iter(dataset("humaneval", "sample")))
    assert first["context"] == first["prompt"]
    assert first["prompt"].endswith('"""\n')
    assert first["tests"].endswith("\n\ncheck(double)\n")
    assert first["answer"] == first["canonical_solution"]


# -- summaries and inference --------------------------------------------------------------------


def test_scrolls_inputs_begin_with_the_query():
    """Query, empty line, document: SCROLLS puts what is asked first."""
    example = next(iter(dataset("qmsum", "sample")))
    assert example["question"] == "What was decided about the lamp?"
    assert example["context"].startswith("Chair: The lamp")


def test_scrolls_golds_of_one_input_are_brought_together():
    """SCROLLS repeats a row for every gold; ids stay unique."""
    examples = {e["id"]: e for e in dataset("summscreenfd", "sample")}
    assert len(examples) == 3
    assert len(examples["fd_Harbour_2"]["answers"]) == 2


def test_scifact_labels_come_from_the_evidence():
    """With the hub's flat columns the peer labelled every claim SUPPORTS."""
    examples = list(dataset("scifact", "sample"))
    assert [e["label"] for e in examples] == ["SUPPORT", "CONTRADICT", "NOT_ENOUGH_INFO"]
    assert examples[0]["supporting_facts"] == [["Reed in brackish water", 1], ["Salt and reed", 0]]
    assert examples[2]["supporting_facts"] == []
    assert "Most of their hunting was by day." in examples[2]["context"]


def test_scifact_test_claims_have_no_label(examples_of):
    """Their evidence is withheld, which must not read as not enough information."""
    row = {"id": 1, "claim": "So.", "evidence": [], "documents": []}
    (example,) = examples_of("scifact", row, split="test")
    assert "label" not in example
    assert example["labels"] == ["SUPPORT", "CONTRADICT", "NOT_ENOUGH_INFO"]


# -- instructions -------------------------------------------------------------------------------


def test_ifeval_parameters_lose_their_nulls():
    """On the hub every record carries the keys of all others."""
    _, second, _ = dataset("ifeval", "sample")
    assert second["kwargs"] == [{"relation": "at least", "num_words": 20}, {"keywords": ["twine"]}]


def test_no_gold_is_no_answer():
    """The peer's empty gold gave any reply full marks."""
    assert all("answer" not in example for example in dataset("ifeval", "sample"))


def test_mt_bench_has_turns():
    """Texts of the user, in order, and joined as the context."""
    first = next(iter(dataset("mt-bench", "sample")))
    assert first["turns"] == ["Write two lines about the sea.", "Now make them rhyme."]
    assert first["multi_turn"] is True
    assert first["context"] == "Write two lines about the sea.\n\nNow make them rhyme."


def test_mt_bench_references_are_golds_of_the_last_reply():
    """Where the data has one for every turn; what is scored is the reply to the last."""
    golds = [example.get("answer") for example in dataset("mt-bench", "sample")]
    assert golds == [None, "72", None]


# -- tools --------------------------------------------------------------------------------------


def test_bfcl_sends_the_request_and_expects_the_published_calls():
    """The peer dropped the request and took the first function for the gold."""
    first, _, third = dataset("bfcl", "sample")
    assert "Set the tower lamp to half brightness." in first["question"]
    assert first["tools"][0]["name"] == "ring_bell"
    expected = {"lamp": ["tower", "tower lamp"], "percent": [50], "colour": [""]}
    assert first["ground_truth"] == [{"lamp.set": expected}]
    call = {"name": "lamp.set", "arguments": {"lamp": "tower", "percent": 50}}
    assert first["answer_calls"] == [call]
    assert "system: You run a harbour.\n\nuser: Make the quay lamp" in third["question"]


def test_bfcl_accepted_values_within_records(put, tmp_path):
    """Accepted values are listed at every level, as in BFCL's own files."""
    question = [[{"role": "user", "content": "Change it."}]]
    put("BFCL_v3_simple.json", [{"id": "s0", "question": question, "function": []}])
    accepted = {
        "change": {"new": [{"size": ["large", "L"], "tags": ["", ["hot"]]}], "id": [[1, 2]]}
    }
    put("possible_answer/BFCL_v3_simple.json", [{"id": "s0", "ground_truth": [accepted]}])
    (example,) = dataset("bfcl", "simple", data_dir=tmp_path)
    arguments = {"new": {"size": "large"}, "id": [1, 2]}
    assert example["answer_calls"] == [{"name": "change", "arguments": arguments}]


@pytest.mark.parametrize(("part", "language"), [("java", "Java"), ("javascript", "JavaScript")])
def test_bfcl_in_other_languages_asks_for_arguments_as_code(put, tmp_path, part, language):
    """A model is shown parameters that are texts; evaluators are given the types as well."""
    properties = {
        "ids": {"type": "ArrayList", "description": "The ids.", "items": {"type": "long"}},
        "on": {"type": "boolean"},
    }
    parameters = {"type": "dict", "properties": properties, "required": ["ids"]}
    tool = {"name": "A.set", "description": "Sets.", "parameters": parameters}
    question = [[{"role": "user", "content": "Set them."}]]
    put(f"BFCL_v4_simple_{part}.json", [{"id": "j0", "question": question, "function": [tool]}])
    truth = [{"A.set": {"ids": [[1, 2]], "on": [True]}}]
    put(f"possible_answer/BFCL_v4_simple_{part}.json", [{"id": "j0", "ground_truth": truth}])
    (example,) = dataset("bfcl", part, data_dir=tmp_path)
    assert example["language"] == part
    assert example["signatures"] == [tool]
    (shown,) = example["tools"]
    assert shown["description"] == f"Sets. The function is written in {language}."
    assert shown["parameters"]["required"] == ["ids"]
    assert shown["parameters"]["properties"] == {
        "ids": {
            "type": "string",
            "description": f"The ids. Written as {language} code, "
            'type ArrayList of {"type": "long"}.',
        },
        "on": {"type": "string", "description": f"Written as {language} code, type boolean."},
    }
    assert json.loads(example["context"]) == example["tools"]


def test_bfcl_irrelevance_expects_no_call(put, tmp_path):
    """There is no file of answers, because there is nothing to call."""
    question = [[{"role": "user", "content": "What is love?"}]]
    put("BFCL_v4_irrelevance.json", [{"id": "i0", "question": question, "function": []}])
    (example,) = dataset("bfcl", "irrelevance", data_dir=tmp_path)
    assert example["answer_calls"] == example["ground_truth"] == []
    assert "answer" not in example, "no text says that nothing is to be called"


def test_bfcl_calls_written_as_python(put, tmp_path):
    """The parts to be executed keep them beside the question; they are read, never run."""
    row = {
        "id": "e0",
        "question": [[{"role": "user", "content": "How likely?"}]],
        "function": [{"name": "mean", "parameters": {"properties": {"numbers": {}}}}],
        "ground_truth": ["odds.binomial(n=20, p=1/6, tags=['a'])", "mean([1, 2])", "quit()"],
    }
    put("BFCL_v3_exec_multiple.json", [row])
    (example,) = dataset("bfcl", "exec_multiple", data_dir=tmp_path)
    assert example["ground_truth"][0] == {
        "odds.binomial": {"n": [20], "p": ["1 / 6"], "tags": [["a"]]}
    }
    assert example["answer_calls"] == [
        {"name": "odds.binomial", "arguments": {"n": 20, "p": "1 / 6", "tags": ["a"]}},
        {"name": "mean", "arguments": {"numbers": [1, 2]}},
        {"name": "quit", "arguments": {}},
    ]


def test_expected_calls_are_golds_as_text():
    """So that answer scores can be had of them too, one call or several."""
    first = next(iter(dataset("bfcl", "sample")))
    assert first["answer"] == "lamp.set(lamp='tower', percent=50)"
    _, both, _ = dataset("apigen", "sample")
    assert both["answer"] == "[ferry(from_place='Ellisby', after=14), tide(place='Ellisby')]"
    assert both["answers"] == [both["answer"]]


def test_apigen_tools_are_sent():
    """The peer left them out of what a model sees."""
    _, second, _ = dataset("apigen", "sample")
    assert [call["name"] for call in second["answer_calls"]] == ["ferry", "tide"]
    assert '"name": "ferry"' in second["context"]
    assert second["question"].endswith("Next ferry from Ellisby after 14 h, and the tide there?")


# -- long contexts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "given", "question"),
    [
        ("hotpotqa", "Who?", "Who?"),
        ("gov_report", "", "Summarise this report."),
        ("gov_report_e", "", "Summarise this report."),
        ("passage_count", "", "How many different paragraphs are there? Answer with a number."),
    ],
)
def test_longbench_tasks_without_input_have_a_question(examples_of, config, given, question):
    """What is the same for every row stands in the table."""
    row = {"_id": "1", "context": "Text.", "input": given, "answers": ["a", "b"], "language": "en"}
    (example,) = examples_of("longbench", row, config)
    assert example["question"] == question
    assert example["answers"] == ["a", "b"]


@pytest.mark.parametrize(
    ("config", "options", "answer", "expected"),
    [
        ("longbook_qa_eng", [], ["Tom", "Tom Roe"], ["Tom", "Tom Roe"]),
        ("passkey", [], "71432", "71432"),
        ("math_calc", [], [3, -1, 4], "[3, -1, 4]"),
        ("longbook_choice_eng", ["a", "b", "c", "d"], ["c"], "C"),
        ("code_debug", ["f", "g", "h", "k"], ["g", "B"], "B"),
        ("code_debug", ["f", "g", "h", "k"], "D", "D"),
    ],
)
def test_infinitebench_answers(examples_of, config, options, answer, expected):
    """Texts, lists, sequences and options; the choices are shown."""
    row = {"id": 4, "context": "Long.", "input": "What?", "answer": answer, "options": options}
    (example,) = examples_of("infinitebench", row, config)
    assert example["answer"] == expected
    assert all(f") {option}" in example["question"] for option in options)


def test_nolima_puts_one_needle_into_the_book():
    """The needle is one line of the context, the character its answer, the seed its place."""
    placed = set()
    for seed in range(6):
        for example in dataset("nolima", "sample", seed=seed):
            assert example["context"].splitlines().count(example["needle"]) == 1
            assert example["answer"] in example["needle"]
            assert example["answer"] not in example["question"]
            assert "{" not in example["needle"] + example["question"]
            placed.add(example["depth"])
    assert len(placed) > 2


def test_nolima_contexts_are_made_to_measure():
    """So many words of the book at most, besides the needle."""
    for example in dataset("nolima", "sample", max_words=30):
        rest = example["context"].replace(example["needle"], "")
        assert 20 <= len(rest.split()) <= 30


def test_nolima_takes_another_set_of_needles(tmp_path):
    """By name, with or without `.json`; a distractor is put into the book as well."""
    needle = {
        "id": "1",
        "needle": "{CHAR} lives by the {1}.",
        "questions": {"direct": "Who lives by the {1}?"},
        "distractors": {"direct": "Nobody lives by the {1}."},
        "character_set": ["Ada", "Tom"],
        "tests": {"T1": {"input_args": ["tower"]}},
    }
    fixed = {**needle, "id": "2", "needle": "Ines lives by the {1}."}
    fixed["tests"] = {"T1": {"input_args": ["quay"], "gold_answers": ["Ines"]}}
    (tmp_path / "needlesets").mkdir()
    (tmp_path / "needlesets" / "needle_set_MC.json").write_text(json.dumps([needle, fixed]))
    book = tmp_path / "haystack" / "rand_shuffle" / "rand_book_1.txt"
    book.parent.mkdir(parents=True)
    book.write_text("One line.\nAnother line.\n")
    chosen = {"needle_set": "needle_set_MC.json", "data_dir": tmp_path}
    first, second = dataset("nolima", "direct", **chosen)
    assert first["question"] == "Who lives by the tower?"
    assert {first["needle"], "Nobody lives by the tower."} <= set(first["context"].splitlines())
    assert (second["answer"], second["needle"]) == ("Ines", "Ines lives by the quay.")
    with pytest.raises(DataError, match="no needle has a question of the kind 'onehop'") as caught:
        list(dataset("nolima", **chosen))
    assert caught.value.hint == "kinds of this set: direct"
    with pytest.raises(UsageError, match=r"no file 'needlesets/needle_set\.json'"):
        list(dataset("nolima", data_dir=tmp_path))
    with pytest.raises(ValueError, match="is not the name of a file"):
        dataset("nolima", needle_set="../secret")


def test_n_examples_are_n_examples():
    """Where the peer skipped a row it returned fewer than asked for."""
    for name in ("arc-challenge", "bfcl"):
        assert len(list(islice(dataset(name, "sample"), 2))) == 2
