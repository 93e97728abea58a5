"""Logs replayed on a prompt cache: every number by hand, counted in words."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta, timezone

import pytest

from cb_cost import CACHE_MODELS, Traffic
from cb_cost.times import fill_times
from cbcore import evaluate

pytest_plugins = ["cb_testing"]

SHARED, OWN = 2000, 50
"""Words of the system prompt, which all requests share, and of each question."""
SYSTEM = {"role": "system", "content": " ".join(f"rule{n}" for n in range(SHARED))}
START = 1_700_000_000


def question(n, words=OWN):
    return {"role": "user", "content": " ".join(f"ask{n}-{i}" for i in range(words))}


def sessions(gap_s, n=5, write=lambda seconds: seconds):
    """Sessions of one request each, so many seconds apart."""
    return [
        {
            "session_id": f"s{i}",
            "messages": [SYSTEM, question(i)],
            "response": "Yes.",
            "timestamp": write(START + gap_s * i),
        }
        for i in range(n)
    ]


def bill(tmp_path, entries, cache="anthropic", each="session"):
    """The line of a system that changes nothing, and the section that holds it."""
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")
    result = evaluate(
        ["identity"],
        Traffic(str(file), each=each),
        evaluators=["prompt_blocks:tokenizer=words"],
        metrics=[f"net_cost:{cache}"],
        score_field="prompt_tokens_sent",
        progress=False,
    )
    section = result.sections["net_cost"]
    return section.lines[0], section


PROMPT = SHARED + OWN


@pytest.mark.parametrize(
    ("cache", "billed"),
    [
        ("anthropic", 1.25 * (PROMPT + 4 * OWN) + 0.1 * 4 * SHARED),
        ("anthropic-1h", 2.0 * (PROMPT + 4 * OWN) + 0.1 * 4 * SHARED),
        ("anthropic-4096", 5 * PROMPT),
        ("openai", 5 * PROMPT - 0.9 * 4 * 1920),
        ("openai-4.1", 5 * PROMPT - 0.75 * 4 * 1920),
        ("openai-4o", 5 * PROMPT - 0.5 * 4 * 1920),
        ("openai-5.6", 1.25 * (PROMPT + 4 * OWN) + 0.1 * 4 * SHARED),
        ("gemini", 5 * PROMPT),
        ("gemini-2.5", 5 * PROMPT),
        ("deepseek", 5 * PROMPT - 0.9 * 4 * 1984),
        ("none", 5 * PROMPT),
    ],
)
def test_a_shared_system_prompt_within_the_lifetime(tmp_path, cache, billed):
    """Four of five requests a minute apart read it: whole, or in steps of 128 or 64 tokens.

    It has 2,000 tokens, which is too few for Gemini and for some models of Anthropic.
    """
    line, _ = bill(tmp_path, sessions(60), cache)
    assert (line["n_tokens"], line["billed_tokens"]) == (5 * PROMPT, pytest.approx(billed))


@pytest.mark.parametrize(
    ("cache", "n_read"),
    [("anthropic", 0), ("anthropic-1h", 4), ("openai", 0), ("openai-5.6", 4), ("deepseek", 4)],
)
def test_a_shared_system_prompt_after_601_seconds(tmp_path, cache, n_read):
    line, _ = bill(tmp_path, sessions(601), cache)
    step = CACHE_MODELS[cache].granularity
    assert line["hit_rate"] == f"{n_read * (SHARED // step * step) / (5 * PROMPT):.0%}"


def iso(zone, seconds):
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return (moment + timedelta(hours=2 if zone == "+02:00" else 0)).strftime("%Y-%m-%dT%H:%M:%S")


FORMS = {
    "seconds": lambda s: s,
    "milliseconds": lambda s: s * 1000,
    "text": str,
    "text of milliseconds": lambda s: str(s * 1000),
    "text of a float": lambda s: f"{s}.25",
    "ISO, Z": lambda s: iso("Z", s) + "Z",
    "ISO, seven digits": lambda s: iso("Z", s) + ".1234567Z",
    "ISO, offset": lambda s: iso("+02:00", s) + "+02:00",
    "ISO, offset without a colon": lambda s: iso("+02:00", s) + "+0200",
    "ISO, no zone": lambda s: iso(None, s),
    "ISO, blank": lambda s: iso(None, s).replace("T", " "),
}


@pytest.mark.parametrize("each", ["session", "request"])
@pytest.mark.parametrize("form", FORMS)
def test_times_decide_in_every_form(tmp_path, form, each):
    """A minute apart four requests find the system prompt, eleven minutes apart none."""
    near, _ = bill(tmp_path, sessions(60, write=FORMS[form]), each=each)
    far, section = bill(tmp_path, sessions(660, write=FORMS[form]), each=each)
    assert (near["hit_rate"], far["hit_rate"]) == ("78%", "0%")
    assert far["n_without_timestamp"] == 0
    assert ("5 timestamps have no time zone" in section.columns["hit_rate"]) == (
        form in ("ISO, no zone", "ISO, blank")
    )


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Tokyo"])
def zone(request):
    """The zone of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield request.param
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_times_without_a_zone_do_not_depend_on_the_machine(tmp_path):
    """Every other time has a zone: all are a minute apart."""
    entries = sessions(60, write=lambda seconds: iso(None, seconds))
    for entry in entries[::2]:
        entry["timestamp"] += "Z"
    line, section = bill(tmp_path, entries)
    assert line["hit_rate"] == "78%"
    assert "2 timestamps have no time zone and are read as UTC" in section.columns["hit_rate"]


