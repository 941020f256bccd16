"""What many trained models say, in a sentence."""

from __future__ import annotations

import pandas as pd

from spofr_core.evaluation import best_at_violation
from spofr_core.reporting import METHOD_NAMES, counted, number, percent

BASELINES = ("unfair", "uniform")
"""Ends of every chart, not rivals: the plain sort, and the random ranking."""


def matched(frame: pd.DataFrame, level: float) -> tuple[str, str]:
    """Methods at the same violation: a headline, and the others. `frame` holds the runs of one setting."""
    found = best_at_violation(frame[~frame["method"].isin(BASELINES)], (level,))
    there = found[found["dcg"].notna()].sort_values("dcg", ascending=False)
    missing = _names(found.loc[found["dcg"].isna(), "method"])
    if there.empty:
        return f"No model has a mean violation of {number(level)} or less", ""
    best = there.iloc[0]
    head = f"{_name(best['method'], start=True)} has the highest DCG at a mean violation of {number(level)} or less"
    told = [f"{_name(row['method'])} {number(row['dcg'], 4)}" for row in there.to_dict("records")]
    rest = f"Best setting of each method, mean over {counted(int(best['n']), 'seed', 'seeds')}: {', '.join(told)}."
    if len(there) > 1:
        rest += " Differences smaller than the bands over seeds below are no finding."
    if missing:
        rest += f" {listed(missing, start=True)} {'do' if len(missing) > 1 else 'does'} not get there."
    return head, rest


def promised(frame: pd.DataFrame, delta: float, level: float) -> str:
    """Who has a model that holds delta on this share of the test queries, from a guarantee frame of one setting.

    A model that qualified on validation and misses the share on test is told apart from having none.
    """
    at = frame[(frame["delta"] == delta) & (frame["level"] == level) & ~frame["method"].isin(BASELINES)]
    held = at["holds"].fillna(value=False).astype(bool)
    yes, no = _names(at.loc[held, "method"]), _names(at.loc[at["dcg"].isna(), "method"])
    missed = _names(at.loc[~held & at["dcg"].notna(), "method"])
    where = "every query" if level >= 1 else f"{percent(level, 0)} of the queries"
    if yes:
        verb = "have" if len(yes) > 1 else "has"
        parts = [f"{listed(yes, start=True)} {verb} a model that holds delta = {delta:g} on {where}"]
    else:
        parts = [f"No model holds delta = {delta:g} on {where}"]
    parts += [f"{listed(missed)} {'do' if len(missed) > 1 else 'does'} so on validation only"] if missed else []
    parts += [f"no {listed(no, word='or')} model does"] if no and yes else []
    return "; ".join(parts)


def empty_slots(frame: pd.DataFrame) -> list[str]:
    """Why bars are missing: a sentence for each method and level, with the deltas that it does not reach."""
    found = []
    missing = frame[frame["dcg"].isna()]
    order = {method: place for place, method in enumerate(METHOD_NAMES)}
    slots = missing[["method", "level"]].drop_duplicates().itertuples(index=False, name=None)
    for method, level in sorted(slots, key=lambda slot: (order.get(slot[0], 99), slot[1])):
        part = missing[(missing["method"] == method) & (missing["level"] == level)]
        deltas = sorted(part["delta"])
        at = f"delta = {deltas[0]:g}" if len(deltas) == 1 else f"delta = {', '.join(f'{d:g}' for d in deltas)}"
        of = int(part["models"].max())
        found.append(f"No {_name(method)} model of {of} reaches {percent(level, 0)} of the queries at {at}.")
    return found


def listed(names: list[str], *, word: str = "and", start: bool = False) -> str:
    """Names as a list in a sentence."""
    text = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
    return text[:1].upper() + text[1:] if start else text


def _names(methods: pd.Series) -> list[str]:
    """Names of these methods in the order of every chart."""
    return [_name(method) for method in METHOD_NAMES if method in set(methods)]


def _name(method: str, *, start: bool = False) -> str:
    name = METHOD_NAMES.get(method, method).replace("predict, then optimise", "predict-then-optimise")
    return name[:1].upper() + name[1:] if start else name
