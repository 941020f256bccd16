"""`spofr repair`: the optimal policies within delta. `spofr rerank` is its name of before, and still works."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.model_option import ModelOption, model_and_data
from spofr_core.cli.options import DataOptions, FairnessOptions, with_options
from spofr_core.cli.shell_output import JsonOption, emit_json
from spofr_core.cli.shell_work import SchedulerOption, WorkersOption, parts_map, refuse_workers
from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError
from spofr_core.fairness import format_delta

if TYPE_CHECKING:
    from spofr_core.evaluation import Repair

ROUNDING = 1e-9
"""What is smaller is what floating point left of 0: a percentage would show it as 0.1 %."""


@with_options(source=DataOptions, ask=FairnessOptions)
def repair_command(
    source: DataOptions,
    ask: FairnessOptions,
    out: Annotated[
        Path,
        typer.Option(
            writable=True, help="Policies as a long table: .parquet or .csv; for a folder, also a new folder."
        ),
    ],
    json_: JsonOption = None,
    certificates: Annotated[
        Path | None, typer.Option(writable=True, help="Write the proof of every query, one JSON line each.")
    ] = None,
    model: ModelOption = None,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Rank by relevance estimated from scores, by the labels of other queries."),
    ] = False,
    solver: Annotated[str, typer.Option(help="'exact' or 'glop'.")] = "exact",
    relax: Annotated[
        bool, typer.Option(help="Where delta is infeasible, use the smallest feasible one and say so.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Breaks ties between equal scores.")] = 0,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
) -> None:
    """The optimal policies within delta: a lottery over rankings for every query."""
    from spofr_core.evaluation import repair, repair_folder
    from spofr_core.policy import write_certificates

    folder = source.folder if model is None else None
    how: dict[str, Any] = {"solver": solver, "seed": seed, "on_infeasible": "relax" if relax else "raise"}
    if calibrate and (folder is not None or model is not None):
        what = "a folder is read part by part" if folder is not None else "a model has its own estimates"
        raise ConfigError(f"--calibrate is for the scores of a single file or sample; {what}. Leave it out.")
    if folder is not None:
        fairness = ask.of_folder(source)
        where: dict[str, Any] = {"mapping": source.mapping(), "certificates": certificates}
        with parts_map(workers, scheduler) as (map_parts, _):
            summary = repair_folder(folder, fairness, out, map_parts=map_parts, **where, **how)
    else:
        refuse_workers(workers, scheduler, source.source if model is None else f"model {model}")
        if model is None:
            data = source.read()
            _say_how_long(data)
            repaired = repair(data, ask.build(source, data), calibrate=calibrate, **how)
        else:
            repaired = _repair_model(model, source, ask, how)
        repaired.policies.write(out)
        if certificates is not None:
            write_certificates(repaired.policies, certificates)
        summary = repaired.summary
    emit_json(summary, json_)
    if json_ != "-":
        _print_repair(summary)
        typer.echo(f"{summary['rankings']:,} rankings of {summary['queries']:,} queries are in {out}")
        made_with = "--calibrate" if calibrate else None if model is None else "--model"
        made_with = f"--calibrate --seed {seed}" if calibrate and seed else made_with
        if made_with is not None:
            typer.echo(f"They are the best for these estimates: check them by `spofr verify` with {made_with} too.")


def _repair_model(model: str, source: DataOptions, ask: FairnessOptions, how: dict[str, Any]) -> Repair:
    """Policies by what the model ranks by: those that `spofr audit --model` judges."""
    from spofr_core.evaluation import repair
    from spofr_core.experiments import with_estimates

    trained, data = model_and_data(model, source)
    return repair(with_estimates(trained, data), ask.of_model(trained.fairness), discount=trained.discount, **how)


def _say_how_long(data: RankingDataset) -> None:
    """With each item on its own long lists take a while: said before it begins, where nobody reads it as output."""
    from spofr_core.evaluation import item_repair_seconds

    seconds = item_repair_seconds(data) if data.each_item else 0.0
    if seconds > 1:
        told = f"Each item is on its own: the {len(data):,} lists take about {seconds:.0f} seconds."
        typer.echo(told, err=True)


def _print_repair(summary: dict[str, Any]) -> None:
    from spofr_core.evaluation import repair_table
    from spofr_core.reporting import repair_sentence

    before, after = (_audited(summary, when) for when in ("before", "after"))
    how = {name: summary[name] for name in ("quota", "calibrated", "ranks")}
    typer.echo(repair_sentence(before, after, len(summary["relaxed"]), **how))
    typer.echo(summary["maximised"])
    rows = repair_table(summary)
    width = int(rows["label"].str.len().max())
    typer.echo(f"{'':{width}} {'before':>10} {'after':>10}")
    for row in rows.to_dict("records"):
        values = (float(row[when]) for when in ("before", "after"))
        if row["name"] != "score_utility":  # which may be in any unit
            values = (0.0 if abs(value) < ROUNDING else value for value in values)
        cells = (_cell(value, row["unit"]) for value in values)
        typer.echo(" ".join([f"{row['label']:{width}}", *(f"{cell:>10}" for cell in cells)]))
    for query in summary["relaxed"]:
        least = format_delta(query["min_delta"], summary["unit"])
        typer.echo(f"relaxed: query {query['query']} can hold delta = {least} at best")
    for note in summary["notes"]:
        typer.echo(f"note: {note}")


def _audited(summary: dict[str, Any], when: str) -> dict[str, Any]:
    """What the sentence reads of an audit's summary, from that of a repair."""
    state = summary[when]
    utility = None if state["dcg"] is None else {"dcg": state["dcg"]}
    asked = {"delta": summary["delta"], "unit": summary["unit"], "quota": state["quota"]}
    unknown = {"unknown": state} if "undecided" in state else {}
    return {**asked, **unknown, "queries": state, "utility": utility}


def _cell(value: float, unit: str) -> str:
    from spofr_core.reporting import percent

    return percent(value) if unit == "share" else f"{value:.6g}"


def register(app: typer.Typer) -> None:
    """Add the command to the application, under its name of before too."""
    app.command("repair")(repair_command)
    app.command("rerank", hidden=True)(repair_command)


COMMANDS.register(Command("repair", register))
