"""Query-level guarantees: which model to take for a delta when so many of the queries must hold it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.errors import ConfigError
from spofr_core.evaluation.seeds import mean_interval
from spofr_core.evaluation.tradeoffs import SETTING, done
from spofr_core.fairness import TOLERANCE

FloatArray = NDArray[np.float64]

LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
GUARANTEE_DELTAS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)


@dataclass(frozen=True, eq=False)
class RunShares:
    """For each run: the share of applicable queries that hold each delta, the mean DCG, and half of the Student
    interval (95 %) of that mean over the queries."""

    runs: tuple[str, ...]
    deltas: FloatArray
    share: FloatArray
    dcg: FloatArray
    half: FloatArray


def run_shares(queries: pd.DataFrame, deltas: Sequence[float]) -> RunShares:
    """Shares and utilities from per-query results with the columns run, violation, dcg, applicable.

    share[r, d] = share of the applicable queries of run r with violation <= deltas[d]; NaN without one. Each run is
    sorted once, whatever the number of deltas.
    """
    wanted = np.asarray(deltas, dtype=np.float64)
    names = queries["run"].astype("category").cat
    codes, runs = names.codes.to_numpy(), tuple(str(name) for name in names.categories)
    order = np.argsort(codes, kind="stable") if np.any(np.diff(codes) < 0) else slice(None)
    bounds = np.searchsorted(codes[order], np.arange(len(runs) + 1))
    violation = queries["violation"].to_numpy(dtype=np.float64)[order]
    dcg = queries["dcg"].to_numpy(dtype=np.float64)[order]
    applicable = queries["applicable"].to_numpy(dtype=np.bool_)[order]
    share = np.full((len(runs), len(wanted)), np.nan)
    mean, half = np.full((2, len(runs)), np.nan)
    for r in range(len(runs)):
        part = slice(int(bounds[r]), int(bounds[r + 1]))
        if part.stop > part.start:
            mean[r], _, upper = mean_interval(dcg[part])
            half[r] = upper - mean[r]
        ordered = np.sort(violation[part][applicable[part]])
        if len(ordered):
            share[r] = np.searchsorted(ordered, wanted + TOLERANCE, side="right") / len(ordered)
    return RunShares(runs, wanted, share, mean, half)


def guarantees(
    results: pd.DataFrame,
    test: pd.DataFrame,
    validation: pd.DataFrame | None = None,
    *,
    deltas: Sequence[float] = GUARANTEE_DELTAS,
    levels: Sequence[float] = LEVELS,
    select: Literal["validation", "test"] = "validation",
) -> pd.DataFrame:
    """For each method, delta and confidence level: the utility of the model to take, if there is one.

    A model qualifies if the share of applicable queries whose violation max_g abs(violation_g) is at most delta reaches
    the level. Among those that qualify, the one with the greatest mean DCG is taken. All trained models of a method
    compete, whatever delta or penalty they were trained with.

    Parameters
    ----------
    results : DataFrame
        Runs, with the columns of `results.parquet`.
    test, validation : DataFrame
        Per-query results of these runs: run, violation, dcg, applicable.
    deltas, levels : sequences of float
    select : {"validation", "test"}
        On which part models qualify and are chosen. "validation" is honest: the numbers are then those of the test
        part, where the level may be missed (`holds`). "test" chooses on what it reports, as the SPOFR paper does.

    Returns
    -------
    DataFrame
        dataset, notion, groups, clicks, method, delta, level, models, qualified, run, dcg with its interval over
        the test queries (dcg_lower, dcg_upper; Student, 95 %), share, holds, explanation. Where no model qualifies,
        run, dcg, its interval, share and holds are missing and `explanation` says how far the method got.
    """
    if select == "validation" and validation is None:
        raise ConfigError("Models are to be chosen on validation, but there are no per-query results of that part.")
    reported = run_shares(test, deltas)
    chosen_on = reported if select == "test" or validation is None else run_shares(validation, deltas)
    place_test, place = ({name: r for r, name in enumerate(table.runs)} for table in (reported, chosen_on))
    runs = done(results)
    runs = runs[runs["run"].isin(place_test.keys() & place.keys())]
    rows: list[dict[str, Any]] = []
    for key, part in runs.groupby([*SETTING, "method"], dropna=False, observed=True, sort=True):
        setting = dict(zip([*SETTING, "method"], key, strict=True))
        names = part["run"].tolist()
        on = np.array([place[name] for name in names])
        at = np.array([place_test[name] for name in names])
        for d, delta in enumerate(deltas):
            for level in levels:
                taken = _take(chosen_on.share[on, d], chosen_on.dcg[on], level)
                row = {**setting, "delta": delta, "level": level, "models": len(names), "qualified": taken.qualified}
                if taken.best is None:
                    row["explanation"] = _explain(str(setting["method"]), len(names), delta, level, taken.furthest)
                else:
                    share = reported.share[at[taken.best], d]
                    dcg, half = reported.dcg[at[taken.best]], reported.half[at[taken.best]]
                    row |= {"run": names[taken.best], "dcg": dcg, "dcg_lower": dcg - half, "dcg_upper": dcg + half}
                    row["share"] = share
                    row |= {"holds": bool(share >= level - TOLERANCE), "explanation": ""}
                rows.append(row)
    names = [*SETTING, "method", "delta", "level", "models", "qualified", "run", "dcg", "dcg_lower", "dcg_upper"]
    names += ["share", "holds", "explanation"]
    return pd.DataFrame(rows, columns=names).astype({"holds": "boolean"})


@dataclass(frozen=True)
class _Taken:
    best: int | None
    qualified: int
    furthest: float


def _take(share: FloatArray, dcg: FloatArray, level: float) -> _Taken:
    known = np.nan_to_num(share, nan=-1.0)
    qualify = known >= level - TOLERANCE
    best = int(np.argmax(np.where(qualify, dcg, -np.inf))) if qualify.any() else None
    return _Taken(best, int(qualify.sum()), float(known.max(initial=-1.0)))


def _explain(method: str, models: int, delta: float, level: float, furthest: float) -> str:
    reach = f"the closest reaches {furthest:.1%}" if furthest >= 0 else "no query is applicable"
    name = method.replace(":", " with ")
    return f"No {name} model of {models} holds delta = {delta:g} on {level:.0%} of the queries; {reach}."
