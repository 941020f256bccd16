"""Policy: one query, the lottery that makes it fair, what it costs, and the proof."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from dashboard.charts.drawing import By
from dashboard.charts.policy_charts import (
    MOST_CELLS,
    MOST_POSITIONS,
    MOST_RANKINGS,
    exposure_in_bounds,
    heat_map,
    lottery,
    lottery_room,
    sampled_histogram,
)
from dashboard.charts.served_chart import served_violations
from dashboard.escaping import markdown
from dashboard.session.choices import choices, choose, follow
from dashboard.session.commands import check_of, command_lines
from dashboard.session.remembered import audited, fairness_of, repaired, repaired_query
from dashboard.session.solver_warmup import solver_ready
from dashboard.session.sources import Loaded, loaded
from dashboard.views.sections.quota_section import impossible_sentence, quota_section
from dashboard.widgets.downloads import Download, downloads, part_of_name
from dashboard.widgets.elements import chart, csv_bytes, explain_errors, show_table, tabs, wide
from dashboard.widgets.rival_table import both_rankings
from dashboard.widgets.sidebar import delta_scale
from spofr_core.evaluation import AuditResult
from spofr_core.fairness import Fairness, Unit, format_delta
from spofr_core.policy import PERIODS, Policy, Verification, most_probable, policy_document, sampled_violations, verify
from spofr_core.reporting import (
    NO_GROUP_TEXT,
    counted,
    delta_text,
    direction_text,
    group_styles,
    item_name,
    listed,
    name_text,
    named,
    off_text,
    percent,
    policy_bounds_rows,
    position_frame,
    sampled_frame,
    served_frame,
    style_of,
    unbroken,
    violation_text,
)

OFFERED = 100
"""Queries in the picker; the search finds the others."""
IMPRESSIONS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]


@explain_errors
def page() -> None:
    """The page."""
    source = loaded()
    fairness = fairness_of(choices(), source.data)
    # The sort by score is what a policy is held against, also where a model with policies of its own is looked at.
    result = audited(replace(source, model=None), fairness)
    if source.slice:
        st.caption(f"{markdown(source.title)} · {counted(len(source.data), 'query', 'queries')}")
    place = _picked(source, result)
    if not solver_ready():
        return
    policy = repaired_query(source.data, fairness, place)
    _headline(source, result, place, policy)
    if choices().rival:
        both_rankings(source)
    compared = [(f"delta {format_delta(choices().delta, fairness.unit, 3)}", policy)]
    left, right = st.columns([3, 2], gap="large")
    with right:
        beside = st.container()
        other = _other_delta(source)
    if other is not None:
        second = repaired_query(source.data, fairness.with_delta(other), place)
        compared.append((f"delta {format_delta(other, fairness.unit, 3)}", second))
    # The lottery is what a reader comes for, and the browser draws first what it is told first.
    with left:
        _lotteries(source, compared)
        if fairness.every_ranking is not None:
            quota_section(source, policy, repaired(source.data, fairness.with_quota(None)).policies[place])
    with beside:
        _sampled(policy, fairness)
    _served(policy, fairness)
    tabs(
        "policy-more",
        {
            "Exposure": lambda: _exposure(source, result, place, compared),
            "Positions": lambda: _heat(source, policy),
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
        format_func=lambda k: f"{name_text(ids[k])}: {worst_direction(result, k)}",
        key="policy-query",
        on_change=lambda: _look_at(ids),
    )
    if ids[current] != choices().query:
        choose(query=str(ids[current]))
    return current


def _look_at(ids: npt.NDArray[np.object_]) -> None:
    """The query that was picked; a label that is offered no more, since delta moved meanwhile, comes back as text."""
    place = st.session_state["policy-query"]
    if isinstance(place, int):
        choose(query=str(ids[place]))


def worst_direction(result: AuditResult, place: int) -> str:
    """Who gets too much or too little in a query, sorted by score."""
    table = result.table
    if not table.applicable[place]:
        return "one item" if table.each_item else "one group"
    if table.items is not None:
        item = table.items[place, table.worst_group[place]]
        return f"{item_name(item)} {off_text(float(table.worst_violation[place]), result.fairness.unit)}"
    group = table.group_names[table.worst_group[place]]
    return direction_text(group, float(table.worst_violation[place]), result.fairness.unit)


def _headline(source: Loaded, result: AuditResult, place: int, policy: Policy) -> None:
    unit = result.fairness.unit
    st.title(f"Query {markdown(policy.query, 60)}", anchor=False)
    price = price_sentence(policy, unit, each_item=result.table.each_item, by=source.ranked_by)
    st.markdown(markdown(f"{before_and_after(result, place, policy, by=source.ranked_by)} {price}", 1000))
    impossible = impossible_sentence(policy, result.fairness)
    if impossible:
        st.warning(markdown(impossible, 1000), icon=":material/warning:")
    elif policy.relaxed is not None:
        st.warning(
            f"This query cannot hold {markdown(delta_text(choices().delta, unit))}: the smallest that it can hold is "
            f"{markdown(format_delta(policy.relaxed, unit, 3))}, and that is what the policy below holds.",
            icon=":material/warning:",
        )


def before_and_after(result: AuditResult, place: int, policy: Policy, *, by: By = "score") -> str:
    """What the sort by score does to the worst-off group, what the lottery does instead, and what that keeps."""
    table, unit = result.table, result.fairness.unit
    if not table.applicable[place]:
        alone = "There is a single item" if table.each_item else "All items are of one group"
        if table.ungrouped[place] > 0:
            alone = "There are not two groups among the items that have one"
        return f"{alone}: there is nobody to be fair between, and sorting by {by} is optimal."
    said = {"breaks": "which breaks delta", "cannot be told": "and whether delta holds depends on the unknown groups"}
    held = said.get(table.verdicts[place], "which holds delta")
    group, after = max(policy.violations.items(), key=lambda entry: abs(entry[1]))
    rankings = counted(len(policy.probabilities), "ranking", "rankings")
    nobody = abs(after) < 1e-9
    left = "no group too much or too little" if nobody else f"{direction_text(group, after, unit)} at most"
    if table.each_item:
        left = f"no item more than {violation_text(abs(after), unit)} off"
        left = "every item gets the list's mean" if nobody else left
    left += " among the items whose group is known" if table.unknown_items[place] else ""
    return (
        f"Sorted by {by}: {worst_direction(result, place)}, {held}. The policy draws from {rankings}: {left}, in "
        f"expectation. It {kept_sentence(policy, by=by)}."
    )


def who_text(policy: Policy, group: str, *, each_item: bool) -> str:
    """A group within a sentence, or the item that it is."""
    return item_name(policy.item_ids[policy.groups.index(group)]) if each_item else named(group)


def kept_sentence(policy: Policy, *, by: By = "score") -> str:
    """What a policy keeps of the utility that sorting by score has, which is the best that its scores allow."""
    best = float(np.sort(policy.scores)[::-1] @ policy.discount.vector(len(policy.scores)))
    if np.ptp(policy.scores) == 0:
        return f"costs nothing: all {by}s are equal"
    if policy.scores.min() >= 0:
        share, of = policy.utility / best, "the best possible DCG, going by the scores"
    else:
        # Without a zero of the scores a ratio of utilities means nothing; one of differences does.
        share = 1 - (best - policy.utility) / gain_of_sorting(policy)
        of = f"what sorting by {by} gains over a random order"
    return f"keeps all of {of}" if share > 1 - 1e-9 else f"keeps {percent(share)} of {of}"


def price_sentence(policy: Policy, unit: Unit = "absolute", *, each_item: bool = False, by: By = "score") -> str:
    """The shadow price of delta in words."""
    price = policy.delta_price
    if price <= 1e-12:
        return f"Delta costs nothing here: the best ranking by {by} already holds it."
    step = 0.01
    if policy.scores.min() >= 0 and policy.utility > 0:
        bought = f"{percent(price * step / policy.utility, 2)} of the DCG that the scores promise"
    else:
        bought = f"{percent(price * step / gain_of_sorting(policy), 2)} of what sorting by {by} gains over random"
    binding = [name for name, value in policy.shadow_prices.items() if abs(value) > 1e-12]
    more = "one percentage point" if unit == "share" else f"{step:g}"
    who = listed([who_text(policy, name, each_item=each_item) for name in binding[:3]])
    if each_item and len(binding) > 3:
        who = f"{len(binding):,} of the {len(policy.scores):,} items"
    return f"Relaxing delta by {more} buys {bought}; what binds is the exposure of {who}."


def gain_of_sorting(policy: Policy) -> float:
    """Utility of the sort by score minus that of a random order; it does not depend on the zero of the scores."""
    worth = policy.discount.vector(len(policy.scores))
    return float(np.sort(policy.scores)[::-1] @ worth - policy.scores.mean() * worth.sum()) or 1.0


def _other_delta(source: Loaded) -> float | None:
    if not st.toggle("Compare with another delta", key="policy-compare"):
        return None
    scale = delta_scale(source)
    shown = st.slider(
        "The other delta",
        0.0,
        scale.end,
        min(scale.end, scale.shown(2 * choices().delta)),
        step=scale.step,
        format=scale.format,
        key=f"policy-other-{scale.unit}",
    )
    return scale.delta(shown)


def _lotteries(source: Loaded, compared: list[tuple[str, Policy]]) -> None:
    for place, (title, policy) in enumerate(compared):
        with wide(f"lottery-{place}", lottery_room(policy)):
            chart(
                lottery(policy, source.data.group_names, each_item=source.data.each_item, by=source.ranked_by),
                f"The lottery at {title}",
                f"Each ranking of the lottery as a column of items, with its probability: {_spoken(policy)}.",
                table=policy.to_frame,
                name=f"lottery-{place}",
                note=lottery_cut(policy),
            )
        if place:
            st.caption(unbroken(f"At {title} it {kept_sentence(policy, by=source.ranked_by)}."))


def lottery_cut(policy: Policy) -> str:
    """What the chart of a lottery leaves out; nothing of a short one."""
    cut = []
    if len(policy.scores) > MOST_POSITIONS:
        cut.append(f"the top {MOST_POSITIONS} of {len(policy.scores):,} positions")
    if len(policy.probabilities) > MOST_RANKINGS:
        cut.append(f"the {MOST_RANKINGS} most probable of {len(policy.probabilities):,} rankings")
    return f"Drawn: {listed(cut)}. The table and the downloads have them all." if cut else ""


def _spoken(policy: Policy) -> str:
    drawn = policy.probabilities[most_probable(policy.probabilities, MOST_RANKINGS)]
    return ", ".join(percent(float(p)) for p in drawn)


def _exposure(source: Loaded, result: AuditResult, place: int, compared: list[tuple[str, Policy]]) -> None:
    table = result.table
    now = {name: float(table.exposure[place, k]) for k, name in enumerate(table.group_names) if table.present[place, k]}
    alone = table.each_item
    whose = "Exposure of each item" if alone else "Mean exposure of each group"
    cut = alone and len(now) > MOST_POSITIONS
    chart(
        exposure_in_bounds(compared, now, source.data.group_names, each_item=alone, by=source.ranked_by),
        "Exposure against its bounds",
        f"{whose}, sorted by {source.ranked_by} and under the policy, against the interval that delta allows.",
        table=lambda: pd.DataFrame(policy_bounds_rows(compared, now, each_item=alone)),
        note=f"Drawn: the {MOST_POSITIONS} items with the highest scores of {len(now):,}." if cut else "",
    )


def _heat(source: Loaded, policy: Policy) -> None:
    cut = len(policy.scores) > MOST_CELLS
    chart(
        heat_map(policy, source.data.group_names, each_item=source.data.each_item),
        "Who stands where, how often",
        "Heat map of the probability that each item stands at each position.",
        table=lambda: position_frame(policy, MOST_CELLS),
        note=f"The first {MOST_CELLS} of {len(policy.scores):,} items and positions." if cut else "",
    )


def _sampled(policy: Policy, fairness: Fairness) -> None:
    st.header("What readers see", anchor=False)
    impressions = st.select_slider("Impressions in a period", IMPRESSIONS, value=1, key="policy-impressions")
    delta = policy.relaxed or choices().delta
    sampled = sampled_violations(policy, fairness, impressions)
    beyond = sampled.beyond(delta)
    what = "A drawn ranking" if impressions == 1 else f"The mean over {impressions:,} drawn rankings"
    how = "computed exactly" if sampled.exact else f"from {PERIODS:,} simulated periods"
    chart(
        sampled_histogram(sampled.values, sampled.weights, sampled.expected, delta, fairness.unit),
        "What readers see",
        f"Histogram of the largest violation over {counted(impressions, 'impression', 'impressions')}.",
        headed=False,
        table=lambda: sampled_frame(sampled.values, sampled.weights, sampled.expected, delta),
        note=f"{what} exceeds delta in {percent(beyond)} of the cases ({how}). The guarantee is on the expectation: "
        "it is reached as the same query is shown again and again.",
    )


def _served(policy: Policy, fairness: Fairness) -> None:
    """Below the lottery and as wide as the page: beside it, a list of a dozen items would leave a hole."""
    if len(policy.probabilities) == 1:
        return
    delta = policy.relaxed or choices().delta
    frame = served_frame(policy, fairness, delta)
    early = frame.iloc[int(frame["impressions"].searchsorted(20))]
    off, beside = (violation_text(float(early[column]), fairness.unit) for column in ("schedule", "to"))
    promised = violation_text(float(early["bound"]), fairness.unit)
    chart(
        served_violations(frame, delta, fairness.unit),
        "A schedule instead of dice",
        f"Largest violation of what was shown, after 1 to {int(frame['impressions'].iloc[-1]):,} impressions: by a "
        "schedule, by independent draws, and the bound that the schedule never exceeds.",
        table=lambda: frame,
        note="Dice keep to the lottery in the long run only; a schedule shows each ranking as often as its "
        "probability says at any time, give or take less than one impression. After "
        f"{int(early['impressions'])} impressions it is off by {off}, and by its bound of {promised} at most; one in "
        f"twenty series of dice is off by more than {beside}. What the schedule adds to delta falls like 1 over the "
        "impressions, what chance adds like 1 over their square root.",
    )


def _drawn(policy: Policy, source: Loaded) -> None:
    if st.button("Draw a ranking", icon=":material/casino:"):
        st.session_state["draws"] = st.session_state.get("draws", 0) + 1
    draws = st.session_state.get("draws", 0)
    if not draws:
        return
    ranking = policy.sample(1, seed=draws)[0]
    st.caption(f"Draw number {draws}.")
    shown = {"position": np.arange(1, len(ranking) + 1), "item": [str(policy.item_ids[k]) for k in ranking]}
    if not source.data.each_item:
        styles = group_styles(source.data.group_names)
        shown["group"] = [
            f"{style_of(styles, name).glyph} {name_text(name or NO_GROUP_TEXT)}"
            for name in (policy.groups[k] for k in ranking)
        ]
    show_table(pd.DataFrame({**shown, "score": policy.scores[ranking]}), "The ranking that was drawn")


def _proof(policy: Policy, fairness: Fairness, source: Loaded) -> None:
    st.header("Proof and downloads", anchor=False)
    with st.container(horizontal=True):
        pressed = st.button(
            "Verify", icon=":material/verified:", help="Checks the policy from scratch, without the solver."
        )
        name = part_of_name(policy.query)
        downloads(
            Download(
                "Policy (CSV)",
                lambda: csv_bytes(policy.to_frame()),
                f"policy-{name}.csv",
                "text/csv",
                icon=":material/table:",
            ),
            Download(
                "Policy (JSON)",
                lambda: json_text(policy_document(policy, each_item=source.data.each_item)),
                f"policy-{name}.json",
                "application/json",
                icon=":material/data_object:",
            ),
            Download(
                "Certificate (JSON)",
                lambda: json_text(policy.certificate),
                f"certificate-{name}.json",
                "application/json",
                icon=":material/workspace_premium:",
            ),
        )
    command = command_lines(source, choices())
    if command:
        shell = st.expander("Check a download in a shell", key="policy-shell", on_change="rerun")
        relaxed = policy.relaxed is not None or policy.lifted is not None
        line = check_of(command, f"policy-{name}.csv", relaxed) if shell.open else None
        if line:
            shell.caption(f"Any of the three files. {source.where}".strip())
            shell.code(line, language="bash", wrap_lines=True)
        elif shell.open:
            shell.caption("No line of shell reads these queries alone.")
    if pressed:
        with st.spinner("Checking the policy without the solver"):
            found = verify(policy, policy.scores, policy.groups, fairness, allow_relaxed=True, missing="keep")
        _verified(found)


def _verified(found: Verification) -> None:
    if found.passed:
        st.success(f"Verified without the solver. {markdown(found.sentence, 1000)}", icon=":material/verified:")
    else:
        st.error("The check failed. " + markdown(" ".join(found.reasons), 1000), icon=":material/error:")


def json_text(content: Any) -> str:
    """JSON to be read by people, too."""
    return json.dumps(content, indent=2, ensure_ascii=False)
