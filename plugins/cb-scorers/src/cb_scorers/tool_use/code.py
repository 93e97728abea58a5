"""Java and JavaScript as far as calls need it: tokens, brackets, and which statement is a call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import attrs

from cb_scorers.tool_use.call import Call

UNNAMED = ""
"""The name under which a variable is kept that is given without one."""

# What is opened and never closed goes to the end, so that no text is searched twice.
_TOKEN = re.compile(
    r"""
    (?P<gap> \s+ | //[^\n]* | /\*.*?(?:\*/|\Z) )
  | (?P<text> \"{3}.*?(?:\"{3}|\Z) | (?P<quote>["'`])(?:\\.|(?!(?P=quote))[^\\])*(?:(?P=quote)|\\?\Z) )
  | (?P<word> [\w$]+ (?: (?<=\d)\.\d\w* )? )
  | (?P<mark> ->|=> | [-=!+*/%&|^<>]=+ | . )
    """,
    re.DOTALL | re.VERBOSE,
)
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_NO_FUNCTIONS = frozenset(
    {"await", "catch", "delete", "for", "function", "if", "new", "return", "super", "switch"}
    | {"synchronized", "this", "throw", "typeof", "void", "while", "with", "yield"}
)


@attrs.frozen
class Token:
    """A piece of code: `kind` is text, word or mark."""

    kind: str
    text: str
    start: int
    end: int


@attrs.frozen
class Code:
    """A text's tokens, and for each opening bracket the position of the one that closes it."""

    text: str
    tokens: list[Token]
    closing: dict[int, int]

    def source(self, start: int, stop: int) -> str:
        """What stands in the text for a range of tokens."""
        return self.text[self.tokens[start].start : self.tokens[stop - 1].end]

    def after(self, position: int) -> int:
        """The token after this one, or after the bracket that it opens."""
        return self.closing.get(position, position) + 1

    def outside(self, start: int, stop: int) -> Iterator[int]:
        """The tokens of a range that are in no bracket of their own."""
        while start < stop:
            yield start
            start = self.after(start)

    def name_at(self, start: int, stop: int) -> str | None:
        """The name that a range of tokens is; None when it is something else."""
        token = self.tokens[start]
        named = stop == start + 1 and token.kind == "word" and not token.text[0].isdigit()
        return token.text if named else None

    def split(self, start: int, stop: int, mark: str) -> list[tuple[int, int]]:
        """The ranges between the marks; none for nothing."""
        cuts = [i for i in self.outside(start, stop) if self.tokens[i].text == mark]
        starts, stops = [start, *(cut + 1 for cut in cuts)], [*cuts, stop]
        return [(a, b) for a, b in zip(starts, stops, strict=True) if a < b]


def code_of(text: str) -> Code | None:
    """The tokens of a text, or None when its brackets do not match.

    A last semicolon will do for the bracket that ends a call.
    """
    tokens = [
        Token(str(found.lastgroup), found[0], found.start(), found.end())
        for found in _TOKEN.finditer(text)
        if found.lastgroup != "gap"
    ]
    closing: dict[int, int] = {}
    opened: list[int] = []
    for position, token in enumerate(tokens):
        if token.kind != "mark":
            continue
        if token.text in _BRACKETS:
            opened.append(position)
        elif token.text in _BRACKETS.values():
            if not opened or _BRACKETS[tokens[opened[-1]].text] != token.text:
                return None
            closing[opened.pop()] = position
    if len(opened) == 1 and tokens[opened[0]].text == "(" and tokens[-1].text == ";":
        closing[opened.pop()] = len(tokens) - 1
    return None if opened else Code(text, tokens, closing)


def unwrapped(text: str) -> str:
    """A response without backticks around it, and without the brackets of a list of calls."""
    return text.strip("`\n ").removeprefix("[").removesuffix("]")


def statements(code: Code, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Ranges that end at a semicolon, or with a line when the next cannot go on with it."""
    for first, end in code.split(start, stop, ";"):
        cuts = [i for i in code.outside(first, end) if i > first and _begins_anew(code, i)]
        yield from zip([first, *cuts], [*cuts, end], strict=True)


def _begins_anew(code: Code, position: int) -> bool:
    before, token = code.tokens[position - 1], code.tokens[position]
    return (
        "\n" in code.text[before.end : token.start]
        and (before.kind != "mark" or before.text in _BRACKETS.values())
        and (token.kind != "mark" or token.text == "{")
    )


def call_in(
    code: Code,
    start: int,
    stop: int,
    value: Callable[[Code, int, int], str],
    is_variable: Callable[[Code, int, int], bool],
) -> Call | None:
    """The call that a statement is, or None when it is none, or names an argument twice.

    An argument without a name is kept when it is a variable; other values are passed over.
    """
    opening = next((i for i in code.outside(start, stop) if code.after(i) == stop), start)
    if code.tokens[opening].text != "(" or not _is_function(code, start, opening):
        return None
    arguments: dict[str, str] = {}
    for first, end in code.split(opening + 1, stop - 1, ","):
        equals = _equals_sign(code, first, end)
        if equals is not None:
            comment = code.text[code.tokens[equals].end : code.tokens[equals + 1].start].strip()
            # BFCL takes a comment for the value before which it stands.
            name, written = code.source(first, equals), comment or value(code, equals + 1, end)
        elif is_variable(code, first, end):
            name, written = UNNAMED, code.source(first, end)
        else:
            continue
        if name in arguments:
            return None
        arguments[name] = written
    return Call(code.source(start, opening), arguments)


def _is_function(code: Code, start: int, stop: int) -> bool:
    """Whether tokens are a name, with dots, or with brackets after it."""
    if start >= stop or code.tokens[start].text in _NO_FUNCTIONS:
        return False
    outside = list(code.outside(start, stop))
    kinds = "".join(_letter(code.tokens[position]) for position in outside)
    return re.fullmatch(r"w(?:\.w|b)*", kinds) is not None


def _letter(token: Token) -> str:
    if token.kind == "word":
        return "w"
    return "b" if token.text in ("(", "[") else token.text if token.text == "." else "x"


def _equals_sign(code: Code, start: int, stop: int) -> int | None:
    """Where an argument's name ends and its value begins."""
    for position in code.outside(start, stop):
        token = code.tokens[position]
        if token.text == "=" and start < position < stop - 1:
            return position
        if token.kind == "mark" and token.text not in (".", "[", "{"):
            return None
    return None
