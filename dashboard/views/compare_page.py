"""Compare: the ranking on the screen beside another one, paired by query."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dashboard.charts.rival_charts import both_spreads, exposure_change
from dashboard.escaping import bold, markdown
from dashboard.navigation import page_named
from dashboard.session.choices import choices, choose
from dashboard.session.commands import comparison_lines
from dashboard.session.comparing.rivals import NOW, chosen_rival, compared, told_delta
from dashboard.session.findings.report_parts import report_parts, usable_window
from dashboard.session.findings.sliced_values import Sliceable
from dashboard.session.solver_warmup import solver_ready
from dashboard.session.sources import Loaded, loaded
from dashboard.views.sections.slices_section import slices_section
from dashboard.widgets.downloads import Download, downloads
from dashboard.widgets.elements import chart, chosen_row, csv_bytes, explain_errors, show_table
from dashboard.widgets.measure_picker import measure_picker
from dashboard.widgets.rival_picker import rival_picker
from spofr_core.evaluation import Comparison, Rival
from spofr_core.reporting import (
    TABLE_HEAD,
    Provenance,
    change_cells,
    comparison_basis,
    comparison_cells,
    comparison_details,
    comparison_html,
    comparison_name,
    comparison_notes,
    comparison_sentences,
    counted,
    groups_left_out,
)

LISTED = 8
"""Queries that changed most that can be chosen."""


@explain_errors
def page() -> None:
    """The page."""
    source, rival = loaded(), chosen_rival()
    counts = counted(len(source.data), "query", "queries")
    st.caption(f"{markdown(source.title)} · {counts} · {markdown(told_delta(source), 1000)}")
    headline = st.container()
    rival_picker(source, rival)
    charts = st.container()
    extra = measure_picker("compare-measures", source.data)
    if not solver_ready():
        return
    found, title, key = compared(source, rival, extra)
    with headline:
        first, *others = comparison_sentences(found.summary)
        st.title(markdown(first, 1000), anchor=False)
        st.markdown(markdown(" ".join(others), 1000))
    with charts:
        _exposure(found, source, title)
    _table(found)
    _spread(found, title)
    slices_section(source, _sliceable(found, title, key), "compare-slices")
    _changed(found, title)
    _words(found)
    _take_away(found, source, rival)


def _exposure(found: Comparison, source: Loaded, title: str) -> None:
    rows = [row for row in _rows(found) if row["kind"] == "group" and not row["small"]]
    if not rows:
        return
    many = {"groups": dict.fromkeys(row["group"] for row in rows)}
    chart(
        exposure_change(rows, source.data.group_names, NOW, title),
        "What each group gets in either ranking",
        f"Exposure of each group as a share of the mean of its lists, now and with {title}.",
        table=lambda: pd.DataFrame(rows)[["group", "before", "after", "difference", "lower", "upper", "n"]],
        name="exposure-change",
        note=groups_left_out(many) if len(rows) > 12 else "",
        word="exposure",
    )


def _table(found: Comparison) -> None:
    st.header("Every number that is compared", anchor=False)
    show_table(
        pd.DataFrame(comparison_cells(found.summary), columns=list(TABLE_HEAD)),
        "Every number that is compared: before, after, difference, interval and what may be said",
        # A long name of a group would push the verdict out of sight; on a telephone before and after fit beside this.
        columns={TABLE_HEAD[0]: st.column_config.TextColumn(width=215)},
    )
    st.caption(markdown(comparison_basis(found.summary)[0], 1000))


def _spread(found: Comparison, title: str) -> None:
    rows = {row["name"]: row for row in _rows(found) if row["kind"] != "share" and not row["small"]}
    if not rows:
        return
    usual = "violation" if "violation" in rows else next(iter(rows))
    named = st.selectbox(
        "Spread over the queries",
        list(rows),
        index=list(rows).index(usual),
        format_func=lambda name: markdown(rows[name]["label"]),
        key="compare-spread",
    )
    row = rows[named]
    frame = found.differences(named)
    share = row["unit"] == "share" or row["kind"] in ("group", "ratio")
    chart(
        both_spreads(frame, NOW, title, row["label"], share=share),
        f"{row['label']} over the queries, in either ranking",
        f"Two outlines: how many queries have which {row['label']}, now and with {title}.",
        table=lambda: frame,
        headed=False,
        name="compare-spread-chart",
        note=f"{counted(int(frame['difference'].notna().sum()), 'query', 'queries')} with a value in both rankings.",
    )


def _sliceable(found: Comparison, title: str, key: str) -> list[Sliceable]:
    """Differences that can be sliced: the violation first, where it is compared."""
    beside = found.compared[title]
    known = {name: quantity for name, quantity in beside.quantities.items() if not quantity.small}
    names = sorted(known, key=lambda name: name != "violation")
    return [Sliceable(name, f"Change in {known[name].label}", key, lambda: beside.differences) for name in names]


def _changed(found: Comparison, title: str) -> None:
    summary = found.summary["rivals"][title]["changed"]
    if summary is None or not summary["queries"]:
        return
    st.header("The queries that changed most", anchor=False)
    st.caption("Choose one to see both rankings of it side by side.")
    cells = change_cells(summary)[:LISTED]
    chosen = chosen_row(
        [
            f"{bold(query, 40)}: {markdown(summary['label'])} {markdown(before)} → {markdown(after)}"
            for query, before, after, _ in cells
        ],
        "changed-queries",
    )
    if chosen is not None:
        choose(query=str(summary["queries"][chosen]["query"]), rival=choices().rival or "repair")
        st.switch_page(page_named("policy"))


def _words(found: Comparison) -> None:
    details = st.expander("In words, one by one", key="compare-words", on_change="rerun")
    if details.open:
        details.markdown("\n".join(f"- {markdown(sentence, 1000)}" for sentence in comparison_details(found.summary)))
    notes = [*comparison_notes(found.summary), *comparison_basis(found.summary)[1:]]
    st.header("Counted apart", anchor=False)
    st.markdown("\n".join(f"- {markdown(sentence, 1000)}" for sentence in notes))


def _take_away(found: Comparison, source: Loaded, rival: Rival) -> None:
    parts = report_parts()
    command = comparison_lines(source, choices(), rival, parts)
    given = Provenance(source=source.title, fingerprint=source.data.fingerprint, command=command)
    name = comparison_name(given).removesuffix(".html")

    def whole() -> Comparison:
        if not source.by and source.data.times is None:
            return found
        return found.with_slices(source.by, window=usable_window(source.data, parts))

    downloads(
        Download("Comparison (HTML)", lambda: comparison_html(whole(), provenance=given), f"{name}.html", "text/html"),
        Download("Summary (JSON)", lambda: whole().to_json() + "\n", f"{name}.json", "application/json"),
        Download("Table (CSV)", lambda: csv_bytes(found.table), f"{name}.csv", "text/csv"),
    )
    if command:
        shown = st.expander("The same from a shell", key="compare-shell", on_change="rerun")
        if shown.open:
            shown.code(command, language="bash", wrap_lines=True)


def _rows(found: Comparison) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = next(iter(found.summary["rivals"].values()))["rows"]
    return [row for row in rows if row["difference"] is not None]
