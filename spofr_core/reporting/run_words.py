"""What many trained models say, in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from spofr_core.fairness import Unit, format_delta
from spofr_core.learning import METHODS, Method
from spofr_core.reporting.series import in_order, is_baseline, method_title
from spofr_core.reporting.wording.phrases import counted, listed, number, percent


def matched(best: pd.DataFrame, lead: pd.DataFrame, level: float) -> tuple[str, str]:
    """Methods at the same violation: a headline, and the numbers behind it.

    A method is called the highest only where it is so against each of the others, beyond what seeds do.

    Parameters
    ----------
    best : DataFrame
        Of `best_at_violation` at this level, for the rivals of one setting.
    lead : DataFrame
        Of `lead_at_violation` at this level, for the same runs.
    level : float
        The mean violation that all of them stay within.
    """
    there = best[best["dcg"].notna()].sort_values("dcg", ascending=False, kind="stable")
    where = f"a mean violation of {format_delta(level, _unit(best), 3)} or less"
    if there.empty:
        return f"No model has {where}", ""
    each = [
        f"{method_title(row['method'])} {number(row['dcg'], 4)} ({counted(int(row['n']), 'seed', 'seeds')})"
        for row in there.to_dict("records")
    ]
    missing = _names(best.loc[best["dcg"].isna(), "method"])
    not_there = (
        f" {listed(missing, start=True)} {'do' if len(missing) > 1 else 'does'} not get there." if missing else ""
    )
    first = listed([method_title(there["method"].iloc[0])], start=True)
    if len(there) == 1:
        head = f"Only {first} gets to {where}" if missing else f"{first} is the only method in these runs"
        return head, f"Mean DCG of its best setting at {where}: {each[0]}.{not_there}"
    unclear = [row["rival"] for row in lead.to_dict("records") if row["sign"] != "+"]
    if unclear:
        tied = listed([method_title(method) for method in (there["method"].iloc[0], *unclear)])
        head = f"No difference that these runs can show between {tied} at {where}"
    else:
        head = f"{first} has the highest DCG at {where}"
    leader = method_title(there["method"].iloc[0])
    rivals = [(method_title(row["rival"]), difference_text(row)) for row in lead.to_dict("records")]
    differences = [f"{leader} minus {rival} {text}" for rival, text in rivals]
    told = "; ".join(differences)
    rest = f"Mean DCG of each method's best setting there: {', '.join(each)}. {told[:1].upper()}{told[1:]}.{not_there}"
    if "?" in set(lead["sign"]):
        rest += " A difference is told from three seeds in common on."
    return head, rest


def difference_text(pairs: Mapping[Any, Any] | pd.Series) -> str:
    """A row of `paired_difference`, such as "+0.342 (95 % interval +0.297 to +0.387, 12 seeds)"."""
    if not pairs["n"]:
        return "cannot be told: no seed in common"
    if np.isnan(pairs["lower"]):
        return f"{pairs['difference']:+z.3f} (one seed)"
    low, high = pairs["lower"], pairs["upper"]
    return f"{pairs['difference']:+z.3f} (95 % interval {low:+z.3f} to {high:+z.3f}, {int(pairs['n'])} seeds)"


def promised(frame: pd.DataFrame, delta: float, level: float) -> str:
    """Who has a model that holds delta on this share of the test queries, from a guarantee frame of one setting.

    A model that qualified on validation and misses the share on test is told apart from having none.
    """
    at = frame[(frame["delta"] == delta) & (frame["level"] == level) & ~frame["method"].map(is_baseline)]
    held = at["holds"].fillna(value=False).astype(bool)
    yes, no = _names(at.loc[held, "method"]), _names(at.loc[at["dcg"].isna(), "method"])
    missed = _names(at.loc[~held & at["dcg"].notna(), "method"])
    where = "every query" if level >= 1 else f"{percent(level, 0)} of the queries"
    asked = f"delta = {format_delta(delta, _unit(frame), 3)}"
    if yes:
        verb = "each have" if len(yes) > 1 else "has"
        parts = [f"{listed(yes, start=True)} {verb} a model that holds {asked} on {where}"]
    else:
        parts = [f"No model holds {asked} on {where}"]
    parts += [f"{listed(missed)} {'do' if len(missed) > 1 else 'does'} so on validation only"] if missed else []
    parts += [f"no {listed(no, word='or')} model does"] if no and yes else []
    return "; ".join(parts)


def empty_slots(frame: pd.DataFrame) -> list[str]:
    """Why bars are missing: a sentence for each method and level, with the deltas that it does not reach."""
    sentences = []
    missing = frame[frame["dcg"].isna()]
    for method in in_order(missing["method"]):
        mine = missing[missing["method"] == method]
        for level in sorted(mine["level"].unique()):
            part = mine[mine["level"] == level]
            deltas = ", ".join(format_delta(delta, _unit(frame)) for delta in sorted(part["delta"]))
            of = int(part["models"].max())
            share = percent(level, 0)
            name = method_title(method)
            sentences.append(f"No {name} model of {of} reaches {share} of the queries at delta = {deltas}.")
    return sentences


def names_of_methods(wanted: Callable[[Method], bool]) -> list[str]:
    """The registered methods of which something is true, as a sentence names them."""
    return [method_title(method.name) for method in METHODS.values() if wanted(method)]


def _unit(frame: pd.DataFrame) -> Unit:
    """The unit of the violations of one setting."""
    return next(iter(frame["unit"]), "absolute")


def _names(methods: Iterable[object]) -> list[str]:
    """Names of these methods in the order of every chart."""
    return [method_title(method) for method in in_order(methods)]
