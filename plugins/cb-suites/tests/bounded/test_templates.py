"""Which templates need no limits, and that limits change nothing of what a template gives."""

from __future__ import annotations

import pytest

from cb_suites.bounded.templates import compiled, is_plain
from cb_suites.bounded.worker import WORKERS

DOCUMENT = {"q": " Who? ", "c": ["x", "y"], "n": 1, "d": {"text": ["a", "b"]}, "t": "a b"}

PLAIN = [
    "{{q}}",
    "Q: {{ q.strip() }}\nA:",
    "{{ c[n] }}",
    "{{ ['A', 'B'][n] }}",
    "{{ d.text|join(', ') }}",
    "{{ q|trim|lower }}",
    "{{ q ~ t }}",
    "{{ 'yes' if n == 1 else 'no' }}",
    "{% if t is defined %}{{ t.split(' ')[0] }}{% endif %}",
    "{% for one in c %}{{ loop.index }}. {{ one|upper }}\n{% endfor %}",
    "{% for key, value in d.items() %}{{ key }}={{ value }}{% endfor %}",
    "{{ d.get('text') }}",
    "{{ n + 1 }}",
]

GROWING = [
    "{{ 'x' * 3 }}",
    "{{ 2 ** 3 }}",
    "{{ '%3d' % n }}",
    "{{ q.rjust(20) }}",
    "{{ q|center(20) }}",
    "{{ q|replace('o', 'a long text') }}",
    "{{ q|join(t) }}",
    "{{ t|list|string|list|string|length }}",
    "{% set x = q %}{{ x ~ x }}",
    "{% for one in q %}{{ q }}{% endfor %}",
    "{% for one in c %}{% for two in one %}{{ two }}{% endfor %}{% endfor %}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(q) }}",
    "{% for i in range(3) %}{{ i }}{% endfor %}",
    "{{ q|regex_replace('W', 'w') }}",
    "{{ q.split(t) }}",
    "{{ (q.strip)() if n else q.center(*[9]) }}",
    "{{ q }}" * 2_000,
]


@pytest.mark.parametrize("template", PLAIN)
def test_what_cannot_grow_is_rendered_at_once(template):
    """Fields, choices, conditions, one loop over what is there."""
    assert is_plain(template)


@pytest.mark.parametrize("template", GROWING, ids=lambda text: text[:40])
def test_what_could_grow_is_not_plain(template):
    """By multiplying, by assigning, by loops in loops, by widths, by steps upon steps."""
    assert not is_plain(template)


@pytest.mark.parametrize("template", [*PLAIN, *GROWING], ids=lambda text: text[:40])
def test_limits_change_nothing(template):
    """The process gives what would be given without it."""
    told = WORKERS.ask("render", template, DOCUMENT)
    assert told == compiled(template)(DOCUMENT)
