"""`spofr compare`: one ranking with others, paired by query."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.model_option import ModelOption, model_and_data
from spofr_core.cli.options import DataOptions, FairnessOptions, with_options
from spofr_core.cli.shell_output import JsonOption, emit_json
from spofr_core.cli.slice_options import SliceOptions, print_slices
from spofr_core.errors import ConfigError
from spofr_core.files import write_whole

if TYPE_CHECKING:
    from spofr_core.evaluation import Comparison, Rival
    from spofr_core.experiments import FirstRanking
    from spofr_core.reporting import Provenance


@with_options(source=DataOptions, ask=FairnessOptions, cut=SliceOptions)
def compare_command(
    source: DataOptions,
    ask: FairnessOptions,
    cut: SliceOptions,
    rival: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            help="What to compare with, by what differs: score=COL, rank=COL, file=FILE, sheet=SHEET, repair, "
            "model=RUN, delta=5%, notion=merit or group=COL, with commas between several, and name=...; repeat for "
            "more rivals.",
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare only this: exposure, exposure:GROUP, exposure_ratio, violation, fair, quota, or a measure "
            "such as nDCG@5 or NDKL; repeat for more. Without it, all that an audit has."
        ),
    ] = None,
    fail_if_worse: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 1 when this is worse in a rival, by its interval; for exposure:GROUP, when that group "
            "gets less. Repeat for more."
        ),
    ] = None,
    tolerate: Annotated[
        list[str] | None,
        typer.Option(
            help="How much worse a --fail-if-worse may be, as nDCG@10=0.005: it fails only where it is shown to be "
            "worse by more than that (of a group's exposure a share: exposure:women=0.05). Repeat for more."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What the first ranking is called. [default: now, or the model's name]")
    ] = None,
    json_: JsonOption = None,
    html: Annotated[
        Path | None,
        typer.Option(writable=True, help="Write a self-contained report; in a folder it gets a name of its own."),
    ] = None,
    auditor: Annotated[str | None, typer.Option(help="Who answers for it, for the report.")] = None,
    notes: Annotated[str | None, typer.Option(help="What that person wants to say, for the report.")] = None,
    csv: Annotated[Path | None, typer.Option(writable=True, help="Write the table of differences.")] = None,
    cutoff: Annotated[int, typer.Option(help="Depth of nDCG.")] = 10,
    confidence: Annotated[float, typer.Option(help="Of the intervals; the tests are at 1 - confidence.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Of resampled queries and drawn signs.")] = 0,
    small_items: Annotated[int, typer.Option(help="Groups with fewer items are listed, but not tested.")] = 30,
    small_lists: Annotated[int, typer.Option(help="Groups in fewer lists than this are small too.")] = 10,
    model: ModelOption = None,
) -> None:
    """One ranking with others, paired by query: differences with intervals and tests."""
    from spofr_core.evaluation import SmallGroups, compare, named_measures, parse_rival
    from spofr_core.experiments import audit_rivals

    if not rival:
        raise ConfigError("Nothing to compare with is named: give --with score=COL, --with repair or another rival.")
    rivals = [parse_rival(text, "--with") for text in rival]
    margins = _margins(tolerate or [])
    first = _first(source, ask, cut, model, rivals, name or ("now" if model is None else f"model {Path(model).name}"))
    chosen = [*(measure or ()), *(fail_if_worse or ())]
    how: dict[str, Any] = {"cutoff": cutoff, "seed": seed, "small": SmallGroups(items=small_items, lists=small_lists)}
    audits = audit_rivals(first, rivals, measures=named_measures(chosen), **how)
    found = compare(audits, measures=chosen if measure else None, seed=seed, confidence=confidence)
    worse = found.worse(fail_if_worse or (), tolerate=margins)
    margin_of = {name: margins[text] for text in margins for name in found.names([text])}
    if cut.asked:
        window = None if cut.time is None else cut.window or "auto"
        found = found.with_slices(cut.by, window=window, measures=cut.slice_measure)
    if html is not None:
        _write_report(html, found, source, model, first, auditor, notes)
    if csv is not None:
        found.to_csv(csv)
    emit_json(found.summary, json_)
    if json_ != "-":
        _print_comparison(found.summary)
    for line in worse:
        margin = f" by more than {margin_of[line.name]:g}" if margin_of.get(line.name) else ""
        typer.echo(f"worse in {line.rival}{margin}: {line.name}", err=True)
    if worse:
        raise typer.Exit(1)


def _margins(texts: list[str]) -> dict[str, float]:
    margins: dict[str, float] = {}
    for text in texts:
        name, sign, margin = text.rpartition("=")
        try:
            value = float(margin)
        except ValueError:
            sign = ""
        if not sign or not name.strip():
            raise ConfigError(f"--tolerate is {text!r}; write what may be worse by how much, as nDCG@10=0.005.")
        if name.strip() in margins:
            raise ConfigError(
                f"--tolerate names {name.strip()} twice, {margins[name.strip()]:g} and {value:g}; name one."
            )
        margins[name.strip()] = value
    return margins


def _first(
    source: DataOptions, ask: FairnessOptions, cut: SliceOptions, model: str | None, rivals: list[Rival], name: str
) -> FirstRanking:
    """What the rivals differ from: a file or sample with its score, or a model on its data."""
    from spofr_core.experiments import FirstRanking, file_reader, no_reader, sample_data, sample_reader

    source.check_one_source()
    modelled = model is not None or any(rival.model is not None for rival in rivals)
    if source.sample is not None:
        read_again = sample_reader(source.sample, source.groups, test_part=modelled)
    elif source.file is not None:
        read_again = file_reader(source.file, source.mapping())
    else:
        read_again = no_reader(f"Only the model {model} is named")
    if model is not None:
        trained, data = model_and_data(model, source, **cut.columns())
        data = cut.check(data, f"the data of model {model}")
        fairness = ask.of_model(trained.fairness)
        return FirstRanking(data=data, fairness=fairness, read_again=read_again, model=trained, name=name)
    in_test = modelled and source.sample is not None
    data = sample_data(str(source.sample), source.groups, test_part=True) if in_test else source.read(**cut.columns())
    data = cut.check(data, source.source)
    return FirstRanking(data=data, fairness=ask.build(source, data), read_again=read_again, name=name)


def _write_report(
    html: Path,
    found: Comparison,
    source: DataOptions,
    model: str | None,
    first: FirstRanking,
    auditor: str | None,
    notes: str | None,
) -> None:
    from spofr_core.reporting import Provenance, comparison_html, comparison_name

    named = source.source if model is None else f"model {model}"
    origin: Provenance = Provenance(
        source=named,
        fingerprint=first.data.fingerprint,
        command=f"spofr {shlex.join(sys.argv[1:])}",
        auditor=auditor,
        notes=notes,
    )
    path = html / comparison_name(origin) if html.is_dir() else html
    write_whole(path, comparison_html(found, provenance=origin).encode("utf-8"))
    if path != html:
        typer.echo(f"The report is in {path}", err=True)


def _print_comparison(summary: dict[str, Any]) -> None:
    from spofr_core.reporting import (
        TABLE_HEAD,
        comparison_basis,
        comparison_cells,
        comparison_headline,
        comparison_notes,
        name_text,
    )

    several, first = len(summary["rivals"]) > 1, summary["first"]["name"]
    for place, rival in enumerate(summary["rivals"]):
        if several:
            typer.echo(f"{chr(10) if place else ''}== {name_text(rival)} compared with {name_text(first)}")
        typer.echo(comparison_headline(summary, rival))
        rows = [TABLE_HEAD, *comparison_cells(summary, rival)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(TABLE_HEAD))]
        for row in rows:
            cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
            typer.echo("  ".join([f"{row[0]:{widths[0]}}", *cells]).rstrip())
        print_slices(summary["rivals"][rival])
        for note in comparison_notes(summary, rival):
            typer.echo(f"note: {note}")
    if several:
        typer.echo("")
    for note in comparison_basis(summary):
        typer.echo(f"note: {note}")


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("compare")(compare_command)


COMMANDS.register(Command("compare", register))
