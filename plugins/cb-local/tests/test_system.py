"""The system `local`, with the real model wherever it answers."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cb_local import EngineError, Local, PromptTooLongError, engine
from cb_local.engine import close_engines, shared_engine
from cb_local.models import Model
from cbcore import evaluate
from cbcore.chains import chain
from cbcore.exceptions import DataError, ProcessError
from cbcore.store.identity import Identities

EXAMPLE = {
    "id": 1,
    "context": "Basel lies on the Rhine. Bern lies on the Aare.",
    "question": "Which city lies on the Rhine?",
    "answer": "Basel",
}
QUESTIONS = [f"What is {n} plus {n + 1}?" for n in range(6)]


@pytest.fixture
def local(bundled: Model) -> Local:
    """Short answers of the real model."""
    return Local(max_tokens=12, n_ctx=512)


# -- parameters --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"max_tokens": 0}, "max_tokens is 0: it must be a whole number, 1 or more"),
        ({"max_tokens": 1.5}, "max_tokens is 1.5"),
        ({"max_tokens": True}, "max_tokens is True"),
        ({"temperature": -0.1}, "temperature is -0.1: it must be from 0 to 2"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**32 - 1}, "seed is 4294967295: it must be a whole number, from 0 to"),
        ({"n_ctx": 0}, "n_ctx is 0"),
        ({"n_threads": 0}, "n_threads is 0"),
        ({"prompt": "Say something."}, "must name a field, such as {question}"),
    ],
)
def test_a_wrong_parameter_is_refused_with_what_is_allowed(
    gguf: Path, params: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        Local(str(gguf), **params)


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({}, "local:model=tiny"),
        ({"max_tokens": 8}, "local:model=tiny,max_tokens=8"),
        ({"temperature": 0.5, "seed": 3}, "local:model=tiny,temperature=0.5,seed=3"),
        ({"name": "mine", "max_tokens": 8}, "mine"),
    ],
)
def test_the_name_says_what_is_not_usual(gguf: Path, params: dict[str, Any], name: str) -> None:
    """So that two of them in one run can be told apart."""
    assert Local(str(gguf), **params).name == name


def test_a_model_under_another_name_has_the_same_key(gguf: Path) -> None:
    """The name changes no answer. A limit does."""
    one, renamed, other = (
        Identities().key_of(Local(str(gguf), **params))
        for params in ({}, {"name": "mine"}, {"max_tokens": 8})
    )
    assert one == renamed != other


# -- answers -----------------------------------------------------------------------------------


def test_it_answers_from_the_context(local: Local) -> None:
    """A real model read the context: it names the city that only the context tells of."""
    assert "Basel" in local.process(EXAMPLE)["response"]


def test_it_answers_from_a_history_of_messages(local: Local) -> None:
    """The history is the prompt, and the question its last message."""
    history = [
        {"role": "user", "content": EXAMPLE["context"]},
        {"role": "assistant", "content": "I see."},
    ]
    example = {"id": 1, "messages": history, "question": EXAMPLE["question"]}
    assert "Basel" in local.process(example)["response"]


def test_the_engine_reports_what_was_used(bundled: Model) -> None:
    """Tokens of the prompt and of the answer, and why the answer ended."""
    output = Local(max_tokens=2, n_ctx=512).process(EXAMPLE)
    assert output["usage"]["completion_tokens"] == 2
    assert output["usage"]["prompt_tokens"] > 20
    assert output["metadata"] == {"finish_reason": "length"}


def test_the_system_prompt_is_part_of_the_prompt(local: Local) -> None:
    """A longer one makes a longer prompt."""
    counts = [
        Local(max_tokens=1, n_ctx=512, system_prompt=text).process(EXAMPLE)["usage"][
            "prompt_tokens"
        ]
        for text in ("Be brief.", "Be brief. " * 10)
    ]
    assert counts[1] > counts[0] + 10


def test_equal_input_gives_equal_output(local: Local) -> None:
    """Also right after another question, and from several threads at once."""
    examples = [{"id": n, "question": text} for n, text in enumerate(QUESTIONS)]
    alone = [local.process(example) for example in examples]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(local.process, reversed(examples)))
    assert together[::-1] == alone
    assert len({output["response"] for output in alone}) > 1


def test_the_seed_decides_above_temperature_zero(bundled: Model) -> None:
    """The same seed draws the same answer; of several seeds not all do."""
    answers = [
        Local(max_tokens=8, n_ctx=512, temperature=1.5, seed=seed).process(EXAMPLE)["response"]
        for seed in (1, 2, 3, 1)
    ]
    assert answers[0] == answers[3]
    assert len(set(answers)) > 1


def test_a_conversation_is_answered_turn_by_turn(local: Local) -> None:
    """The user's turns are answered; one that the example answers itself is history."""
    output = local.process(
        {
            "id": 1,
            "turns": [
                {"role": "user", "content": "My name is Zoltan."},
                {"role": "assistant", "content": "Nice to meet you, Zoltan."},
                {"role": "user", "content": "What is my name?"},
                {"role": "user", "content": "Spell it."},
            ],
        }
    )
    assert len(output["turn_responses"]) == len(output["usage"]) == 2
    assert "Zoltan" in output["turn_responses"][0]
    assert output["response"] == output["turn_responses"][-1]
    first, second = output["usage"]
    assert second["prompt_tokens"] > first["prompt_tokens"] + first["completion_tokens"]


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        ([], "neither a context nor"),
        ([{"role": "assistant", "content": "Hi"}], "no turn of a user"),
    ],
)
def test_a_conversation_with_nothing_to_answer_is_an_error(
    gguf: Path, turns: list[Any], told: str
) -> None:
    with pytest.raises(DataError, match=told):
        Local(str(gguf)).process({"id": 1, "turns": turns})


