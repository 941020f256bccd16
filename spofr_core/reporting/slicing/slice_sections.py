"""The sections of the report about slices and about time; they are there where slices or times were asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spofr_core.reporting.report_sections import SECTIONS, Content, Report, Section, Table
from spofr_core.reporting.slicing.slice_charts import slice_chart, time_chart
from spofr_core.reporting.slicing.slice_words import (
    by_text,
    exposed_groups,
    exposure_cells,
    exposure_head,
    slice_basis,
    slice_cells,
    slice_head,
    slice_sentences,
)
from spofr_core.reporting.slicing.time_words import time_basis, time_cells, time_head, time_sentences
from spofr_core.reporting.wording.phrases import name_text

Plain = Mapping[str, Any]

MOST_ROWS = 40
"""Rows of a table in the report; the JSON has them all."""
MOST_GROUPS = 6


def slices_content(slicings: Sequence[Plain], not_crossed: str | None = None) -> Content:
    """What a report says of slices: ``summary["slices"]``, and ``summary["not_crossed"]`` where it is there."""
    parts = [(f"By {by_text(slicing['by'])}", _slicing(slicing)) for slicing in slicings]
    caption = f"{slice_basis(slicings[0])} In the charts the marks of slices that differ are filled."
    return Content(caption=caption, sentences=[not_crossed] if not_crossed else [], parts=parts)


def time_content(time: Plain) -> Content:
    """What a report says of time: ``summary["time"]``."""
    parts = [
        (
            _title(entry),
            Content(
                caption=time_sentences(time, entry)[0],
                svg=time_chart(time, entry),
                table=_table(time_head(time), time_cells(time, entry), 1),
                sentences=[*time_sentences(time, entry)[1:], *_cut(len(entry["windows"]), "windows")],
            ),
        )
        for entry in time["measures"]
    ]
    return Content(caption=time_basis(time), parts=parts)


def _slicing(slicing: Plain) -> Content:
    parts = [
        (
            _title(entry),
            Content(
                caption=slice_sentences(slicing, entry)[0],
                svg=slice_chart(entry),
                table=_table(slice_head(slicing, entry), slice_cells(entry), len(slicing["by"])),
                sentences=[*slice_sentences(slicing, entry)[1:], *_cut(len(entry["slices"]), "slices")],
            ),
        )
        for entry in slicing["measures"]
    ]
    if slicing["exposure"]:
        parts.append(("Exposure of groups", _exposure(slicing)))
    return Content(parts=parts)


def _exposure(slicing: Plain) -> Content:
    groups = exposed_groups(slicing)
    shown = groups[:MOST_GROUPS]
    left_out = f" {len(groups) - MOST_GROUPS:,} groups are left out here." if len(groups) > MOST_GROUPS else ""
    return Content(
        caption="Each group's exposure over the mean of its lists, with intervals that hold for all groups and slices "
        f"at once; small groups are not compared.{left_out}",
        table=_table(exposure_head(slicing, shown), exposure_cells(slicing, shown), len(slicing["by"])),
        sentences=_cut(len(slicing["exposure"]), "slices"),
    )


def _title(entry: Plain) -> str:
    label = name_text(entry["label"])
    return label[:1].upper() + label[1:]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> Table:
    return Table([text[:1].upper() + text[1:] for text in head], rows[:MOST_ROWS], left)


def _cut(count: int, what: str) -> list[str]:
    return [f"The first {MOST_ROWS} of {count:,} {what}; the JSON has them all."] if count > MOST_ROWS else []


def _slices(report: Report) -> Content | None:
    found = report.summary.get("slices")
    return slices_content(found, report.summary.get("not_crossed")) if found else None


def _time(report: Report) -> Content | None:
    found = report.summary.get("time")
    return time_content(found) if found else None


SECTIONS.register(Section("slices", "Slices of the queries", _slices))
SECTIONS.register(Section("time", "Over time", _time))
