"""YAML that would stand for more than fits into the memory is refused, and so is what has no end."""

from __future__ import annotations

import os

import pytest

from cb_suites.bounded.yaml import (
    MOST_BYTES,
    NotReadableError,
    construct,
    read_text,
    safe_loader,
)


def powers(first: str, further: str, levels: int = 12) -> str:
    """Lines each of which names the one before it ten times."""
    lines = [f"a0: &a0 {first}"]
    for n in range(1, levels):
        lines.append(f"a{n}: &a{n} " + further.format(", ".join([f"*a{n - 1}"] * 10)))
    return "\n".join(lines)


BOMBS = {
    "aliases in lists": (powers("[x]", "[{}]"), "aliases stand for more than 1,000,000"),
    "aliases in mappings": (
        powers("{x: 1}", "{{p: [{}]}}"),
        "aliases stand for more than 1,000,000",
    ),
    "merge keys": (powers("{x: 1}", "{{<<: [{}], k: 1}}"), "aliases stand for more than"),
    "an alias in itself": ("a: &a [*a]", "an alias stands inside of what it stands for"),
    "a merge with itself": ("a: &a {<<: *a}", "an alias stands inside of what it stands for"),
    "lists in lists": ("a: " + "[" * 100_000, "nested too deeply"),
    "lists in lists, closed": ("a: " + "[" * 900 + "]" * 900, "nested too deeply"),
    "mappings in mappings": ("{a: " * 100_000, "nested too deeply"),
    "dashes": ("- " * 50_000, "nested too deeply"),
    "a number in base 60": ("a: 1" + ":1" * 100_000, "a number too long"),
    "a long number": ("a: " + "9" * 100_000, "a number too long"),
    "a date that is none": ("a: 2024-13-45", "month must be in 1..12"),
    "a key given twice": ("a: 1\nb: {c: 1, c: 2}", "'c' is given twice"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_has_no_end_is_refused(bomb):
    """Before anything is made of it."""
    text, says = BOMBS[bomb]
    with pytest.raises(NotReadableError, match=says):
        construct(text, safe_loader())


def test_the_line_is_told():
    """That of the value which is too large, or given twice."""
    with pytest.raises(NotReadableError) as caught:
        construct("a: 1\nb: 2\na: 3\n", safe_loader())
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: &x [1, 2]\nb: *x\nc: [*x, *x]", {"a": [1, 2], "b": [1, 2], "c": [[1, 2], [1, 2]]}),
        ("a: &x {k: 1}\nb: {<<: *x, l: 2}", {"a": {"k": 1}, "b": {"k": 1, "l": 2}}),
        ("a: &x {k: 1}\nb: {<<: *x, k: 2}", {"a": {"k": 1}, "b": {"k": 2}}),
        ("'1': a\n1: b", {"1": "a", 1: "b"}),
        ("- a\n" * 3_000, ["a"] * 3_000),
    ],
)
def test_usual_yaml_is_read_as_ever(text, value):
    """Aliases, merge keys and long lists among it."""
    assert construct(text, safe_loader()) == value


def test_only_files_of_some_size_are_read(tmp_path):
    """Not a pipe, which nobody may ever write to, a device, a folder, or what is too large."""
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(50_000_000_000)
    (tmp_path / "fits").write_bytes(b"\xef\xbb\xbf" + b"a" * (MOST_BYTES - 3))
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path, tmp_path / "huge", tmp_path / "absent"):
        with pytest.raises(NotReadableError, match="cannot be read"):
            read_text(type(tmp_path)(path))
    assert len(read_text(tmp_path / "fits")) == MOST_BYTES - 3
    with (tmp_path / "fits").open("ab") as file:
        file.write(b"a")
    with pytest.raises(NotReadableError, match="more than 1,000,000 bytes"):
        read_text(tmp_path / "fits")
