"""For authors of commands: what the commands of `cb` are made of.

    @click.command("weigh")
    @shared_options
    @pass_settings
    def command(settings: Settings) -> None: ...

Options and settings that every command shares, output for people and for programs, reports of a
result, and exit codes for errors.
"""

from cbcore.cli.click_options import Settings, pass_settings, shared_options
from cbcore.cli.console import clean, echo, echo_columns, echo_json, exiting
from cbcore.cli.list_commands import offered_records
from cbcore.cli.reports import Output, execute_and_report, make_outputs
from cbcore.cli.run_command import run_benchmark, run_command
from cbcore.cli.saved_run_commands import cache_option, output_option
from cbcore.plugins.policy import tool_table

__all__ = [
    "Output",
    "Settings",
    "cache_option",
    "clean",
    "echo",
    "echo_columns",
    "echo_json",
    "execute_and_report",
    "exiting",
    "make_outputs",
    "offered_records",
    "output_option",
    "pass_settings",
    "run_benchmark",
    "run_command",
    "shared_options",
    "tool_table",
]
