"""The nouns of memories: items, histories that are their own address, and what is found."""

from __future__ import annotations

import copy
import pickle

import pytest

from cb_memory.nouns import (
    ConversationTurn,
    Declaration,
    DocumentChunk,
    Event,
    History,
    MemorySystem,
    Question,
    Retrieved,
    by_session,
    item_from,
)
from cbcore.exceptions import DataError
from cbcore.json_data import to_json


def turns(n, session=""):
    return [ConversationTurn(content=f"turn {i}", id=str(i), session=session) for i in range(n)]


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (ConversationTurn(content="hi", speaker="Ada", role="user"), "Ada: hi"),
        (ConversationTurn(content="hi", role="user"), "user: hi"),
        (ConversationTurn(content="hi"), "hi"),
        (DocumentChunk(content="a page", document="d"), "a page"),
        (Event(content="merged", platform="forge", author="Max"), "[forge Max] merged"),
        (Declaration(key="pet", value="cat"), "pet: cat"),
    ],
)
def test_every_item_has_a_text(item, text):
    """So that a memory that wants texts need not know the kinds."""
    assert item.text == text


@pytest.mark.parametrize(
    ("plain", "item"),
    [
        ({"content": "hi", "id": 3}, ConversationTurn(content="hi", id="3")),
        ({"kind": "event", "content": "x", "time": None}, Event(content="x")),
        ({"kind": "declaration", "key": "a", "value": 1}, Declaration(key="a", value="1")),
        (
            {"kind": "document", "content": "x", "position": 2},
            DocumentChunk(content="x", position=2),
        ),
    ],
)
def test_plain_data_becomes_items(plain, item):
    """What an item does not have is passed over."""
    assert item_from({**plain, "likes": 7}) == item
    assert item_from(item) is item


@pytest.mark.parametrize(
    ("plain", "problem"),
    [
        ("hi", "is a str"),
        ({"text": "hi"}, "has no 'content' (it has text)"),
        ({"kind": "dream", "content": "x"}, "of the kind 'dream'"),
    ],
)
def test_what_is_no_item_is_told(plain, problem):
    """With the field."""
    with pytest.raises(DataError) as raised:
        item_from(plain, "item 4")
    assert problem in raised.value.message
    assert raised.value.message.startswith("item 4")


def test_a_history_is_known_by_its_content():
    """Equal items have an equal address; another item, another one."""
    assert History(turns(3), "a") == History(turns(3), "a")
    assert History(turns(3), "a") != History(turns(4), "a")
    assert History(turns(3), "a").startswith("a#")


def test_a_history_is_never_copied():
    """Neither for each call, nor when examples are read back from disk."""
    history = History(turns(3), "a")
    example = {"history": history}
    assert copy.deepcopy(example)["history"] is history
    assert copy.copy(history) is history
    assert pickle.loads(pickle.dumps(example))["history"] is history
    assert to_json(example, sort_keys=True) == b'{"history":"' + history.encode() + b'"}'


def test_a_history_knows_where_items_are():
    """By their ids."""
    assert History(turns(3)).positions == {"0": 0, "1": 1, "2": 2}


def test_sessions_are_runs_of_items():
    """In their order; one that comes again is another run."""
    items = [*turns(2, "a"), *turns(1, "b"), *turns(1, "a")]
    assert [len(session) for session in by_session(items)] == [2, 1, 1]
    assert [*by_session([])] == []


def test_a_question_is_a_text_that_knows_when_it_is_asked():
    """So that memories that take a text work with it."""
    asked = Question("why?", "2024-05-01")
    assert asked == "why?"
    assert asked.time == "2024-05-01"


def test_what_was_made_of_several_items_names_them_all():
    """Each once."""
    assert Retrieved("x", id="a", sources=["b", "a"]).ids == ("a", "b")
    assert Retrieved("x").ids == ()


def test_the_protocol_is_structural():
    """Four names make a memory."""

    class Mine:
        name = "mine"
        reset = ingest = query = lambda self, *_: None

    assert isinstance(Mine(), MemorySystem)
