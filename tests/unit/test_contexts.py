"""The forms of a context, and what a stage passes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.contexts import (
    complete_output,
    context_of,
    find_unreadable,
    has_field,
    history_of,
    pass_on,
)

ITEMS = [{"id": "d1", "title": "Oslo", "text": "Oslo is in Norway."}, {"page_content": "Bergen."}]
HISTORY = [{"role": "user", "content": "Where is Oslo?"}, {"role": "assistant", "content": "North"}]
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}]}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, None),
        ({"context": "a"}, "a"),
        ({"context": "a", "contexts": ["b"]}, "a"),
        ({"contexts": ["a", "b"]}, "a\n\nb"),
        ({"contexts": ITEMS}, "Oslo is in Norway.\n\nBergen."),
        ({"contexts": []}, ""),
        ({"contexts": "a"}, None),
        ({"contexts": [1]}, None),
        ({"messages": HISTORY}, "user: Where is Oslo?\n\nassistant: North"),
        ({"messages": [CALL]}, 'assistant: [{"function": {"name": "f"}}]'),
        (
            {"messages": [{"content": [{"type": "text", "text": "a"}, IMAGE]}]},
            "user: a\n\n[image_url 8df4648b]",
        ),
        ({"messages": ["a"]}, None),
        ({"context": {"a": 1}}, None),
    ],
)
def test_a_context_is_read_in_any_of_its_forms(fields, text):
    assert context_of(fields) == text


@pytest.mark.parametrize(
    ("given", "output", "forms"),
    [
        # A stage that changes none of the forms passes the context on.
        ({"context": "a"}, {"response": "r"}, {"context": "a"}),
        ({"context": "a"}, {"context": "a", "response": "r"}, {"context": "a"}),
        ({"context": "a"}, {"context": None}, {"context": None}),
        # The form that it changes replaces the others.
        ({"context": "a"}, {"contexts": ["b", "c"]}, {"contexts": ["b", "c"], "context": "b\n\nc"}),
        # Of a stage that hands back all it was given, only the changed form counts.
        (
            {"context": "a", "id": 1},
            {"context": "a", "id": 1, "contexts": ["b"]},
            {"contexts": ["b"], "context": "b"},
        ),
        ({"contexts": ["a", "b"]}, {"context": "c"}, {"context": "c", "contexts": ["c"]}),
        ({"messages": HISTORY}, {"context": "c"}, {"context": "c", "contexts": ["c"]}),
        ({"context": "a", "contexts": ["a"]}, {"messages": HISTORY}, {"messages": HISTORY}),
        ({"context": "a"}, {"contexts": []}, {"contexts": [], "context": ""}),
        # Both forms of one stage stay as it returned them.
        (
            {"context": "a"},
            {"context": "1: b", "contexts": ["b"]},
            {"context": "1: b", "contexts": ["b"]},
        ),
        (
            {"context": "1: b", "id": 1},
            {"context": "1: b", "contexts": ["b"]},
            {"context": "1: b", "contexts": ["b"]},
        ),
        # A context that cannot be read is not passed on.
        ({"context": "a"}, {"contexts": [1]}, {"context": "a", "contexts": [1]}),
    ],
)
def test_the_form_that_a_stage_returned_replaces_the_others(given, output, forms):
    after = pass_on(given, output)
    assert {form: after[form] for form in ("context", "contexts", "messages") if form in after} == (
        forms
    )


def test_ids_and_titles_of_a_list_are_kept():
    assert pass_on({"context": "a"}, {"contexts": ITEMS})["contexts"] is ITEMS


@pytest.mark.parametrize(
    ("given", "output", "read"),
    [
        ({"context": "a"}, {"response": "r"}, {"response": "r"}),
        ({"context": "a"}, {"context": "a"}, {"context": "a", "contexts": ["a"]}),
        ({"context": "a"}, {"context": "b"}, {"context": "b", "contexts": ["b"]}),
        ({"context": "a"}, {"contexts": ["b", "c"]}, {"context": "b\n\nc", "contexts": ["b", "c"]}),
        (
            {"context": "a", "contexts": ["a"], "id": 1},
            {"context": "b", "contexts": ["a"], "id": 1},
            {"context": "b", "contexts": ["b"], "id": 1},
        ),
        (
            {"context": "a", "contexts": ["x"]},
            {"context": "a"},
            {"context": "a", "contexts": ["x"]},
        ),
    ],
)
def test_evaluators_read_the_sent_context_in_both_forms(given, output, read):
    assert complete_output(output, pass_on(given, output)) == read


def test_a_history_ends_with_the_question_once():
    asked = {"role": "user", "content": "And Bergen?"}
    assert history_of({"messages": HISTORY, "question": "And Bergen?"}) == [*HISTORY, asked]
    assert history_of({"messages": [*HISTORY, asked], "question": "And Bergen?"}) == [
        *HISTORY,
        asked,
    ]
    assert history_of({"context": "a", "question": "q"}) == []


VALUES = st.none() | st.text() | st.lists(st.text()) | st.integers() | st.lists(st.integers())
NAMES = ("context", "contexts", "messages", "question")
FIELDS = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, VALUES))


@given(FIELDS, FIELDS)
def test_passing_on_twice_changes_nothing_more(example, output):
    once = pass_on(example, output)
    assert pass_on(once, {}) == once
    assert context_of(pass_on(example, {})) == context_of(example)


class Hostile(dict):
    def __contains__(self, key):
        raise ValueError("no")


@pytest.mark.parametrize("form", ["context", "contexts", "messages"])
def test_values_that_fail_when_they_are_read_are_unreadable(form):
    output = {form: [Hostile(), Hostile()] if form != "messages" else [Hostile(), 1]}
    assert not has_field(output, "context")
    assert form in find_unreadable({"context": "a"}, output)
