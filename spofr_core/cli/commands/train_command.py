"""`spofr train`: one run, kept in a store like those of a sweep."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.options import DataOptions, FairnessOptions, SettingsOption, parse_settings, with_options
from spofr_core.cli.shell_words import in_shell_words
from spofr_core.cli.shell_work import Interrupt, sweep_executor
from spofr_core.data import SAMPLES
from spofr_core.errors import ConfigError, SpofrError
from spofr_core.learning import METHODS

if TYPE_CHECKING:
    from spofr_core.experiments import RunConfig, RunStore


@with_options(source=DataOptions, ask=FairnessOptions)
def train_command(
    source: DataOptions,
    ask: FairnessOptions,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory of runs that it becomes one of; without it, that of the dashboard."),
    ] = None,
    method: Annotated[str, typer.Option(help=f"{METHODS.listed()}.")] = "spofr",
    clicks: Annotated[
        int | None, typer.Option(help="Learn from this many simulated clicks instead of the labels.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the split, the lists, the clicks and the training.")] = 0,
    setting: SettingsOption = None,
    log: Annotated[Path | None, typer.Option(writable=True, help="Write the progress as JSON lines.")] = None,
) -> None:
    """Train a method on the training part; keep the run, and say how it does on the test part."""
    from spofr_core.experiments import DataShelf, audit_model, home, resolve_model, shared_runs
    from spofr_core.reporting import verdict

    config = run_config(source, ask, method, parse_settings(setting), clicks=clicks, seed=seed)
    shelf = DataShelf((config,))
    test = shelf.splits(config.data_key).test  # before anything is written, so that bad data leaves nothing behind
    if config.dataset.file is not None:
        for note in test.notes:  # which columns it learns from, and which not
            typer.echo(f"note: {in_shell_words(note)}")
    root = shared_runs(home()) if out is None else out
    store = _train(config, root, shelf, log)
    for note in (store.find(config.run)).notes:
        typer.echo(f"note: {note}")
    model = resolve_model(store.folder(config.run)).estimator
    summary = audit_model(model, test).summary
    typer.echo(f"Test: {verdict(summary)} DCG {summary['utility']['dcg']:.4f}.")
    alone = out is not None and sum(record.status == "done" for record in store.records()) == 1
    name = config.run if out is None else out if alone else store.folder(config.run)
    typer.echo(f"Run {config.run} is in {root}; audit it with: spofr audit --model {name}")


def run_config(
    source: DataOptions,
    ask: FairnessOptions,
    method: str,
    settings: dict[str, Any],
    *,
    clicks: int | None = None,
    seed: int = 0,
) -> RunConfig:
    """The run that these options describe.

    Raises
    ------
    ConfigError
        When there is no data, no such method, or a setting that it does not know.
    """
    from spofr_core.experiments import DatasetSpec, RunConfig

    if "seed" in settings:
        raise ConfigError("--set seed is --seed: it is the seed of the split, the lists and the clicks too.")
    if source.each_item:
        raise ConfigError(
            "A model is trained with groups, which training and test lists share; an item on its own is in one list. "
            "Leave out --each-item here, and give it to `spofr audit --model` or `spofr repair --model`."
        )
    source.check_one_source()
    groups = None
    if source.sample is not None:
        dataset = DatasetSpec(sample=source.sample, features=source.feature_set)
        groups = SAMPLES[source.sample].groups_of(source.groups)
    elif source.file is not None:
        dataset = DatasetSpec(file=str(source.file.resolve()), columns=_columns(source))
    else:
        raise ConfigError(f"Name a FILE, or a bundled dataset with --sample ({SAMPLES.listed()}).")
    steered = METHODS[method].steered_by == "delta"
    delta, unit = ask.asked(source)
    return RunConfig.single(
        dataset,
        method,
        settings,
        delta=delta if steered else None,
        judged_at=None if steered or ask.delta is None else delta,
        unit=unit,
        merits=ask.merits,
        notion=ask.notion,
        position_bias=ask.position_bias,
        every_ranking=ask.quota,
        groups=groups,
        clicks=clicks,
        seed=seed,
        data_seed=seed,
    )


def _columns(source: DataOptions) -> dict[str, Any]:
    """Arguments of `read_dataset` that differ from their defaults, as JSON, with paths made absolute."""
    mapping = source.mapping()
    if mapping["missing"] == "error":
        del mapping["missing"]
    return {name: str(value.resolve()) if isinstance(value, Path) else value for name, value in mapping.items()}


def _train(config: RunConfig, root: Path, shelf: Any, log: Path | None) -> RunStore:
    """A sweep of one; a run that is done already is not done again."""
    from spofr_core.experiments import RunStore, run_sweep
    from spofr_core.learning import JsonLines, Progress, ProgressBar

    if (root / "model.json").exists():
        raise ConfigError(f"{str(root)!r} holds a model that was trained before there were runs; give another --out.")
    store = RunStore(root)
    with ExitStack() as stack:
        callbacks: list[Any] = [stack.enter_context(ProgressBar())]
        if log is not None:
            callbacks.append(JsonLines(log))

        def tell(run: str, message: dict[str, Any]) -> None:
            for callback in callbacks:
                callback(Progress(**message))

        executor = stack.enter_context(sweep_executor(1, None))
        stop = stack.enter_context(Interrupt())
        outcome = run_sweep([config], store, executor, on_message=tell, stop=stop, shelf=shelf)
    for reason in outcome.failures.values():
        raise SpofrError(reason)
    if outcome.stopped:
        typer.echo("Stopped: the same command goes on from here.", err=True)
        raise typer.Exit(1)
    return store


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("train")(train_command)


COMMANDS.register(Command("train", register))
