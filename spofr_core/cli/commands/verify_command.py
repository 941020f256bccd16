"""`spofr verify`: check policies from scratch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.model_option import ModelOption, model_and_data
from spofr_core.cli.options import DataOptions, FairnessOptions, with_options
from spofr_core.cli.shell_output import JsonOption, emit_json
from spofr_core.cli.shell_words import in_shell_words
from spofr_core.config import checked_seed
from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError
from spofr_core.fairness import Fairness, merit_notes


@with_options(source=DataOptions, ask=FairnessOptions)
def verify_command(
    policies: Annotated[
        Path, typer.Argument(help="What `repair` wrote: .parquet, .csv, a folder, or certificates .jsonl.")
    ],
    source: DataOptions,
    ask: FairnessOptions,
    json_: JsonOption = None,
    model: ModelOption = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="As given to `repair`: the utility is that of calibrated scores.")
    ] = False,
    seed: Annotated[int, typer.Option(help="As given to `repair`; calibration depends on it.")] = 0,
    optimal: Annotated[
        bool, typer.Option(help="Ask for the largest utility too, not for delta and quota alone.")
    ] = True,
    allow_relaxed: Annotated[
        bool,
        typer.Option(help="Accept queries at their smallest feasible delta, and without a quota that none can meet."),
    ] = False,
) -> None:
    """Check policies from scratch; exit code 1 when something does not hold."""
    from spofr_core.policy import verify_file

    checked_seed(seed)
    data, fairness = _ranked_by(source, ask, model, calibrate, seed)
    checked = verify_file(policies, data, fairness, optimal=optimal, allow_relaxed=allow_relaxed)
    emit_json(checked.summary, json_)
    if json_ != "-":
        for reason in checked.reasons[:20]:
            typer.echo(in_shell_words(reason))
        for sentence in (checked.sentence, *merit_notes(fairness.merits, data.label_shift)):
            typer.echo(sentence)
    if not checked.passed:
        raise typer.Exit(1)


def _ranked_by(
    source: DataOptions, ask: FairnessOptions, model: str | None, calibrate: bool, seed: int
) -> tuple[RankingDataset, Fairness]:
    """The lists with what `repair` was given as their scores, and what was asked of them."""
    if calibrate and model is not None:
        raise ConfigError("--calibrate is for the scores of a file or sample; a model has its own estimates.")
    if model is not None:
        from spofr_core.experiments import with_estimates

        trained, data = model_and_data(model, source)
        return with_estimates(trained, data), ask.of_model(trained.fairness)
    data = source.read()
    fairness = ask.build(source, data)
    if calibrate:
        from spofr_core.evaluation import calibrated_scores

        data = data.replace(score=calibrated_scores(data, seed=seed).estimates, ranks=False)
    return data, fairness


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("verify")(verify_command)


COMMANDS.register(Command("verify", register))
