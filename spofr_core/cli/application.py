"""The application: every command, those of plug-ins included."""

from __future__ import annotations

import typer

from spofr_core.cli.commands import COMMANDS
from spofr_core.cli.shell_output import keep_inputs

app = typer.Typer(
    help="Audit, repair and learn rankings whose exposure is provably fair for every query.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in COMMANDS.values():
    command.register(app)
for shell in (app, *(group.typer_instance for group in app.registered_groups)):
    for registered in shell.registered_commands if shell else ():
        if registered.callback is not None:
            registered.callback = keep_inputs(registered.callback)
