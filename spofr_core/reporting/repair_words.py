"""What a repair changes and what it costs, in sentences: the same ones in the shell, on the page and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spofr_core.reporting.wording.phrases import counted, delta_text, number, percent, start_sentence
from spofr_core.reporting.wording.unknown_words import none_or, surely_broken, undecided


def repair_sentence(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    relaxed: int,
    *,
    quota: Mapping[str, Any] | None = None,
    calibrated: bool = False,
    ranks: bool = False,
) -> str:
    """What an exact fair re-ranking of the same scores, or of the same ranks, changes.

    Parameters
    ----------
    before, after : mapping
        `AuditResult.summary` of the present ranking and of its repair.
    relaxed : int
        Queries that cannot hold delta.
    quota : mapping, optional
        `Repair.summary["quota"]`, to say what the quota costs.
    calibrated : bool
        Whether it ranks by relevance estimated from the scores, in place of the scores.
    ranks : bool
        Whether there are ranks and no scores: `Repair.ranks`.
    """
    broken = before["quota"] is not None and before["quota"]["queries"]["broken"]
    source = "ranks" if ranks else "scores"
    by = f"by relevance estimated from the {source}" if calibrated else f"from the same {source}"
    told = _delta_repaired(before, after, relaxed, bool(broken), by)
    return told if quota is None else f"{told} {_quota_repaired(after, quota)}"


def _quota_repaired(after: Mapping[str, Any], quota: Mapping[str, Any]) -> str:
    """What is left of the quota's breaches, and its price."""
    left, price = after["quota"]["queries"]["broken"], quota["price"]
    if left:
        return f"In {counted(left, 'query', 'queries')} some ranking that can be drawn still breaks the quota."
    within = "Every ranking that can be drawn is within the quota."
    lifted = after["quota"]["impossible"]
    if lifted:
        who = counted(lifted, "query", "queries")
        within = f"Every ranking that can be drawn is within the quota, except in {who} of which none could be."
    if price["share"] is None:
        return f"{within} It costs {number(price['mean'])} of utility beyond what delta costs."
    if price["share"] < 1e-9:
        return f"{within} It costs nothing beyond delta."
    return f"{within} It costs {_price(price['share'])} of the utility beyond what delta costs."


def _price(share: float) -> str:
    return percent(share, 2) if share >= 1e-4 else "less than 0.01 %"


def _delta_repaired(
    before: Mapping[str, Any], after: Mapping[str, Any], relaxed: int, quota_broken: bool, by: str
) -> str:
    queries, delta = after["queries"], delta_text(before["delta"], before["unit"])
    if not queries["judged"]:
        why = "this delta forbids nothing here" if queries["applicable"] else "there is nothing to judge"
        return f"{start_sentence(why)}." if quota_broken else f"Nothing has to change: {why}."
    if before["queries"]["fair"] == before["queries"]["judged"]:
        every = "the query holds" if queries["judged"] == 1 else "every judged query holds"
        return (
            f"{start_sentence(every)} {delta} as it is."
            if quota_broken
            else (f"Nothing has to change: {every} {delta} as it is.")
        )
    held = f"{queries['fair']:,} of {counted(queries['judged'], 'query holds', 'queries hold')} {delta}"
    sentence = f"Re-ranked exactly {by}, {held}"
    if "unknown" in after:
        broken, depend = (
            none_or(surely_broken(after), "breaks", "break"),
            none_or(undecided(after), "depends", "depend"),
        )
        sentence += f" whatever the unknown groups are, {broken} it and {depend} on them"
    utility, repaired = before["utility"], after["utility"]
    if utility and utility["dcg"]:
        change = 100 * (repaired["dcg"] / utility["dcg"] - 1)
        said = f"{change:+.1f} %" if abs(change) >= 0.05 else "less than 0.1 % of a change"
        sentence += f"; DCG goes from {number(utility['dcg'], 4)} to {number(repaired['dcg'], 4)} ({said})"
    if relaxed:
        sentence += f"; {counted(relaxed, 'query', 'queries')} cannot hold it and got the least that they can"
    return sentence + "."
