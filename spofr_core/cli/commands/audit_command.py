"""`spofr audit`: who gets the exposure, and which queries break delta."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.model_option import ModelOption, model_and_data
from spofr_core.cli.options import DataOptions, FairnessOptions, MeasureOption, with_options
from spofr_core.cli.proof_commands import proof_lines
from spofr_core.cli.selection_options import SelectionOptions, print_selection
from spofr_core.cli.shell_output import JsonOption, emit_json
from spofr_core.cli.shell_work import SchedulerOption, WorkersOption, parts_map, refuse_workers
from spofr_core.cli.shown_options import ShownOptions
from spofr_core.cli.slice_options import SliceOptions, print_slices
from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError, DataError
from spofr_core.files import write_whole

if TYPE_CHECKING:
    from spofr_core.evaluation import AuditResult, Repair
    from spofr_core.reporting import Provenance


@with_options(source=DataOptions, ask=FairnessOptions, select=SelectionOptions, cut=SliceOptions, log=ShownOptions)
def audit_command(
    source: DataOptions,
    ask: FairnessOptions,
    select: SelectionOptions,
    cut: SliceOptions,
    log: ShownOptions,
    json_: JsonOption = None,
    html: Annotated[
        Path | None,
        typer.Option(
            writable=True, help="Write a self-contained report; in a folder it gets a name that says what it is."
        ),
    ] = None,
    auditor: Annotated[str | None, typer.Option(help="Who answers for the audit, for the report.")] = None,
    notes: Annotated[str | None, typer.Option(help="What the auditor wants to say, for the report.")] = None,
    csv: Annotated[Path | None, typer.Option(writable=True, help="Write the table query x group.")] = None,
    measures: MeasureOption = None,
    cutoff: Annotated[int, typer.Option(help="Depth of nDCG.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the bootstrap intervals.")] = 0,
    small_items: Annotated[int, typer.Option(help="Groups with fewer items are listed, but write no headline.")] = 30,
    small_lists: Annotated[int, typer.Option(help="Groups in fewer lists than this are small too.")] = 10,
    model: ModelOption = None,
    fail_on_violation: Annotated[
        bool,
        typer.Option(
            "--fail-on-violation",
            help="Exit with 1 when a query breaks delta or the quota, whatever unknown groups are.",
        ),
    ] = False,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
) -> None:
    """Who gets the exposure, and which queries break delta."""
    from spofr_core.evaluation import SmallGroups, audit, audit_folder
    from spofr_core.reporting import Provenance, caveats, verdict, verdict_details

    if log.shown:
        if html is not None or model is not None:
            raise ConfigError("--shown takes neither --html nor --model; --json and --csv write what was found.")
        ok = log.audit(source, ask, cut, seed=seed, json_=json_, csv=csv)
        if fail_on_violation and not ok:
            raise typer.Exit(1)
        return
    small = SmallGroups(items=small_items, lists=small_lists)
    how: dict[str, Any] = {"cutoff": cutoff, "seed": seed, "small": small, "measures": measures or ()}
    data = None
    folder = source.folder if model is None else None
    if folder is not None:
        fairness, mapping = ask.of_folder(source), source.mapping() | cut.columns(folder)
        with parts_map(workers, scheduler) as (map_parts, many):
            result = audit_folder(
                folder,
                fairness,
                mapping=mapping,
                min_parts=many,
                map_parts=map_parts,
                **how,
            )
            if select.asked:
                parts = {"mapping": mapping, "min_parts": many, "map_parts": map_parts}
                result = result.with_selection(select.of_folder(folder, seed=seed, **parts))
    else:
        refuse_workers(workers, scheduler, source.source if model is None else f"model {model}")
        if model is not None:
            result, data = _audit_model(model, source, ask, select, cut, how)
        else:
            data = cut.check(source.read(**cut.columns()), source.source)
            result = audit(data, ask.build(source, data), **how)
            if select.asked:
                result = result.with_selection(select.of_data(data, None, seed=seed))
    result = cut.of_audit(result)
    if html is not None:
        named = source.source if model is None else f"model {model}"
        fingerprint = None if data is None else data.fingerprint
        lines = f"spofr {shlex.join(sys.argv[1:])}"
        origin = Provenance(source=named, fingerprint=fingerprint, command=lines, auditor=auditor, notes=notes)
        _write_report(html, result, origin, data if model is None else None)
    if csv is not None:
        result.to_csv(csv)
    emit_json(result.summary, json_)
    if json_ != "-":
        for sentence in (verdict(result.summary), *verdict_details(result.summary)):
            typer.echo(sentence)
        if result.summary["each_item"]:
            _print_items(result.summary)
        elif result.summary["queries"]["applicable"]:
            _print_groups(result.summary)
        _print_measures(result.summary)
        if result.selection is not None:
            print_selection(result.selection.summary)
        print_slices(result.summary)
        for note in caveats(result.summary):
            typer.echo(f"note: {note}")
    if fail_on_violation and (result.breaks_delta or not result.holds_quota):
        raise typer.Exit(1)


def _audit_model(
    model: str,
    source: DataOptions,
    ask: FairnessOptions,
    select: SelectionOptions,
    cut: SliceOptions,
    how: dict[str, Any],
) -> tuple[AuditResult, RankingDataset]:
    """Audit a model's policies: at another delta the programme is solved anew, a penalty method stays as it is."""
    from spofr_core.experiments import audit_model, shown_policies, with_estimates

    trained, data = model_and_data(model, source, **cut.columns())
    data = cut.check(data, f"the data of model {model}")
    fairness = ask.of_model(trained.fairness)
    result = audit_model(trained, data, fairness, **how)
    if select.asked:
        by_score, seed = select.threshold is not None, how["seed"]
        shown = None if by_score else shown_policies(trained, data, fairness)
        ranked = with_estimates(trained, data) if by_score else data
        result = result.with_selection(select.of_data(ranked, shown, seed=seed))
    return result, data


