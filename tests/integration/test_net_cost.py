"""The net cost is that of every request a system made: held against an endpoint's own books."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from cb_openai import ChatClient, OpenAI
from cb_openai.messages import Prompting
from cb_openai.retrying import Retry
from cb_openai.settings import Access
from cbcore import evaluate
from cbcore.chains import chain
from cbcore.results import EvalResult

SHARED = "Basel lies on the Rhine and Bern lies on the Aare which is long . " * 12
PRICES = {"small": (1.0, 10.0), "large": (5.0, 50.0)}
"""Dollars per million words, of input and of output."""


class Books:
    """An endpoint over HTTP that counts words, and books what it would bill for each request.

    It answers with the first words of the prompt. `reports` says whether it tells what it counts,
    `drops` of how many requests it ends the connection although it did the work.
    """

    def __init__(self, *, reports: bool = True, drops: int = 0, refuses: str = "") -> None:
        self.reports = reports
        self.drops = drops
        self.refuses = refuses
        self.booked: list[tuple[str, int, int]] = []
        books = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                reply = books.answer(asked)
                if reply is None:
                    self.close_connection = True
                    return
                body = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        words = [word for one in asked["messages"] for word in str(one["content"]).split()]
        text = " ".join(words[:7])
        n_reply = 7 if self.drops == 0 else 0
        self.booked.append((asked["model"], len(words), n_reply))
        if self.drops:
            self.drops -= 1
            return None
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if asked["model"] == self.refuses:
            message = {"role": "assistant", "content": None, "refusal": "No."}
        reply: dict[str, Any] = {"choices": [{"message": message, "finish_reason": "stop"}]}
        if self.reports:
            reply["usage"] = {"prompt_tokens": len(words), "completion_tokens": 7}
        return reply

    def owed_usd(self, *, cached: int = 0, read: float = 1.0, model: str = "") -> float:
        """By hand, from the books alone."""
        total = 0.0
        for name, prompt, reply in self.booked:
            into, out = PRICES[name]
            total += prompt * into + reply * out if model in ("", name) else 0.0
        return (total - cached * (1 - read) * (PRICES[model][0] if model else 0.0)) / 1e6

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def books() -> Iterator[Books]:
    one = Books()
    yield one
    one.close()


@pytest.fixture
def silent() -> Iterator[Books]:
    one = Books(reports=False)
    yield one
    one.close()


def model(url: str, name: str, **more: Any) -> OpenAI:
    price_in, price_out = PRICES.get(name, (None, None))
    prompting = more.pop("prompting", {})
    return OpenAI(
        url,
        name,
        name=more.pop("label", name),
        access=Access(api_key_env=None),
        retry=Retry(backoff_s=0.0),
        prompting=Prompting(**prompting),
        **{"price_in": price_in, "price_out": price_out, **more},
    )


def two_models(url: str, **more: Any) -> Any:
    """A small model shortens the context, and a large one answers from what it said."""
    short = model(url, "small", prompting={"prompt": "Shorten this : {context}"})
    reads = model(url, "large", prompting={"prompt": "{response} {question}"}, **more)
    return chain([short, reads])


DATA = [
    {"id": i, "context": f"{SHARED}{i} .", "question": f"Which is number {i} ?", "answer": "x"}
    for i in range(4)
]


def run(systems: list[Any], data: Any = DATA, cache: str = "none", **more: Any) -> EvalResult:
    options: dict[str, Any] = {"progress": False, "max_workers": 1}
    return evaluate(
        systems,
        data,
        evaluators=["prompt_blocks:tokenizer=words"],
        metrics=["spending", f"net_cost:{cache}"],
        score_field="prompt_tokens_sent",
        **{**options, **more},
    )


def test_every_stage_of_a_chain_is_in_the_bill(books: Books) -> None:
    """Eight requests, each at the price of its model: the books, the raw cost and what was paid."""
    result = run([two_models(books.url)])
    (found,) = result.summary.values()
    assert len(books.booked) == 8
    assert found["raw_usd"] == pytest.approx(books.owed_usd())
    assert found["net_usd"] == found["raw_usd"] == pytest.approx(found["cost_usd"])
    whole, small, large = result.sections["net_cost"].lines
    assert (whole["requests"], small["requests"], large["requests"]) == ("8", "4", "4")
    assert (small["name"], large["name"], small["depth"]) == ("small", "large", 1)
    assert small["net_usd"] == pytest.approx(books.owed_usd(model="small"))


def test_each_model_has_a_cache_of_its_own(books: Books) -> None:
    """The same prompt goes to two models: neither finds what only the other was sent."""
    both = chain([model(books.url, "small"), model(books.url, "large")])
    result = run([both], [DATA[0]], cache="llama-server")
    assert [prompt for _, prompt, _ in books.booked] == [books.booked[0][1]] * 2
    assert result.summary["small | large"]["cache_hit_rate"] == 0.0
    again = chain([model(books.url, "small"), model(books.url, "small", label="again")])
    found = run([again], [DATA[0]], cache="llama-server").summary["small | again"]
    assert found["cache_hit_rate"] == pytest.approx(0.5)


def test_endpoints_with_the_same_model_have_caches_of_their_own(books: Books) -> None:
    """What one has seen is nothing to the other."""
    other = Books()
    both = chain([model(books.url, "small"), model(other.url, "small", label="there")])
    result = run([both], [DATA[0]], cache="llama-server")
    other.close()
    assert result.summary["small | there"]["cache_hit_rate"] == 0.0
    names = [line["name"] for line in result.sections["net_cost"].lines[1:]]
    assert names == [f"small at {one.url.removeprefix('http://')}" for one in (books, other)]


def test_the_cache_is_that_of_the_requests_of_all_rows(books: Books) -> None:
    """By hand: the shared words of each prompt but the first are read for half the price."""
    result = run([two_models(books.url)], cache="openai-4o")
    (found,) = result.summary.values()
    assert found["cache_hit_rate"] == 0.0  # none has 1,024 tokens
    long = [{**row, "context": SHARED * 8 + row["context"]} for row in DATA]
    books.booked.clear()
    (found,) = run([two_models(books.url)], long, cache="openai-4o").summary.values()
    small = [prompt for name, prompt, _ in books.booked if name == "small"]
    shared = (len(SHARED.split()) * 9 + 3) // 128 * 128
    cached = 3 * shared
    assert min(small) > shared
    total = sum(prompt for _, prompt, _ in books.booked)
    assert found["cache_hit_rate"] == pytest.approx(cached / total, rel=0.05)
    owed = books.owed_usd() - cached * 0.5 * PRICES["small"][0] / 1e6
    assert found["net_usd"] == pytest.approx(owed, rel=0.05)
    assert found["raw_usd"] == pytest.approx(books.owed_usd())


def test_a_price_that_nobody_knows_leaves_the_sum_unknown(books: Books) -> None:
    """The model of one stage is in no table: neither zero, nor the other stage alone."""
    unknown = model(books.url, "nobody-knows", prompting={"prompt": "{response} {question}"})
    result = run([chain([model(books.url, "small"), unknown])])
    (found,) = result.summary.values()
    assert (found["net_usd"], found["raw_usd"]) == (None, None)
    assert "cost_usd" not in found
    whole, small, other = result.sections["net_cost"].lines
    assert (whole["net"], other["net"]) == ("–", "–")
    assert float(small["net"]) > 0


def test_a_price_for_all_is_that_of_all(books: Books) -> None:
    """`net_cost:price_in=…` says what every request is to be billed at."""
    result = run([two_models(books.url)], cache="none,price_in=2,price_out=0")
    (found,) = result.summary.values()
    words = sum(prompt for _, prompt, _ in books.booked)
    assert found["raw_usd"] == pytest.approx(2 * words / 1e6)


def test_a_request_that_was_lost_was_sent(books: Books) -> None:
    """The endpoint did the work twice, and its reply was lost once: both prompts are billed."""
    books.drops = 1
    result = run([two_models(books.url)], DATA[:1])
    (line, *_) = result.sections["net_cost"].lines
    assert len(books.booked) == 3
    assert (line["requests"], line["lost"]) == ("3", "1")
    assert line["n_tokens"] == sum(prompt for _, prompt, _ in books.booked)
    assert line["net_usd"] == pytest.approx(books.owed_usd())
    assert result.sections["net_cost"].columns["lost"] == "lost"
    assert result.rows[0].metadata["requests_of_unknown_cost"] == 1


def test_what_a_failed_row_has_spent_is_in_the_bill(books: Books) -> None:
    """The compressor was paid before the reader refused, which is billed as well."""
    books.refuses = "large"
    result = run([two_models(books.url)], DATA[:2])
    assert all(row.error for row in result.rows)
    assert len(books.booked) == 4
    (found,) = result.summary.values()
    assert found["raw_usd"] == pytest.approx(books.owed_usd()) == pytest.approx(found["cost_usd"])
    assert found["net_usd"] == found["raw_usd"]


def test_a_conversation_behind_a_compressor_is_billed_turn_by_turn(books: Books) -> None:
    """One request of the compressor, three of the reader."""
    first = model(books.url, "small", prompting={"build_messages": only_the_context})
    data = [{"id": 1, "context": SHARED, "turns": ["One ?", "Two ?", "Three ?"]}]
    reads = model(books.url, "large")
    result = run([chain([Once(first), reads])], data)
    assert [name for name, _, _ in books.booked] == ["small", "large", "large", "large"]
    (found,) = result.summary.values()
    assert result.sections["net_cost"].lines[0]["requests"] == "4"
    assert found["raw_usd"] == pytest.approx(books.owed_usd())


def only_the_context(example: dict[str, Any]) -> list[dict[str, str]]:
    return [{"role": "user", "content": example["context"]}]


class Once:
    """Asks a model once, whatever turns an example has."""

    def __init__(self, system: OpenAI) -> None:
        self.name = system.name
        self._system = system

    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        output = await self._system.aprocess({**example, "turns": None})
        return {**output, "context": output.pop("response")}

    async def aclose(self) -> None:
        await self._system.aclose()


def test_outputs_out_of_the_store_carry_the_same(books: Books, tmp_path: Any) -> None:
    """Nothing is asked again, and the bill is the same in every number."""
    kept = {"cache_dir": tmp_path}
    first = run([two_models(books.url)], cache="llama-server", **kept)
    asked = len(books.booked)
    again = run([two_models(books.url)], cache="llama-server", **kept)
    assert len(books.booked) == asked == 8
    assert again.sections["net_cost"].lines == first.sections["net_cost"].lines
    (one,), (other,) = first.summary.values(), again.summary.values()
    assert one["net_usd"] == other["net_usd"]


class Compressor:
    """Somebody's own: asks twice for each example, and lists its requests."""

    name = "own"

    def __init__(self, url: str) -> None:
        self._url = url

    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        price = dict(zip(("input", "output"), PRICES["small"], strict=True))
        to = {"endpoint": "own", "model": "small", "price": price}
        requests, texts = [], []
        async with ChatClient(self._url, "small", api_key_env=None) as client:
            for word in ("Shorten", "Check"):
                messages = [{"role": "user", "content": f"{word} : {example['context']}"}]
                reply = await client.chat(messages)
                texts.append(reply.text)
                requests.append({**to, "messages": messages, "usage": dict(reply.usage)})
        return {"context": texts[0], "requests": requests}


