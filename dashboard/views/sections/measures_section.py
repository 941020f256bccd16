"""Measures: those of every audit, those of the literature by their names, and how one is spread over the queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.charts.measure_chart import measure_histogram
from dashboard.escaping import markdown
from dashboard.session.choices import follow
from dashboard.session.findings.named_values import named_values
from dashboard.session.sources import Loaded
from dashboard.widgets.elements import chart, show_table
from dashboard.widgets.measure_picker import measure_picker
from spofr_core.data import id_texts
from spofr_core.errors import SpofrError
from spofr_core.evaluation import AuditResult, Measured
from spofr_core.measures import TARGETS, parse_measure
from spofr_core.reporting import (
    MEASURED_HEAD,
    formula_texts,
    interval,
    measured_cells,
    measured_notes,
    name_text,
    number,
)

USUAL = ("exposure_ratio", "AWRF", "NDKL", "Skew@10", "impact_ratio@10")
"""Those that are chosen at first."""
TARGET_WORDS = {
    "list": "their share in the list",
    "data": "their share in the data",
    "uniform": "equal shares",
    "relevant": "their share of the list's relevance",
}
_CHOSEN, _FIRST = "audit-measures-kept", "audit-measures-first"


def measures_section(source: Loaded, result: AuditResult) -> Measured | None:
    """The section; what it returns are the measures by name, where the reader asks for any."""
    entries = result.summary["measures"]
    st.header("Measures", anchor=False)
    show_table(measures_table(entries), "Every measure, its mean and interval")
    found = None
    # What nobody asked for would be drawn again at every move of delta.
    if st.toggle("Measures of the literature by their names: NDKL, AWRF, Skew, impact ratio", key="measures-by-name"):
        found = _by_name(source, result)
    if st.toggle("Show how a measure is spread over the queries", key="measure-spread"):
        _spread(result, found)
    return found


def measures_table(entries: Mapping[str, Any]) -> pd.DataFrame:
    """A row per measure of a summary."""
    return pd.DataFrame(
        [
            {
                "measure": entry["label"],
                "mean": number(entry["mean"]),
                "95 % CI": interval(entry["ci"]),
                "queries": entry["n"],
                "unit": entry["unit"],
                "better": entry["better"],
            }
            for entry in entries.values()
        ]
    )


def _by_name(source: Loaded, result: AuditResult) -> Measured | None:
    if "audit-measures" not in st.session_state:  # what was chosen before the page was left is chosen again
        st.session_state[_FIRST] = st.session_state.get(_CHOSEN, USUAL)
    names = measure_picker("audit-measures", source.data, usual=st.session_state[_FIRST])
    st.session_state[_CHOSEN] = names
    protected, target = (None, TARGETS[0]) if source.data.each_item else _about_whom(source, result)
    if not names:
        return None
    try:
        found = named_values(source, result.fairness, names, target=target, protected=protected)
    except SpofrError as error:  # such as for a group that was typed and is not there
        st.error(markdown(error.plain, 1000), icon=":material/error:")
        return None
    show_table(
        pd.DataFrame(measured_cells(found.summary), columns=list(MEASURED_HEAD)),
        "Measures by their names: mean, interval, queries and which way is better",
    )
    of_measures = [note for note in found.notes if note not in source.data.notes]
    notes = [*measured_notes(found.summary), *(note.partition(" leave_out_groups")[0] for note in of_measures)]
    if notes:
        st.markdown("\n".join(f"- {markdown(note, 1000)}" for note in notes))
    formulas = st.expander("Formulas and sources", key="measures-formulas", on_change="rerun")
    if formulas.open:
        formulas.markdown(
            "\n".join(
                f"- **{markdown(label)}**: {markdown(described, 1000)} `{formula}` ({markdown(origin)})"
                for label, described, formula, origin in formula_texts(found.summary)
            )
        )
    return found


def _about_whom(source: Loaded, result: AuditResult) -> tuple[str, str]:
    """The group that measures of one group are about, and what shares of groups are compared with."""
    data, groups = source.data, result.summary["groups"]
    sizes = {name: size for name, size in data.group_sizes.items() if size}
    large = [name for name in sizes if not groups[name]["small"]]
    fewest = min(large or sizes, key=sizes.__getitem__)
    left, right = st.columns(2)
    current = st.session_state.get("measures-protected")
    follow("measures-protected", current if current in sizes else fewest, of=tuple(sizes))
    protected: str = left.selectbox(
        "Measures of one group are about",
        list(sizes),
        format_func=lambda name: name_text(name, 60),
        key="measures-protected",
        help="Skew, rND, FA*IR, DTR and DIR look at one group. At first it is the smallest "
        "one that is large enough to speak of.",
    )
    offered = [target for target in TARGETS if target != "relevant" or data.relevance is not None]
    current = st.session_state.get("measures-target")
    follow("measures-target", current if current in offered else offered[0], of=tuple(offered))
    target: str = right.selectbox(
        "Groups are compared with",
        offered,
        format_func=TARGET_WORDS.__getitem__,
        key="measures-target",
        help="What AWRF, NDKL, Skew, the infeasible index and FA*IR hold the groups against.",
    )
    return protected, target


def _spread(result: AuditResult, found: Measured | None) -> None:
    """How one measure, of every audit or by its name, is spread over the queries."""
    entries = dict(result.summary["measures"])
    values = dict(result.table.measures)
    if found is not None:
        entries |= found.summary["measures"]
        values |= found.values
    named = st.selectbox(
        "Measure", list(entries), format_func=lambda name: name_text(entries[name]["label"]), key="measure"
    )
    entry = entries[named]
    if not np.isfinite(values[named]).any():
        st.caption(f"{markdown(entry['label'])} has no value in any query.")
        return
    frame = pd.DataFrame({"query": id_texts(result.table.query_ids), "value": values[named]})
    label = name_text(entry["label"])
    chart(
        measure_histogram(frame, label),
        f"{label} over the queries",
        f"Histogram of {label} over {entry['n']:,} queries; the mean is {number(entry['mean'])}.",
        table=lambda: frame.rename(columns={"value": label}),
        headed=False,
        name="measure",
        note=markdown(parse_measure(named).description, 1000),
    )
