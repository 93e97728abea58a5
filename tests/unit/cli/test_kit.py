"""The kit for commands of plugins: its names, reports, and the edge with its exit codes."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from cbcore.api import open_run
from cbcore.cli import kit
from cbcore.cli.kit import exit_codes
from cbcore.cli.reports import Output, write_reports
from cbcore.exceptions import DataError, ReportError, ResultError, RunInterruptedError, UsageError
from cbcore.results import EvalResult, EvalRow


def test_the_public_names():
    """One assertion holds what authors of commands may rely on."""
    assert kit.__all__ == [
        "Settings",
        "benchmark_command",
        "cache_option",
        "clean",
        "describe_offers",
        "echo",
        "echo_columns",
        "echo_json",
        "exit_codes",
        "output_option",
        "pass_settings",
        "report_result",
        "shared_options",
        "tool_table",
    ]


def exit_code_of(program, call):
    """The exit code of a program that is one call."""
    with pytest.raises(SystemExit) as ended, exit_codes(program):
        call()
    return ended.value.code


def test_without_a_code_a_program_ends_well():
    with pytest.raises(SystemExit) as ended, exit_codes("p"):
        pass
    assert ended.value.code == 0


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (UsageError("no such file", hint="look"), 2, "p: error: no such file\nhint: look\n"),
        (DataError("empty"), 4, "p: error: empty\n"),
        (RunInterruptedError("stopped"), 130, "p: error: stopped\n"),
        (KeyboardInterrupt(), 130, "p: error: interrupted\n"),
        (click.Abort(), 130, "p: error: interrupted\n"),
        (click.UsageError("no such option"), 2, "p: error: no such option\n"),
        (
            ZeroDivisionError("division by zero"),
            1,
            (
                "p: error: unexpected ZeroDivisionError: division by zero\n"
                "hint: this is a defect of p; set CB_DEBUG=1 for the traceback\n"
            ),
        ),
        (
            UsageError("sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD is refused"),
            2,
            "p: error: *** is refused\n",
        ),
    ],
)
def test_an_error_is_told_on_standard_error_and_has_its_code(error, code, told, capsys):
    """One message with its hint and no traceback; nothing secret in it."""

    def fail():
        raise error

    assert exit_code_of("p", fail) == code
    assert capsys.readouterr() == ("", told)


def test_an_unexpected_error_can_be_seen_whole(monkeypatch, capsys):
    """With `CB_DEBUG` its traceback is told, as safely as any other message."""

    def fail():
        raise KeyError("with sk-abcdefghijklmnop \x1b]0;title\x07")

    monkeypatch.setenv("CB_DEBUG", "1")
    assert exit_code_of("p", fail) == 1
    told = capsys.readouterr().err
    assert told.startswith("Traceback (most recent call last):\n")
    assert told.endswith("\nKeyError: 'with *** \\x1b]0;title\\x07'\n")


def test_a_program_that_exits_itself_is_let_go():
    """`argparse` ends a program that was used wrongly, in its own way."""
    assert exit_code_of("p", lambda: sys.exit(9)) == 9


class Shout:
    name = "shout"

    def render(self, result):
        return f"{len(result.rows)} ROWS \ud800\n"


class Exits:
    name = "exits"

    def render(self, result):
        raise SystemExit(3)


def test_a_report_that_fails_keeps_no_other_back(tmp_path, capsys):
    """Also where the reporter exits, which would end the program."""
    place = tmp_path / "a" / "b.txt"
    with pytest.raises(ReportError, match="exits"):
        write_reports(EvalResult([]), [Output(Exits()), Output(Shout()), Output(Shout(), place)])
    told = capsys.readouterr()
    assert told.out == "0 ROWS ?\n"
    assert (tmp_path / "a" / "b.txt").read_text() == "0 ROWS ?\n"
    assert "reporter 'exits' failed: it called sys.exit(3)" in told.err
    assert f"shout report: {tmp_path / 'a' / 'b.txt'}" in told.err


PROGRAM = """
from cbcore.cli.reports import Output, write_reports
from cbcore.cli.kit import exit_codes
from cbcore.results import EvalResult

class Long:
    name = "long"

    def render(self, result):
        return "x" * 1_000_000

with exit_codes("p"):
    write_reports(EvalResult([]), [Output(Long())])
"""


def test_a_reader_that_goes_away_is_no_error():
    """`… | head` ends it without a word, and blames no reporter."""
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with program:
        program.stdout.close()
        assert program.stderr.read() == ""
    assert program.returncode == 0


def test_a_run_is_named_by_the_path_of_its_result(tmp_path):
    """Or by its id in a store; what is neither is refused."""
    saved = EvalResult([EvalRow("a", 1, {"f1": 1.0})])
    (tmp_path / "r.json").write_text(saved.to_json(), encoding="utf-8")
    assert open_run(str(tmp_path / "r.json")) == saved
    with pytest.raises(UsageError, match="There is no run '2026' in"):
        open_run("2026", tmp_path)
    with pytest.raises(ResultError, match=r"There is no file 'other.json'"):
        open_run("other.json", tmp_path)
