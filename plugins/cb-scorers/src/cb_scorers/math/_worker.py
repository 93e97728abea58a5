"""The process that does algebra: a line of JSON in, a line of JSON out. Run as a script.

math-verify limits its own time with signals, which only the main thread of a process can do;
whoever started this process limits it from outside as well.
"""

from __future__ import annotations

import contextlib
import json
import logging
import resource
import sys
from typing import Any

_MEMORY_BYTES = 2 << 30


def compare(gold: str, answer: str) -> bool:
    """Whether math-verify finds the two equal."""
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    ways = (LatexExtractionConfig(), ExprExtractionConfig())

    def read(text: str) -> Any:
        wrapped = text if "$" in text or "\\[" in text or "\\(" in text else f"${text}$"
        return parse(wrapped, extraction_config=ways, parsing_timeout=None)

    gold_read, answer_read = read(gold), read(answer)
    return bool(verify(gold_read, answer_read, timeout_seconds=None))


def main() -> None:
    """Answer until standard input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    logging.disable(logging.CRITICAL)
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        for line in sys.stdin:
            gold, answer = json.loads(line)
            try:
                told: dict[str, Any] = {"equal": compare(gold, answer)}
            except Exception as error:  # noqa: BLE001 - text of models may break any parser
                told = {"error": f"{type(error).__name__}: {error}"[:300]}
            answers.write(json.dumps(told) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
