"""`spofr runs`: look at the runs of a store, and clear up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.shell_output import JsonOption, emit_json, run_table
from spofr_core.errors import ConfigError

if TYPE_CHECKING:
    from spofr_core.experiments import RunStore

runs_app = typer.Typer(help="Look at the runs of a directory, and clear up.", no_args_is_help=True)


@runs_app.command("list")
def list_runs(
    out: Annotated[Path, typer.Argument(help="Directory of the runs.")],
    status: Annotated[str | None, typer.Option(help="Only done, failed, running or interrupted ones.")] = None,
    json_: JsonOption = None,
) -> None:
    """Every run with its state and results, and what they take on the disk."""
    from spofr_core.experiments import results
    from spofr_core.files import format_size

    store = _open_store(out)
    frame = results(store)
    if status is not None:
        frame = frame[frame["status"] == status]
    emit_json(json.loads(frame.to_json(orient="table", index=False))["data"], json_)
    if json_ != "-":
        typer.echo(run_table(frame))
        typer.echo(f"{len(frame)} runs; {str(out)!r} takes {format_size(store.size())}.")


@runs_app.command("show")
def show_run(
    out: Annotated[Path, typer.Argument(help="Directory of the runs.")],
    run: Annotated[str, typer.Argument(help="Name of the run, or its beginning.")],
    log: Annotated[bool, typer.Option("--log", help="Show the log too.")] = False,
) -> None:
    """One run: what it is of, its state, results, versions; as JSON."""
    store = _open_store(out)
    record = store.find(run)
    typer.echo(json.dumps(record.to_dict(), indent=2, ensure_ascii=False))
    if log:
        typer.echo(store.log(record.run))


@runs_app.command("rm")
def remove_runs(
    out: Annotated[Path, typer.Argument(help="Directory of the runs.")],
    runs: Annotated[list[str] | None, typer.Argument(help="Names of runs, or their beginnings.")] = None,
    status: Annotated[str | None, typer.Option(help="All failed or interrupted ones, for example.")] = None,
) -> None:
    """Remove runs; those at work are left alone."""
    from spofr_core.experiments import collect
    from spofr_core.files import format_size

    if not runs and status is None:
        raise ConfigError("Name the runs to remove, or their state: --status failed.")
    store = _open_store(out)
    chosen = {store.find(name).run for name in runs or ()}
    chosen |= {record.run for record in store.records() if status is not None and record.status == status}
    removed = store.remove(sorted(chosen))
    collect(store)
    typer.echo(f"Removed {len(removed)} of {len(chosen)} runs; {str(out)!r} takes {format_size(store.size())}.")
    if len(removed) < len(chosen):
        typer.echo("The others are at work.", err=True)
        raise typer.Exit(1)


@runs_app.command("export")
def export_runs(
    out: Annotated[Path, typer.Argument(help="Directory of the runs.")],
    target: Annotated[
        Path, typer.Argument(writable=True, help=".zip for everything, .csv or .parquet for the table of results.")
    ],
    runs: Annotated[list[str] | None, typer.Option("--run", help="Only this run; repeat for more.")] = None,
) -> None:
    """Write runs into one file: all there is about them, or the table of results."""
    from spofr_core.experiments import export_results

    store = _open_store(out)
    names = [store.find(name).run for name in runs] if runs else [record.run for record in store.records()]
    export_results(store, names, target)
    typer.echo(f"{len(names)} runs are in {target}.")


def _open_store(out: Path) -> RunStore:
    from spofr_core.experiments import RunStore

    return RunStore(out, create=False)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(runs_app, name="runs")


COMMANDS.register(Command("runs", register))