@pytest.mark.parametrize("turns", [None, []])
def test_an_example_without_turns_is_asked_its_question(local: Local, turns: Any) -> None:
    """In a table with conversations in it, the other rows have the column too."""
    asked = local.process({**EXAMPLE, "turns": turns})
    assert asked["response"] == local.process(EXAMPLE)["response"]


class Unchanged:
    name = "unchanged"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {}


def test_turns_are_answered_at_the_end_of_a_chain(local: Local) -> None:
    """What a compressor leaves is read by `process`, conversation or not."""
    example = {"id": 1, "turns": ["My name is Zoltan.", "What is my name?"]}
    (row,) = evaluate([chain([Unchanged(), local])], [example], progress=False).rows
    assert row.error is None
    assert len(row.metadata["turn_responses"]) == 2


# -- what goes wrong ---------------------------------------------------------------------------


def test_a_prompt_that_is_too_long_is_an_error_of_its_own(local: Local) -> None:
    """It tells both lengths, generates nothing, and the next example works."""
    with pytest.raises(PromptTooLongError) as caught:
        local.process({**EXAMPLE, "context": "word " * 600})
    assert isinstance(caught.value, ProcessError)
    assert caught.value.n_prompt_tokens > 600
    assert caught.value.n_ctx == 512
    assert "Basel" in local.process(EXAMPLE)["response"]


def test_a_model_that_cannot_be_loaded_is_told_with_its_path(
    bundled: Model, tmp_path: Path
) -> None:
    """A download that stopped half-way."""
    half = tmp_path / "half.gguf"
    with bundled.path.open("rb") as file:
        half.write_bytes(file.read(2_000_000))
    with pytest.raises(EngineError, match=r"half\.gguf"):
        Local(str(half)).process(EXAMPLE)


# -- engines -----------------------------------------------------------------------------------


def test_systems_that_need_the_same_engine_share_it(bundled: Model) -> None:
    """Sampling does not matter; the size of the context does."""
    short, long = Local(max_tokens=1, n_ctx=512), Local(max_tokens=9, n_ctx=512)
    other = Local(n_ctx=256)
    assert shared_engine(short._options) is shared_engine(long._options)
    assert other._options != short._options


def test_a_system_can_be_sent_to_another_process(local: Local) -> None:
    """It is plain data: the model stays where it is."""
    local.process(EXAMPLE)
    copy = pickle.loads(pickle.dumps(local))
    assert vars(copy) == vars(local)


# -- in a run ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("bundled")
def test_it_reads_what_a_compressor_leaves() -> None:
    """At the end of a chain: the model's own count stands beside, and an error only where due."""
    data = [EXAMPLE, {**EXAMPLE, "id": 2, "context": "Rhine. " * 700}]
    result = evaluate(
        systems=[
            "truncate:max_tokens=20 | local:max_tokens=8,n_ctx=512,name=cut",
            "local:max_tokens=8,n_ctx=512,name=whole",
        ],
        dataset=data,
        progress=False,
    )
    cut, whole = result.rows_by_system()["cut"], result.rows_by_system()["whole"]
    assert [row.error for row in cut] == [None, None]
    assert cut[0].scores["contains"] == 1.0
    assert cut[1].output_tokens < 30 < cut[1].metadata["prompt_tokens"] < 100
    assert whole[0].error is None
    assert "PromptTooLongError" in str(whole[1].error)
    assert whole[1].scores == {}


@pytest.mark.usefixtures("bundled")
def test_the_model_is_loaded_before_the_first_example_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run warms the system up, and the first call finds the engine running."""
    close_engines()
    running = []
    process = Local.process

    def noting(self: Local, example: dict[str, Any]) -> dict[str, Any]:
        running.append(len(engine._engines))
        return process(self, example)

    monkeypatch.setattr(Local, "process", noting)
    evaluate([Local(max_tokens=1, n_ctx=512)], [EXAMPLE], [], [], progress=False)
    assert running == [1]
