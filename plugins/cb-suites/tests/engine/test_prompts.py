"""Reading documents: fields, templates, literals and functions become text, choices, answers."""

from __future__ import annotations

import pytest

from cb_suites.engine.model import Origin, TaskConfig
from cb_suites.engine.task import Task
from cbcore.exceptions import ConfigError, DataError

DOC = {"question": "Capital of France?", "opts": ["Rome", "Paris"], "gold": 1, "key": "B"}


def read(doc=DOC, **settings):
    return Task.of(TaskConfig(name="t", alias="t", **settings)).values.read(doc)


@pytest.mark.parametrize(
    ("doc_to_text", "text"),
    [
        ("question", "Capital of France?"),
        ("Q: {{question}}\nA:", "Q: Capital of France?\nA:"),
        ("{{question.upper()}}\n", "CAPITAL OF FRANCE?\n"),
        ("{{question|regex_replace('F[a-z]+', 'X')}}", "Capital of X?"),
        (lambda doc: doc["question"][:3], "Cap"),
        ("Is it so? ", "Is it so? "),
        ("", ""),
    ],
)
def test_text_is_a_field_a_template_a_function_or_a_literal(doc_to_text, text):
    """A field's name gives the field, a template is rendered, other text stands for itself."""
    assert read(doc_to_text=doc_to_text).text == text


@pytest.mark.parametrize(
    ("doc_to_target", "answers"),
    [
        ("gold", ("Paris",)),
        ("key", ("Paris",)),
        (1, ("Paris",)),
        ("{{gold}}", ("Paris",)),
        ("{{opts[gold]}}", ("Paris",)),
        ("{{opts}}", ("Rome", "Paris")),
        (lambda doc: "Rome", ("Rome",)),
        (lambda doc: [0, 1], ("Rome", "Paris")),
    ],
)
def test_an_answer_is_resolved_against_the_choices(doc_to_target, answers):
    """An index, a letter or the text of a choice all mean that choice."""
    assert read(doc_to_choice="opts", doc_to_target=doc_to_target).answers == answers


@pytest.mark.parametrize(
    "doc_to_choice",
    [
        "opts",
        "{{opts}}",
        "['{{opts[0]}}', '{{opts[1]}}']",
        ["Rome", "Paris"],
        lambda doc: doc["opts"],
    ],
)
def test_choices_are_a_field_a_template_a_list_or_a_function(doc_to_choice):
    """An expression keeps its type; a template may also spell the list out."""
    assert read(doc_to_choice=doc_to_choice).choices == ("Rome", "Paris")


def test_a_text_among_the_choices_is_not_taken_for_an_index():
    """A field that holds a choice means it, also where it is a number; a template's digits count."""
    doc = {"choices": ["3", "4", "5"], "answer": "4"}
    assert read(doc).answers == ("4",)
    assert read({**doc, "answer": "1"}, doc_to_target="{{answer}}").answers == ("4",)


def test_without_settings_the_documents_own_fields_are_used():
    """`question`, `choices` and `answer` or `answers` need no mapping."""
    document = read(
        {"question": "q", "choices": {"text": ["x", "y"], "label": "AB"}, "answer": "y"}
    )
    assert (document.text, document.choices, document.answers) == ("q", ("x", "y"), ("y",))
    assert read({"question": "q"}).answers == ()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"doc_to_text": "questoin"}, "did you mean question"),
        ({"doc_to_text": "{{nope}}"}, "'nope' is undefined"),
        ({"doc_to_choice": "opts", "doc_to_target": 5}, "there are 2 choices"),
        ({"doc_to_choice": "opts", "doc_to_target": lambda doc: "Oslo"}, "none of the choices"),
        ({"doc_to_choice": "question"}, "not a list of choices"),
        ({"doc_to_choice": "{{nope}}"}, "'nope' is undefined"),
        ({"doc_to_text": lambda doc: 1 / 0}, "doc_to_text failed: ZeroDivisionError"),
    ],
)
def test_a_document_that_cannot_be_read_says_why(settings, said):
    """It is that document's error, never a guess."""
    with pytest.raises(DataError) as caught:
        read(**settings)
    assert said in str(caught.value)


def test_a_broken_template_names_its_file_and_line():
    """It is found before anything runs."""
    where = {"doc_to_text": Origin("suite.yaml", 7)}
    with pytest.raises(ConfigError, match=r"suite\.yaml:7: doc_to_text is not a valid template"):
        read(doc_to_text="{{question", origins=where)


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ question.__init__.__globals__ }}",
        "{% set _ = opts.append('x') %}{{opts}}",
        "{{ opts.clear() }}",
    ],
)
def test_templates_reach_no_internals_and_change_nothing(template):
    """The sandbox refuses, and the document stays as it was."""
    doc = {"question": "q", "opts": ["a"]}
    with pytest.raises(DataError, match="SecurityError"):
        read(doc, doc_to_text=template)
    assert doc == {"question": "q", "opts": ["a"]}


def test_what_a_document_holds_is_never_a_template():
    """Hostile data is only ever a value."""
    doc = {"question": "{{ 7*7 }}", "answer": "{% raw %}"}
    document = read(doc, doc_to_text="Q: {{question}}", doc_to_target="{{answer}}")
    assert (document.text, document.answers) == ("Q: {{ 7*7 }}", ("{% raw %}",))


@pytest.mark.parametrize(
    ("doc_to_context", "context"),
    [
        ("passage", "It is on the Seine."),
        ("{{ passage | upper }}", "IT IS ON THE SEINE."),
        (lambda doc: doc["passage"][:2], "It"),
        (None, None),
    ],
)
def test_context_is_a_field_a_template_or_a_function(doc_to_context, context):
    """Nothing where the task says nothing: the document's own is then left as it is."""
    document = {"passage": "It is on the Seine."}
    assert read(document, doc_to_context=doc_to_context).context == context
