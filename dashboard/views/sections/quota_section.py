"""Every list that is drawn, for one query: how many of each group stand among its first places, and at what price."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.charts.drawing import By
from dashboard.charts.quota_charts import MOST_LINES, MOST_PANELS, MOST_PLACES, counts_in_prefixes, panel_groups
from dashboard.escaping import markdown
from dashboard.session.sources import Loaded
from dashboard.widgets.elements import chart
from spofr_core.errors import InfeasibleFairness
from spofr_core.fairness import Fairness, Quota, format_delta
from spofr_core.policy import Policy, prepare
from spofr_core.reporting import counted, delta_text, listed, name_text, named, outside_limits, percent, prefix_frame

TITLE = "Every list that is drawn"


def quota_section(source: Loaded, policy: Policy, alone: Policy) -> None:
    """The chart and what it costs; nothing without a quota, or where a list has none.

    Parameters
    ----------
    policy, alone : Policy
        With the quota, and with delta alone.
    """
    quota = policy.fairness.every_ranking
    if quota is None or policy.lifted is not None:
        return
    frame = prefix_frame(policy, quota)
    if frame is None:
        return
    st.header(TITLE, anchor=False)
    kept = kept_sentence(policy, alone, by=source.ranked_by)
    st.markdown(markdown(f"{quota.definition} {kept} {price_of_quota(policy, alone)}", 2000))
    groups = panel_groups(frame)
    chart(
        counts_in_prefixes(frame, policy.probabilities.tolist(), deepest(quota, policy), source.data.group_names),
        TITLE,
        f"For {listed([name_text(name) for name in groups])}: how many stand among the first k positions in each "
        "ranking of the lottery and in the plain sort, against how many are allowed.",
        table=lambda: frame,
        headed=False,
        name="quota",
        note=_left_out(policy, quota, frame),
    )


def deepest(quota: Quota, policy: Policy) -> int:
    """The longest prefix of a list that a quota limits."""
    n = len(policy.groups)
    depths = [] if quota.slack is None else [n if quota.top is None else quota.top]
    depths += [depth for wanted in (quota.minimum or {}).values() for depth in wanted]
    return min(max(depths), n)


def kept_sentence(policy: Policy, alone: Policy, *, by: By = "score") -> str:
    """What the sort by score and delta alone would show, of what the quota forbids."""
    quota = policy.fairness.every_ranking
    frame = None if quota is None else prefix_frame(policy, quota)
    if quota is None or frame is None:
        return ""
    broken = outside_limits(frame, "plain sort")
    said = f"Sorted by {by}, the list keeps this"
    if len(broken):
        row = broken.iloc[0]
        count, allowed = int(row["plain sort"]), _span(int(row["at least"]), int(row["at most"]))
        said = (
            f"Sorted by {by}, {count or 'none'} of {named(row['group'])} {'is' if count < 2 else 'are'} among the "
            f"first {int(row['first'])}, and {allowed} allowed"
        )
    return f"{said}; of the lists that delta alone would draw, {_share_text(share_outside(alone, quota))}."


def _span(low: int, high: int) -> str:
    return f"{low} is" if low == high else f"{low} to {high} are"


def _share_text(share: float) -> str:
    return "none breaks it" if share <= 0 else "all break it" if share > 1 - 1e-9 else f"{percent(share)} break it"


def share_outside(policy: Policy, quota: Quota) -> float:
    """Probability that a ranking of the lottery breaks a quota."""
    frame = prefix_frame(policy, quota)
    if frame is None:
        return 0.0
    chances = policy.probabilities
    broken = [len(outside_limits(frame, f"ranking {number}")) > 0 for number in range(1, len(chances) + 1)]
    return float(chances[broken].sum())


def price_of_quota(policy: Policy, alone: Policy) -> str:
    """What the quota costs beside delta."""
    lost = alone.utility - policy.utility
    scale = alone.utility if policy.scores.min() >= 0 else _gain_of_sorting(policy)
    of = "the utility that delta alone allows" if policy.scores.min() >= 0 else "what sorting gains over a random order"
    if lost <= 1e-9 * abs(scale) or scale <= 0:
        return "That costs nothing beside delta: the policy has all of the utility that delta alone allows."
    if policy.scores.min() >= 0:
        return f"The policy keeps {kept_text(1 - lost / scale)} of {of}."
    return f"Beside delta it costs {percent(lost / scale, 2)} of {of}."


def kept_text(share: float) -> str:
    """A share just below 1 with as many digits as show that something is missing."""
    for digits in (1, 2, 3, 4):
        if round(100 * share, digits) < 100:
            return percent(share, digits)
    return "all but a hair"


def _gain_of_sorting(policy: Policy) -> float:
    worth = policy.discount.vector(len(policy.scores))
    return float(np.sort(policy.scores)[::-1] @ worth - policy.scores.mean() * worth.sum())


def _left_out(policy: Policy, quota: Quota, frame: pd.DataFrame) -> str:
    cut = []
    if deepest(quota, policy) > MOST_PLACES:
        cut.append(f"the first {MOST_PLACES} of {deepest(quota, policy):,} positions")
    if len(policy.probabilities) > MOST_LINES:
        cut.append(f"the {MOST_LINES} most probable of {len(policy.probabilities):,} rankings")
    groups = frame["group"].nunique()
    if groups > MOST_PANELS:
        cut.append(f"the {MOST_PANELS} of {groups} groups that sorting by score puts outside most often")
    drawn = f" Drawn: {listed(cut)}. The table has them all." if cut else ""
    return f"Shaded: allowed. Rankings that agree are drawn a little apart.{drawn}"


def impossible_sentence(policy: Policy, fairness: Fairness) -> str:
    """Why the list does not have what was asked for, what it has instead, and what would do; "" where it has it all."""
    quota = fairness.every_ranking
    if quota is None:
        return ""
    if policy.lifted is not None:
        return (
            f"No ranking of this query can meet what is asked of every list that is drawn in its first "
            f"{counted(policy.lifted, 'place', 'places')}: {_why(policy, quota)}. The policy below holds delta alone."
        )
    if policy.relaxed is None or not _in_the_way(policy, fairness):
        return ""
    unit, slack = fairness.unit, _refusal(policy, fairness).min_slack
    more = "" if slack is None else f" Give or take {slack}, delta as asked would do."
    return (
        f"With this asked of every list, this query cannot hold {delta_text(fairness.delta, unit)}: the smallest that "
        f"it can hold is {format_delta(policy.relaxed, unit, 3)}, and that is what the policy below holds.{more}"
    )


def _in_the_way(policy: Policy, fairness: Fairness) -> bool:
    """Whether it is the quota that keeps a relaxed list from a smaller delta."""
    alone = _refusal(policy, fairness.with_quota(None))
    return alone.min_delta is None or policy.relaxed is None or alone.min_delta < policy.relaxed - 1e-9


def _refusal(policy: Policy, fairness: Fairness) -> InfeasibleFairness:
    """Why the list cannot hold what is asked; without a word where it can."""
    try:
        prepare(policy.groups, [0, len(policy.groups)], fairness, missing="keep")
    except InfeasibleFairness as error:
        return error
    return InfeasibleFairness("", query=policy.query)


def _why(policy: Policy, quota: Quota) -> str:
    """What stands in the way of a quota that no ranking meets, and what would do instead."""
    sizes = Counter(policy.groups)
    for name, depths in (quota.minimum or {}).items():
        most = max(depths.values())
        if name in sizes and most > sizes[name]:
            return f"it has only {sizes[name]} of {named(name)}; ask for no more than that"
    if quota.slack is not None and _possible(policy, quota, len(policy.groups)):
        slack = bisect_left(range(len(policy.groups)), True, key=lambda slack: _possible(policy, quota, slack))
        return f"the minimum and the shares contradict each other; give or take {slack} would do"
    return "the minima ask for more than these places hold; ask for less, or further down"


def _possible(policy: Policy, quota: Quota, slack: int) -> bool:
    anyhow = policy.fairness.with_quota(None)
    lists = prepare(policy.groups, [0, len(policy.groups)], anyhow, on_infeasible="relax", missing="keep")
    composition = lists.terms.composition
    known = {name: depths for name, depths in (quota.minimum or {}).items() if name in composition.group_names}
    return not Quota(slack=slack, top=quota.top, minimum=known or None).windows(composition).impossible[0]