@pytest.mark.parametrize("each", ["session", "request"])
@pytest.mark.parametrize("gap_s", [60, 601])
def test_the_order_of_the_log_does_not_matter(tmp_path, gap_s, each):
    """Newest first, or in no order at all, is billed as oldest first."""
    entries = sessions(gap_s)
    shuffled = [entries[n] for n in (3, 0, 4, 2, 1)]
    bills = [bill(tmp_path, one, each=each)[0] for one in (entries, entries[::-1], shuffled)]
    assert bills[0]["hit_rate"] == ("78%" if gap_s == 60 else "0%")
    assert bills[1]["billed"] == bills[2]["billed"] == bills[0]["billed"]


def conversation(gap_s, session="s", start=START, n=4):
    """A request for each turn, each with all that was said before."""
    messages, entries = [SYSTEM], []
    for i in range(n):
        messages = [*messages, question(f"{session}{i}")]
        entries.append(
            {
                "session_id": session,
                "messages": messages,
                "response": f"fine {session} {i}",
                "timestamp": start + gap_s * i,
            }
        )
        messages = [*messages, {"role": "assistant", "content": f"fine {session} {i}"}]
    return entries


@pytest.mark.parametrize("each", ["session", "request"])
def test_each_turn_has_its_own_time(tmp_path, each):
    """Turns more than five minutes apart find nothing, also when the session is one example."""
    line, _ = bill(tmp_path, conversation(601), each=each)
    assert (line["requests"], line["hit_rate"]) == ("4", "0%")
    line, _ = bill(tmp_path, conversation(200), each=each)
    assert float(line["hit_rate"].rstrip("%")) > 70


def test_turns_of_a_session_are_read_up_to_the_turn_before(tmp_path):
    """By hand: each request reads all of the one before, and writes a reply and a question."""
    line, _ = bill(tmp_path, conversation(200))
    sent = [SHARED + OWN + n * (OWN + 3) for n in range(4)]
    read = sum(sent[:3])
    assert line["n_tokens"] == sum(sent)
    assert line["billed_tokens"] == pytest.approx(1.25 * (sum(sent) - read) + 0.1 * read)


@pytest.mark.parametrize("each", ["session", "request"])
@pytest.mark.parametrize(("gap_s", "hit"), [(400, False), (100, True)])
def test_interleaved_sessions_are_replayed_in_time(tmp_path, each, gap_s, hit):
    """Six sessions of two turns, all first turns before all second ones."""
    entries = [
        {**entry, "timestamp": START + gap_s * (6 * turn + number)}
        for number in range(6)
        for turn, entry in enumerate(conversation(0, f"s{number}", n=2))
    ]
    entries.sort(key=lambda entry: entry["timestamp"])
    line, _ = bill(tmp_path, entries, each=each)
    assert line["requests"] == "12"
    assert (line["hit_rate"] != "0%") is hit


NO_TIMES = "the data has no usable timestamps, so requests are replayed in the order of the rows"


@pytest.mark.parametrize("each", ["session", "request"])
@pytest.mark.parametrize("written", [None, "01/02/2025 10:00 PM", "2025-01-02", True, "nan", []])
def test_the_assumption_without_times_is_reported(tmp_path, written, each):
    line, section = bill(tmp_path, sessions(601, write=lambda _: written), each=each)
    assert section.columns["hit_rate"].startswith(f"cached\n{NO_TIMES}, 0 s apart")
    assert line["n_without_timestamp"] == 5


def test_terminal_and_json_report_the_assumption(cb_runner):
    log = "\n".join(map(json.dumps, sessions(601, write=lambda _: "yesterday")))
    (cb_runner.folder / "log.jsonl").write_text(log, encoding="utf-8")
    done = cb_runner(
        *("run", "-d", "traffic:log.jsonl", "-s", "identity", "--cache-model", "anthropic"),
        *("-o", "table", "-o", "json=out.json"),
        process=True,
    )
    assert NO_TIMES in " ".join(done.stdout.split())
    saved = json.loads((cb_runner.folder / "out.json").read_text(encoding="utf-8"))
    section = saved["sections"]["net_cost"]
    assert NO_TIMES in section["columns"]["hit_rate"]
    assert section["lines"][0]["n_without_timestamp"] == 5