def _write_report(html: Path, result: AuditResult, origin: Provenance, ranked: RankingDataset | None) -> None:
    """The report, with what a repair of the audited scores would change; in a folder under a name of its own."""
    from spofr_core.evaluation import repair
    from spofr_core.reporting import audit_html, report_name

    after: dict[str, Any] = {}
    found: Repair | None = None
    if ranked is not None and ranked.score is not None:
        try:
            found = repair(ranked, result.fairness, on_infeasible="relax", measured=result.measurement)
        except DataError as error:  # scores can be too large to add up, and still say an order that can be audited
            typer.echo(f"The report says nothing of a repair. {error}", err=True)
    if found is not None:
        relaxed = len(found.policies.relaxed)
        after = {"repaired": found.after, "relaxed": relaxed, "quota": found.summary["quota"], "ranks": found.ranks}
        if sys.argv[1:2] == ["audit"]:
            origin = replace(origin, proof=proof_lines(sys.argv[2:], relaxed=found.yields))
    path = html / report_name(result.summary, origin) if html.is_dir() else html
    write_whole(path, audit_html(result, provenance=origin, **after).encode("utf-8"))
    if path != html:
        typer.echo(f"The report is in {path}", err=True)


def _print_groups(summary: dict[str, Any]) -> None:
    from spofr_core.reporting import exposure_range, interval, number, off_text

    unit, unknown = summary["unit"], "unknown" in summary
    ranged = ("whatever the unknown are",) if unknown else ()
    head = ("group", "items", "lists", "exposure", "95 % CI", "violation", "95 % CI", *ranged)
    rows = [
        (
            name,
            f"{group['compared']:,}",
            f"{group['compared_queries']:,}",
            number(group["exposure_mean"]),
            interval(group["exposure_ci"]),
            off_text(group["violation_mean"], unit),
            interval(group["violation_ci"], unit),
            *((exposure_range(summary, name),) if unknown else ()),
        )
        for name, group in summary["groups"].items()
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    marks = ("  (small: not in the headline)" if group["small"] else "" for group in summary["groups"].values())
    for row, mark in zip((head, *rows), ("", *marks), strict=True):
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        typer.echo("  ".join([f"{row[0]:{widths[0]}}", *cells]) + mark)


def _print_items(summary: dict[str, Any]) -> None:
    from spofr_core.reporting import item_rows

    rows = item_rows(summary)
    width = max(len(said) for said, _ in rows)
    for said, times in rows:
        typer.echo(f"{said:{width}}  {times:>8} times the list's mean")


def _print_measures(summary: dict[str, Any]) -> None:
    from spofr_core.reporting import interval, number

    rows = summary["measures"].values()
    width = max((len(row["label"]) for row in rows), default=0)
    for row in rows:
        typer.echo(f"{row['label']:{width}}  {number(row['mean']):>8}  95 % CI {interval(row['ci'])}, n = {row['n']:,}")


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("audit")(audit_command)


COMMANDS.register(Command("audit", register))
