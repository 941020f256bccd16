"""`spofr bench`: measured ratios, side by side in one run."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.shell_output import JsonOption, print_ratios
from spofr_core.config import checked_count
from spofr_core.errors import ConfigError

_MOST = 10_000_000
"""Lists or rounds; more of them would fill the memory, or a year."""
bench_app = typer.Typer(help="Measured ratios, side by side in one run.", no_args_is_help=True)


@bench_app.command("audit")
def time_audit(
    json_: JsonOption = None,
    queries: Annotated[int, typer.Option(help="Lists of 20 items.")] = 50_000,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds.")] = 5,
) -> None:
    """A million rows from CSV to summary, beside pandas reading the same file."""
    from spofr_core.experiments.bench.bench_audit import bench_audit

    _check(queries=queries, rounds=rounds)
    print_ratios(bench_audit(queries=queries, rounds=rounds), json_)


@bench_app.command("measures")
def time_measures(
    json_: JsonOption = None,
    queries: Annotated[int, typer.Option(help="Lists of 20 items.")] = 50_000,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds.")] = 5,
) -> None:
    """Every measure of the catalogue beside an audit of the same lists, and beside FairRankTune."""
    from spofr_core.experiments.bench.bench_measures import bench_measures

    _check(queries=queries, rounds=rounds)
    print_ratios(bench_measures(queries=queries, rounds=rounds), json_)


@bench_app.command("solver")
def time_solver(
    json_: JsonOption = None,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds.")] = 7,
    quick: Annotated[bool, typer.Option(help="Lists of 20 only.")] = False,
) -> None:
    """The exact solver beside hot-started GLOP, an assignment solver and a plain sort."""
    from spofr_core.experiments.bench.bench_solver import bench_solver

    print_ratios(bench_solver(rounds=rounds, quick=quick), json_)


@bench_app.command("serve")
def time_serve(
    json_: JsonOption = None,
    calls: Annotated[int, typer.Option(help="Lists of 20 items in a round, each ranked by a call of its own.")] = 200,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds.")] = 50,
    load: Annotated[bool, typer.Option(help="Ask the running service too, beside a bare FastAPI echo.")] = True,
    readers: Annotated[int, typer.Option(min=1, help="Readers who ask the service at the same time.")] = 8,
    minutes: Annotated[
        float | None, typer.Option(min=0.05, help="Only keep the service under load for so long, and watch its memory.")
    ] = None,
) -> None:
    """A call of the reranker beside a batch and beside `fair_policy`; the service beside a bare FastAPI echo."""
    from spofr_core.serving.bench.bench_minutes import bench_minutes
    from spofr_core.serving.bench.bench_serve import bench_serve

    _check(calls=calls, rounds=rounds)
    if minutes is not None:
        print_ratios(bench_minutes(minutes, readers=readers), json_)
        return
    print_ratios(bench_serve(calls=calls, rounds=rounds, load=load, readers=readers), json_)


@bench_app.command("train")
def time_train(
    json_: JsonOption = None,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds.")] = 5,
    quick: Annotated[bool, typer.Option(help="Few lists and at most two rounds, to see that it works.")] = False,
) -> None:
    """One epoch of each method beside one of ListNet, on the same clicks."""
    from spofr_core.experiments.bench.bench_train import bench_train

    print_ratios(bench_train(rounds=rounds, quick=quick), json_)


@bench_app.command("dashboard")
def time_dashboard(
    json_: JsonOption = None,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds.")] = 5,
) -> None:
    """What a reader waits for in a real browser, beside bare Streamlit pages with one chart."""
    from spofr_core.experiments.bench.bench_dashboard import bench_dashboard

    _check(rounds=rounds)
    print_ratios(bench_dashboard(rounds=rounds), json_)


@bench_app.command("sweep")
def time_sweep(
    json_: JsonOption = None,
    seconds: Annotated[float, typer.Option(help="Length of one run of the scaling measurement.")] = 4.0,
) -> None:
    """Two workers beside one, overhead per run, and listing and loading beside the plainest way."""
    from spofr_core.experiments.bench.bench_sweep import bench_sweep

    if not 0 < seconds < math.inf:
        raise ConfigError(f"--seconds is {seconds}; give a number above 0, such as 4.")
    print_ratios(bench_sweep(seconds=seconds), json_)


def _check(**counts: int) -> None:
    """Refuse numbers that nothing can be measured with, before a long preparation."""
    for name, count in counts.items():
        checked_count(count, f"--{name}", _MOST)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(bench_app, name="bench")


COMMANDS.register(Command("bench", register))
