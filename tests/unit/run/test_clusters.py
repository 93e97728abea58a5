"""Examples that share a source: the row knows its cluster."""

from __future__ import annotations

from cbcore import evaluate


class Echo:
    name = "echo"

    def process(self, example):
        return {**example, "response": example["question"]}


class Half:
    name = "half"
    emits = ("f1",)

    def score(self, original, processed):
        return {"f1": float(original["id"] % 2)}


def examples(**fields):
    return [
        {"id": i, "question": "q", "answer": "q", **{k: v(i) for k, v in fields.items()}}
        for i in range(8)
    ]


def clusters(**settings):
    data = settings.pop("data")
    result = evaluate([Echo()], data, [Half()], progress=False, score_field="f1", **settings)
    return result, [row.metadata.get("cluster") for row in result.rows]


def test_the_cluster_field_of_an_example_is_kept():
    """Without being asked, and intervals go by it."""
    result, found = clusters(data=examples(cluster=lambda i: f"doc{i // 2}"))
    assert found == ["doc0", "doc0", "doc1", "doc1", "doc2", "doc2", "doc3", "doc3"]
    assert result.estimates["echo"]["mean_score"].clusters == 4


def test_another_column_can_name_the_cluster():
    """It is recorded with the other settings, and what is no text becomes plain data."""
    data = examples(source=lambda i: ("book", i // 4))
    result, found = clusters(data=data, cluster_column="source")
    assert found == [["book", 0]] * 4 + [["book", 1]] * 4
    assert result.config["settings"]["cluster_column"] == "source"
    assert result.estimates["echo"]["mean_score"].clusters == 2


def test_an_example_without_a_cluster_stands_for_itself():
    """Null is no name of a source, and those that have none do not share it."""
    result, found = clusters(data=examples(cluster=lambda i: "doc" if i < 2 else None))
    assert found == ["doc", "doc", *[None] * 6]
    assert result.estimates["echo"]["mean_score"].clusters == 7


def test_a_column_that_no_example_has_is_reported(capsys):
    """Most likely it is misspelt."""
    result, found = clusters(data=examples(), cluster_column="sauce")
    assert found == [None] * 8
    assert result.estimates["echo"]["mean_score"].clusters is None
    assert "No example has 'sauce', so --cluster-column had no effect." in capsys.readouterr().err
