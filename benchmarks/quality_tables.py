"""Tables of `quality.py`: means over seeds, paired differences with intervals, DCG at matched violation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

LEVELS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05)
REFERENCE = "pto (listnet)"
END_TO_END = ("pto", "spofr (fenchel-young)", "spofr (spo+, ties by scores)")
"""Predict-then-optimise with the better of its two scorers, and what training through the programme makes of it."""


def frame(lines: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """One row per model of the study, without the tuning runs."""
    return pd.DataFrame([line for line in lines if not line.get("tuning")])


def paired(a: pd.Series, b: pd.Series) -> tuple[float, float, int]:
    """Mean of a - b over the seeds that both have, half the width of its 95 % t interval, and the number of seeds."""
    difference = (a - b).dropna()
    n = len(difference)
    if n < 2:
        return float(difference.mean()) if n else float("nan"), float("nan"), n
    half = float(stats.t.ppf(0.975, n - 1) * difference.std(ddof=1) / np.sqrt(n))
    return float(difference.mean()), half, n


def told(difference: tuple[float, float, int]) -> str:
    """A paired difference in print."""
    mean, half, n = difference
    return f"{mean:+z.4f} (n={n})" if n < 2 else f"{mean:+z.4f} ± {half:.4f} (n={n})"


def by_delta(models: pd.DataFrame) -> pd.DataFrame:
    """Mean test DCG of each method with a guarantee at each delta, and SPOFR's paired difference to the others."""
    rows = []
    for delta, part in models[models.delta.notna()].groupby("delta"):
        dcg = part.pivot_table(index="seed", columns="method", values="test_dcg")
        row: dict[str, Any] = {"delta": delta, **dcg.mean().round(4).to_dict()}
        for other in dcg.columns.drop("spofr", errors="ignore") if "spofr" in dcg else ():
            row[f"spofr - {other}"] = told(paired(dcg["spofr"], dcg[other]))
        row["largest violation - delta"] = f"{(part.max_violation - delta).max():.1e}"
        rows.append(row)
    return pd.DataFrame(rows)


def within_violation(models: pd.DataFrame, level: float) -> dict[str, pd.Series]:
    """Test DCG of each method by seed, at a mean violation of at most the level.

    For each seed, the delta or penalty with the best validation DCG among those whose mean VALIDATION violation is
    within the level is taken, and its test DCG reported; seeds without such a model are not there.
    """
    varied = models[models.delta.notna() | models.penalty.notna()]
    within = varied[varied.validation_violation <= level + 1e-9]
    best = within.loc[within.groupby(["method", "seed"]).validation_dcg.idxmax()]
    return {
        str(method): best[best.method == method].set_index("seed").test_dcg for method in sorted(varied.method.unique())
    }


def at_matched_violation(models: pd.DataFrame) -> pd.DataFrame:
    """`within_violation` at each level, with the paired differences between SPOFR and its rivals."""
    rows = []
    seeds = models[models.delta.notna() | models.penalty.notna()].groupby("method").seed.nunique()
    for level in LEVELS:
        picks = within_violation(models, level)
        row: dict[str, Any] = {"mean violation <=": level}
        for method, best in picks.items():
            short = "" if len(best) == seeds[method] else f" ({len(best)} of {seeds[method]} seeds)"
            row[method] = f"{best.mean():.4f}{short}" if len(best) else "none"
        for other in ("fultr", "deltr"):
            if "spofr" in picks and len(picks.get(other, ())):
                row[f"spofr - {other}"] = told(paired(picks["spofr"], picks[other]))
        rows.append(row)
    return pd.DataFrame(rows)


def area_under_tradeoff(models: pd.DataFrame, last: float = 0.05) -> pd.DataFrame:
    """Area under test DCG over delta in [0, last], divided by the width, and its paired difference to the reference."""

    def area(part: pd.DataFrame) -> float:
        curve = part.sort_values("delta")
        width = curve.delta.iloc[-1] - curve.delta.iloc[0]
        return float(np.trapezoid(curve.test_dcg, curve.delta) / width) if width else float(curve.test_dcg.iloc[0])

    asked = models[models.delta.notna() & (models.delta <= last)]
    areas = pd.Series({key: area(part) for key, part in asked.groupby(["method", "seed"])})
    if areas.empty:
        return pd.DataFrame()
    table = areas.unstack(0)  # noqa: PD010 - a series of (method, seed)
    rows = []
    for method in table.columns:
        row = {"method": method, "area": round(float(table[method].mean()), 4)}
        if REFERENCE in table:
            row[f"minus {REFERENCE}"] = told(paired(table[method], table[REFERENCE]))
        rows.append(row)
    return pd.DataFrame(rows)


def unconstrained(models: pd.DataFrame) -> pd.DataFrame:
    """Test DCG without a constraint that binds: the sorted scorers, and the others at the largest delta."""
    free = models[(models.delta == models.delta.max()) | (models.delta.isna() & models.penalty.isna())]
    dcg = free.pivot_table(index="seed", columns="method", values="test_dcg")
    rows = []
    for method in dcg.columns:
        row: dict[str, Any] = {"method": method, "test DCG": round(float(dcg[method].mean()), 4)}
        if "logistic regression" in dcg:
            row["minus logistic regression"] = told(paired(dcg[method], dcg["logistic regression"]))
        rows.append(row)
    return pd.DataFrame(rows)


def end_to_end(models: pd.DataFrame) -> pd.DataFrame:
    """Test DCG of predict-then-optimise for each dataset and delta, and paired differences to it."""
    first, *others = END_TO_END
    rows = []
    for (dataset, delta), part in models[models.method.isin(END_TO_END)].groupby(["dataset", "delta"], sort=False):
        dcg = part.pivot_table(index="seed", columns="method", values="test_dcg")
        if first not in dcg:  # some deltas were run to be compared with penalty methods alone
            continue
        row: dict[str, Any] = {"dataset": dataset, "delta": delta, first: round(float(dcg[first].mean()), 4)}
        for other in others:
            if other in dcg:
                row[f"{other} - {first}"] = told(paired(dcg[other], dcg[first]))
        row["largest violation - delta"] = f"{(part.max_violation - delta).max():.1e}"
        rows.append(row)
    return pd.DataFrame(rows)


def print_tables(lines: list[dict[str, Any]]) -> None:
    """All tables as Markdown on standard output."""
    models = frame(lines)
    if models.empty:
        print("No results yet.")
        return
    for dataset, part in models[~models.method.isin(END_TO_END)].groupby("dataset"):
        print(f"\n## {dataset}: {part.seed.nunique()} seeds, {int(part.queries.max())} test lists\n")
        for title, table in (
            ("Mean test DCG by delta, and paired differences", by_delta(part)),
            ("Test DCG at matched mean violation, chosen on validation", at_matched_violation(part)),
            ("Mean test DCG over delta in [0, 0.05]", area_under_tradeoff(part)),
            ("Without a constraint that binds", unconstrained(part)),
        ):
            if not table.empty:
                print(f"### {title}\n\n{markdown(table)}\n")
    added = end_to_end(models)
    if not added.empty:
        print(f"\n## What training through the programme adds\n\n{markdown(added)}\n")


def markdown(table: pd.DataFrame) -> str:
    """A table as Markdown; missing values are empty cells."""
    cells = [[str(name) for name in table.columns], ["---"] * table.shape[1]]
    for row in table.itertuples(index=False):
        cells.append(["" if pd.isna(value) else str(value) for value in row])
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)
