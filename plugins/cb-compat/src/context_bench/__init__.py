"""The API of context-bench 0.1 on top of `cb`: the same names, the real components behind them."""

from context_bench.results import EvalResult, EvalRow
from context_bench.runner import evaluate
from context_bench.systems.claude_cli import ClaudeCLI
from context_bench.systems.openai_proxy import OpenAIProxy

__all__ = ["ClaudeCLI", "EvalResult", "EvalRow", "OpenAIProxy", "evaluate"]
