"""The flags that cb-llm-judge adds to `cb run`."""

from __future__ import annotations

from cbcore.settings import Option

JUDGE_URL = Option(
    metavar="URL",
    help="Endpoint of a model that also rates the answers.",
    recorded=False,
)
JUDGE_MODEL = Option(
    metavar="NAME",
    help="The judge's model; with --judge-url.",
    recorded=False,
)
JUDGE_API_KEY_ENV = Option(
    metavar="VARIABLE",
    help="Environment variable with the judge's key. Default: OPENAI_API_KEY.",
    recorded=False,
)
JUDGE_RUBRIC = Option(
    metavar="NAME|FILE",
    help="What the judge looks at, by name or as a template. Default: correctness.",
    recorded=False,
)
JUDGE_PAIRWISE = Option(
    type=bool,
    help="Let the judge compare the systems two by two as well.",
    recorded=False,
)
