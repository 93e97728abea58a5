"""A response made plain: no mark-up, no reasoning block, one form of each character."""

from __future__ import annotations

import re
import unicodedata

from cb_scorers._responses import strip_reasoning

_TEX_WRAPPER = re.compile(r"\\(?:text|textbf|mathbf|mathrm|rm|bf)\s*\{([^{}]*)\}")
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{([^{}]*)\}")
_TAGGED = re.compile(r"<((?:final_?)?answer)>(.*?)(?:</\1>|$)", re.DOTALL | re.IGNORECASE)
_TEX_DELIMITER = re.compile(r"\\[()\[\]]|\$")
_EMPHASIS = re.compile(r"[*`\ue000-\uf8ff]+|(?<!\w)_+|_+(?!\w)|^#+\s*", re.MULTILINE)
_ELLIPSIS = re.compile(r"\.{2,}")
_QUOTES = str.maketrans("‘’ʼ“”«»", '\'\'\'""""')
_LONGEST = 100_000


def plain(text: str) -> str:
    r"""The text without emphasis, TeX and reasoning block; a boxed or tagged answer is announced.

    `\boxed{B}` and `<answer>B</answer>` become a line "answer: B". Full-width and circled letters
    become plain ones. Of a very long text the end is read: that is where an answer stands.
    """
    text = unicodedata.normalize("NFKC", text[-_LONGEST:]).translate(_QUOTES)
    text = _TEX_WRAPPER.sub(r"\1", strip_reasoning(text))
    text = _BOXED.sub(r"\nanswer: \1\n", text)
    text = _TAGGED.sub(r"\nanswer: \2\n", text)
    text = _EMPHASIS.sub("", _TEX_DELIMITER.sub("", text)).strip()
    return _ELLIPSIS.sub("…", text)


def folded(text: str) -> str:
    """A text as whole texts are compared: case, spacing and the final full stop do not count."""
    return " ".join(plain(text).casefold().split()).strip(" .\"'")