def test_a_compressor_of_ones_own_is_billed_and_then_its_reader(books: Books) -> None:
    """Several requests of one stage that rewrites the context; the reader gets the rewritten."""
    reads = model(books.url, "large")
    result = run([chain([Compressor(books.url), reads])])
    assert [name for name, _, _ in books.booked] == ["small", "small", "large"] * 4
    (found,) = result.summary.values()
    assert found["raw_usd"] == pytest.approx(books.owed_usd())
    sent = sum(row.scores["prompt_tokens_sent"] for row in result.rows)
    assert sent == sum(prompt for _, prompt, _ in books.booked)


def test_replies_that_an_endpoint_does_not_count_are_counted_here(silent: Books) -> None:
    """Of both stages: seven words each."""
    result = run([two_models(silent.url)])
    (found,) = result.summary.values()
    assert "cost_usd" not in found
    assert found["raw_usd"] == pytest.approx(silent.owed_usd())


class Costly:
    """A compressor that says only what it took."""

    name = "costly"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        usage = {"prompt_tokens": 100, "completion_tokens": 5}
        return {"context": "Bern .", "usage": usage, "metadata": {"cost_usd": 0.25}}


def test_what_a_stage_says_that_it_cost_is_its_price(books: Books) -> None:
    """Nothing can be replayed of it: it is raw and net cost alike."""
    result = run([chain([Costly(), model(books.url, "large")])], DATA[:2])
    (found,) = result.summary.values()
    assert found["raw_usd"] == pytest.approx(0.5 + books.owed_usd())
    assert found["raw_usd"] == pytest.approx(found["cost_usd"])
    assert result.sections["net_cost"].lines[1]["name"] == "costly"


