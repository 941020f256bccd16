"""Each item on its own: the part of the Audit page that is about items in place of groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.charts import item_histogram
from dashboard.session.sources import Loaded
from dashboard.widgets.elements import chart, show_table
from spofr_core.evaluation import AuditResult, item_repair_seconds
from spofr_core.reporting import HOW_COUNTED, item_bins, item_name, item_rows, off_text, spread_sentence

PATIENCE = 3.0
"""Seconds of solving that a page spends without being asked to."""
_ASKED = "items-repair"


def items_chart(result: AuditResult) -> None:
    """How many items get how many times the mean exposure of their list."""
    bins = item_bins(result)
    if bins is None:
        return
    shaded = " Shaded: what delta allows." if bins.within is not None else ""
    chart(
        item_histogram(bins),
        "Exposure by item",
        f"Histogram of items by how many times their list's mean exposure they get. {spread_sentence(result.summary)}",
        table=bins.frame,
        note="Dashed: the mean of the list. Dotted: what 5 %, half and 95 % of the items get at "
        f"most.{shaded} {HOW_COUNTED}",
        word="exposure",
    )


def items_table(result: AuditResult) -> None:
    """The same in a few numbers."""
    st.subheader("What items get of their list's mean", anchor=False)
    rows = pd.DataFrame(item_rows(result.summary), columns=["items", "times the mean"])
    show_table(rows, "What items get of the mean exposure of their list")


def worst_items(result: AuditResult, most: int) -> pd.DataFrame:
    """The queries with the item furthest off, the furthest first."""
    table = result.table
    asked = table.judged if table.judged.any() else table.applicable
    places = np.flatnonzero(asked)
    worst = places[np.argsort(-np.abs(table.worst_violation[places]), kind="stable")[:most]]
    names = [str(item_at(result, int(q))) for q in worst]
    signed = table.worst_violation[worst]
    return pd.DataFrame(
        {
            "query": table.query_ids[worst].astype(str),
            "item": names,
            "violation": signed,
            "in whose favour": [
                f"{item_name(name)} {off_text(value, result.summary['unit'])}"
                for name, value in zip(names, signed.tolist(), strict=True)
            ],
            "holds delta": table.holds[worst, table.worst_group[worst]],
        }
    )


def item_at(result: AuditResult, query: int) -> object:
    """The item that is furthest off in a query."""
    table = result.table
    return None if table.items is None else table.items[query, table.worst_group[query]]


def never_held(result: AuditResult) -> bool:
    """Whether each item is on its own and no list holds any delta that forbids something, as with every fixed order."""
    steps = result.fair_share()
    return result.table.each_item and not (steps["hold"] > steps["cannot_fail"]).any()


def repair_wanted(source: Loaded) -> bool:
    """Whether the repair is to be worked out: at once where it is quick, else when somebody asks for it."""
    seconds = item_repair_seconds(source.data)
    if not source.data.each_item or seconds <= PATIENCE or st.session_state.get(_ASKED) == source.data.fingerprint:
        return True
    told = f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
    st.caption(
        f"With each item on its own the programme of a list has a bound for every item: all lists take about {told}."
    )
    if st.button("Work it out", key="items-repair-go", icon=":material/play_arrow:"):
        st.session_state[_ASKED] = source.data.fingerprint
        return True
    return False
