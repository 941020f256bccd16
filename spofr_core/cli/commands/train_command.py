"""`spofr train`, and trained models in the place of a score column."""

from __future__ import annotations

import dataclasses
import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spofr_core.cli.options import DataOptions, FairnessOptions, SettingsOption, parse_settings, with_options
from spofr_core.data import RankingDataset, Splits, simulate_clicks
from spofr_core.errors import DataError
from spofr_core.files import write_whole

if TYPE_CHECKING:
    from spofr_core.learning import Estimator

RUN_FILE = "run.json"


def train_command(
    source: DataOptions,
    ask: FairnessOptions,
    out: Annotated[Path, typer.Option(help="Directory of the trained model.")],
    method: Annotated[str, typer.Option(help="spofr, pto, fultr, deltr, unfair or uniform.")] = "spofr",
    clicks: Annotated[
        int | None, typer.Option(help="Learn from this many simulated clicks instead of the labels.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the split, the lists, the clicks and the training.")] = 0,
    setting: SettingsOption = None,
    log: Annotated[Path | None, typer.Option(help="Write the progress as JSON lines.")] = None,
) -> None:
    """Train a method on the training part; keep the model, and say how it does on the test part."""
    from spofr_core.evaluation import audit
    from spofr_core.learning import JsonLines, ProgressBar, make_estimator
    from spofr_core.reporting import verdict

    splits = _learning_splits(source, seed)
    train_part, validation = _with_clicks(splits, clicks, seed)
    estimator = make_estimator(method, ask.build(train_part), seed=seed, **parse_settings(setting))
    with ExitStack() as stack:
        callbacks: list[Any] = [stack.enter_context(ProgressBar())]
        if log is not None:
            callbacks.append(JsonLines(log))
        estimator.fit(train_part, validation, callbacks, checkpoint=out / "checkpoint")
    estimator.save(out)
    result = audit(splits.test, estimator.fairness, policies=estimator.policies(splits.test))
    run = {"schema": 1, "data": _plain(source), "clicks": clicks, "seed": seed, "test": result.summary}
    write_whole(out / RUN_FILE, json.dumps(run, indent=2, allow_nan=False).encode("utf-8"))
    for note in estimator.report.notes:
        typer.echo(f"note: {note}")
    typer.echo(f"Test: {verdict(result.summary)}; DCG {result.summary['utility']['dcg']:.4f}.")
    typer.echo(f"The model is in {out}; audit it with: spofr audit --model {out}")


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("train")(with_options(source=DataOptions, ask=FairnessOptions)(train_command))


def model_and_data(directory: Path, source: DataOptions) -> tuple[Estimator, RankingDataset]:
    """A trained model with the data it is to rank: what is named, or the test part that it was trained beside."""
    from spofr_core.learning import load_model

    model = load_model(directory)
    if source.file is None and source.sample is None:
        source, seed = _trained_on(directory)
        return model, _learning_splits(source, seed).test
    if source.sample is not None:
        return model, source.splits().test
    learned = model.learned
    mapped = dataclasses.replace(source, features=list(learned.feature_names))
    if source.group is None and learned.group_spec is not None:
        return model, mapped.read(group=learned.group_spec)
    return model, mapped.read()


def _learning_splits(source: DataOptions, seed: int) -> Splits:
    if source.file is not None and source.features is None:
        return source.read(features="auto").split(seed=seed)
    return source.splits(seed=seed)


def _with_clicks(splits: Splits, clicks: int | None, seed: int) -> tuple[RankingDataset, RankingDataset]:
    """Training and validation part, as full labels or as clicks; the validation part gets as many clicks."""
    if clicks is None:
        return splits.train, splits.validation
    return (
        simulate_clicks(splits.train, clicks, seed=seed),
        simulate_clicks(splits.validation, clicks, seed=seed + 1),
    )


def _plain(source: DataOptions) -> dict[str, Any]:
    """The options that differ from their defaults, with paths made absolute, as JSON."""
    given = {f.name: getattr(source, f.name) for f in dataclasses.fields(source)}
    kept = {n: v for n, v in given.items() if v is not None and v != DataOptions.__dataclass_fields__[n].default}
    return {name: str(value.resolve()) if isinstance(value, Path) else value for name, value in kept.items()}


def _trained_on(directory: Path) -> tuple[DataOptions, int]:
    path = directory / RUN_FILE
    if not path.exists():
        raise DataError(f"{path} is missing, so the data of this model is unknown; name a FILE or --sample.")
    run = json.loads(path.read_text("utf-8"))
    paths = {"file", "qrels", "item_groups"}
    options: dict[str, Any] = {name: Path(value) if name in paths else value for name, value in run["data"].items()}
    return DataOptions(**options), run["seed"]
