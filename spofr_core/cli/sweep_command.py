"""`spofr sweep`, `spofr runs`, `spofr reproduce` and `spofr bench sweep`: many trained models from a shell."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from spofr_core.cli.options import SchedulerOption, WorkersOption
from spofr_core.data import SAMPLES
from spofr_core.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from spofr_core.experiments import Executor, RunConfig, RunStore, SweepOutcome, SweepSpec

T = TypeVar("T")

ProbeOption = Annotated[bool, typer.Option("--probe/--no-probe", help="Estimate the time from a few steps first.")]
OutOption = Annotated[Path, typer.Option(help="Directory of the runs.")]
JsonOption = Annotated[str | None, typer.Option("--json", help="Write JSON to this file; '-' is stdout.")]

METHODS = "spofr,pto,fultr,deltr"
DELTAS = "0,0.01,0.02,0.03,0.05,0.1,0.2,0.4"
PENALTIES = "0,1,10,100,1000,10000"

runs_app = typer.Typer(help="Look at the runs of a directory, and clear up.", no_args_is_help=True)


def sweep(
    out: OutOption,
    spec: Annotated[Path | None, typer.Argument(help="YAML file that describes the sweep.")] = None,
    sample: Annotated[str | None, typer.Option(help=f"A bundled dataset: {SAMPLES.listed()}.")] = None,
    file: Annotated[Path | None, typer.Option(help="A file with features and relevance instead of a sample.")] = None,
    methods: Annotated[str, typer.Option(help="Of spofr, pto, fultr, deltr, unfair, uniform.")] = METHODS,
    deltas: Annotated[str, typer.Option(help="For methods that can be asked for a delta.")] = DELTAS,
    penalties: Annotated[str, typer.Option(help="For methods with a penalty.")] = PENALTIES,
    groups: Annotated[str | None, typer.Option(help="Numbers of groups; the data's own without it.")] = None,
    notions: Annotated[str, typer.Option(help="Of exposure, merit, gap.")] = "exposure",
    clicks: Annotated[str | None, typer.Option(help="Training sizes in clicks; the true labels without it.")] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds.")] = 1,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of all methods as 'name=value'; repeat for more.")
    ] = None,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
    probe: ProbeOption = True,
    changed_data: Annotated[str, typer.Option(help="Runs whose data has changed since: 'error' or 'rerun'.")] = "error",
    disk_limit: Annotated[float, typer.Option(help="Gigabytes that the runs may take.")] = 20.0,
    json_: JsonOption = None,
) -> None:
    """Train many models: those that are not there yet. Stop it at any time; the same command goes on."""
    from spofr_core.experiments import RunStore, SweepSpec

    if changed_data not in ("error", "rerun"):
        raise ConfigError(f"--changed-data is {changed_data!r}; give 'error' or 'rerun'.")
    if spec is not None:
        if sample is not None or file is not None:
            raise ConfigError("Both a SPEC file and --sample or --file are given; the file says which data.")
        described = SweepSpec.read(spec)
    else:
        described = SweepSpec.from_dict(
            {
                "dataset": _dataset(sample, file),
                "methods": _words(methods),
                "deltas": _numbers(deltas, "--deltas", float),
                "penalties": _numbers(penalties, "--penalties", float),
                "groups": [None] if groups is None else _numbers(groups, "--groups", int),
                "notions": _words(notions),
                "clicks": [None] if clicks is None else _numbers(clicks, "--clicks", int),
                "seeds": seeds,
                "training": _settings(setting),
            }
        )
    limit = int(disk_limit * 2**30)
    outcome = _work(described, RunStore(out), workers, scheduler, probe, changed_data, limit)
    _emit({"runs": outcome.total, "done": outcome.done + outcome.skipped, "failures": outcome.failures}, json_)
    if json_ != "-":
        typer.echo(str(outcome))
        for run, reason in outcome.failures.items():
            typer.echo(f"failed: {run}: {reason}", err=True)
    if not outcome.ok:
        raise typer.Exit(1)


def _work(
    described: SweepSpec,
    store: RunStore,
    workers: int,
    scheduler: str | None,
    probe: bool,
    changed_data: Any,
    disk_limit: int,
) -> SweepOutcome:
    from spofr_core.experiments import DataShelf, SweepBar, run_sweep

    configs = described.runs()
    shelf = DataShelf(configs)
    with ExitStack() as stack:
        executor = stack.enter_context(_executor(workers, scheduler))
        _announce(configs, store, shelf, executor, probe)
        stopping = stack.enter_context(_Interrupt())
        return run_sweep(
            described,
            store,
            executor,
            on_progress=stack.enter_context(SweepBar()),
            stop=stopping,
            changed_data=changed_data,
            disk_limit=disk_limit,
            shelf=shelf,
        )


def reproduce_command(
    out: Annotated[Path, typer.Option(help="Directory for runs, frames, figures and index.html.")],
    figures: Annotated[
        list[str] | None, typer.Argument(help="Of tradeoff, grid, guarantee, multigroup, sizes, runtime; or all.")
    ] = None,
    scale: Annotated[str, typer.Option(help="'small': minutes; 'paper': the paper's sizes, hours.")] = "small",
    dataset: Annotated[
        list[str] | None, typer.Option(help="Only this dataset, german-credit or mslr; repeat for both.")
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
    from spofr_core.experiments import DataShelf, RunStore, SweepBar, planned_runs, reproduce

    if scale not in ("small", "paper"):
        raise ConfigError(f"--scale is {scale!r}; give 'small' or 'paper'.")
    chosen: dict[str, Any] = {"datasets": tuple(dataset or ("german-credit", "mslr"))}
    for name in chosen["datasets"]:
        if name not in ("german-credit", "mslr"):
            raise ConfigError(f"--dataset is {name!r}; the paper has german-credit and mslr.")
    chosen["folder"] = None if mslr_folder is None else str(mslr_folder.resolve())
    configs = planned_runs(figures or [], scale, **chosen)  # type: ignore[arg-type]
    with ExitStack() as stack:
        executor = stack.enter_context(_executor(workers, scheduler))
        _announce(configs, RunStore(out / "runs"), DataShelf(configs), executor, probe)
        stopping = stack.enter_context(_Interrupt())
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
        typer.echo(f"{finding.figure:10} {finding.verdict:9} {finding.claim}")
    for note in made.notes:
        typer.echo(f"note: {note}")
    typer.echo(f"Look at {made.folder / 'index.html'}")
    if not made.outcome.ok:
        raise typer.Exit(1)


@runs_app.command("list")
def list_runs(
    out: Annotated[Path, typer.Argument(help="Directory of the runs.")],
    status: Annotated[str | None, typer.Option(help="Only done, failed, running or interrupted ones.")] = None,
    json_: JsonOption = None,
) -> None:
    """Every run with its state and results, and what they take on the disk."""
    from spofr_core.experiments import results
    from spofr_core.files import format_size

    store = _store(out)
    frame = results(store)
    if status is not None:
        frame = frame[frame["status"] == status]
    _emit(json.loads(frame.to_json(orient="table", index=False))["data"], json_)
    if json_ != "-":
        typer.echo(_table(frame))
        typer.echo(f"{len(frame)} runs; {str(out)!r} takes {format_size(store.size())}.")


@runs_app.command("show")
def show_run(
    out: Annotated[Path, typer.Argument(help="Directory of the runs.")],
    run: Annotated[str, typer.Argument(help="Name of the run, or its beginning.")],
    log: Annotated[bool, typer.Option("--log", help="Show the log too.")] = False,
) -> None:
    """One run: what it is of, its state, results, versions; as JSON."""
    store = _store(out)
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
    store = _store(out)
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
    target: Annotated[Path, typer.Argument(help=".zip for everything, .csv or .parquet for the table of results.")],
    runs: Annotated[list[str] | None, typer.Option("--run", help="Only this run; repeat for more.")] = None,
) -> None:
    """Write runs into one file: all there is about them, or the table of results."""
    from spofr_core.experiments import export_results

    store = _store(out)
    names = [store.find(name).run for name in runs] if runs else [record.run for record in store.records()]
    export_results(store, names, target)
    typer.echo(f"{len(names)} runs are in {target}.")


def bench_sweep_command(
    json_: JsonOption = None,
    seconds: Annotated[float, typer.Option(help="Length of one run of the scaling measurement.")] = 4.0,
) -> None:
    """Two workers beside one, overhead per run, and listing and loading beside the plainest way."""
    from spofr_core.experiments.bench.bench_sweep import bench_sweep

    measured = bench_sweep(seconds=seconds)
    _emit(measured, json_)
    if json_ != "-":
        for name, ratio in measured["ratios"].items():
            typer.echo(f"{name:36} {ratio:10.3g}")


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(sweep)
    app.command("reproduce")(reproduce_command)
    app.add_typer(runs_app, name="runs")


def register_bench(bench_app: typer.Typer) -> None:
    """Add the benchmark to the group `spofr bench`."""
    bench_app.command("sweep")(bench_sweep_command)


class _Interrupt:
    """Ctrl-C asks the sweep to stop in order; a second one ends it at once."""

    def __init__(self) -> None:
        self._asked = False

    def __call__(self) -> bool:
        return self._asked

    def __enter__(self) -> _Interrupt:
        import signal

        self._before = signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        import signal

        signal.signal(signal.SIGINT, self._before)

    def _stop(self, *_: object) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        typer.echo("\nStopping; what is under way can be resumed.", err=True)


def _executor(workers: int, scheduler: str | None) -> Executor:
    from spofr_core.experiments import limit_threads, make_executor

    if workers == 1 and scheduler is None:
        limit_threads(1)
    return make_executor(workers=workers, scheduler=scheduler)


def _announce(configs: tuple[RunConfig, ...], store: RunStore, shelf: Any, executor: Executor, probe: bool) -> None:
    """Number of runs, and how long they will take."""
    from spofr_core.experiments import estimate, missing_runs

    missing = missing_runs(configs, store)
    before = len(configs) - len(missing)
    typer.echo(f"{len(configs)} runs, {before} of them done before.", err=True)
    if probe and missing:
        typer.echo(str(estimate(missing, shelf, workers=executor.workers)), err=True)


def _store(out: Path) -> RunStore:
    from spofr_core.experiments import RunStore

    return RunStore(out, create=False)


def _dataset(sample: str | None, file: Path | None) -> dict[str, Any]:
    if (sample is None) == (file is None):
        raise ConfigError("Give a SPEC file, a bundled dataset with --sample, or a file with --file.")
    return {"sample": sample} if file is None else {"file": str(file.resolve())}


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str, option: str, kind: Callable[[str], T]) -> list[T]:
    try:
        return [kind(word) for word in _words(text)]
    except ValueError:
        raise ConfigError(f"{option} is {text!r}; give numbers with commas between them.") from None


def _settings(given: Sequence[str] | None) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign:
            raise ConfigError(f"--set is {text!r}; write name=value, such as max_steps=500.")
        try:
            settings[name.strip()] = json.loads(value)
        except json.JSONDecodeError:
            settings[name.strip()] = value
    return settings


def _table(frame: pd.DataFrame) -> str:
    columns = ["run", "status", "dataset", "method", "delta", "penalty", "groups", "notion", "clicks", "seed"]
    shown = frame[[*columns, "dcg", "violation_mean", "fair_share", "seconds"]]
    return "No runs." if shown.empty else shown.to_string(index=False, na_rep="-", float_format="%.4g")


def _emit(content: Any, target: str | None) -> None:
    if target is None:
        return
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
    else:
        from spofr_core.files import write_whole

        write_whole(target, text.encode("utf-8"))
