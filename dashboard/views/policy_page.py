"""Policy: one query, the lottery that makes it fair, what it costs, and the proof."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.charts.policy_charts import (
    MOST_CELLS,
    MOST_POSITIONS,
    exposure_in_bounds,
    heat_map,
    lottery,
    sampled_histogram,
)
from dashboard.escaping import markdown
from dashboard.session.choices import choices, choose, follow
from dashboard.session.remembered import audited, fairness_of, repaired
from dashboard.session.solver_warmup import solver_ready
from dashboard.session.sources import Loaded, loaded
from dashboard.widgets.elements import chart, csv_bytes, explain_errors, show_table, tabs
from dashboard.widgets.sidebar import delta_steps
from spofr_core.evaluation import AuditResult
from spofr_core.fairness import Fairness
from spofr_core.policy import PERIODS, Policy, Verification, sampled_violations, verify
from spofr_core.reporting import (
    counted,
    group_styles,
    name_text,
    number,
    percent,
    policy_bounds_rows,
    position_frame,
    sampled_frame,
)

OFFERED = 100
"""Queries in the picker; the search finds the others."""
IMPRESSIONS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]


@explain_errors
def page() -> None:
    """The page."""
    source = loaded()
    fairness = fairness_of(choices(), source.data)
    result = audited(source, fairness)
    place = _picked(source, result)
    if not solver_ready():
        return
    policy = repaired(source.data, fairness).policies[place]
    _headline(result, place, policy)
    other = _other_delta(source)
    compared = [(f"delta {number(choices().delta)}", policy)]
    if other is not None:
        second = repaired(source.data, fairness.with_delta(other)).policies[place]
        compared.append((f"delta {number(other)}", second))
    _lotteries(source, compared)
    tabs(
        "policy-more",
        {
            "Exposure": lambda: _exposure(source, result, place, compared),
            "Positions": lambda: _heat(source, policy),
            "What readers see": lambda: _sampled(policy, fairness),
            "Draw one": lambda: _drawn(policy, source),
        },
    )
    _proof(policy, fairness, source)


def _picked(source: Loaded, result: AuditResult) -> int:
    """Place of the chosen query; the picker offers the worst first, or those that match the search."""
    ids = np.array([str(name) for name in source.data.query_ids.tolist()], dtype=object)
    worst = np.argsort(-np.abs(result.table.worst_violation), kind="stable")
    chosen = np.flatnonzero(ids == choices().query)
    current = int(chosen[0]) if len(chosen) else int(worst[0])
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    search = left.text_input("Find a query", placeholder="part of its id", key="policy-search")
    found = worst if not search else worst[[search.lower() in ids[k].lower() for k in worst]]
    offered = [int(k) for k in found[:OFFERED]]
    if not offered:
        st.caption(f"No query has {markdown(search)} in its id.")
    if current not in offered:
        if search and offered:
            current = offered[0]
        else:
            offered.insert(0, current)
    follow("policy-query", current, of=(source.data.fingerprint, tuple(offered)))
    right.selectbox(
        f"Query, worst first ({len(found):,} of {len(ids):,})",
        offered,
        format_func=lambda k: f"{name_text(ids[k])}, violation {number(float(result.table.worst_violation[k]))}",
        key="policy-query",
        on_change=lambda: choose(query=str(ids[st.session_state["policy-query"]])),
    )
    if ids[current] != choices().query:
        choose(query=str(ids[current]))
    return current


def _headline(result: AuditResult, place: int, policy: Policy) -> None:
    st.title(f"Query {markdown(policy.query, 60)}", anchor=False)
    st.markdown(markdown(before_and_after(result, place, policy)))
    st.markdown(markdown(price_sentence(policy)))
    if policy.relaxed is not None:
        st.warning(
            f"This query cannot hold delta = {number(choices().delta)}: the smallest that it can hold is "
            f"{number(policy.relaxed)}, and that is what the policy below holds.",
            icon=":material/warning:",
        )


def before_and_after(result: AuditResult, place: int, policy: Policy) -> str:
    """What the sort by score does to the worst-off group, and what the lottery does instead."""
    table = result.table
    if not table.applicable[place]:
        return "All items are of one group: there is nobody to be fair between, and sorting by score is optimal."
    group = table.group_names[table.worst_group[place]]
    before = float(table.worst_violation[place])
    after = max(policy.violations.values(), key=abs)
    held = "holds" if table.holds[place].all() else "breaks"
    rankings = counted(len(policy.probabilities), "ranking", "rankings")
    return (
        f"Sorted by score it {held} delta: {name_text(group)} is off by {number(before)}. "
        f"The policy draws from {rankings} and is off by {number(abs(after))} at most."
    )


def price_sentence(policy: Policy) -> str:
    """The shadow price of delta in words."""
    price = policy.delta_price
    if price <= 1e-12:
        return "Fairness is free here: the best ranking by score already holds delta."
    best = gain_of_sorting(policy)
    step = 0.01
    if policy.scores.min() >= 0 and policy.utility > 0:
        bought = f"{percent(price * step / policy.utility, 2)} of the DCG that the scores promise"
    else:
        bought = f"{percent(price * step / best, 2)} of what sorting by score gains over a random order"
    binding = [name for name, value in policy.shadow_prices.items() if abs(value) > 1e-12]
    who = " and ".join(name_text(name) for name in binding[:3])
    return f"Relaxing delta by 0.01 here buys {bought}; what binds is the exposure of {who}."


def gain_of_sorting(policy: Policy) -> float:
    """Utility of the sort by score minus that of a random order; it does not depend on the zero of the scores."""
    worth = policy.discount.vector(len(policy.scores))
    return float(np.sort(policy.scores)[::-1] @ worth - policy.scores.mean() * worth.sum()) or 1.0


def _other_delta(source: Loaded) -> float | None:
    if not st.toggle("Compare with another delta", key="policy-compare"):
        return None
    end, step, places = delta_steps(source)
    return st.slider(
        "The other delta", 0.0, end, min(end, 2 * choices().delta), step=step, format=f"%.{places}f", key="policy-other"
    )


def _lotteries(source: Loaded, compared: list[tuple[str, Policy]]) -> None:
    columns = st.columns(len(compared), gap="large")
    for place, (column, (title, policy)) in enumerate(zip(columns, compared, strict=True)):
        cut = len(policy.scores) > MOST_POSITIONS
        with column:
            chart(
                lottery(policy, source.data.group_names),
                f"The lottery at {title}",
                f"Each ranking of the lottery as a column of items, with its probability: {_spoken(policy)}.",
                table=policy.to_frame,
                name=f"lottery-{place}",
                note=f"The top {MOST_POSITIONS} of {len(policy.scores):,} positions." if cut else "",
            )
            st.caption(
                f"Utility by the scores: {number(policy.utility, 4)}. Expected largest violation: {_worst(policy)}."
            )


def _spoken(policy: Policy) -> str:
    return ", ".join(percent(float(p)) for p in sorted(policy.probabilities, reverse=True))


def _worst(policy: Policy) -> str:
    return number(max((abs(value) for value in policy.violations.values()), default=0.0))


def _exposure(source: Loaded, result: AuditResult, place: int, compared: list[tuple[str, Policy]]) -> None:
    table = result.table
    now = {name: float(table.exposure[place, k]) for k, name in enumerate(table.group_names) if table.present[place, k]}
    chart(
        exposure_in_bounds(compared, now, source.data.group_names),
        "Exposure against its bounds",
        "Mean exposure of each group, sorted by score and under the policy, against the interval that delta allows.",
        table=lambda: pd.DataFrame(policy_bounds_rows(compared, now)),
    )


def _heat(source: Loaded, policy: Policy) -> None:
    cut = len(policy.scores) > MOST_CELLS
    chart(
        heat_map(policy, source.data.group_names),
        "Who stands where, how often",
        "Heat map of the probability that each item stands at each position.",
        table=lambda: position_frame(policy, MOST_CELLS),
        note=f"The first {MOST_CELLS} of {len(policy.scores):,} items and positions." if cut else "",
    )


def _sampled(policy: Policy, fairness: Fairness) -> None:
    impressions = st.select_slider("Impressions in a period", IMPRESSIONS, value=1, key="policy-impressions")
    delta = policy.relaxed or choices().delta
    sampled = sampled_violations(policy, fairness, impressions)
    beyond = sampled.beyond(delta)
    what = "A drawn ranking" if impressions == 1 else f"The mean over {impressions:,} drawn rankings"
    how = "exactly" if sampled.exact else f"from {PERIODS:,} simulated periods"
    chart(
        sampled_histogram(sampled.values, sampled.weights, sampled.expected, delta),
        "What readers really see",
        f"Histogram of the largest violation over {counted(impressions, 'impression', 'impressions')}.",
        headed=False,
        table=lambda: sampled_frame(sampled.values, sampled.weights, sampled.expected, delta),
        note=f"{what} exceeds delta in {percent(beyond)} of the cases ({how}). The guarantee is on the expectation: "
        "it is reached as the same query is shown again and again.",
    )


def _drawn(policy: Policy, source: Loaded) -> None:
    if st.button("Draw a ranking", icon=":material/casino:"):
        st.session_state["draws"] = st.session_state.get("draws", 0) + 1
    draws = st.session_state.get("draws", 0)
    if not draws:
        return
    ranking = policy.sample(1, seed=draws)[0]
    styles = group_styles(source.data.group_names)
    st.caption(f"Draw number {draws}.")
    show_table(
        pd.DataFrame(
            {
                "position": np.arange(1, len(ranking) + 1),
                "item": [str(policy.item_ids[k]) for k in ranking],
                "group": [f"{styles[policy.groups[k]].glyph} {name_text(policy.groups[k])}" for k in ranking],
                "score": policy.scores[ranking],
            }
        ),
        "The ranking that was drawn",
    )


def _proof(policy: Policy, fairness: Fairness, source: Loaded) -> None:
    st.header("Proof and downloads", anchor=False)
    with st.container(horizontal=True):
        pressed = st.button(
            "Verify", icon=":material/verified:", help="Checks the policy from scratch, without the solver."
        )
        st.download_button(
            "Policy (CSV)",
            lambda: csv_bytes(policy.to_frame()),
            "policy.csv",
            "text/csv",
            icon=":material/table:",
            on_click="ignore",
        )
        st.download_button(
            "Policy (JSON)",
            lambda: policy_json(policy),
            "policy.json",
            "application/json",
            icon=":material/data_object:",
            on_click="ignore",
        )
        st.download_button(
            "Certificate (JSON)",
            lambda: json.dumps(policy.certificate, indent=2, ensure_ascii=False),
            "certificate.json",
            "application/json",
            icon=":material/workspace_premium:",
            on_click="ignore",
        )
    if pressed:
        _verified(verify(policy, policy.scores, policy.groups, fairness, allow_relaxed=True))


def _verified(found: Verification) -> None:
    if found.ok:
        st.success(
            f"Verified without the solver: the policy holds delta (largest violation {number(found.max_violation)}), "
            f"and no policy that does has a utility higher by more than {found.gap:.1e}.",
            icon=":material/verified:",
        )
    else:
        st.error("The check failed. " + markdown(" ".join(found.reasons), 1000), icon=":material/error:")


def policy_json(policy: Policy) -> str:
    """The lottery with the ids of its items."""
    ids = [str(name) for name in policy.item_ids.tolist()]
    content = {
        "schema": 1,
        "query": str(policy.query),
        "items": [
            {"item": item, "group": group, "score": float(score)}
            for item, group, score in zip(ids, policy.groups, policy.scores, strict=True)
        ],
        "rankings": [
            {"probability": float(p), "items": [ids[k] for k in ranking]}
            for p, ranking in zip(policy.probabilities, policy.rankings, strict=True)
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False)
