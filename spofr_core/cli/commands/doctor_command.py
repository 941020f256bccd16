"""`spofr doctor`: what this installation has, what it lacks, and how to get it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any

import numba
import typer

from spofr_core.browser import find_browser
from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.shell_output import JsonOption, emit_json
from spofr_core.data import sample_path
from spofr_core.errors import SpofrError

PACKAGES = (
    "streamlit",
    "plotly",
    "torch",
    "ortools",
    "pandas",
    "numpy",
    "scipy",
    "numba",
    "pyarrow",
    "scikit-learn",
    "pydantic",
    "typer",
    "safetensors",
    "distributed",
)


def examine() -> dict[str, Any]:
    """Versions, threads, browser, sample data, and a list of what is missing with the way to mend it."""
    missing: list[str] = []
    versions: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
            missing.append(f"Package {name} is not installed: run `make install` or `pip install -r requirements.txt`.")
    browser = find_browser()
    if browser is None:
        missing.append(
            "No Chrome or Chromium was found (browser tests and static figures need one): "
            "`apt-get install chromium`, or `python -m playwright install chromium`."
        )
    try:
        samples: str | None = str(sample_path("."))
    except SpofrError as error:
        samples = None
        missing.append(str(error))
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "numba_threads": numba.get_num_threads(),
        "packages": versions,
        "browser": browser,
        "sample_data": samples,
        "missing": missing,
    }


def doctor_command(json_: JsonOption = None) -> None:
    """Versions, threads, browser; what is missing and how to get it."""
    state = examine()
    emit_json(state, json_)
    if json_ != "-":
        for name in ("python", "platform", "cpus", "numba_threads", "browser", "sample_data"):
            typer.echo(f"{name:14} {state[name]}")
        for name, version in state["packages"].items():
            typer.echo(f"{name:14} {version or 'missing'}")
        typer.echo("\n".join(state["missing"]) or "Nothing is missing.")
    if state["missing"]:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("doctor")(doctor_command)


COMMANDS.register(Command("doctor", register))
