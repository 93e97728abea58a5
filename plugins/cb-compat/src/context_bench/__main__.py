"""The command `context-bench`: its flags, carried out by `cb`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cbcore.cli.kit import Settings, exit_codes, report_result
from cbcore.exceptions import UsageError

if TYPE_CHECKING:
    from cbcore.settings import RunSettings

_NOT_HERE = ("dspy",)
_REPORTERS = {"table": "markdown", "json": "json", "html": "html"}


def build_parser() -> argparse.ArgumentParser:
    """The flags of the command."""
    parser = argparse.ArgumentParser(
        prog="context-bench",
        description="Benchmark proxies on datasets. `cb run` does the same and more.",
        epilog="context-bench --proxy http://localhost:7878 --dataset hotpotqa -n 50",
    )
    add = parser.add_argument
    add("--proxy", action="append", required=True, metavar="URL", help="Endpoint. Repeatable.")
    add(
        "--name",
        action="append",
        default=[],
        metavar="NAME",
        help="Name of the --proxy in the same place. Default: its host.",
    )
    add(
        "--dataset",
        action="append",
        required=True,
        metavar="NAME_OR_PATH",
        help="Dataset, as name or name:config, or a .jsonl file. Repeatable.",
    )
    add("--model", default="gpt-4", help="Model asked for. Default: gpt-4.")
    add("-n", "--max-examples", type=_count, metavar="N", help="Examples per dataset.")
    add("--output", choices=["table", "json", "html"], default="table", help="Default: table.")
    add("--score-field", default="f1", help="The score that quality means. Default: f1.")
    add("--threshold", type=float, default=0.7, help="Score that passes. Default: 0.7.")
    add("--judge-url", metavar="URL", help="Endpoint of a model that also rates the answers.")
    add("--judge-model", default="gpt-4", help="The judge's model. Default: gpt-4.")
    add("--max-workers", type=_count, default=1, metavar="N", help="Examples at once. Default: 1.")
    add("--cache-dir", metavar="DIR", help="Where outputs and scores are stored. Default: nowhere.")
    add(
        "--legacy-tokens",
        action="store_true",
        help="Count the tokens of every string, ids and gold included, as context-bench 0.1 did.",
    )
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command and exit with the exit codes of `cb`."""
    with exit_codes("context-bench"):
        _run(sys.argv[1:] if argv is None else list(argv))


def _run(arguments: list[str]) -> None:
    from cbcore.settings.compose import compose

    if arguments and arguments[0] in _NOT_HERE:
        raise UsageError(
            f"`context-bench {arguments[0]}` came after 0.1 and is not offered",
            hint="the flags of 0.1 are: context-bench --help",
        )
    if arguments and arguments[0] == "memory":
        from context_bench import memory_command

        flags = memory_command.build_parser().parse_args(arguments[1:])
        settings = memory_command.settings_of(flags)
    else:
        flags = build_parser().parse_args(arguments)
        settings = _settings_of(flags)
    with report_result(Settings(), [_REPORTERS[flags.output]]) as report:
        report(compose(settings).run())


def _settings_of(flags: argparse.Namespace) -> RunSettings:
    """The run that the flags ask for. Evaluators are chosen by the tasks of each dataset."""
    from cbcore.settings import RunSettings
    from context_bench.adapting import CountedExamples, Counting, adapted
    from context_bench.evaluators.ifeval_checker import FORMER_NAMES
    from context_bench.systems.openai_proxy import OpenAIProxy
    from context_bench.utils.tokens import ENCODING

    counting = Counting.of(None, legacy_tokens=flags.legacy_tokens)
    datasets: list[Any] = [NamedDataset(spec) for spec in flags.dataset]
    if counting is Counting.STRINGS:
        datasets = [CountedExamples(dataset) for dataset in datasets]
    score_field = FORMER_NAMES.get(flags.score_field, flags.score_field)
    try:
        proxies = [
            OpenAIProxy(url, flags.model, name=name)
            for url, name in zip(flags.proxy, names_of(flags.proxy, flags.name), strict=True)
        ]
        judges = _judges(flags)
        metrics = _metrics(score_field, flags.threshold, len(datasets), len(proxies))
    except ValueError as error:
        raise UsageError(str(error)) from error
    return RunSettings(
        systems=[adapted(proxy, counting) for proxy in proxies],
        datasets=datasets,
        metrics=metrics,
        added_evaluators=judges,
        max_examples=flags.max_examples,
        concurrency=flags.max_workers,
        score=score_field,
        threshold=flags.threshold,
        tokenizer=ENCODING,
        text_fields=list(counting.fields(None) or ()) or None,
        cache_dir=flags.cache_dir,
    )


class NamedDataset:
    """A dataset by name, `name:config` or file, whose rows are tagged as the user wrote it."""

    def __init__(self, spec: str) -> None:
        from cbcore.specs import Spec
        from context_bench import registry
        from context_bench.datasets.loaders import chosen_as_before

        parsed = Spec.parse_dataset(spec)
        chosen = chosen_as_before(parsed.name, {}) if parsed.config is None else {}
        self.name = spec
        self._examples = registry.load_dataset(spec, **{**chosen, **parsed.params})
        self.tasks = getattr(self._examples, "tasks", ())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._examples)


def names_of(urls: Sequence[str], given: Sequence[str]) -> list[str]:
    """What the systems are called: as given, else by host, with the port where hosts are equal."""
    if len(given) > len(urls):
        raise UsageError(
            f"--name is given {len(given)} times and --proxy {len(urls)} times",
            hint="give --name once for each --proxy, in the same order",
        )
    unnamed = urls[len(given) :]
    hosts = [urlsplit(url).hostname or url for url in unnamed]
    taken = Counter([*given, *hosts])
    return [
        *given,
        *(
            host if taken[host] == 1 else urlsplit(url).netloc.rpartition("@")[2]
            for url, host in zip(unnamed, hosts, strict=True)
        ),
    ]


def _metrics(score_field: str, threshold: float, n_datasets: int, n_systems: int) -> list[Any]:
    from context_bench import metrics

    chosen: list[Any] = [
        metrics.MeanScore(score_field),
        metrics.PassRate(threshold, score_field),
        metrics.CompressionRatio(),
        metrics.CostOfPass(threshold, score_field),
        metrics.Latency(),
    ]
    if n_datasets > 1:
        chosen.append(metrics.PerDatasetBreakdown(score_field))
    if n_systems > 1:
        chosen.append(metrics.ParetoRank(score_field, threshold=threshold))
    return chosen


def _judges(flags: argparse.Namespace) -> list[Any]:
    if flags.judge_url is None:
        return []
    from context_bench.evaluators.llm_judge import LLMJudge

    return [LLMJudge(flags.judge_url, flags.judge_model).component]


if __name__ == "__main__":
    main()
