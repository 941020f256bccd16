"""`spofr sweep`: many trained models from a shell."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.options import (
    DataOptions,
    MinimumOption,
    SettingsOption,
    SlackOption,
    TopOption,
    parse_settings,
)
from spofr_core.cli.shell_output import JsonOption, emit_json
from spofr_core.cli.shell_work import Interrupt, ProbeOption, SchedulerOption, WorkersOption, announce, sweep_executor
from spofr_core.config import checked_count
from spofr_core.data import SAMPLES
from spofr_core.errors import ConfigError
from spofr_core.fairness import NOTIONS, parse_deltas, parse_quota
from spofr_core.learning import METHODS

if TYPE_CHECKING:
    from spofr_core.experiments import RunStore, SweepOutcome, SweepSpec

T = TypeVar("T")

OutOption = Annotated[Path, typer.Option(help="Directory of the runs.")]

PENALTIES = "0,1,10,100,1000,10000"


def sweep_command(
    out: OutOption,
    spec: Annotated[Path | None, typer.Argument(help="YAML file that describes the sweep.")] = None,
    sample: Annotated[str | None, typer.Option(help=f"A bundled dataset: {SAMPLES.listed()}.")] = None,
    file: Annotated[Path | None, typer.Option(help="A file with features and relevance instead of a sample.")] = None,
    methods: Annotated[
        str | None, typer.Option(help=f"Of {', '.join(METHODS)}; all but the baselines by default.")
    ] = None,
    deltas: Annotated[
        str | None,
        typer.Option(
            help="For methods that can be asked for a delta, such as 5%,10% or 0.01,0.05. "
            "[default: 0 to 40 %; for the samples of the paper 0 to 0.4]"
        ),
    ] = None,
    penalties: Annotated[str, typer.Option(help="For methods with a penalty.")] = PENALTIES,
    groups: Annotated[str | None, typer.Option(help="Numbers of groups; the data's own without it.")] = None,
    notions: Annotated[str, typer.Option(help=f"Of {', '.join(NOTIONS)}.")] = "exposure",
    clicks: Annotated[str | None, typer.Option(help="Training sizes in clicks; the true labels without it.")] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds.")] = 1,
    quota_slack: SlackOption = None,
    quota_top: TopOption = None,
    quota_min: MinimumOption = None,
    setting: SettingsOption = None,
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
    checked_count(seeds, "--seeds")
    if not 0 < disk_limit < math.inf:
        raise ConfigError(f"--disk-limit is {disk_limit}; give gigabytes, more than 0.")
    quota = parse_quota(quota_slack, quota_top, quota_min)
    if spec is not None:
        if sample is not None or file is not None:
            raise ConfigError("Both a SPEC file and --sample or --file are given; the file says which data.")
        if quota is not None:
            raise ConfigError("Both a SPEC file and a quota are given; write it into the file as 'every_ranking'.")
        described = SweepSpec.read(spec)
    else:
        described = SweepSpec.from_dict(
            {
                "dataset": _dataset(sample, file),
                **({} if methods is None else {"methods": _words(methods)}),
                **_deltas(deltas, sample),
                "penalties": _numbers(penalties, "--penalties", float),
                "groups": [None] if groups is None else _numbers(groups, "--groups", int),
                "notions": _words(notions),
                "clicks": [None] if clicks is None else _numbers(clicks, "--clicks", int),
                "seeds": seeds,
                "every_ranking": None if quota is None else quota.to_dict(),
                "training": parse_settings(setting),
            }
        )
    limit = int(disk_limit * 2**30)
    outcome = _work(described, RunStore(out), workers, scheduler, probe, changed_data, limit)
    emit_json({"runs": outcome.total, "done": outcome.done + outcome.skipped, "failures": outcome.failures}, json_)
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
        executor = stack.enter_context(sweep_executor(workers, scheduler))
        announce(configs, store, shelf, executor, probe)
        stopping = stack.enter_context(Interrupt())
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


def _dataset(sample: str | None, file: Path | None) -> dict[str, Any]:
    if (sample is None) == (file is None):
        raise ConfigError("Give a SPEC file, a bundled dataset with --sample, or a file with --file.")
    return {"sample": sample} if file is None else {"file": str(file.resolve())}


def _deltas(text: str | None, sample: str | None) -> dict[str, Any]:
    """The grid and its unit; where none is named, that of the data."""
    if text is None:
        return {"unit": DataOptions(sample=sample).usual_delta[1]}
    deltas, unit = parse_deltas(_words(text), "--deltas")
    return {"deltas": deltas, "unit": unit}


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str, option: str, kind: Callable[[str], T]) -> list[T]:
    try:
        return [kind(word) for word in _words(text)]
    except ValueError:
        raise ConfigError(f"{option} is {text!r}; give numbers with commas between them.") from None


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("sweep")(sweep_command)


COMMANDS.register(Command("sweep", register))
