"""From any source to a table: the format found out."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from spofr_core.data.formats import FORMATS, Format, TextOptions
from spofr_core.data.formats.source import Raw, Source, open_raw
from spofr_core.data.formats.tables import FrameTable, Table
from spofr_core.data.limits import Limits
from spofr_core.errors import DataError

AnySource = Source | pd.DataFrame


def open_table(
    source: AnySource,
    limits: Limits,
    format: str | None = None,
    options: TextOptions | None = None,
    *,
    rows: int | None = None,
) -> tuple[str, Table]:
    """The name of the format ("frame" for a DataFrame), and the source as a table.

    With `rows` the table is for looking at that many rows at its beginning, and may be of them alone.

    Raises
    ------
    ConfigError
        When there is no such format.
    DataError
        When the source cannot be read.
    """
    options = options or TextOptions()
    named = None if format is None else FORMATS[format]
    if isinstance(source, pd.DataFrame):
        return "frame", _said(FrameTable(source, limits), options)
    if isinstance(source, (str, os.PathLike)) and Path(source).is_dir():
        folder = Path(source)
        chosen = named or next((each for each in FORMATS.values() if each.sniff_folder(folder)), None)
        if chosen is not None:
            _check_sheet(chosen, folder.name, options)
            return chosen.name, _said(chosen.open_folder(folder, limits), options)
    raw = open_raw(source, limits)
    chosen = named or _format_of(raw)
    _check_sheet(chosen, raw.name, options)
    if rows is not None:
        return chosen.name, _said(chosen.preview(raw, limits, options, rows), options)
    return chosen.name, _said(chosen.open(raw, limits, options), options)


def _said(table: Table, options: TextOptions) -> Table:
    table.decimal = options.decimal
    return table


def _check_sheet(chosen: Format, name: str, options: TextOptions) -> None:
    if options.sheet is not None and not chosen.has_sheets:
        raise DataError(
            f"{name} is {chosen.label}, which has one table and no sheets.",
            fields=("sheet",),
            mend=f"Leave out sheet={options.sheet!r}.",
        )


def _format_of(raw: Raw) -> Format:
    """By content first, by the ending of the name second; any other text is a table with delimiters."""
    formats = FORMATS.values()
    by_content = (each for each in formats if each.sniff(raw))
    by_suffix = (each for each in formats if raw.suffix in each.suffixes)
    return next(by_content, None) or next(by_suffix, None) or FORMATS["csv"]
