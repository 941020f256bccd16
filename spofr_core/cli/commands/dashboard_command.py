"""`spofr dashboard`: the screens, in a browser."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.listening import (
    MOST_PORT,
    HostNamesOption,
    KnowsOption,
    bound_socket,
    own_names,
    require_door,
    shown_address,
)
from spofr_core.cli.login_file import login_host, login_providers
from spofr_core.config import checked_count
from spofr_core.errors import ConfigError
from spofr_core.parent import PARENT_VARIABLE


def dashboard_command(
    port: Annotated[int, typer.Option(help="Port.")] = 8501,
    address: Annotated[
        str, typer.Option(help="Address to listen on; one that others reach asks for a login.")
    ] = "127.0.0.1",
    login: Annotated[
        Path | None,
        typer.Option(
            help="TOML file that says who vouches for visitors (OpenID Connect); each sees what belongs to their "
            "account. See docs/deploy.md."
        ),
    ] = None,
    headless: Annotated[bool, typer.Option(help="Do not open a browser.")] = False,
    runs: Annotated[
        list[Path] | None, typer.Option(help="Show the runs of this directory too; repeat for more.")
    ] = None,
    upload_days: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=1_000_000, help="Days that an upload is kept after it was last opened; 30 if not said."
        ),
    ] = None,
    upload_mb: Annotated[
        float | None,
        typer.Option(min=0.001, max=1e12, help="MB of uploads that are kept for one visitor; 1024 if not said."),
    ] = None,
    host_name: HostNamesOption = None,
    i_know: KnowsOption = False,
) -> None:
    """Open the dashboard in the browser."""
    page = Path(__file__).resolve().parents[3] / "dashboard" / "server.py"
    if not page.exists():
        raise ConfigError(f"The dashboard is not at {str(page)!r}: install the project again.")
    checked_count(port, "--port", MOST_PORT)
    require_door(address, guarded=login is not None, knows=i_know, remedy="give a --login")
    environment = {**os.environ, **pointed_at(runs or []), **kept_for(upload_days, upload_mb), **asked_for(login)}
    environment[PARENT_VARIABLE] = str(os.getpid())  # killed with SIGKILL, the command could not end the server
    command = [sys.executable, "-m", "streamlit", "run", str(page), "--server.address", address]
    command += ["--server.port", str(port), "--server.headless", str(headless).lower()]
    # Said here too, for a setting of the environment would win over the project's file: what breaks is for the log, and
    # pages of others are not answered.
    command += ["--client.showErrorDetails", "none", "--server.enableAgentApi", "false"]
    command += ["--server.enableCORS", "true", "--server.enableXsrfProtection", "true"]
    # A login sends visitors back to the name that its file has.
    names = own_names(address, [*(host_name or []), *([] if login is None else [login_host(login)])])
    command += [word for name in names for word in ("--server.allowedHosts", name)]
    command += [] if login is None else ["--secrets.files", str(login.resolve())]
    bound_socket(address, port).close()  # the server would say after it was told to be there that it cannot be
    typer.echo(f"The dashboard is on http://{shown_address(address)}:{port}; Ctrl+C ends it.")
    server = subprocess.Popen(command, cwd=page.parent.parent, env=environment)
    signal.signal(signal.SIGTERM, lambda *_: server.terminate())  # or the server would outlive its command
    try:
        raise typer.Exit(server.wait())
    except KeyboardInterrupt:
        server.wait()
        raise typer.Exit(0) from None


def pointed_at(folders: list[Path]) -> dict[str, str]:
    """The setting of the server that makes it show the runs of these folders; nothing where there is none.

    Raises
    ------
    ConfigError
        When there are no runs in one of them.
    """
    if not folders:
        return {}
    from spofr_core.experiments import RUNS_VARIABLE, RunStore

    # `spofr reproduce` keeps its runs in a folder beside its figures.
    roots = [folder / "runs" if (folder / "runs" / "store.json").exists() else folder for folder in folders]
    return {RUNS_VARIABLE: os.pathsep.join(str(RunStore(root, create=False).root.resolve()) for root in roots)}


def kept_for(days: float | None, megabytes: float | None) -> dict[str, str]:
    """The settings of the server that say how long and how much of each visitor's uploads it keeps, where given."""
    from spofr_core.experiments import UPLOAD_DAYS_VARIABLE, UPLOAD_MB_VARIABLE

    given = {UPLOAD_DAYS_VARIABLE: days, UPLOAD_MB_VARIABLE: megabytes}
    return {variable: f"{value:g}" for variable, value in given.items() if value is not None}


def asked_for(login: Path | None) -> dict[str, str]:
    """The setting of the server that lets nobody in who has not logged in, where a file for that is given.

    Raises
    ------
    ConfigError
        When visitors could not log in with it.
    """
    from spofr_core.experiments import LOGIN_VARIABLE

    return {} if login is None else {LOGIN_VARIABLE: ",".join(login_providers(login))}


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("dashboard")(dashboard_command)


COMMANDS.register(Command("dashboard", register))
