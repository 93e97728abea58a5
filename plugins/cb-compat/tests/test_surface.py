"""Names, parameters and import paths of context-bench 0.1, and what stands behind them."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import pytest

from cb_datasets import BENCHMARKS
from cbcore.exceptions import MissingScoreError, UnknownComponentError, UsageError
from context_bench import OpenAIProxy, datasets, evaluate
from context_bench.evaluators import CodeExecution, LLMJudge, MathEquivalence
from context_bench.metrics import MeanScore, ParetoRank
from context_bench.registry import get_metric, load_dataset, register_metric, registry
from context_bench.types import Evaluator, Metric, System
from tests.tables import check_each

MODULES = {
    "context_bench": ["ClaudeCLI", "EvalResult", "EvalRow", "OpenAIProxy", "evaluate"],
    "context_bench.cache": ["ResultCache"],
    "context_bench.runner": ["evaluate"],
    "context_bench.memory_runner": ["evaluate_memory"],
    "context_bench.memory_types": [
        *("BenchmarkExample", "BenchmarkQuery", "ConversationTurn", "Declaration"),
        *("DocumentChunk", "IngestResult", "MemorySystem", "PlatformEvent", "QueryResult"),
    ],
    "context_bench.results": ["EvalResult", "EvalRow"],
    "context_bench.types": ["Evaluator", "Metric", "System"],
    "context_bench.registry": [
        *("Registry", "registry", "register_dataset", "load_dataset"),
        *("register_metric", "get_metric"),
    ],
    "context_bench.evaluators.answer_quality": ["AnswerQuality"],
    "context_bench.evaluators.code_execution": ["CodeExecution"],
    "context_bench.evaluators.ifeval_checker": ["IFEvalChecker"],
    "context_bench.evaluators.llm_judge": ["LLMJudge"],
    "context_bench.evaluators.math_equivalence": ["MathEquivalence"],
    "context_bench.evaluators.multiple_choice": ["MultipleChoiceAccuracy"],
    "context_bench.evaluators.nli_label_match": ["NLILabelMatch"],
    "context_bench.evaluators.rouge": ["SummarizationQuality", "rouge_l"],
    "context_bench.metrics.cost_of_pass": ["CostOfPass"],
    "context_bench.metrics.latency": ["Latency"],
    "context_bench.metrics.per_dataset": ["PerDatasetBreakdown"],
    "context_bench.metrics.quality": [
        *("MeanScore", "PassRate", "exact_match", "f1_score", "normalize_answer", "recall_score"),
    ],
    "context_bench.metrics.token_stats": ["CompressionRatio", "ParetoRank"],
    "context_bench.reporters": ["to_json", "to_markdown"],
    "context_bench.reporters.html": ["to_html"],
    "context_bench.reporters.json_out": ["to_json"],
    "context_bench.reporters.markdown": ["to_markdown"],
    "context_bench.systems": ["ClaudeCLI", "OpenAIProxy"],
    "context_bench.systems.openai_proxy": ["OpenAIProxy"],
    "context_bench.systems.claude_cli": ["ClaudeCLI"],
    "context_bench.utils.tokens": ["count_tokens", "count_tokens_dict"],
    "context_bench.datasets": ["load_jsonl"],
    "context_bench.datasets.local": ["load_jsonl"],
    "context_bench.__main__": ["build_parser", "main"],
}

LOADERS = {
    "huggingface": ["hotpotqa", "gsm8k", "bfcl_simple"],
    "agent_traces": ["apigen_mt", "swebench", "swebench_verified", "swebench_lite"],
    "qa": [
        *("natural_questions", "musique", "narrativeqa", "triviaqa", "frames", "quality"),
        "qasper",
    ],
    "code": ["humaneval", "mbpp"],
    "summarization": ["multi_news", "dialogsum", "qmsum", "summscreenfd"],
    "nli": ["contract_nli", "scifact"],
    "knowledge": [
        *("mmlu", "arc_challenge", "truthfulqa", "gpqa", "hellaswag", "winogrande", "mmlu_pro"),
    ],
    "reasoning": ["drop", "math_dataset", "mgsm"],
    "ifeval": ["ifeval"],
    "instruction": ["alpaca_eval"],
    "multi_turn": ["mt_bench"],
    "longcontext": [
        *("longbench", "longbench_v2", "infinitebench", "nolima", "bbh"),
        *("meetingbank", "govreport"),
    ],
}
PAIRS = [(module, name) for module, names in LOADERS.items() for name in names]

PARAMETERS = {
    "runner.evaluate": (
        "systems dataset evaluators metrics max_examples progress text_fields max_workers cache_dir"
    ),
    "systems.OpenAIProxy": (
        "base_url model name api_key system_prompt build_messages timeout extra_body "
        "max_retries retry_base_delay"
    ),
    "systems.ClaudeCLI": ("name model max_turns allowed_tools system_prompt timeout build_prompt"),
    "evaluators.CodeExecution": "timeout",
    "evaluators.LLMJudge": "base_url model api_key timeout",
    "metrics.MeanScore": "score_field",
    "metrics.PassRate": "threshold score_field",
    "metrics.CostOfPass": "threshold score_field",
    "metrics.PerDatasetBreakdown": "score_field",
    "metrics.ParetoRank": "quality_field cost_field",
    "utils.tokens.count_tokens": "text tokenizer",
    "utils.tokens.count_tokens_dict": "d text_fields tokenizer",
    "results.EvalRow": (
        "system example_id scores input_tokens output_tokens metadata latency dataset"
    ),
    "results.EvalResult": "rows summary timing config",
    "registry.load_dataset": "name",
}


@check_each("module", MODULES)
def test_every_import_path_is_there(module):
    """What programs import from context-bench can be imported from where it was."""
    found = importlib.import_module(module)
    assert [name for name in MODULES[module] if not hasattr(found, name)] == []


@check_each("path", PARAMETERS)
def test_parameters_stand_in_their_former_order(path):
    """Arguments given by position mean what they meant."""
    module, _, name = f"context_bench.{path}".rpartition(".")
    signature = inspect.signature(getattr(importlib.import_module(module), name))
    wanted = PARAMETERS[path].split()
    assert list(signature.parameters)[: len(wanted)] == wanted


def test_importing_is_light():
    """Neither an HTTP client nor anything for data is loaded before it is used."""
    code = (
        "import sys, context_bench, context_bench.evaluators, context_bench.metrics\n"
        "import context_bench.reporters, context_bench.datasets.qa, context_bench.__main__\n"
        "heavy = {'aiohttp','datasets','numpy','pandas','pyarrow','rich','sympy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- datasets --------------------------------------------------------------------------------------


def test_there_is_a_loader_for_every_dataset():
    """The loaders are those of the table, of which no row is without one."""
    loaded = {name: datasets.loaders.loader(name).__doc__.split()[5] for _, name in PAIRS}
    assert {name.rstrip(",") for name in loaded.values()} == {"hotpotqa", *BENCHMARKS}
    assert len(PAIRS) == 42


@check_each(("module", "name"), PAIRS)
def test_a_loader_returns_examples_as_they_were(module, name):
    """A list of dicts with `id` and `context`, as many as asked for."""
    load = getattr(importlib.import_module(f"context_bench.datasets.{module}"), name)
    examples = load(n=1, config="sample")
    assert isinstance(examples, list)
    assert len(examples) == 1
    assert isinstance(examples[0]["context"], str)
    assert "id" in examples[0]
    assert load.__name__ == name


def test_loaders_are_found_from_the_package_too():
    """`datasets.huggingface.gsm8k()` works without importing the module first."""
    code = (
        "from context_bench import datasets\n"
        "print(datasets.huggingface.gsm8k(1, config='sample')[0]['answer'])\n"
        "print(datasets.gsm8k(1, config='sample')[0]['answer'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["19", "19"]


def test_a_misspelt_loader_is_told_with_the_nearest():
    """It is an AttributeError, as of any module."""
    with pytest.raises(AttributeError, match="did you mean musique"):
        _ = datasets.qa.musiqe


def test_config_and_split_may_be_given_by_position():
    """`mmlu(n, config, split)` and `gsm8k(n, split)`."""
    with pytest.raises(UsageError, match="anatom"):
        datasets.mmlu(1, "anatomi")
    with pytest.raises(UsageError, match="'tset' is not one of"):
        datasets.gsm8k(1, "tset")


def test_hotpotqa_is_the_part_it_was():
    """`fullwiki` unless another config is asked for."""
    with pytest.raises(UsageError, match="config 'fullwiki'"):
        datasets.hotpotqa(1, "nowhere")


def test_examples_keep_their_former_fields():
    """Choices have `correct_letter`; turns are messages of the user."""
    assert datasets.mmlu(1, config="sample")[0]["correct_letter"] == "A"
    turns = datasets.mt_bench(1, config="sample")[0]["turns"]
    assert [turn["role"] for turn in turns] == ["user", "user"]


# -- systems ---------------------------------------------------------------------------------------


def test_a_proxy_is_asked_as_before(server):
    """The context is the system's message, the question the user's; nothing else is sent."""
    url = server.url()
    proxy = OpenAIProxy(url, "gpt-4", api_key="k-123", system_prompt="Be concise.")
    output = proxy.process({"id": 7, "context": "France: Paris.", "question": "Capital?"})
    assert output["response"] == "Paris"
    assert (output["id"], output["context"]) == (7, "France: Paris.")
    assert output["api_usage"]["prompt_tokens"] == 100
    request = server.requests(url)[0]
    assert request["headers"]["authorization"] == "Bearer k-123"
    assert request["body"] == {
        "model": "gpt-4",
        "messages": [
            {"role": "system", "content": "Be concise."},
            {"role": "system", "content": "France: Paris."},
            {"role": "user", "content": "Capital?"},
        ],
    }


@pytest.mark.parametrize(
    ("example", "messages"),
    [
        ({"context": "Text."}, [("user", "Text.")]),
        ({"question": "What?"}, [("user", "What?")]),
        ({"context": "Same?", "question": "Same?"}, [("user", "Same?")]),
        ({"turns": [{"role": "user", "content": "Hi"}]}, [("user", "Hi")]),
    ],
)
def test_a_proxy_sends_what_there_is(server, example, messages):
    """A message without text, or with the text of the other one, is left out."""
    url = server.url()
    OpenAIProxy(url).process({"id": 1, **example})
    sent = server.requests(url)[0]["body"]["messages"]
    assert [(message["role"], message["content"]) for message in sent] == messages


def test_a_proxy_converses(server):
    """`process_conversation` takes turns of a user and returns the replies as messages."""
    turns = [{"role": "user", "content": "One?"}, {"role": "user", "content": "Two?"}]
    replies = OpenAIProxy(server.url(text="echo")).process_conversation(turns)
    assert replies == [
        {"role": "assistant", "content": "One?"},
        {"role": "assistant", "content": "Two?"},
    ]


def test_a_proxy_that_fails_raises_what_it_raised(server):
    """Programs that catch RuntimeError go on working; a run keeps the reason in the row."""
    proxy = OpenAIProxy(server.url(fault="status", status=401), name="p")
    with pytest.raises(RuntimeError, match="401"):
        proxy.process({"question": "?"})
    row = evaluate([proxy], [{"id": 1, "question": "?"}], [], progress=False).rows[0]
    assert "401" in row.error


def test_a_proxy_works_inside_a_running_loop(server):
    """In a notebook a loop is running already."""
    import asyncio

    async def cell():
        return OpenAIProxy(server.url()).process({"question": "?"})["response"]

    assert asyncio.run(cell()) == "Paris"


def test_a_proxy_is_called_by_its_host(server):
    """The name has the host and the port, and never the key."""
    proxy = OpenAIProxy("http://localhost:7878", api_key="k-123456")
    assert proxy.name == "openai_proxy_localhost:7878"
    assert "k-123456" not in repr(proxy)


def test_explicit_fields_are_counted_although_usage_is_reported(server, capitals):
    """`text_fields=["response"]` counts the reply; the usage stays in the metadata."""
    proxy = OpenAIProxy(server.url(), name="p")
    row = evaluate([proxy], capitals[:1], [], progress=False, text_fields=["response"]).rows[0]
    assert (row.input_tokens, row.output_tokens) == (0, 1)
    assert row.metadata["prompt_tokens"] == 100


def test_conversations_of_ones_own_systems_are_called_as_before():
    """`process_conversation(turns)` returns messages; it is for examples marked multi_turn."""

    class Echo:
        name = "echo"

        def process(self, example):
            return {**example, "response": "single"}

        def process_conversation(self, turns):
            return [{"role": "assistant", "content": turn["content"].upper()} for turn in turns]

    turns = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
    dataset = [
        {"id": 1, "context": "", "turns": turns, "multi_turn": True},
        {"id": 2, "context": "", "turns": turns},
    ]
    rows = evaluate([Echo()], dataset, [], progress=False).rows
    assert [row.response for row in rows] == ["TWO", "single"]
    assert rows[0].metadata["turn_responses"] == ["ONE", "TWO"]


def test_an_adapted_system_keeps_its_place_in_the_store(answering, capitals, tmp_path):
    """Counting other tokens or talking in turns makes nobody another system in every run."""
    system = answering()
    for _ in range(2):
        evaluate(
            [system], capitals, [], progress=False, text_fields=["response"], cache_dir=tmp_path
        )
    assert system.n_calls == 2
    other = answering("Rome")
    evaluate([other], capitals, [], progress=False, text_fields=["response"], cache_dir=tmp_path)
    assert other.n_calls == 2


def test_the_old_counts_and_chosen_fields_exclude_each_other(answering, capitals):
    """One says all strings, the other some."""
    with pytest.raises(UsageError, match="give one of them"):
        evaluate([answering()], capitals, [], text_fields=["context"], legacy_tokens=True)


# -- evaluators, metrics, registry -----------------------------------------------------------------


def test_scores_are_plain_dicts_and_rows_have_the_details(answering):
    """A call gives what it gave; a run keeps what the component has to say."""
    example = {"id": 1, "question": "?", "answer": "42"}
    assert type(MathEquivalence().score(example, {"response": "The answer is 42"})) is dict
    row = evaluate(
        [answering("The answer is 42")], [example], [MathEquivalence()], progress=False
    ).rows[0]
    assert row.scores == {"math_equiv": 1.0}
    assert row.metadata["math_equivalence"]["answer"] == "42"


def test_a_score_that_cannot_be_given_is_raised_with_its_reason():
    """It was 0.0 or 1.0."""
    with pytest.raises(MissingScoreError, match="gold"):
        MathEquivalence().score({}, {"response": "42"})
    with pytest.raises(MissingScoreError, match="tests"):
        CodeExecution().score({}, {"response": "pass"})


def test_a_judge_without_gold_rates_helpfulness(server):
    """Conversations without a reference, such as those of MT-Bench, can be judged."""
    url = server.url(text='{"score": 5, "reason": "Good."}')
    judge = LLMJudge(url, "judge", api_key="k-123")
    for example in ({"context": "Help!", "answer": ""}, {"question": "?", "answer": "gold"}):
        assert judge.score(example, {"response": "text"}) == {"judge_score": 1.0}
    prompts = [str(request["body"]["messages"]) for request in server.requests(url)]
    assert "Help!" in prompts[0]
    assert "gold" not in prompts[0].lower()
    assert "gold" in prompts[1]


def test_components_play_their_roles(answering):
    """The protocols are structural."""
    assert isinstance(answering(), System)
    assert isinstance(MathEquivalence(), Evaluator)
    assert isinstance(MeanScore(), Metric)


def test_pareto_ranks_systems_in_a_run(answering, capitals):
    """It was a placeholder of 0.0."""
    from context_bench.evaluators import AnswerQuality

    systems = [answering("Paris", "right"), answering("nothing", "wrong")]
    result = evaluate(systems, capitals, [AnswerQuality()], [ParetoRank("f1")], progress=False)
    assert [values["pareto_rank"] for values in result.summary.values()] == [1.0, 2.0]
    with pytest.raises(ValueError, match="cost_field is 'price'"):
        ParetoRank(cost_field="price")


@pytest.fixture
def registered():
    """Names that a test may register, forgotten afterwards."""
    from cbcore.registry import registry as of_cb

    yield
    for component in of_cb.list_registered():
        of_cb.unregister(component.kind, component.name)


def test_registered_objects_are_given_back(registered):
    """What was registered is what is found, the last one under a name."""
    metric = MeanScore("f1")
    register_metric("mine", MeanScore("recall"))
    register_metric("mine", metric)
    assert get_metric("mine") is metric
    registry.register("dataset", "my-data", lambda n=None: [{"id": 1, "context": "c"}][:n])
    assert load_dataset("my-data", n=1) == [{"id": 1, "context": "c"}]
    assert "my-data" in registry.list("dataset")
    assert "hotpotqa" in registry.list("dataset")


def test_an_unknown_name_is_a_key_error_with_the_nearest(registered):
    """Programs that catch KeyError go on working."""
    for ask in (lambda: load_dataset("hotpotqua"), lambda: registry.get("dataset", "hotpotqua")):
        with pytest.raises(KeyError, match="did you mean hotpotqa"):
            ask()
    with pytest.raises(UnknownComponentError):
        get_metric("nothing")


def test_what_a_program_registers_goes_before_what_is_installed(registered):
    """Registering a loader under the name of its dataset was the way to name it."""
    registry.register("dataset", "gsm8k", lambda n=None: ["mine"])
    assert load_dataset("gsm8k", n=1) == ["mine"]
