"""`spofr ...`: the operations of the package, from a shell; `commands` has a file for each.

Exit code 0: done. 1: the audited thing fails (`--fail-on-violation`, `verify`). 2: bad input, in one sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.shell_words import in_shell_words
from spofr_core.errors import SpofrError
from spofr_core.lazy import lazy_names

if TYPE_CHECKING:
    from spofr_core.cli.application import app


def main() -> None:
    """Entry point: what goes wrong on purpose is one sentence on stderr and exit code 2."""
    try:
        # Options list what plug-ins bring, and a plug-in that cannot be imported is bad input too.
        from spofr_core.cli.application import app

        app()
    except SpofrError as error:
        typer.echo(f"spofr: {in_shell_words(str(error))}", err=True)
        raise SystemExit(2) from None
    except OSError as error:
        typer.echo(f"spofr: {error.strerror or error}: {error.filename or ''}", err=True)
        raise SystemExit(2) from None


__all__ = ["COMMANDS", "Command", "app", "main"]

__getattr__ = lazy_names(__name__, {"application": ("app",)})
