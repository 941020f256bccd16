"""Options that slice the queries and lay them out in time, and what the shell prints about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spofr_core.errors import ConfigError

if TYPE_CHECKING:
    from spofr_core.data import RankingDataset
    from spofr_core.evaluation import AuditResult, Measured

MOST_PRINTED = 20
"""Slices or windows of a table in the shell; the JSON has them all."""
MOST_GROUPS = 6
"""Groups of a table in the shell."""


@dataclass(frozen=True, kw_only=True)
class SliceOptions:
    """By what the queries are sliced, and when they were asked."""

    slices: Annotated[
        list[str] | None,
        typer.Option(
            "--slice", help="A column about the query, such as its country, to slice by; repeat for more, and crossed."
        ),
    ] = None
    time: Annotated[
        str | None, typer.Option(help="Column of the time of the query: ISO dates or seconds since 1970, in UTC.")
    ] = None
    window: Annotated[
        str | None,
        typer.Option(
            help="With --time: day, week, month, year, or a number of equal parts. [default: what suits the data]"
        ),
    ] = None
    slice_measure: Annotated[
        list[str] | None,
        typer.Option(
            help="What is sliced: violation, fair, exposure:GROUP, or a measure by its name; repeat. [default: the "
            "first two; of `spofr measure`, all]"
        ),
    ] = None
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only the queries with this value of such a column, as 'country=DE'; repeat to narrow down."),
    ] = None

    @property
    def wanted(self) -> dict[str, str]:
        """What all queries that are looked at have in common.

        Raises
        ------
        ConfigError
            For a text without a value, and for a column with two.
        """
        found: dict[str, str] = {}
        for text in self.where or ():
            name, sign, value = text.partition("=")
            if not sign or not name.strip():
                raise ConfigError(f"--where is {text!r}; write column=value, such as country=DE.")
            if found.setdefault(name.strip(), value) != value:
                raise ConfigError(
                    f"--where names {name.strip()} twice, {found[name.strip()]!r} and {value!r}; name one."
                )
        return found

    @property
    def by(self) -> list[str]:
        """What the queries are sliced by: they differ in it."""
        return [name for name in self.slices or () if name not in self.wanted]

    @property
    def asked(self) -> bool:
        """Whether anything is sliced or laid out in time.

        Raises
        ------
        ConfigError
            For a window, or a measure, of nothing.
        """
        if self.window is not None and self.time is None:
            raise ConfigError(f"--window is {self.window!r}, but no time is named; give --time COLUMN too.")
        if self.slice_measure and not self.slices and self.time is None:
            raise ConfigError("--slice-measure is given, but nothing is sliced; give --slice COLUMN or --time COLUMN.")
        return bool(self.by) or self.time is not None

    def columns(self, folder: Path | None = None) -> dict[str, Any]:
        """The keyword arguments of `read_dataset` that these options stand for; none where nothing is asked.

        Raises
        ------
        ConfigError
            When some queries of a folder, which is read in parts, are wanted.
        """
        if folder is not None and self.where:
            raise ConfigError(f"--where picks queries of a file, but {str(folder)!r} is a folder; name a FILE in it.")
        named = dict.fromkeys([*(self.slices or ()), *self.wanted])
        given = {"slices": list(named), "time": self.time}
        return {name: value for name, value in given.items() if value} if self.asked or named else {}

    def check(self, data: RankingDataset, source: str) -> RankingDataset:
        """The queries that are wanted, if the data has what is to be sliced by: a sample or a run is not read anew.

        Raises
        ------
        ConfigError
            When it has not.
        DataError
            When no query is as it is wanted.
        """
        absent = [name for name in (*(self.slices or ()), *self.wanted) if name not in data.attributes]
        if absent or (self.time is not None and data.times is None):
            option = f"--time {self.time}"
            if absent:
                option = f"--{'slice' if absent[0] in (self.slices or ()) else 'where'} {absent[0]}"
            raise ConfigError(f"{option} names a column of a FILE, but {source} is read without one; name a FILE.")
        return data.where(self.wanted) if self.where else data

    def of_audit(self, result: AuditResult) -> AuditResult:
        """The audit with its slices, where any are asked for."""
        return result.with_slices(self.by, **self._how) if self.asked else result

    def of_measured(self, found: Measured) -> Measured:
        """What was measured with its slices, of all measures where none is named."""
        return found.with_slices(self.by, **self._how) if self.asked else found

    @property
    def _how(self) -> dict[str, Any]:
        window = None if self.time is None else self.window or "auto"
        return {"window": window} | ({"measures": self.slice_measure} if self.slice_measure else {})


def print_slices(summary: Mapping[str, Any]) -> None:
    """A table per slicing and measure, and one over time per measure, each with what it shows in words.

    Parameters
    ----------
    summary : mapping
        With ``slices`` and ``time`` as `AuditResult.summary` has them; either may be absent.
    """
    from spofr_core.reporting import (
        by_text,
        exposed_groups,
        exposure_cells,
        exposure_head,
        slice_basis,
        slice_cells,
        slice_head,
        slice_sentences,
        time_basis,
        time_cells,
        time_head,
        time_sentences,
    )

    for slicing in summary.get("slices", ()):
        for entry in slicing["measures"]:
            typer.echo(f"== {entry['label']} by {by_text(slicing['by'])}")
            for sentence in slice_sentences(slicing, entry):
                typer.echo(sentence)
            print_table(slice_head(slicing, entry), slice_cells(entry), len(slicing["by"]))
        if any(group["ci"] for entry in slicing["exposure"] or () for group in entry["groups"].values()):
            groups = exposed_groups(slicing)[:MOST_GROUPS]
            typer.echo(f"== exposure over the mean of the lists by {by_text(slicing['by'])}")
            print_table(exposure_head(slicing, groups), exposure_cells(slicing, groups), len(slicing["by"]))
    if "not_crossed" in summary:
        typer.echo(f"note: {summary['not_crossed']}")
    if summary.get("slices"):
        typer.echo(f"note: {slice_basis(summary['slices'][0])}")
    for time in [summary["time"]] if "time" in summary else []:
        for entry in time["measures"]:
            typer.echo(f"== {entry['label']} over time")
            for sentence in time_sentences(time, entry):
                typer.echo(sentence)
            print_table(time_head(time), time_cells(time, entry), 1)
        typer.echo(f"note: {time_basis(time)}")


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """A table of texts; its first columns, so many, are aligned to the left."""
    shown = [head, *rows[:MOST_PRINTED]]
    widths = [max(len(row[column]) for row in shown) for column in range(len(head))]
    for row in shown:
        cells = [
            f"{cell:{width}}" if place < left else f"{cell:>{width}}"
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        typer.echo(f"  {'  '.join(cells)}".rstrip())
    if len(rows) > MOST_PRINTED:
        typer.echo(f"  ... and {len(rows) - MOST_PRINTED:,} more, in the JSON")
