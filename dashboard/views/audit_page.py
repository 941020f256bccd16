"""Audit: the verdict first, then what it rests on, then what a repair would cost."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.charts import bounds_shares, exposure_by_group, share_curve, violation_histograms
from dashboard.charts.share_chart import is_thinned
from dashboard.escaping import bold, markdown
from dashboard.navigation import page_named
from dashboard.session.choices import choices, choose
from dashboard.session.remembered import audited, fairness_of, repaired
from dashboard.session.solver_warmup import solver_ready
from dashboard.session.sources import Loaded, loaded
from dashboard.views.sections.calibration_section import calibration_section
from dashboard.views.sections.items_section import items_chart, items_table, never_held, repair_wanted, worst_items
from dashboard.views.sections.measures_section import measures_section
from dashboard.views.sections.quota_audit_section import quota_audit_section
from dashboard.views.sections.slices_section import audit_values, slices_section
from dashboard.widgets.controls import controls
from dashboard.widgets.elements import cards, chart, chosen_row, explain_errors, is_opening, show_table, tabs
from dashboard.widgets.sidebar import can_fail, delta_control, settle
from spofr_core.evaluation import AuditResult
from spofr_core.reporting import (
    FIXED_ORDER,
    MOST_STEPS,
    bounds_counts,
    caveats,
    counted,
    delta_text,
    direction_text,
    exposure_range,
    exposure_sentence,
    groups_left_out,
    interval,
    item_name,
    mark_at,
    meaning,
    number,
    percent,
    repair_sentence,
    share_note,
    verdict,
    verdict_details,
    violation_text,
)

WORST_SHOWN = 200
"""Rows of the table of the worst queries."""
WORST_OFFERED = 8
"""Of them, how many can be chosen from a list; the Policy page finds the others."""


@explain_errors
def page() -> None:
    """The page."""
    source = loaded()
    settle(source)
    result = audited(source, fairness_of(choices(), source.data))
    asked = result.summary["queries"]["applicable"] > 0
    # Who moves delta waits for the headline and the curve that is marked with it: they go before all that stays as it
    # is, which the browser would have to go through first.
    ahead = _exposure_is_there(result) and asked
    if not ahead:
        controls()
    _headline(source, result)
    below, exposure = st.container(), st.container()
    if not ahead:
        _below_headline(below, source, result)
        _exposure(exposure, result)
    if not asked:
        _counted_apart(result)
        return
    left, right = st.columns(2, gap="large")
    with left:
        _held(result, ahead=ahead)
    if ahead:
        controls()
        _below_headline(below, source, result)
    _numbers(result)
    for section in (_repair, quota_audit_section):
        explain_errors(partial(section, source, result))()  # what cannot be repaired has an audit all the same
    if ahead:
        _exposure(exposure, result)
    with right:
        if result.table.each_item:
            items_table(result)
        else:
            tabs(
                "audit-groups",
                {
                    "Which groups are outside": lambda: _outside(result),
                    "How far, in whose favour": lambda: _how_far(result),
                },
            )
    found = measures_section(source, result)
    slices_section(source, audit_values(source, result, found), "audit-slices")
    _worst(result)
    _counted_apart(result)


def _headline(source: Loaded, result: AuditResult) -> None:
    data = source.data
    groups = "each item on its own" if data.each_item else counted(data.n_groups, "group", "groups")
    st.caption(
        f"{markdown(source.title)} · {counted(len(data), 'query', 'queries')} · "
        f"{counted(data.n_items, 'item', 'items')} · {groups}"
    )
    st.title(markdown(verdict(result.summary), 1000), anchor=False)


def _below_headline(place: DeltaGenerator, source: Loaded, result: AuditResult) -> None:
    summary = result.summary
    place.markdown("  \n".join(markdown(sentence, 1000) for sentence in verdict_details(summary)))
    with place.container(horizontal=True):
        _suggested(summary)
        if st.button("Use your own data", type="primary", icon=":material/upload_file:"):
            st.switch_page(page_named("data"))
        if can_fail(source):
            with st.popover("Move delta", icon=":material/tune:"):
                delta_control(source, "popover-delta")
                st.caption(result.summary["definition"])


def _exposure_is_there(result: AuditResult) -> bool:
    """Whether the first chart is on the screen as it will be: no delta changes it, so what does change may go first."""
    seen, now = st.session_state.get("exposure-drawn"), (result.measurement, result.model)
    st.session_state["exposure-drawn"] = now
    return not is_opening() and seen is not None and seen[0] is now[0] and seen[1] is now[1]


def _exposure(place: DeltaGenerator, result: AuditResult) -> None:
    summary = result.summary
    if summary["each_item"]:
        with place:
            items_chart(result)
        return
    if not summary["queries"]["applicable"]:
        return
    small = [name for name, group in summary["groups"].items() if group["small"]]
    grey = "Grey, under them: between what they lie, whatever the unknown groups are." if "unknown" in summary else ""
    notes = [grey, groups_left_out(summary), "Pale: small groups, which make no headline." if small else ""]
    with place:
        chart(
            exposure_by_group(summary),
            "Exposure by group",
            f"Exposure as a share of the mean of its lists, with its 95 % interval. {exposure_sentence(summary) or ''}",
            table=lambda: group_table(summary),
            note=" ".join(filter(None, ["Lines on the bars: 95 % intervals over the queries.", *notes])),
            word="exposure",
        )


def _suggested(summary: dict[str, Any]) -> None:
    """Where delta forbids nothing: one that does, at one click."""
    delta = summary["suggested_delta"]
    if delta is not None:
        label = f"Use {delta_text(delta, summary['unit'])}"
        st.button(label, key="use-suggested", icon=":material/target:", on_click=lambda: choose(delta=delta))


def _numbers(result: AuditResult) -> None:
    summary = result.summary
    violation, utility, unit = summary["violation"], summary["utility"], summary["unit"]
    spread = f"95 % CI {interval(violation['mean_ci'], unit)}"
    shown = [("Mean violation", violation_text(violation["mean"], unit), spread, meaning("violation"))]
    if summary["worst"]:
        worst = summary["worst"][0]
        off = f"{violation_text(abs(worst['violation']), unit)} too {'much' if worst['violation'] > 0 else 'little'}"
        who = markdown(item_name(worst["item"]) if summary["each_item"] else worst["group"], 20)
        shown.append(("Largest violation", off, f"{who}, {markdown(worst['query'], 20)}", ""))
    if utility:
        shown.append(("DCG", number(utility["dcg"]), f"95 % CI {interval(utility['dcg_ci'])}", meaning("DCG")))
        name = summary["measures"]["ndcg"]["label"]
        shown.append((name, number(utility["ndcg"]), f"95 % CI {interval(utility['ndcg_ci'])}", ""))
    cards(shown)


def _held(result: AuditResult, *, ahead: bool) -> None:
    """The curve that delta moves along; `ahead` of all that delta changes, where nothing else is new."""
    delta = choices().delta
    steps = result.fair_share()
    mark = mark_at(steps, delta, result.summary["unit"])
    chart(
        share_curve(result, delta),
        "How many queries hold delta, whatever delta is",
        f"Share of queries that hold delta, as a step function of delta; {mark.label}.",
        table=lambda: steps.rename(columns={"cannot_fail": "cannot fail", "could_hold": "could hold"}),
        note=share_note(steps)
        + (f" Drawn with {MOST_STEPS} of its steps." if is_thinned(result) else "")
        + (f" {FIXED_ORDER}" if never_held(result) else ""),
        word="cannot fail",
        ahead=ahead,
    )


def _outside(result: AuditResult) -> None:
    chart(
        bounds_shares(result),
        "Which groups are outside their bounds",
        "Share of judged queries in which each group's exposure is below, within and above its bounds.",
        table=lambda: bounds_counts(result, every_group=True).frame(),
        headed=False,
        note="The bounds are those that delta sets for each query."
        + (" “Depends”: on the groups that are not known." if "unknown" in result.summary else ""),
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
    st.caption("Choose one to see its policy: what it would take to make it fair.")
    unit, frame = result.summary["unit"], worst_table(result, WORST_SHOWN)
    first = frame.head(WORST_OFFERED)
    said = {"breaks": ", exceeds delta", "cannot be told": ", which depends on unknown groups"}
    chosen = chosen_row(
        [
            f"{bold(row['query'], 40)}: {markdown(row['in whose favour'])}"
            f"{said.get(row['verdict'], '') if 'verdict' in row else '' if row['holds delta'] else ', exceeds delta'}"
            for row in first.to_dict("records")
        ],
        "worst-queries",
    )
    if chosen is not None:
        choose(query=str(first["query"].iloc[chosen]))
        st.switch_page(page_named("policy"))
    numbers = st.expander("The numbers: the queries furthest from fair", key="numbers-worst", on_change="rerun")
    if numbers.open:
        shown = frame.assign(violation=[violation_text(value, unit) for value in frame["violation"]])
        with numbers:
            show_table(shown, "The queries furthest from fair, worst first")


def worst_table(result: AuditResult, most: int) -> pd.DataFrame:
    """The queries with the largest violations, the largest first: of groups that are not small, where there are any."""
    if result.table.each_item:
        return worst_items(result, most)
    table, summary = result.table, result.summary
    large = np.array([not summary["groups"][name]["small"] for name in table.group_names])
    counted_groups = large if large.any() else ~large
    signed = np.where(table.present & counted_groups, np.nan_to_num(table.violation), 0.0)
    groups = np.abs(signed).argmax(axis=1)
    violations = signed[np.arange(len(signed)), groups]
    asked = table.judged if table.judged.any() else table.applicable
    places = np.flatnonzero(asked)
    worst = places[np.argsort(-np.abs(violations[places]), kind="stable")[:most]]
    names = [table.group_names[group] for group in groups[worst]]
    return pd.DataFrame(
        {
            "query": table.query_ids[worst].astype(str),
            "group": names,
            "violation": violations[worst],
            "in whose favour": [
                direction_text(name, value, summary["unit"])
                for name, value in zip(names, violations[worst].tolist(), strict=True)
            ],
            "holds delta": table.holds[worst, groups[worst]],
            **({"verdict": table.verdicts[worst]} if table.unknown else {}),
        }
    )


def _repair(source: Loaded, result: AuditResult) -> None:
    solved = result.model is not None and result.model.guaranteed
    title = "What the guarantee costs" if solved else "What a repair would cost"
    st.header(title, anchor=False, help=f"repair: {meaning('repair')}")
    if not solver_ready() or not repair_wanted(source):
        return
    after = repaired(source.data, result.fairness)
    rows = after.table
    found = (after.before.summary, after.after.summary, len(after.policies.relaxed))
    st.markdown(markdown(repair_sentence(*found, quota=after.summary["quota"], ranks=after.ranks), 1000))
    before, now = ("plainly sorted", "as the model shows them") if solved else ("as ranked now", "repaired")
    shown = {"measure": rows["label"], before: _texts(rows, "before")}
    quota = result.fairness.every_ranking
    if quota is not None:
        shown["repaired, delta alone"] = _texts(repaired(source.data, result.fairness.with_quota(None)).table, "after")
    shown[now if quota is None or solved else "repaired, every list"] = _texts(rows, "after")
    # Narrow, so that a telephone shows before and after without being pushed.
    widths = {"measure": 204, "repaired": 78}
    looks = {name: st.column_config.TextColumn(width=widths.get(name, 106)) for name in shown}
    show_table(pd.DataFrame(shown), "Before and after the repair", columns=looks)
    sizes = after.policies.solution.counts
    few = (
        f"{sizes.mean():.0f} rankings on average, {sizes.max():,} at most"
        if source.data.each_item
        else "a few rankings"
    )
    held = "hold delta" if quota is None else "hold delta and keep what is asked of every list"
    st.caption(
        f"The repair keeps the {'ranks' if after.ranks else 'scores'} and shows, for each query, a lottery over {few}: "
        "the one with the "
        f"highest expected utility among all that {held}. It is solved exactly for every query."
    )
    calibration_section(source, result)


def _texts(rows: pd.DataFrame, column: str) -> list[str]:
    pairs = zip(rows[column], rows["unit"], strict=True)
    return [percent(value) if unit == "share" and value is not None else number(value, 4) for value, unit in pairs]


def _counted_apart(result: AuditResult) -> None:
    found = caveats(result.summary)
    if not found:
        return
    st.header("Counted apart", anchor=False)
    st.markdown("\n".join(f"- {markdown(sentence)}" for sentence in found))
    infeasible = result.summary["infeasible"]
    if infeasible["count"]:
        frame = pd.DataFrame(infeasible["queries"]).rename(columns={"min_delta": "smallest delta that would do"})
        frame["smallest delta that would do"] = [
            violation_text(delta, result.summary["unit"]) for delta in frame["smallest delta that would do"]
        ]
        show_table(frame.astype({"query": str}), "The queries that cannot hold this delta")


def group_table(summary: dict[str, Any]) -> pd.DataFrame:
    """A row per group: how much exposure its items get, how sure that is, and in whose favour it is off."""
    unit = summary["unit"]
    return pd.DataFrame(
        [
            {
                "group": name,
                "items": group["compared"],
                "lists": group["compared_queries"],
                "mean exposure": number(group["exposure_mean"], 4),
                "95 % CI": interval(group["exposure_ci"]),
                "of its lists' mean": percent(group["relative_mean"]) if group["relative_mean"] is not None else "-",
                "mean violation": direction_text(name, group["violation_mean"], unit),
                "95 % CI of it": interval(group["violation_ci"], unit),
                **({"whatever the unknown are": exposure_range(summary, name)} if "unknown" in summary else {}),
                "items alone": group["items"] - group["compared"],
                "small": group["small"],
            }
            for name, group in summary["groups"].items()
        ]
    )


def _violation_table(result: AuditResult) -> pd.DataFrame:
    frame = result.queries[result.queries["applicable"]]
    described = frame.groupby("group")["violation"].describe(percentiles=[0.05, 0.5, 0.95])
    return described.reset_index()
