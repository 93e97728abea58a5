"""Refuse, before a file is written, what would not become a working package.

The rules are those of `cb new`, which also knows what is installed. They stand here once more
because the template works where `cb` is not installed.
"""

import keyword
import re
import sys

NAME = {{ cookiecutter.name | tojson }}
GITHUB_USER = {{ cookiecutter.github_user | tojson }}
TEXTS = {
    "author": {{ cookiecutter.author | tojson }},
    "description": {{ cookiecutter.description | tojson }},
}
MAX_LENGTH = 32

stem = NAME[3:] if NAME.startswith(("cb-", "cb_")) else NAME
problem = None
if not re.fullmatch(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*", stem):
    problem = (
        f"{NAME!r} is not a name: use lower-case letters, digits and single hyphens, "
        "starting with a letter"
    )
elif keyword.iskeyword(stem.replace("-", "_")) or stem == "py":
    problem = f"{NAME!r} is a reserved word"
elif len(stem) > MAX_LENGTH:
    problem = f"{NAME!r} is longer than {MAX_LENGTH} characters"
elif not re.fullmatch(r"[A-Za-z0-9-]*", GITHUB_USER):
    problem = f"{GITHUB_USER!r} is not the name of a GitHub user"
for what, text in TEXTS.items():
    if not text.strip() or not text.isprintable():
        problem = problem or f"the {what} {text!r} is not one line of text"
if problem:
    sys.exit(f"error: {problem}")
