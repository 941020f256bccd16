"""`spofr reproduce`: the figures of the paper, redrawn."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.shell_work import Interrupt, ProbeOption, SchedulerOption, WorkersOption, announce, sweep_executor
from spofr_core.errors import ConfigError


def reproduce_command(
    out: Annotated[Path, typer.Option(help="Directory for runs, frames, figures and index.html.")],
    figures: Annotated[
        list[str] | None, typer.Argument(help="Of tradeoff, grid, guarantee, multigroup, sizes, runtime; or all.")
    ] = None,
    scale: Annotated[str, typer.Option(help="'small': minutes; 'paper': the paper's sizes, hours.")] = "small",
    dataset: Annotated[
        list[str] | None, typer.Option(help="Only this dataset: german-credit, mslr or adult; repeat for several.")
    ] = None,
    mslr_folder: Annotated[Path | None, typer.Option(help="Your own MSLR Fold folder.")] = None,
    workers: WorkersOption = 2,
    scheduler: SchedulerOption = None,
    probe: ProbeOption = False,
    images: Annotated[
        bool, typer.Option("--images/--no-images", help="Static pictures where there is a Chrome.")
    ] = True,
) -> None:
    """Redraw the figures of the paper, each beside what it claims. Stop it at any time; the same command goes on."""
    from spofr_core.experiments import DATASETS, DataShelf, RunStore, SweepBar, planned_runs, reproduce
    from spofr_core.reporting import listed

    if scale not in ("small", "paper"):
        raise ConfigError(f"--scale is {scale!r}; give 'small' or 'paper'.")
    chosen: dict[str, Any] = {"datasets": tuple(dict.fromkeys(dataset or DATASETS))}
    for name in chosen["datasets"]:
        if name not in DATASETS:
            raise ConfigError(f"--dataset is {name!r}; give {listed(DATASETS, word='or')}.")
    chosen["folder"] = None if mslr_folder is None else str(mslr_folder.resolve())
    configs = planned_runs(figures or [], scale, **chosen)  # type: ignore[arg-type]
    with ExitStack() as stack:
        executor = stack.enter_context(sweep_executor(workers, scheduler))
        announce(configs, RunStore(out / "runs"), DataShelf(configs), executor, probe)
        stopping = stack.enter_context(Interrupt())
        bar = stack.enter_context(SweepBar())
        made = reproduce(
            figures or [],
            scale,  # type: ignore[arg-type]
            out,
            executor=executor,
            on_progress=bar,
            stop=stopping,
            images=images,
            **chosen,
        )
    typer.echo(str(made.outcome))
    for finding in made.findings:
        where = f" ({finding.data})" if finding.data else ""
        typer.echo(f"{finding.figure:10} {finding.verdict:9} {finding.claim}{where}")
    for note in made.notes:
        typer.echo(f"note: {note}")
    typer.echo(f"Look at {made.folder / 'index.html'}")
    if not made.outcome.ok:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("reproduce")(reproduce_command)


COMMANDS.register(Command("reproduce", register))
