"""A command of one's own: `spofr groups`, which counts the items of each group."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer

from spofr_core.cli import COMMANDS, Command


@dataclass(frozen=True, kw_only=True)
class CountOptions:
    """Options that several commands share are the fields of a class; each command that takes it has them all."""

    least: Annotated[int, typer.Option(help="Leave out groups of fewer items.")] = 1


def register(app: typer.Typer) -> None:
    """Add the command; options are imported here because their help lists what all plug-ins have registered."""
    from spofr_core.cli.options import DataOptions, with_options

    @app.command("groups")
    @with_options(source=DataOptions, count=CountOptions)
    def groups(source: DataOptions, count: CountOptions) -> None:
        """Count the items of each group."""
        data = source.read()
        for name, items in zip(data.group_names, np.bincount(data.groups), strict=True):
            if items >= count.least:
                typer.echo(f"{name}: {items}")


COMMANDS.register(Command("groups", register))
