"""The commands of the shell, a file each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import typer

from spofr_core.registry import Registry

__all__ = ["COMMANDS", "Command"]


@dataclass(frozen=True)
class Command:
    """A word after `spofr`, and how it gets there.

    Parameters
    ----------
    name : str
        The word.
    register : callable
        Adds the command, or a group of commands, to the application.
    """

    name: str
    register: Callable[[typer.Typer], None]


COMMANDS: Registry[Command] = Registry(
    "command",
    {
        "audit": "spofr_core.cli.commands.audit_command",
        "measure": "spofr_core.cli.commands.measure_command",
        "repair": "spofr_core.cli.commands.repair_command",
        "compare": "spofr_core.cli.commands.compare_command",
        "verify": "spofr_core.cli.commands.verify_command",
        "serve": "spofr_core.cli.commands.serve_command",
        "train": "spofr_core.cli.commands.train_command",
        "sweep": "spofr_core.cli.commands.sweep_command",
        "runs": "spofr_core.cli.commands.runs_command",
        "reproduce": "spofr_core.cli.commands.reproduce_command",
        "dashboard": "spofr_core.cli.commands.dashboard_command",
        "bench": "spofr_core.cli.commands.bench_command",
        "doctor": "spofr_core.cli.commands.doctor_command",
    },
)
"""In the order of `spofr --help`."""