@pytest.mark.parametrize(("gap_s", "hit_rate"), [(60, "78%"), (601, "0%")])
def test_examples_of_any_dataset_may_have_a_timestamp(gap_s, hit_rate):
    """As text here, and in no order."""
    data = [
        {
            "id": i,
            "context": SYSTEM["content"],
            "question": question(i)["content"],
            "timestamp": iso("Z", START + gap_s * i) + "Z",
        }
        for i in (2, 0, 4, 1, 3)
    ]
    result = evaluate(
        ["identity"],
        data,
        evaluators=["prompt_blocks:tokenizer=words"],
        metrics=["net_cost:anthropic"],
        score_field="prompt_tokens_sent",
        progress=False,
    )
    assert result.sections["net_cost"].lines[0]["hit_rate"] == hit_rate


def test_a_gap_can_be_assumed(tmp_path):
    line, section = bill(tmp_path, sessions(0, write=lambda _: None), "anthropic,gap_s=301")
    assert line["hit_rate"] == "0%"
    assert "301 s apart" in section.columns["hit_rate"]


def test_times_that_cannot_be_read_are_counted(tmp_path):
    entries = sessions(601)
    entries[1]["timestamp"] = "yesterday"
    line, section = bill(tmp_path, entries)
    assert line["n_without_timestamp"] == 1
    assert "1 of 5 requests have no usable timestamp" in section.columns["hit_rate"]


@pytest.mark.parametrize(
    ("rows", "filled"),
    [
        ([[None], [None, None]], [[0], [10, 20]]),
        ([[None], [100], [None], [200]], [[100], [100], [110], [200]]),
        ([[500], [None, 100, None, 120, None]], [[500], [100, 100, 120, 120, 120]]),
        ([[0]], [[0]]),
    ],
)
def test_requests_without_a_time_get_that_of_their_row_or_follow_the_row_before(rows, filled):
    assert fill_times(rows, 10) == filled


def test_a_log_with_all_times_needs_no_assumption(tmp_path):
    line, section = bill(tmp_path, sessions(601))
    assert (section.columns["hit_rate"], line["n_without_timestamp"]) == ("cached", 0)


def test_requests_without_times_keep_the_order_of_the_log(tmp_path):
    """Two sessions that take turns use a server with one slot less than one after the other."""
    one, other = conversation(1, "a", n=3), conversation(1, "b", n=3)
    in_turn = [entry for both in zip(one, other, strict=True) for entry in both]
    bills = []
    for entries in (in_turn, [*one, *other]):
        timed = [{**entry, "timestamp": START + n} for n, entry in enumerate(entries)]
        untimed = [{**entry, "timestamp": None} for entry in entries]
        found = [bill(tmp_path, log, "llama-server", "request")[0] for log in (timed, untimed)]
        assert found[0]["billed_tokens"] == found[1]["billed_tokens"]
        bills.append(found[0]["billed_tokens"])
    assert bills[0] > bills[1]


# -- what caching costs ----------------------------------------------------------------------------


def single_shots(n=4):
    """Requests that have nothing in common."""
    return [
        {"messages": [question(f"long{i}", 1500)], "response": "Yes.", "timestamp": START + i}
        for i in range(n)
    ]


@pytest.mark.parametrize("each", ["session", "request"])
def test_cache_writes_that_no_request_reads_are_avoidable(tmp_path, each):
    """A quarter of 6,000 tokens would be added; without caching raw and net are the same."""
    line, section = bill(tmp_path, single_shots(), "anthropic,price_in=3,price_out=0", each)
    assert (line["billed_tokens"], line["raw"]) == (6000, line["net"])
    assert (line["avoidable"], line["avoidable_tokens"]) == ("1,500", 1500)
    assert "without caching" in section.columns["avoidable"]


def test_cache_writes_that_are_read_often_enough_are_billed(tmp_path):
    line, section = bill(tmp_path, sessions(60))
    assert (line["avoidable"], line["avoidable_tokens"]) == ("", 0)
    assert "avoidable" not in section.columns


def test_a_cache_that_cannot_be_left_off_bills_its_writes(tmp_path):
    """Without breakpoints a client has no say in it."""
    file = tmp_path / "own.json"
    file.write_text('{"write": 1.25, "read": 0.1}', encoding="utf-8")
    line, _ = bill(tmp_path, single_shots(), str(file))
    assert (line["billed_tokens"], line["avoidable_tokens"]) == (7500, 0)
