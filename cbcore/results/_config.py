"""What a result says of how it came about: every key of `EvalResult.config`, declared.

Each is annotated with its meaning, from which the reference is made. A run writes no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict

_Records = Sequence[Mapping[str, Any]]
"""What is recorded of components: who made each, in which version, with which parameters."""

RunState = Literal["finished", "interrupted", "failed", "running"]


class RunConfig(TypedDict, total=False):
    """How a run was made. `settings` are those of `RunSettings`; `state` is there in the end."""

    run_id: Annotated[str, "date, time and six random digits"]
    cbcore: Annotated[str, "the version of the core"]
    started: Annotated[str, "UTC, ISO 8601"]
    systems: Annotated[_Records, "component records; below"]
    datasets: Annotated[_Records, "component records"]
    evaluators: Annotated[_Records, "component records"]
    metrics: Annotated[_Records, "component records"]
    tokenizers: Annotated[_Records, "component records"]
    executors: Annotated[_Records, "component records"]
    options: Annotated[_Records, "component records of plugins' options that were given; only then"]
    score_field: Annotated[str, "the score that quality means"]
    tokenizer: Annotated[str, "the tokenizer's name"]
    settings: Annotated[dict[str, Any], "the settings as they were given; below"]
    state: Annotated[
        RunState, "`finished`, `interrupted`, `failed`, or `running` of one that still goes on"
    ]
    state_reason: Annotated[str, "why it did not finish; only then"]
    spent: Annotated[dict[str, float], "`tokens` and `usd` of the calls; with a budget"]
    repeated_calls: Annotated[int, "calls sent again after workers were lost; with an executor"]
    rescored_from: Annotated[str, "the run whose outputs were scored anew; only then"]
    sharding: Annotated[
        dict[str, Any],
        "of a shard: `of`, a digest of what all shards were asked for; `asked`, the evaluators that "
        "were named; `data`, for each source the examples of all shards, counted and as a digest; "
        "`failures` of sources",
    ]
    merged_from: Annotated[list[str], "the shards that it was joined from; only then"]
    filter: Annotated[dict[str, Any], "what `filter` was called with; only then"]
