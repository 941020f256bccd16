"""Audit: the verdict first, then what it rests on, then what a repair would cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.charts import bounds_shares, exposure_by_group, share_curve, violation_histograms
from dashboard.charts.measure_chart import measure_histogram
from dashboard.charts.share_chart import is_thinned
from dashboard.escaping import markdown
from dashboard.navigation import page_named
from dashboard.session.choices import choices, choose
from dashboard.session.remembered import audited, fairness_of, repaired
from dashboard.session.solver_warmup import solver_ready
from dashboard.session.sources import Loaded, loaded
from dashboard.widgets.elements import cards, chart, explain_errors, show_table, tabs
from dashboard.widgets.sidebar import delta_control
from spofr_core.evaluation import TOLERANCE, AuditResult
from spofr_core.measures import MEASURES
from spofr_core.reporting import (
    MOST_STEPS,
    bounds_counts,
    caveats,
    counted,
    exposure_sentence,
    groups_left_out,
    interval,
    number,
    percent,
    repair_sentence,
    verdict,
    verdict_details,
)

WORST_SHOWN = 200


@explain_errors
def page() -> None:
    """The page."""
    source = loaded()
    result = audited(source, fairness_of(choices(), source.data))
    _first_screen(source, result)
    if result.summary["queries"]["applicable"] == 0:
        _counted_apart(result)
        return
    left, right = st.columns(2, gap="large")
    with left:
        _held(result)
    _numbers(result)
    # The browser draws together what it is told together: it draws what moves with delta while the lists are solved.
    _repair(source, result)
    with right:
        tabs(
            "audit-groups",
            {
                "Which groups are outside": lambda: _outside(result),
                "How far, in whose favour": lambda: _how_far(result),
            },
        )
    _measures(result)
    _worst(result)
    _counted_apart(result)


def _first_screen(source: Loaded, result: AuditResult) -> None:
    data, summary = source.data, result.summary
    st.caption(
        f"{markdown(source.title)} · {counted(len(data), 'query', 'queries')} · "
        f"{counted(data.n_items, 'item', 'items')} · {counted(data.n_groups, 'group', 'groups')}"
    )
    st.title(markdown(verdict(summary)), anchor=False)
    st.markdown("  \n".join(markdown(sentence) for sentence in verdict_details(summary)))
    spoken = exposure_sentence(summary)
    with st.container(horizontal=True):
        if st.button("Use your own data", type="primary", icon=":material/upload_file:"):
            st.switch_page(page_named("data"))
        with st.popover("Move delta", icon=":material/tune:"):
            delta_control(source, "popover-delta")
            st.caption(result.fairness.definition)
    chart(
        exposure_by_group(summary),
        "Exposure by group",
        f"Mean exposure per item. {spoken or ''}",
        table=lambda: _group_table(summary),
        note=groups_left_out(summary),
    )


def _numbers(result: AuditResult) -> None:
    summary = result.summary
    violation, utility = summary["violation"], summary["utility"]
    shown = [
        ("Mean violation", number(violation["mean"]), f"95 % CI {interval(violation['mean_ci'])}"),
        (
            "Largest violation",
            number(violation["max"]),
            f"95 % within {number(violation['quantiles']['0.95'])}",
        ),
    ]
    if utility:
        cutoff = utility["cutoff"]
        shown.append(("DCG", number(utility["dcg"]), f"95 % CI {interval(utility['dcg_ci'])}"))
        shown.append((f"nDCG@{cutoff}", number(utility["ndcg"]), f"95 % CI {interval(utility['ndcg_ci'])}"))
    cards(shown)


def _held(result: AuditResult) -> None:
    """The curve that delta moves along."""
    delta = choices().delta
    share = float(result.share_at(np.array([delta]))[0])
    held = "nothing is forbidden" if np.isnan(share) else percent(share)
    chart(
        share_curve(result, delta),
        "How many queries hold delta, whatever delta is",
        f"Share of judged queries that hold delta, as a step function of delta; {held} at delta {number(delta)}.",
        table=result.fair_share,
        note="Band: 95 % Wilson interval." + (f" Drawn with {MOST_STEPS} of its steps." if is_thinned(result) else ""),
    )


def _outside(result: AuditResult) -> None:
    chart(
        bounds_shares(result),
        "Which groups are outside their bounds",
        "Share of judged queries in which each group's exposure is below, within and above its bounds.",
        table=lambda: bounds_counts(result, every_group=True).frame(),
        headed=False,
        note="The bounds are those that delta sets for each query.",
    )


def _how_far(result: AuditResult) -> None:
    chart(
        violation_histograms(result, choices().delta),
        "How far, and in whose favour",
        "Histogram over queries of each group's signed violation; within delta is shaded.",
        table=lambda: _violation_table(result),
        headed=False,
        note="Shaded: within delta. Left of it a group gets too little exposure, right of it too much.",
    )


def _worst(result: AuditResult) -> None:
    st.header("The queries furthest from fair", anchor=False)
    st.caption("Select a row to see that query's policy: what it would take to make it fair.")
    frame = worst_table(result, WORST_SHOWN)
    event = st.dataframe(
        frame,
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key="worst-queries",
        height=min(38 + 35 * len(frame), 325),
        column_config={
            "violation": st.column_config.NumberColumn("signed violation", format="%.4f"),
            "holds delta": st.column_config.CheckboxColumn(),
        },
    )
    chosen = event["selection"]["rows"] if event else []
    if chosen:
        choose(query=str(frame["query"].iloc[chosen[0]]))
        st.switch_page(page_named("policy"))


def worst_table(result: AuditResult, most: int) -> pd.DataFrame:
    """The judged queries with the largest violations, the largest first."""
    found = result.table
    judged = np.flatnonzero(found.applicable)
    worst = judged[np.argsort(-np.abs(found.worst_violation[judged]), kind="stable")[:most]]
    violation = found.worst_violation[worst]
    return pd.DataFrame(
        {
            "query": found.query_ids[worst].astype(str),
            "group": np.array(found.group_names, dtype=object)[found.worst_group[worst]],
            "violation": violation,
            "holds delta": np.abs(violation) <= choices().delta + TOLERANCE,
        }
    )


def _repair(source: Loaded, result: AuditResult) -> None:
    solved = result.model is not None and result.model.guaranteed
    st.header("What the guarantee costs" if solved else "What a repair would cost", anchor=False)
    if not solver_ready():
        return
    after = repaired(source.data, result.fairness)
    rows = after.table
    st.markdown(markdown(repair_sentence(after.before.summary, after.after.summary, len(after.policies.relaxed))))
    before, now = ("plainly sorted", "as the model shows them") if solved else ("as ranked now", "repaired")
    shown = {"measure": rows["label"], before: _texts(rows, "before"), now: _texts(rows, "after")}
    show_table(pd.DataFrame(shown), "Before and after the repair")
    st.caption(
        "The repair keeps the scores and shows, for each query, a lottery over a few rankings: the one with the "
        "highest expected utility among all that hold delta. It is solved exactly for every query."
    )


def _texts(rows: pd.DataFrame, column: str) -> list[str]:
    pairs = zip(rows[column], rows["unit"], strict=True)
    return [percent(value) if unit == "share" else number(value, 4) for value, unit in pairs]


def _measures(result: AuditResult) -> None:
    """Every measure with its mean, and how the chosen one is spread over the queries."""
    entries = result.summary["measures"]
    st.header("Measures", anchor=False)
    show_table(measures_table(entries), "Every measure, its mean and interval")
    # A chart that nobody asked for would be drawn again at every move of delta.
    if not st.toggle("Show how a measure is spread over the queries", key="measure-spread"):
        return
    named = st.selectbox("Measure", list(entries), format_func=lambda name: entries[name]["label"], key="measure")
    values = result.table.measures[named]
    frame = pd.DataFrame({"query": result.table.query_ids.astype(str), "value": values})
    label = entries[named]["label"]
    chart(
        measure_histogram(frame, label),
        f"{label} over the queries",
        f"Histogram of {label} over {entries[named]['n']:,} queries; the mean is {number(entries[named]['mean'])}.",
        table=lambda: frame.rename(columns={"value": label}),
        headed=False,
        name="measure",
        note=MEASURES[named].description,
    )


def measures_table(entries: dict[str, Any]) -> pd.DataFrame:
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


def _counted_apart(result: AuditResult) -> None:
    found = caveats(result.summary)
    if not found:
        return
    st.header("Counted apart", anchor=False)
    st.markdown("\n".join(f"- {markdown(sentence)}" for sentence in found))
    infeasible = result.summary["infeasible"]
    if infeasible["count"]:
        frame = pd.DataFrame(infeasible["queries"]).rename(columns={"min_delta": "smallest delta that would do"})
        show_table(frame.astype({"query": str}), "The queries that cannot hold this delta")


def _group_table(summary: dict[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame(summary["groups"]).T.rename_axis("group").reset_index()
    return frame.rename(columns={"exposure_mean": "mean exposure", "violation_mean": "mean signed violation"})


def _violation_table(result: AuditResult) -> pd.DataFrame:
    frame = result.queries[result.queries["applicable"]]
    described = frame.groupby("group")["violation"].describe(percentiles=[0.05, 0.5, 0.95])
    return described.reset_index()
