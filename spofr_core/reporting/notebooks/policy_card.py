"""A policy in a notebook: the rankings that it draws from, what groups get, and how far it can be from optimal."""

from __future__ import annotations

import math

from spofr_core.fairness import format_delta
from spofr_core.policy import Policy, gap_text, most_probable
from spofr_core.reporting.notebooks.card import Card, CardTable, Items, cut_table
from spofr_core.reporting.palette import GroupStyle, group_styles, style_of
from spofr_core.reporting.report_sections import GroupCell
from spofr_core.reporting.wording.phrases import (
    counted,
    direction_text,
    name_text,
    number,
    off_text,
    percent,
    shortened,
    violation_text,
)

MOST_RANKINGS = 8
MOST_POSITIONS = 10
LONGEST_ITEM = 18


def policy_card(policy: Policy) -> str:
    """The card of a `Policy`."""
    items, rankings = policy.rankings.shape[1], len(policy.probabilities)
    styles = group_styles(list(policy.group_exposure))
    return Card(
        kind=f"Policy of query {name_text(policy.query)}",
        headline=f"A lottery over {counted(rankings, 'ranking', 'rankings')} of {counted(items, 'item', 'items')}",
        details=[_violation(policy), _certificate(policy)],
        tables=[_lottery(policy, styles), _groups(policy, styles)],
        notes=policy.notes,
    ).html()


def _violation(policy: Policy) -> str:
    unit = policy.fairness.unit
    if len(policy.violations) < 2:
        return "All items are of a single group: there is nobody to be fair between."
    group, worst = max(policy.violations.items(), key=lambda pair: abs(pair[1]))
    delta = format_delta(policy.deltas[group], unit)
    relaxed = "" if policy.relaxed is None else ", the smallest that this list can hold"
    if abs(worst) < 1e-9:
        return f"No group gets too much or too little; delta is {delta}{relaxed}."
    return f"Largest violation: {direction_text(group, worst, unit)}; delta is {delta}{relaxed}."


def _certificate(policy: Policy) -> str:
    utility = f"Utility {number(policy.utility, 4)}"
    if math.isnan(policy.gap):
        return f"{utility}. Nothing is known about how far that is from optimal: the policy came without multipliers."
    return f"{utility}. The certificate proves that its gap to the optimum is {gap_text(policy.gap)}."


def _lottery(policy: Policy, styles: dict[str, GroupStyle]) -> CardTable:
    groups, names = policy.groups, policy.item_ids
    hidden = policy.rankings.shape[1] - MOST_POSITIONS
    more = f"and {hidden:,} more" if hidden > 0 else ""
    rows = []
    for place in most_probable(policy.probabilities, MOST_RANKINGS):
        first = policy.rankings[place, :MOST_POSITIONS].tolist()
        cells = [
            GroupCell(shortened(names[item], LONGEST_ITEM), look.glyph, look.colour)
            for item in first
            for look in [style_of(styles, groups[item])]
        ]
        rows.append((f"{place + 1}", percent(float(policy.probabilities[place])), Items(cells, more)))
    head = ("Ranking", "Probability", "From the top down")
    return cut_table(head, rows, many="rankings", title="The lottery", left=3, total=len(policy.probabilities))


def _groups(policy: Policy, styles: dict[str, GroupStyle]) -> CardTable:
    unit, names = policy.fairness.unit, policy.groups
    loudest = sorted(policy.violations, key=lambda name: -abs(policy.violations[name]))
    rows = [
        (
            GroupCell(shortened(name), styles[name].glyph, styles[name].colour),
            f"{names.count(name):,}",
            number(policy.group_exposure[name]),
            _bounds(policy.bounds[name]),
            off_text(policy.violations[name], unit),
            violation_text(policy.deltas[name], unit),
        )
        for name in loudest
    ]
    head = ("Group", "Items", "Mean exposure", "Allowed", "Violation", "delta")
    return cut_table(head, rows, many="groups, less far off", title="What groups get")


def _bounds(bounds: tuple[float, float]) -> str:
    low, high = bounds
    return "-" if math.isinf(low) and math.isinf(high) else f"{number(low)} to {number(high)}"
