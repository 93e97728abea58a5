"""For authors of commands: what the commands of `cb` are made of.

    @click.command("weigh")
    @shared_options
    @pass_settings
    def command(settings: Settings) -> None: ...

Options and settings that every command shares, output for people and for programs, reports of a
result, and exit codes for errors.
"""

from cbcore.cli.click_options import Settings, pass_settings, shared_options
from cbcore.cli.console import echo, echo_columns, echo_json, exit_codes
from cbcore.cli.list_commands import describe_offers
from cbcore.cli.reports import report_result
from cbcore.cli.run_command import benchmark_command
from cbcore.cli.saved_run_commands import cache_option, output_option
from cbcore.plugins.policy import tool_table
from cbcore.texts import clean

__all__ = [
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
