"""`cb view`: runs in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cbcore.cli.kit import cache_option, echo, shared_options

if TYPE_CHECKING:
    from cb_reporters.server.serving import Server
    from cb_reporters.server.sources import Source

_MOST_LEFT_OUT = 5
"""How many files that are not results are named one by one."""


@click.command("view", short_help="Look at runs in a browser.")
@click.argument("run", required=False, metavar="[RUN|FILE|FOLDER]")
@cache_option
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Port on 127.0.0.1. Default: one that is free.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@shared_options
def command(run: str | None, cache_dir: str, port: int, no_browser: bool) -> None:
    """Serve saved runs, or results in files, to a browser on this machine.

    Without an argument, all runs of --cache-dir are listed. RUN (an id or its beginning, `latest`,
    `latest~1`) opens one of them; FILE is a saved result; FOLDER holds a store, or saved results.
    Two runs can be compared, and one that is still going is followed.

    Nothing is changed and nothing is sent anywhere. Only this machine can connect, and only with
    the token in the address. Ctrl-C ends it.
    """
    from cb_reporters.server.serving import Server

    source, opened = _find_source(run, cache_dir)
    with _bound(Server, source, port) as server:
        address = server.guard.address + opened
        echo(address)
        all_runs = f"all runs: {server.guard.address}\n" if opened else ""
        echo(f"{all_runs}Ctrl-C ends it.", err=True)
        if not no_browser:
            _open_browser(address)
        _serve(server)


def _find_source(run: str | None, cache_dir: str) -> tuple[Source, str]:
    """Where runs come from, and which page is opened first."""
    from pathlib import Path
    from urllib.parse import quote

    from cb_reporters.server.sources import FileSource, StoreSource
    from cbcore.store.saved_runs import find_saved, list_runs

    if run is None:
        return StoreSource(Path(cache_dir)), ""
    path = Path(run).expanduser()
    if path.is_dir() and list_runs(path):
        return StoreSource(path), ""
    if path.is_dir():
        folder = FileSource.of_folder(path)
        for file, error in list(folder.left_out.items())[:_MOST_LEFT_OUT]:
            echo(f"Left out {file.name}: {error.message.removeprefix(f'{file}: ')}", err=True)
        more = len(folder.left_out) - _MOST_LEFT_OUT
        if more > 0:
            echo(f"Left out {more} more files that are not results.", err=True)
        return folder, ""
    if not path.is_file():
        saved = find_saved(run, cache_dir)
        return StoreSource(Path(cache_dir)), f"run/{quote(saved.run_id, safe='')}/"
    files = FileSource([path])
    for entry in files.entries():
        return files, f"run/{quote(entry.id, safe='')}/"
    raise files.left_out[path]


def _bound(make: type[Server], source: Source, port: int) -> Server:
    from cb_reporters.server.answering import Site
    from cbcore.exceptions import UsageError

    try:
        return make(Site(source), port)
    except OSError as error:
        raise UsageError(
            f"Port {port} cannot be used: {error.strerror}.",
            hint="Leave --port out to use a free port.",
        ) from error


def _open_browser(address: str) -> None:
    """Open the address in a browser that has a window; where there is none, it was printed."""
    import os
    import sys
    import threading
    import webbrowser

    has_windows = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    if has_windows:
        # It may wait for the browser to come up.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _serve(server: Server) -> None:
    """Until Ctrl-C or SIGTERM."""
    import signal

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):  # a job in the background ignores the first
        signal.signal(number, stop)
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        echo("ended", err=True)