def priced_by(file: Any, price: float) -> str:
    file.write_text(json.dumps({"own-model": {"input": price, "output": 0.0}}), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("is_chain", [False, True])
def test_a_price_that_is_learned_later_asks_nobody_again(
    books: Books, tmp_path: Any, is_chain: bool
) -> None:
    """Without a price, with one and with another: called once, and the bill is at today's prices.

    `cost_usd` of a row is what the call cost when it was made.
    """
    kept = {"cache_dir": tmp_path / "store"}
    spec = f"openai:{books.url},model=own-model,api_key_env=none"
    second = f"{spec},prompt='{{response}} {{question}}'"
    spec = f"{spec} | {second}" if is_chain else spec
    (found,) = run([spec], **kept).summary.values()
    n_asked = len(books.booked)
    assert "cost_usd" not in found
    for price in (2.0, 3.0):
        file = priced_by(tmp_path / f"{price}.json", price)
        result = run([spec], prices=file, **kept)
        (found,) = result.summary.values()
        owed = price * sum(prompt for _, prompt, _ in books.booked) / 1e6
        assert found["raw_usd"] == pytest.approx(owed)
        assert "cost_usd" not in found
        file = priced_by(tmp_path / f"{price}.json", 5.0)  # the same file, edited
        (found,) = run([spec], prices=file, **kept).summary.values()
        assert found["raw_usd"] == pytest.approx(owed * 5 / price)
    assert len(books.booked) == n_asked
