"""`spofr dashboard`: the screens, in a browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from spofr_core.errors import ConfigError


def dashboard_command(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 8501,
    headless: Annotated[bool, typer.Option(help="Do not open a browser.")] = False,
) -> None:
    """Open the dashboard in the browser."""
    page = Path(__file__).resolve().parents[3] / "dashboard" / "app.py"
    if not page.exists():
        raise ConfigError(f"The dashboard is not at {str(page)!r}: install the project again.")
    command = [sys.executable, "-m", "streamlit", "run", str(page), "--server.address", "127.0.0.1"]
    command += ["--server.port", str(port), "--server.headless", str(headless).lower()]
    typer.echo(f"The dashboard is on http://127.0.0.1:{port}; Ctrl+C ends it.")
    try:
        raise typer.Exit(subprocess.call(command, cwd=page.parent.parent))
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("dashboard")(dashboard_command)
