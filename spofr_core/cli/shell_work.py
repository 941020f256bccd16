"""Who does the work of a command, how it is announced, and how Ctrl-C ends it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from spofr_core.errors import ConfigError
from spofr_core.experiments import EXECUTORS

if TYPE_CHECKING:
    from spofr_core.evaluation import Map
    from spofr_core.experiments import DataShelf, Executor, RunConfig, RunStore

WorkersOption = Annotated[int, typer.Option(help="Processes on this machine; 1 works in this one.")]
SchedulerOption = Annotated[str | None, typer.Option(help=f"{'; '.join(kind.about for kind in EXECUTORS.values())}.")]
ProbeOption = Annotated[bool, typer.Option("--probe/--no-probe", help="Estimate the time from a few steps first.")]


class Interrupt:
    """Ctrl-C asks the work to stop in order; a second one ends it at once."""

    def __init__(self) -> None:
        self._asked = False

    def __call__(self) -> bool:
        return self._asked

    def __enter__(self) -> Interrupt:
        self._before = signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _stop(self, *_: object) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        typer.echo("\nStopping; what is under way can be resumed.", err=True)


def sweep_executor(workers: int, scheduler: str | None) -> Executor:
    """Whoever trains: this process, on one thread as workers do, or workers."""
    from spofr_core.experiments import limit_threads, make_executor

    if workers == 1 and scheduler is None:
        limit_threads(1)
    return make_executor(workers=workers, scheduler=scheduler)


def announce(
    configs: tuple[RunConfig, ...], store: RunStore, shelf: DataShelf, executor: Executor, probe: bool
) -> None:
    """Number of runs, and how long they will take."""
    from spofr_core.experiments import estimate, missing_runs

    missing = missing_runs(configs, store)
    before = len(configs) - len(missing)
    typer.echo(f"{len(configs)} runs, {before} of them done before.", err=True)
    if probe and missing:
        typer.echo(str(estimate(missing, shelf, workers=executor.workers)), err=True)


@contextmanager
def parts_map(workers: int, scheduler: str | None) -> Iterator[tuple[Map, int]]:
    """How the parts of a folder are worked on, with a progress bar, and how many parts there should be at least."""
    from spofr_core.experiments import SweepBar, make_executor, map_with_progress

    with make_executor(workers=workers, scheduler=scheduler) as executor, SweepBar(unit="parts") as bar:
        # Two for each worker, so that they end at about the same time.
        yield partial(map_with_progress, executor, bar), 2 * executor.workers if executor.workers > 1 else 1


def refuse_workers(workers: int, scheduler: str | None, source: str, *, policies: bool = False) -> None:
    """Only the parts of a folder can be shared out, and not where `policies` of it are measured.

    Raises
    ------
    ConfigError
        When workers were asked for.
    """
    if (workers != 1 or scheduler is not None) and policies:
        raise ConfigError(
            "--workers and --scheduler share out the parts of a folder; with --policies it is read in one piece: leave "
            "them out."
        )
    if workers != 1 or scheduler is not None:
        raise ConfigError(
            f"--workers and --scheduler share out the parts of a folder of Parquet files, which {source!r} is not; "
            "leave them out."
        )
