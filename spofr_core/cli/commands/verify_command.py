"""`spofr verify`: check policies from scratch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.model_option import ModelOption, model_and_data
from spofr_core.cli.options import DataOptions, FairnessOptions, with_options
from spofr_core.cli.shell_output import JsonOption, emit_json
from spofr_core.cli.shell_words import in_shell_words
from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError
from spofr_core.fairness import Fairness, format_delta

ROUNDING = 1e-12


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
    optimal: Annotated[bool, typer.Option(help="Ask for the largest utility too, not for delta alone.")] = True,
    allow_relaxed: Annotated[
        bool, typer.Option(help="Accept queries whose delta is infeasible at their smallest feasible one.")
    ] = False,
) -> None:
    """Check policies from scratch; exit code 1 when something does not hold."""
    from spofr_core.policy import verify_file

    data, fairness = _ranked_by(source, ask, model, calibrate, seed)
    checked = verify_file(policies, data, fairness, optimal=optimal, allow_relaxed=allow_relaxed)
    table = checked.queries
    summary = {
        "schema": 1,
        "ok": checked.ok,
        "delta": fairness.delta,
        "unit": fairness.unit,
        "quota": None if fairness.every_ranking is None else fairness.every_ranking.to_dict(),
        "queries": len(table),
        "failed": int((~table["ok"]).sum()),
        "relaxed": int(table["relaxed"].notna().sum()),
        "max_violation": None if table["violation"].isna().all() else checked.max_violation,
        "min_margin": None if table["margin"].isna().all() else float(table["margin"].min()),
        "max_gap": None if table["gap"].isna().all() else checked.gap,
        "reasons": checked.reasons,
    }
    emit_json(summary, json_)
    if json_ != "-":
        for reason in checked.reasons[:20]:
            typer.echo(in_shell_words(reason))
        typer.echo(_verdict(summary))
    if not checked.ok:
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

        data = data.with_scores(calibrated_scores(data, seed=seed).estimates)
    return data, fairness


def _verdict(summary: dict[str, Any]) -> str:
    """The verdict of `verify` in one sentence."""
    total, relaxed = summary["queries"], summary["relaxed"]
    if not summary["ok"]:
        sentence = f"{summary['failed']:,} of {total:,} queries fail"
    elif relaxed:
        sentence = f"{total - relaxed:,} of {total:,} queries hold delta, the others their smallest feasible one"
    else:
        sentence = "Every query holds delta"
    if summary["ok"] and summary["quota"] is not None:
        sentence += ", and every ranking keeps the quota"
    if summary["max_violation"] is not None:
        # What floating point leaves of 0 is said as 0; the JSON has it to the last digit.
        largest = summary["max_violation"] if summary["max_violation"] > ROUNDING else 0.0
        sentence += f"; largest violation {format_delta(largest, summary['unit'])}"
    if summary["max_gap"] is not None:
        sentence += f"; largest gap to the optimum {summary['max_gap']:.6g}"
    return sentence + "."


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("verify")(verify_command)


COMMANDS.register(Command("verify", register))
