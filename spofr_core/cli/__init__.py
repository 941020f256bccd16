"""`spofr ...`: the operations of the package, from a shell; `commands` has a file for each.

Exit code 0: done. 1: the audited thing fails (`--fail-on-violation`, `verify`). 2: bad input, in one sentence.
"""

from __future__ import annotations

import typer

from spofr_core.cli.commands import (
    audit_command,
    bench_command,
    dashboard_command,
    doctor_command,
    repair_command,
    reproduce_command,
    runs_command,
    sweep_command,
    train_command,
    verify_command,
)
from spofr_core.cli.shell_words import in_shell_words
from spofr_core.errors import SpofrError

COMMANDS = (
    audit_command,
    repair_command,
    verify_command,
    train_command,
    sweep_command,
    runs_command,
    reproduce_command,
    dashboard_command,
    bench_command,
    doctor_command,
)

app = typer.Typer(
    help="Audit, repair and learn rankings whose exposure is provably fair for every query.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in COMMANDS:
    command.register(app)


def main() -> None:
    """Entry point: what goes wrong on purpose is one sentence on stderr and exit code 2."""
    try:
        app()
    except SpofrError as error:
        typer.echo(f"spofr: {in_shell_words(str(error))}", err=True)
        raise SystemExit(2) from None
    except OSError as error:
        typer.echo(f"spofr: {error.strerror or error}: {error.filename or ''}", err=True)
        raise SystemExit(2) from None


__all__ = ["app", "main"]
