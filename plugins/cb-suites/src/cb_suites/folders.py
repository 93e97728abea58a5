"""Where the suite files lie, one folder per benchmark."""

from __future__ import annotations

from pathlib import Path

_SUITES = Path(__file__).parent / "suites"


def mmlu() -> Path:
    """MMLU: exam questions in 57 subjects and four areas."""
    return _SUITES / "mmlu"


def bbh() -> Path:
    """BIG-Bench Hard: 27 tasks of logic, language and arithmetic."""
    return _SUITES / "bbh"


def longbench() -> Path:
    """LongBench: 21 tasks over long contexts in six categories."""
    return _SUITES / "longbench"


def context_core() -> Path:
    """What a compressor must not lose: QA, multi-hop, long context, summaries, tool use."""
    return _SUITES / "context-core"


def demo() -> Path:
    """A few invented examples per family, offline and in seconds."""
    return _SUITES / "demo"


def mmlu_pro() -> Path:
    """MMLU-Pro: harder exam questions with up to ten choices."""
    return _SUITES / "mmlu-pro"


def gpqa() -> Path:
    """GPQA: graduate-level science questions, in three sets."""
    return _SUITES / "gpqa"


def longbench_v2() -> Path:
    """LongBench v2: multiple choice over very long contexts."""
    return _SUITES / "longbench-v2"


def scrolls() -> Path:
    """SCROLLS: seven tasks over long texts."""
    return _SUITES / "scrolls"


def leaderboard() -> Path:
    """MMLU-Pro, GPQA, BIG-Bench Hard, MATH and IFEval together."""
    return _SUITES / "leaderboard"


def ruler() -> Path:
    """RULER: needles, tracing and counting at six lengths, made offline."""
    return _SUITES / "ruler"


def helmet_suite() -> Path:
    """Long contexts as HELMET asks about them, at five lengths."""
    return _SUITES / "helmet"
