"""`spofr measure`: measures by their names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spofr_core.cli.commands import COMMANDS, Command
from spofr_core.cli.model_option import ModelOption, model_and_data
from spofr_core.cli.options import DataOptions, FairnessOptions, MeasureOption, with_options
from spofr_core.cli.shell_output import JsonOption, emit_json
from spofr_core.cli.shell_words import in_shell_words
from spofr_core.cli.shell_work import SchedulerOption, WorkersOption, parts_map, refuse_workers
from spofr_core.cli.slice_options import SliceOptions, print_slices
from spofr_core.errors import ConfigError
from spofr_core.measures import MEASURES, TARGETS, Target

if TYPE_CHECKING:
    from spofr_core.evaluation import Measured


@with_options(source=DataOptions, ask=FairnessOptions, cut=SliceOptions)
def measure_command(
    source: DataOptions,
    ask: FairnessOptions,
    cut: SliceOptions,
    measures: MeasureOption = None,
    target: Annotated[
        str, typer.Option(help=f"What groups are compared with: {', '.join(TARGETS)}, or shares as 'a=0.5,b=0.5'.")
    ] = "list",
    protected: Annotated[
        str | None,
        typer.Option(help="The group that measures of one group are about; otherwise the one with the fewest items."),
    ] = None,
    policies: Annotated[
        Path | None, typer.Option(help="Policies to measure, as `spofr repair --out` writes them.")
    ] = None,
    model: ModelOption = None,
    cutoff: Annotated[int, typer.Option(help="Depth of nDCG.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the bootstrap intervals, and of drawn ties.")] = 0,
    json_: JsonOption = None,
    csv: Annotated[
        Path | None, typer.Option(writable=True, help="Write the table of queries, a column per measure.")
    ] = None,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
    list_: Annotated[bool, typer.Option("--list", help="List every measure with its formula, and stop.")] = False,
) -> None:
    """Measures by their names, such as NDKL or Skew@10, of rankings and policies."""
    if list_:
        _print_catalogue()
        return
    if ask.quota is not None and model is None:
        raise ConfigError(
            "Measures know no quota; `spofr audit` with --quota-slack or --quota-min tells what breaks it."
        )
    from spofr_core.evaluation import measure, measure_folder

    how: dict[str, Any] = {"target": _target(target), "protected": protected, "cutoff": cutoff, "seed": seed}
    folder = source.folder if model is None and policies is None else None
    if folder is not None:
        how |= {"fairness": ask.of_folder(source), "mapping": source.mapping() | cut.columns(folder)}
        with parts_map(workers, scheduler) as (map_parts, many):
            found = measure_folder(folder, measures or ["all"], min_parts=many, map_parts=map_parts, **how)
    else:
        named = source.source if model is None else f"model {model}"
        refuse_workers(workers, scheduler, named, policies=source.folder is not None and policies is not None)
        if model is not None:
            data, shown, fairness = _shown_by_model(model, source, ask, cut, policies)
        else:
            data = cut.check(source.read(**cut.columns()), source.source)
            fairness = ask.build(source, data)
            shown = None if policies is None else _read_policies(policies, data, fairness)
        found = measure(data, measures or ["all"], policies=shown, fairness=fairness, **how)
    found = cut.of_measured(found)
    if csv is not None:
        found.to_csv(csv)
    emit_json(found.summary, json_)
    if json_ != "-":
        _print_measured(found)


def _shown_by_model(
    model: str, source: DataOptions, ask: FairnessOptions, cut: SliceOptions, policies: Path | None
) -> tuple[Any, Any, Any]:
    """The data of a model, what it shows, and what it was trained for."""
    if policies is not None:
        raise ConfigError("Both --model and --policies say what is shown; name one.")
    trained, data = model_and_data(model, source, **cut.columns())
    data = cut.check(data, f"the data of model {model}")
    fairness = ask.of_model(trained.fairness)
    return data, trained.policies(data, fairness=fairness), fairness


def _read_policies(path: Path, data: Any, fairness: Any) -> Any:
    from spofr_core.policy import Policies, read_table

    return Policies.from_frame(read_table(path), data, fairness)


def _target(text: str) -> Target:
    if "=" not in text:
        return text
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.rpartition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError:
            raise ConfigError(
                f"--target is {text!r}; write a share for each group as 'women=0.5,men=0.5', or one of {list(TARGETS)}."
            ) from None
    return shares


def _print_measured(found: Measured) -> None:
    from spofr_core.reporting import interval, number

    head = ("measure", "mean", "95 % CI", "queries", "better")
    rows = [
        (name, number(entry["mean"]), interval(entry["ci"]), f"{entry['n']:,}", _better(entry))
        for name, entry in found.summary["measures"].items()
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        typer.echo(
            "  ".join([f"{row[0]:{widths[0]}}", *(f"{c:>{w}}" for c, w in zip(row[1:], widths[1:], strict=True))])
        )
    for name, entry in found.summary["measures"].items():
        if entry["overall"] is not None:
            typer.echo(f"{name} of the data as a whole: {number(entry['overall'])}")
        if entry["flagged"] is not None:
            typer.echo(
                f"{name} is below {entry['flagged']['below']:g} in {entry['flagged']['queries']:,} of {entry['n']:,} "
                f"queries{', and in the data as a whole' if entry['flagged']['overall'] else ''}"
            )
        if entry["sampling_error"]:
            typer.echo(f"{name}: drawn ties add a standard error of {number(entry['sampling_error'], 2)} to its mean")
    print_slices(found.summary)
    for note in (*_undefined(found), *found.notes):
        typer.echo(f"note: {in_shell_words(note)}")


def _undefined(found: Measured) -> list[str]:
    """What has no value in how many queries, and why: a sentence for all measures that it is so for."""
    named: dict[tuple[str, int], list[str]] = {}
    for name, entry in found.summary["measures"].items():
        for reason, queries in entry["undefined"].items():
            named.setdefault((reason, queries), []).append(name)
    total = found.summary["queries"]
    return [
        f"In {queries:,} of {total:,} queries no value of {', '.join(names)}: {reason}."
        for (reason, queries), names in named.items()
    ]


def _better(entry: dict[str, Any]) -> str:
    return f"closer to {entry['ideal']:g}" if entry["better"] == "closer" else entry["better"]


def _print_catalogue() -> None:
    for entry in MEASURES.values():
        settings = [*([] if entry.depth == 0 else ["@k"]), *(f"{name}=..." for name in entry.parameters)]
        needs = f" Needs {' and '.join(entry.needs)}." if entry.needs else ""
        typer.echo(
            f"{entry.name}{f' ({joined})' if (joined := ', '.join(settings)) else ''}: {entry.description}{needs}"
        )
        typer.echo(f"    {entry.formula}. {entry.source}.")


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("measure")(measure_command)


COMMANDS.register(Command("measure", register))
