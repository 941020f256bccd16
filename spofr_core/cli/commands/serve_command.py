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
from spofr_core.cli.listening import HostNamesOption, KnowsOption, own_names, require_door
from spofr_core.cli.options import DataOptions, FairnessOptions, with_options


@with_options(ask=FairnessOptions)
def serve_command(
    ask: FairnessOptions,
    address: Annotated[
        str,
        typer.Option("--address", "--host", help="Address to listen on; one that others reach asks for a token."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Processes that answer; they share their counters.")] = 1,
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
    token: Annotated[
        str | None, typer.Option(envvar="SPOFR_TOKEN", help="Requests must bring it: 'Authorization: Bearer TOKEN'.")
    ] = None,
    most_items: Annotated[int, typer.Option(min=1, help="Items of one list.")] = 1000,
    most_groups: Annotated[int, typer.Option(min=1, help="Groups of one list.")] = 20,
    each_item: Annotated[
        bool, typer.Option("--each-item", help="Each item on its own: groups are not asked for.")
    ] = False,
    most_alone: Annotated[int, typer.Option(min=1, help="With --each-item: items of one list.")] = 100,
    host_name: HostNamesOption = None,
    i_know: KnowsOption = False,
) -> None:
    """Answer rankings over HTTP: POST /rank, GET /health, /metrics, /docs."""
    from spofr_core.experiments import home
    from spofr_core.serving.service_settings import ServiceSettings

    require_door(address, guarded=token is not None, knows=i_know, remedy="set --token (or SPOFR_TOKEN)")
    settings = ServiceSettings(
        fairness=ask.build(DataOptions(), None),
        state=(state or home() / "serve.sqlite").resolve(),
        log=None if log is None else log.resolve(),
        otherwise=otherwise,
        token=token,
        hosts=tuple(own_names(address, host_name or [])),
        most_items=most_items,
        most_groups=most_groups,
        each_item=each_item,
        most_alone=most_alone,
    )
    typer.echo(f"Rankings are answered on http://{address}:{port}/rank (see /docs); Ctrl+C ends it.", err=True)
    with tempfile.TemporaryDirectory(prefix="spofr-metrics-") as folder:
        os.environ.update(settings.to_environment())
        if workers > 1:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        _run(address, port, workers)


def _run(host: str, port: int, workers: int) -> None:
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    config = uvicorn.Config(
        "spofr_core.serving.service:app_from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        access_log=False,
        log_level="warning",
        server_header=False,
    )
    listening = config.bind_socket()
    # Workers that are handed a socket do not set this themselves, and every answer would then wait 40 ms for the
    # reader's system to acknowledge its first half.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with suppress(KeyboardInterrupt):
        if workers > 1:
            Multiprocess(config, sockets=[listening]).run()
        else:
            uvicorn.Server(config).run(sockets=[listening])


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("serve")(serve_command)


COMMANDS.register(Command("serve", register))
