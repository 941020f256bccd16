"""Grid search: every trained model as a point, and which of them are worth having."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.evaluation.seeds import paired_difference, sign_of
from spofr_core.evaluation.tradeoffs import SETTING, done
from spofr_core.fairness import TOLERANCE

FloatArray = NDArray[np.float64]
LEVELS_OF_VIOLATION = (0.005, 0.01, 0.02, 0.03, 0.05)


def dominated(violation: FloatArray, utility: FloatArray) -> NDArray[np.bool_]:
    """Whether another point has at most the violation and at least the utility, and is better in one of them.

    Violations that differ by floating point only count as equal.
    """
    steps = np.round(violation / TOLERANCE)
    order = np.lexsort((-utility, steps))
    found = np.zeros(len(steps), dtype=np.bool_)
    best, best_before = -np.inf, -np.inf
    last = np.nan
    for place in order:
        if steps[place] != last:
            best_before, last = best, steps[place]
        # Better utility at the same violation, or as much utility at a smaller one.
        found[place] = utility[place] < best or utility[place] <= best_before
        best = max(best, utility[place])
    return found


def grid_search(results: pd.DataFrame) -> pd.DataFrame:
    """One point per trained model: x = mean test violation achieved, y = mean test DCG.

    The violation of a query is max_g abs(violation_g), the same for all methods; the mean is over applicable queries. A
    model is dominated if another of the same setting has at most its violation and at least its DCG, and is better in
    one of them; the others are the Pareto front. `dominated_in_method` compares with models of the same method only.

    Returns
    -------
    DataFrame
        run, dataset, notion, groups, clicks, method, delta, penalty, seed, violation_mean, violation_signed_mean,
        violation_max, dcg, ideal_dcg, dominated, dominated_in_method.
    """
    columns = ["run", *SETTING, "method", "delta", "penalty", "seed"]
    columns += ["violation_mean", "violation_signed_mean", "violation_max", "dcg", "ideal_dcg"]
    points = done(results)[columns].dropna(subset=["violation_mean", "dcg"]).reset_index(drop=True)
    for name, keys in (("dominated", [*SETTING]), ("dominated_in_method", [*SETTING, "method"])):
        flags = np.zeros(len(points), dtype=np.bool_)
        for places in points.groupby(keys, dropna=False, observed=True).indices.values():
            part = points.iloc[places]
            flags[places] = dominated(part["violation_mean"].to_numpy(), part["dcg"].to_numpy())
        points[name] = flags
    return points


def best_at_violation(results: pd.DataFrame, levels: Sequence[float] = LEVELS_OF_VIOLATION) -> pd.DataFrame:
    """Methods at matched violation: the best mean DCG among configurations whose mean violation is at most the level.

    A configuration is a delta or a penalty; its DCG and violation are means over its seeds, so that no lucky seed is
    picked. Missing where no configuration gets there.

    Returns
    -------
    DataFrame
        dataset, notion, groups, clicks, method, level, dcg, violation_mean, delta, penalty, n.
    """
    keys = [*SETTING, "method", "delta", "penalty"]
    grouped = done(results).groupby(keys, dropna=False, observed=True)
    means = grouped[["dcg", "violation_mean"]].mean().assign(n=grouped.size()).reset_index()
    rows = []
    for key, part in means.groupby([*SETTING, "method"], dropna=False, observed=True):
        for level in levels:
            within = part[part["violation_mean"] <= level + TOLERANCE]
            row = dict(zip([*SETTING, "method"], key, strict=True)) | {"level": level}
            if len(within):
                best = within.iloc[int(np.argmax(within["dcg"].to_numpy()))]
                row |= {name: best[name] for name in ("dcg", "violation_mean", "delta", "penalty", "n")}
            rows.append(row)
    names = [*SETTING, "method", "level", "dcg", "violation_mean", "delta", "penalty", "n"]
    return pd.DataFrame(rows, columns=names)


def lead_at_violation(results: pd.DataFrame, level: float, *, ahead: str | None = None) -> pd.DataFrame:
    """The method that is ahead at a mean violation of at most `level`, against each of the others, seed by seed.

    Each method stands there with its setting of `best_at_violation`; the one with the highest mean DCG is ahead, unless
    `ahead` names another. A lead is a finding only where the interval of the paired difference excludes 0 (`sign_of`):
    `sign` is then "+".

    Returns
    -------
    DataFrame
        dataset, notion, groups, clicks, method, rival, n (seeds in common), difference, lower, upper (Student, 95 %),
        sign; no rows where fewer than two methods get there.
    """
    rows = []
    for key, runs in done(results).groupby([*SETTING], dropna=False, observed=True):
        best = best_at_violation(runs, (level,)).dropna(subset=["dcg"])
        ordered = best.sort_values("dcg", ascending=False, kind="stable")
        taken = [runs[_is(runs, row, ("method", "delta", "penalty"))] for row in ordered.to_dict("records")]
        first = ahead or next(iter(ordered["method"]), "")
        for rival in ordered.loc[ordered["method"] != first, "method"]:
            found = paired_difference(pd.concat(taken), SETTING, "dcg", between="method", first=first, second=rival)
            none = {"n": 0, "difference": np.nan, "lower": np.nan, "upper": np.nan}
            pairs: dict[Any, Any] = found.iloc[0].to_dict() if len(found) else none
            setting = dict(zip(SETTING, key, strict=True))
            rows.append({**pairs, **setting, "method": first, "rival": rival, "sign": sign_of(pairs)})
    names = [*SETTING, "method", "rival", "n", "difference", "lower", "upper", "sign"]
    return pd.DataFrame(rows, columns=names)


def _is(runs: pd.DataFrame, row: Mapping[Any, Any], names: Sequence[str]) -> NDArray[np.bool_]:
    """Which runs have the values of this row; a missing one is like a missing one."""
    alike = [runs[name].isna() if pd.isna(row[name]) else runs[name] == row[name] for name in names]
    return np.asarray(np.all([column.to_numpy(dtype=np.bool_) for column in alike], axis=0))
