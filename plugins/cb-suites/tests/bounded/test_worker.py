"""Patterns and templates of strangers come to an end: in time, in memory, in what they give."""

from __future__ import annotations

import os
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_suites.bounded.worker import FailedError, TooMuchError, Workers


@pytest.fixture(scope="module")
def workers(short_time_limit):
    """Processes for these tests alone."""
    made = Workers()
    yield made
    made.close()


GROW = (
    "{%% set ns = namespace(x=%s) %%}{%% for i in range(60) %%}{%% set ns.x = %s %%}{%% endfor %%}"
)

BOMBS = {
    "rjust": "{{ 'x'.rjust(9999999999) }}",
    "center": "{{ 'x'.center(9999999999) }}",
    "center, a filter": "{{ 'x'|center(9999999999) }}",
    "zfill": "{{ 'x'.zfill(9999999999) }}",
    "indent": "{{ ('a\\n' * 9999)|indent(999999) }}",
    "times": "{{ 'a' * 10**10 }}",
    "times, a list": "{{ 10**10 * [1] }}",
    "power": "{{ 9 ** (9 ** 9) }}",
    "doubled by ~": GROW % ("'a'", "ns.x ~ ns.x"),
    "doubled by +": GROW % ("'a'", "ns.x + ns.x"),
    "doubled by join": GROW % ("'a'", "[ns.x, ns.x]|join"),
    "doubled by format": GROW % ("'a'", "'%s%s' % (ns.x, ns.x)"),
    "squared": GROW % ("7", "ns.x * ns.x"),
    "lists in lists, shown": GROW % ("[1]", "[ns.x, ns.x]") + "{{ ns.x }}",
    "lists in lists, compared": (
        "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}"
        "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}"
    ),
    "replace": "{{ ('a' * 999).replace('a', 'b' * 999).replace('b', 'c' * 9999) }}",
    "a wide number": "{{ '%999999999999d' % 3 }}",
    "a wide number, a filter": "{{ '%999999999999d'|format(3) }}",
    "a wide number, a method": "{{ '{:999999999999}'.format(3) }}",
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "a macro of itself": "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "regex_replace": "{{ ('a' * 40 ~ 'b')|regex_replace('(a+)+$', '') }}",
    "much text": "{{ lipsum(n=99999) }}",
    "a long result": "{{ 'a' * 30000000 }}",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_template_that_grows_is_ended(workers, bomb):
    """Whatever it grows by; and the next request is answered."""
    with pytest.raises(FailedError):
        workers.ask("render", BOMBS[bomb], {})
    assert workers.ask("render", "{{ a }}", {"a": 1}) == "1"


@pytest.mark.parametrize(
    "request_",
    [
        ("find", r"(a+)+$", "a" * 40 + "b"),
        ("find", r"(?:a|a)*$", "a" * 40 + "b"),
        ("find", r"(.*)*(.*)*x", "a" * 60),
        ("replace", r"(a+)+$", "", "a" * 40 + "b"),
        ("check_pattern", r"(?i)" + "[\0-\U0010ffff]" * 5_000),
    ],
)
def test_a_pattern_without_end_is_ended(workers, request_):
    """Also one that takes for ever to be read."""
    with pytest.raises(TooMuchError, match=r"takes longer than 0\.5 s"):
        workers.ask(*request_)


def test_a_replacement_that_grows_is_ended(workers):
    """Each match is replaced by much."""
    with pytest.raises(TooMuchError):
        workers.ask("replace", ".", "b" * 100_000, "a" * 100_000)


def test_what_is_wrong_is_told_by_its_own_name(workers):
    """As it would be without the process."""
    with pytest.raises(FailedError, match="UndefinedError: 'a' is undefined"):
        workers.ask("render", "{% if 1 %}{{ a * 2 }}{% endif %}", {})
    with pytest.raises(FailedError, match="unterminated subpattern") as caught:
        workers.ask("check_pattern", "(")
    assert not isinstance(caught.value, TooMuchError)


class Unknown:
    """Can be sent, and not be made of what was sent."""

    def __reduce__(self):
        return int, ("no number",)


def test_what_cannot_be_sent_is_an_error_and_no_more(workers):
    """Of this request alone."""
    for value in (Unknown(), lambda: 1):
        with pytest.raises(Exception, match=r"invalid literal|pickle"):
            workers.ask("render", "{{ a * 1 }}", {"a": value})
    assert workers.ask("find", "a", "aba") == ["a", "a"]


@given(st.text(alphabet="ab1 \n\ud800é", max_size=20))
def test_patterns_find_what_they_always_find(text):
    """Whatever is in the text, unpaired surrogates included."""
    for pattern in (r"(a+)(b*)", r"\d", r"^.+$", r"(?m)^(.)"):
        assert _SHARED.ask("find", pattern, text) == re.findall(pattern, text)


_SHARED = Workers()


def test_threads_are_answered_each_its_own(workers):
    """No answer goes to another's question."""
    wrong = []

    def ask(letter):
        for n in range(20):
            text = letter * (n + 1)
            if workers.ask("find", ".+", text) != [text]:
                wrong.append(text)

    threads = [threading.Thread(target=ask, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_forked_process_has_its_own(workers):
    """It does not take part in a conversation that is its parent's."""
    workers.ask("find", "a", "a")
    child = os.fork()
    if child == 0:
        os._exit(0 if workers.ask("find", "b", "b") == ["b"] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert workers.ask("find", "c", "c") == ["c"]
