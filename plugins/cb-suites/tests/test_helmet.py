"""Long contexts as HELMET asks about them: what is made, what is read, and how it is scored."""

from __future__ import annotations

import json
import math

import pytest

from cb_suites.helmet.dataset import Helmet
from cb_suites.helmet.score import HelmetScore, ndcg, read_ranking
from cbcore.exceptions import UsageError


def scored(example, response):
    return HelmetScore().score(example, {"response": response})["helmet"]


# -- made here ---------------------------------------------------------------------------------


def test_keys_are_asked_for_at_six_depths_of_an_object():
    """As many pairs as were published for the length; each value is the one of its key."""
    examples = list(Helmet("json_kv", length=8192, n=6))
    assert [example["depth"] for example in examples] == [0, 20, 40, 60, 80, 100]
    for example in examples:
        pairs = json.loads(example["context"])
        asked = example["question"].splitlines()[-2].removeprefix("Key: ")
        assert (len(pairs), pairs[asked]) == (105, example["answer"][0])
        assert list(pairs).index(asked) == round(example["depth"] / 100 * 104)
        assert example["question"].count("Key: ") == 3  # two worked examples, of other keys
        assert example["question"].count(asked) == 1
        assert example["reference_contexts"][0] in example["context"]


def test_the_same_examples_are_made_each_time_and_others_for_another_seed():
    """On every machine."""
    assert list(Helmet(n=2)) == list(Helmet(n=2))
    assert list(Helmet(n=2)) != list(Helmet(n=2, seed=1))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"task": "nope"}, "is not one of json_kv, nq"),
        ({"length": 4096}, "it must be one of 8192"),
        ({"n": 0}, "at least 0 and 1"),
        ({"shots": -1}, "at least 0 and 1"),
    ],
)
def test_wrong_parameters_are_told(given, message):
    """With what there is."""
    with pytest.raises(ValueError, match=message):
        Helmet(**given)


# -- read from files ---------------------------------------------------------------------------


def passages(n, gold):
    rows = [{"title": f"T{i}", "text": f"text {i}", "has_answer": False} for i in range(n)]
    rows[gold] |= {"text": "It is Paris.", "has_answer": True}
    return rows


def write(folder, name, rows):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


@pytest.fixture
def published(tmp_path):
    """Files as the authors' archive has them: each question at two depths."""
    asked = [
        {
            "question": f"Capital {i}?",
            "answers": ["Paris", "City of Light"],
            "ctxs": passages(50, d),
            "s_pop": 10.0 ** (i + 1),
        }
        for i in range(5)
        for d in (0, 49)
    ]
    shown = [{**row, "question": f"Shown {row['question']}"} for row in asked]
    write(tmp_path, "data/kilt/nq-dev-multikilt_1000_k50_dep6.jsonl", asked)
    write(tmp_path, "data/kilt/nq-train-multikilt_1000_k3_dep6.jsonl", shown)
    write(tmp_path, "data/kilt/popqa_test_1000_k50_dep6.jsonl", asked)
    write(tmp_path, "data/kilt/popqa_test_1000_k3_dep6.jsonl", asked)
    ranked = [
        {
            "qid": f"q{i}",
            "query": f"Query {i}",
            "ctxs": [{"id": str(j), "text": f"p{j}", "label": (j + i) % 3} for j in range(4)],
        }
        for i in range(4)
    ]
    write(tmp_path, "data/msmarco/test_reranking_data_k50_dep3.jsonl", ranked)
    write(tmp_path, "data/msmarco/test_reranking_data_k10_dep3.jsonl", ranked)
    return tmp_path


def test_questions_come_with_their_passages_and_worked_examples(published):
    """All depths of as many questions as are asked for; the passages of an example are its own."""
    examples = list(Helmet("nq", n=3, data_dir=str(published)))
    assert len(examples) == 6
    assert len({example["question"].splitlines()[-2] for example in examples}) == 3
    first = examples[0]
    assert first["context"].count("text ") == 49
    assert first["reference_contexts"] == ["T0: It is Paris."]
    assert first["question"].count("Question: Shown") == 2
    assert first["answer"] == ["Paris", "City of Light"]


def test_without_worked_examples_their_file_is_not_needed(published):
    """Nothing comes before the question then."""
    (published / "data/kilt/nq-train-multikilt_1000_k3_dep6.jsonl").unlink()
    (example, *_) = Helmet("nq", shots=0, data_dir=str(published))
    assert "Shown" not in example["question"]


def test_only_subjects_that_few_look_up_are_asked_about(published):
    """And no question is its own worked example, though both are of one file."""
    examples = list(Helmet("popqa", data_dir=str(published)))
    assert len(examples) == 4  # two subjects below a thousand visits, at two depths
    for example in examples:
        assert example["question"].count(example["question"].splitlines()[-2]) == 1


def test_passages_are_ranked_by_their_grades(published):
    """The best order scores 1, its reverse less, and no order 0."""
    (example, *_) = Helmet("msmarco", data_dir=str(published))
    best = example["answer"][0]
    worst = " > ".join(reversed(best.split(" > ")))
    assert scored(example, f"Ranking: {best}") == 1.0
    assert 0.0 < scored(example, worst) < 1.0
    assert scored(example, "I cannot tell") == 0.0


def test_a_missing_file_says_where_it_comes_from(tmp_path):
    """And where to put it."""
    with pytest.raises(UsageError, match=r"no file kilt/nq.*princeton-nlp/HELMET.*CB_DATA_DIR"):
        list(Helmet("nq", data_dir=str(tmp_path)))


# -- scores ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "score"),
    [
        ("The answer: the City of Light!", 1.0),
        ("paris, france", 1.0),
        ("London", 0.0),
        ("", 0.0),
    ],
)
def test_an_answer_counts_as_part_of_a_response(response, score):
    """Case, punctuation and articles aside."""
    assert scored({"answer": ["Paris", "City of Light"]}, response) == score


def test_the_longest_ranking_is_read():
    """With brackets and the word ID taken away; a number that comes twice counts once."""
    assert read_ranking("Of 12 passages: [ID: 3] > [ID: 1] > ID2 > 3") == ["3", "1", "2"]
    assert read_ranking("none") == []


def test_gains_are_discounted_by_rank_up_to_the_tenth():
    """By hand: a grade of 2 at the second place, of 3 at the first of the best order."""
    found = ndcg(["x", "b"], {"a": 3, "b": 2, "x": 0})
    best = 3 + 2 / math.log2(3)
    assert found == pytest.approx(2 / math.log2(3) / best)
    assert ndcg([*(f"n{i}" for i in range(10)), "a"], {"a": 1}) == 0.0
