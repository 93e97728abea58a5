"""`cb serve-local`: the model behind llama.cpp's own OpenAI-compatible server."""

from __future__ import annotations

import signal
import socket
import threading
from types import FrameType

import click

from cb_local.engine import Engine, EngineOptions, default_threads
from cb_local.models import BUNDLED, find_model
from cb_local.system import DEFAULT_N_CTX
from cbcore.cli.kit import echo
from cbcore.exceptions import UsageError

DEFAULT_PORT = 9801
_WAIT_S = 1.0


@click.command("serve-local")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--model", default=BUNDLED, show_default=True, help="smollm2, or the path of a GGUF file."
)
@click.option(
    "--n-ctx",
    type=click.IntRange(1),
    default=DEFAULT_N_CTX,
    show_default=True,
    help="Tokens of prompt and answer together, for each request.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Requests worked on at once. Above 1, equal requests may differ in rare tokens.",
)
def command(host: str, port: int, model: str, n_ctx: int, parallel: int) -> None:
    """Serve a local model to OpenAI clients and proxies, until Ctrl-C.

    The server is llama.cpp's own. It asks for no key and takes any model name.
    """
    found = find_model(model)
    _check_free(host, port)
    stopped = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    engine = Engine(
        EngineOptions(
            path=found.path,
            alias=found.name,
            n_ctx=n_ctx,
            n_threads=default_threads(),
            n_parallel=parallel,
            address=(host, port),
        )
    )
    try:
        echo(engine.url)
        echo(
            f"serving {found.name}, {parallel} at once, {n_ctx} tokens each; Ctrl-C ends it",
            err=True,
        )
        # Not for ever at once: a signal that comes just before a wait does not end it.
        while not stopped.wait(_WAIT_S):
            pass
    finally:
        engine.close()


def _check_free(host: str, port: int) -> None:
    """Raise if the address cannot be listened on; llama.cpp itself would not say why."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            hint="choose another --port (0 takes a free one), or end what listens there",
        ) from error
