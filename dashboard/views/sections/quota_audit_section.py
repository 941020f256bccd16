"""Every list that is drawn, over all queries: how many break what is asked of them, now and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.charts.quota_charts import shares_that_break
from dashboard.escaping import markdown
from dashboard.session.remembered import repaired, repaired_for_delta
from dashboard.session.solver_warmup import solver_ready
from dashboard.session.sources import Loaded
from dashboard.views.sections.quota_section import TITLE, kept_text
from dashboard.widgets.elements import chart, show_table
from spofr_core.evaluation import AuditResult, Repair
from spofr_core.reporting import counted, percent

Shares = list[tuple[str, dict[str, Any]]]


def quota_audit_section(source: Loaded, result: AuditResult) -> None:
    """The sentence, the chart and the price; nothing without a quota."""
    quota = result.fairness.every_ranking
    if quota is None:
        return
    found = result.summary["quota"]
    st.header(TITLE, anchor=False)
    st.markdown(markdown(f"{quota.definition} {now_sentence(found)}", 2000))
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
    st.markdown(markdown(price_sentence(with_quota, repaired(source.data, result.fairness.with_quota(None)))))


def now_sentence(found: Mapping[str, Any]) -> str:
    """How often what is shown breaks a quota; `found` is the part of a summary about it."""
    queries, draws = found["queries"], found["draws"]
    if not queries["applicable"]:
        return "No query here can break it: none has items of two groups and a ranking that keeps it."
    if not queries["broken"]:
        return f"What is shown keeps it in {_all(queries['applicable'])}."
    low, high = queries["ci"]
    one = "" if queries["applicable"] == 1 else f" (95 % CI {100 * low:.1f} to {100 * high:.1f})"
    said = (
        f"What is shown breaks it in {queries['broken']:,} of {counted(queries['applicable'], 'query', 'queries')}, "
        f"{percent(queries['share'])}{one}"
    )
    if abs(draws["share"] - queries["share"]) < 5e-4:
        return f"{said}."
    rough = f", to within {percent(2 * found['error'])} from draws of tied items" if found["error"] else ""
    return f"{said}: not at every draw, but in {percent(draws['share'])} of the draws{rough}."


def _all(count: int) -> str:
    return "the one query" if count == 1 else f"all {count:,} queries"


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


def price_sentence(with_quota: Repair, alone: Repair) -> str:
    """What a repair that keeps a quota costs beside one for delta alone, over all queries."""
    before, (sorted_utility, utility) = alone.score_utility[1].sum(), with_quota.score_utility
    lost = float(before - utility.sum())
    scores, offsets = np.asarray(with_quota.data.score), with_quota.data.offsets
    if scores.min(initial=0.0) >= 0:
        scale, of = float(before), "the utility that the repair for delta alone has, going by the scores"
    else:
        worth = np.cumsum(with_quota.discount.vector(int(with_quota.data.list_lengths.max(initial=0))))
        lengths = with_quota.data.list_lengths
        chance = np.add.reduceat(scores, offsets[:-1]) / lengths * worth[lengths - 1]
        scale, of = float(sorted_utility.sum() - chance.sum()), "what sorting by score gains over a random order"
    if lost <= 1e-9 * abs(scale) or scale <= 0:
        return "To keep it in every list costs nothing beside delta."
    if scores.min(initial=0.0) >= 0:
        return f"The repair that keeps it in every list has {kept_text(1 - lost / scale)} of {of}."
    return f"To keep it in every list costs {percent(lost / scale, 2)} of {of}, beside what delta costs."


def _impossible(found: Mapping[str, Any]) -> None:
    if not found["impossible"]:
        return
    st.markdown(
        f"No ranking of {counted(found['impossible'], 'query', 'queries')} can keep it. They are counted apart, and "
        "their repair holds delta alone. The Policy page says of each what would do."
    )
    frame = pd.DataFrame(found["impossible_queries"]).rename(columns={"prefix": "fails among the first"})
    show_table(frame.astype({"query": str}), "Queries of which no ranking can keep it")
