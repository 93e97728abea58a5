"""For authors of commands: what those of `cb` are made of.

    @click.command("weigh")
    @shared_options
    @pass_settings
    def command(settings: Settings) -> None: ...

Options and settings that every command shares, output for people and for programs, reports of a
result, and the edge at which errors become messages and exit codes.
"""

from cbcore.cli._edge import exit_code_of
from cbcore.cli._reports import Output, execute_and_report, make_outputs
from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import clean, echo, echo_columns, echo_json
from cbcore.cli.list_components import offered_records
from cbcore.cli.run import RunCommand, run_benchmark, run_options
from cbcore.cli.runs import cache_option
from cbcore.plugins.policy import tool_table

__all__ = [
    "Output",
    "RunCommand",
    "Settings",
    "cache_option",
    "clean",
    "echo",
    "echo_columns",
    "echo_json",
    "execute_and_report",
    "exit_code_of",
    "make_outputs",
    "offered_records",
    "pass_settings",
    "run_benchmark",
    "run_options",
    "shared_options",
    "tool_table",
]
