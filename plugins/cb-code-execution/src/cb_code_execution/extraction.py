"""From what a model wrote to a program: which of it is code, and what belongs in front of it."""

from __future__ import annotations

import re
import textwrap

_REASONING = re.compile(r"^.*</(?:think|thinking|reasoning)>[ \t]*\n?", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(
    r"^[ \t]*(?P<fence>`{3,9}|~{3,9})(?![`~])(?P<info>[^\n]*)\n"
    r"(?P<code>.*?)"
    r"(?:^[ \t]*(?P=fence)[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_LANGUAGE = re.compile(r"[\w+#.-]*")
_PYTHON = {"", "python", "python3", "py", "python2", "pycon"}


def code_of(response: str, entry_point: str | None = None) -> str:
    """The code of a response: that inside its fences, or all of it when it has none.

    Of several blocks the last that defines `entry_point` counts; when none does, all Python
    blocks together. A block left open at the end of the response counts too, one in what the
    model thought before does not.
    """
    response = _REASONING.sub("", response)
    blocks = [
        textwrap.dedent(match["code"]) if _is_indented(match[0]) else match["code"]
        for match in _FENCE.finditer(response)
        if _language(match["info"]) in _PYTHON
    ]
    if not blocks:
        return response
    if entry_point:
        for block in reversed(blocks):
            if defines(block, entry_point):
                return block
    return "\n".join(blocks)


def _language(info: str) -> str:
    found = _LANGUAGE.match(info.strip())
    return found[0].lower() if found else ""


def _is_indented(fenced: str) -> bool:
    """Whether the fence itself is indented, as in a list: then the code in it is, too."""
    return fenced[:1] in (" ", "\t")


def defines(code: str, name: str) -> re.Match[str] | None:
    """Where a module with this code has the function or class at its top level, if it has."""
    return re.search(rf"^(async\s+def|def|class)\s+{re.escape(name)}\b", code, re.MULTILINE)


def program(response: str, prompt: str | None = None, entry_point: str | None = None) -> str:
    """The solution to run.

    A response that defines the function stands for itself, after what the prompt has in front
    of it (imports, other functions). Anything else continues the prompt, indented if need be.
    """
    code = code_of(response, entry_point)
    head = defines(prompt, entry_point) if prompt and entry_point else None
    if not prompt or not entry_point or head is None:
        return code
    if defines(code, entry_point):
        return f"{prompt[: head.start()]}\n{code}"
    continued = f"{prompt.rstrip()}\n{code}"
    if compiles(continued):
        return continued
    indented = f"{prompt.rstrip()}\n{textwrap.indent(textwrap.dedent(code), '    ')}"
    return indented if compiles(indented) else continued


def compiles(code: str) -> bool:
    """Whether this is Python at all. Nothing is run."""
    try:
        compile(code, "solution.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True
