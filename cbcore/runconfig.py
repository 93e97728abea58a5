"""What a result says of how it came about: every key of `EvalResult.config`, declared.

Each is annotated with its meaning, from which the reference is made. A run writes no other, but
for those of its extensions: what was asked of each, under the key of its setting, its options,
and as `<kind>_plugins` the components of kinds of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict

_Records = Sequence[Mapping[str, Any]]
"""What is recorded of components: who made each, in which version, with which parameters."""

RunState = Literal["finished", "interrupted", "failed", "running"]


class RunConfig(TypedDict, total=False):
    """How a run was made. The settings are those of `Request`; `state` is there in the end."""

    run_id: Annotated[str, "date, time and six random digits"]
    cbcore: Annotated[str, "the version of the core"]
    started: Annotated[str, "UTC, ISO 8601"]
    systems: Annotated[_Records, "component records; below"]
    datasets: Annotated[_Records, "component records"]
    evaluators: Annotated[_Records, "component records"]
    metrics: Annotated[_Records, "component records"]
    tokenizers: Annotated[_Records, "component records"]
    executors: Annotated[_Records, "component records"]
    extensions: Annotated[list[str], "what extended the run; each has keys of its own beside"]
    extension_plugins: Annotated[_Records, "component records of them; only then"]
    score_field: Annotated[str, "the score that quality means"]
    tokenizer: Annotated[str, "the tokenizer's name"]
    fields: Annotated[dict[str, str] | None, "the columns that fields are read from, or null"]
    unique_ids: Annotated[bool, "whether ids that come again were numbered"]
    max_examples: Annotated[int | None, "examples per dataset, or null for all"]
    shard: Annotated[str | None, "which of how many shards it is, as `3/16`, or null"]
    threshold: Annotated[float, "the score that passes"]
    margin: Annotated[float, "the loss of score that counts as none"]
    adaptive: Annotated[bool, "whether swept systems were searched, not run throughout"]
    max_workers: Annotated[int | None, "examples in flight per system, as given, or null"]
    interleave: Annotated[bool, "whether systems took turns, example by example"]
    overlap: Annotated[bool, "whether systems with endpoints of their own ran at the same time"]
    repeats: Annotated[int, "how often each example was run"]
    timeout_s: Annotated[float | None, "seconds a system may take for one example, or null"]
    max_errors: Annotated[float | None, "errored rows, or their share, that stop it, or null"]
    fail_fast: Annotated[bool, "whether the first failure stops it, of a system or of an evaluator"]
    budget_tokens: Annotated[int | None, "the tokens it may spend, or null"]
    budget_usd: Annotated[float | None, "the dollars it may spend, or null"]
    no_examples: Annotated[bool, "whether the store keeps numbers only, no texts"]
    allow_unsandboxed: Annotated[bool, "whether generated code may run without a sandbox"]
    seed: Annotated[int | None, "the seed of every component that takes one, or null"]
    text_fields: Annotated[list[str] | None, "the fields whose tokens count, as given, or null"]
    cluster_column: Annotated[str | None, "the field that names an example's cluster, or null"]
    state: Annotated[
        RunState, "`finished`, `interrupted`, `failed`, or `running` of one that still goes on"
    ]
    state_reason: Annotated[str, "why it did not finish; only then"]
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
