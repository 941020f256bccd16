"""Every list that is drawn, over all queries: how many break what is asked of them, now and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dashboard.charts.quota_charts import shares_that_break
from dashboard.escaping import markdown
from dashboard.session.remembered import repaired, repaired_for_delta
from dashboard.session.solver_warmup import solver_ready
from dashboard.session.sources import Loaded
from dashboard.views.sections.quota_section import TITLE
from dashboard.widgets.elements import chart, show_table
from spofr_core.evaluation import AuditResult
from spofr_core.reporting import counted, percent

Shares = list[tuple[str, dict[str, Any]]]


def quota_audit_section(source: Loaded, result: AuditResult) -> None:
    """What is asked, and how often it is broken with and without a repair; nothing without a quota.

    How often it is broken now is said beneath the headline, what keeping it costs with the repair.
    """
    quota = result.fairness.every_ranking
    if quota is None:
        return
    found = result.summary["quota"]
    st.header(TITLE, anchor=False)
    st.markdown(markdown(quota.definition, 2000))
    if not found["queries"]["applicable"]:
        return
    if source.data.score is not None and solver_ready():
        _repairs(source, result)
    _impossible(found)


def _repairs(source: Loaded, result: AuditResult) -> None:
    with_quota, alone = repaired(source.data, result.fairness), repaired_for_delta(source.data, result.fairness)
    solved = result.model is not None and result.model.guaranteed
    rows: Shares = [
        ("plainly sorted" if solved else "now", (with_quota.before if solved else result).summary["quota"]),
        ("repaired, delta alone", alone.summary["quota"]),
        ("as the model shows them" if solved else "repaired, every list", with_quota.after.summary["quota"]),
    ]
    chart(
        shares_that_break([(title, found["draws"]["share"], found["draws"]["ci"]) for title, found in rows]),
        TITLE,
        "Share of the lists drawn that break it: "
        + ", ".join(f"{title} {percent(found['draws']['share'])}" for title, found in rows)
        + ".",
        table=lambda: share_table(rows),
        headed=False,
        name="quota-shares",
        note=f"Over {counted(rows[0][1]['queries']['applicable'], 'query', 'queries')} of which some ranking keeps it. "
        "Lines: 95 % intervals.",
    )


def share_table(rows: Shares) -> pd.DataFrame:
    """A row per way to rank."""
    return pd.DataFrame(
        [
            {
                "ranking": title,
                "queries": found["queries"]["applicable"],
                "may break it": found["queries"]["broken"],
                "of draws, broken": percent(found["draws"]["share"]),
                "95 % CI": _interval(found["draws"]["ci"]),
            }
            for title, found in rows
        ]
    )


def _interval(ends: list[float] | None) -> str:
    return f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f} %" if ends else "-"


def _impossible(found: Mapping[str, Any]) -> None:
    if not found["impossible"]:
        return
    st.markdown(
        f"No ranking of {counted(found['impossible'], 'query', 'queries')} can keep it. They are counted apart, and "
        "their repair holds delta alone. The Policy page says of each what would do."
    )
    frame = pd.DataFrame(found["impossible_queries"]).rename(columns={"prefix": "fails among the first"})
    show_table(frame.astype({"query": str}), "Queries of which no ranking can keep it")
