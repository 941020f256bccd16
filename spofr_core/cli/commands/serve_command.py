"""`spofr serve`: rankings over HTTP, one list at a time."""

from __future__ import annotations

import os
import socket
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.listening import (
    HostNamesOption,
    KnowsOption,
    bound_socket,
    own_names,
    require_door,
    shown_address,
)
from spofr_core.cli.options import DataOptions, FairnessOptions, with_options
from spofr_core.config import MOST_WORKERS, checked_count
from spofr_core.errors import ConfigError


@with_options(ask=FairnessOptions)
def serve_command(
    ask: FairnessOptions,
    address: Annotated[
        str,
        typer.Option("--address", "--host", help="Address to listen on; one that others reach asks for a token."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 is any that is free.")] = 8000,
    workers: Annotated[int, typer.Option(help="Processes that answer; they share their counters.")] = 1,
    state: Annotated[
        Path | None, typer.Option(help="File of the counters. [default: serve.sqlite in ~/.spofr]")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="Folder for the log of what was shown, in Parquet.")] = None,
    otherwise: Annotated[
        str,
        typer.Option(
            help="Where no policy holds delta: 'sort' by score (marked, and counted in /metrics), 'relax' to the "
            "smallest delta that the list can hold, or 'refuse'."
        ),
    ] = "sort",
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Answer 503 instead of a list sorted by score, which guarantees nothing."),
    ] = False,
    token: Annotated[
        str | None, typer.Option(envvar="SPOFR_TOKEN", help="Requests must bring it: 'Authorization: Bearer TOKEN'.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token; --token itself is seen by every user of the machine.")
    ] = None,
    most_items: Annotated[int, typer.Option(min=1, help="Items of one list.")] = 1000,
    most_groups: Annotated[int, typer.Option(min=1, help="Groups of one list.")] = 20,
    missing: Annotated[
        str, typer.Option(help="Items without a group: 'error', or 'keep' them in their places, without a bound.")
    ] = "error",
    each_item: Annotated[
        bool, typer.Option("--each-item", help="Each item on its own: groups are not asked for.")
    ] = False,
    most_alone: Annotated[int, typer.Option(min=1, help="With --each-item: items of one list.")] = 100,
    cache_mb: Annotated[
        int, typer.Option(min=1, help="Memory for lists that were asked for before, of all workers together.")
    ] = 256,
    most_connections: Annotated[
        int, typer.Option(min=1, help="Connections of one worker; beyond them, those that wait longest are closed.")
    ] = 1000,
    request_seconds: Annotated[
        float,
        typer.Option(
            min=0.1, max=86_400, help="Time for the header of a request, its body, and for reading its answer."
        ),
    ] = 20.0,
    host_name: HostNamesOption = None,
    i_know: KnowsOption = False,
) -> None:
    """Answer rankings over HTTP: POST /rank, GET /health, /metrics, /docs."""
    from spofr_core.experiments import home
    from spofr_core.serving.counter_store import CounterStore
    from spofr_core.serving.service_settings import ServiceSettings

    checked_count(workers, "--workers", MOST_WORKERS)
    if token_file is not None:
        token = _token_in(token_file, token)
    require_door(address, guarded=token is not None, knows=i_know, remedy="set --token-file (or SPOFR_TOKEN)")
    settings = ServiceSettings(
        fairness=ask.build(DataOptions(), None),
        state=(state or home() / "serve.sqlite").resolve(),
        log=None if log is None else log.resolve(),
        otherwise=otherwise,
        strict=strict,
        token=token,
        hosts=tuple(own_names(address, host_name or [])),
        most_items=most_items,
        most_groups=most_groups,
        missing=missing,
        each_item=each_item,
        most_alone=most_alone,
        cache_bytes=max(cache_mb * 2**20 // workers, 2**20),
        most_connections=most_connections,
        request_seconds=request_seconds,
    )
    CounterStore(settings.state).close()  # said once, here: workers that cannot begin are started again and again
    listening = bound_socket(address, port)
    at = f"{shown_address(address)}:{listening.getsockname()[1]}"
    typer.echo(f"Rankings are answered on http://{at}/rank (see /docs); Ctrl+C ends it.", err=True)
    os.environ.update(settings.to_environment())
    _run(listening, workers)


def _memory() -> str | None:
    """Where files are memory; a worker that maps its counts into a file of a full disk is ended by the system."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None


def _token_in(path: Path, token: str | None) -> str:
    if token is not None:
        raise ConfigError("A token is given twice, by --token-file and by --token or SPOFR_TOKEN; give one of them.")
    try:
        token = path.read_text("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--token-file {str(path)!r} cannot be read ({error}); name a file of one line.") from error
    if not token:
        raise ConfigError(f"--token-file {str(path)!r} is empty; write the token into it.")
    return token


def _run(listening: socket.socket, workers: int) -> None:
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from spofr_core.serving.connections import UVICORN

    config = uvicorn.Config(
        "spofr_core.serving.service:app_from_environment",
        factory=True,
        workers=workers,
        loop=UVICORN["loop"],
        http=UVICORN["http"],
        ws="none",
        access_log=False,
        log_level="warning",
        server_header=False,
    )
    # Workers that are handed a socket do not set this themselves, and every answer would then wait 40 ms for the
    # reader's system to acknowledge its first half.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with suppress(KeyboardInterrupt):
        if workers == 1:
            uvicorn.Server(config).run(sockets=[listening])
            return
        with tempfile.TemporaryDirectory(prefix="spofr-metrics-", dir=_memory()) as folder:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            Multiprocess(config, sockets=[listening]).run()


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("serve")(serve_command)


COMMANDS.register(Command("serve", register))
