"""Means over seeds with their intervals: what a curve with a band is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.evaluation.intervals import CONFIDENCE, standard_deviation
from spofr_core.fairness import TOLERANCE

FloatArray = NDArray[np.float64]
Sign = Literal["+", "-", "0", "?"]
SEEDS_NEEDED = 3
"""Pairs below which no difference is told: two make an interval, of which nobody can say how wide it really is."""


def mean_interval(values: FloatArray, *, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """Mean and Student interval of it, mean -+ t s / sqrt(n); the interval is NaN below two values."""
    known = values[~np.isnan(values)]
    if not len(known):
        return float("nan"), float("nan"), float("nan")
    mean = float(known.mean())
    if len(known) < 2:
        return mean, float("nan"), float("nan")
    from scipy.special import stdtrit  # slow to import, and an audit does without

    half = float(stdtrit(len(known) - 1, 0.5 + confidence / 2) * standard_deviation(known) / math.sqrt(len(known)))
    return mean, mean - half, mean + half


def over_seeds(frame: pd.DataFrame, keys: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """One row per combination of `keys`: of each value its mean, `<value>_lower`, `<value>_upper` (Student, 95 %),
    `<value>_min` and `<value>_max` over the rows, and `n`, how many these are.

    Missing keys count as a value of their own.
    """
    rows = []
    for key, part in frame.groupby(list(keys), dropna=False, sort=True, observed=True):
        row = dict(zip(keys, key if isinstance(key, tuple) else (key,), strict=True))
        row["n"] = len(part)
        for name in values:
            column = part[name].to_numpy(dtype=np.float64, na_value=np.nan)
            row[name], row[f"{name}_lower"], row[f"{name}_upper"] = mean_interval(column)
            known = column[~np.isnan(column)]
            row[f"{name}_min"] = known.min() if len(known) else np.nan
            row[f"{name}_max"] = known.max() if len(known) else np.nan
        rows.append(row)
    columns = [*keys, "n", *(f"{name}{end}" for name in values for end in ("", "_lower", "_upper", "_min", "_max"))]
    return pd.DataFrame(rows, columns=columns)


def paired_difference(
    frame: pd.DataFrame, keys: Sequence[str], value: str, *, between: str, first: str, second: str
) -> pd.DataFrame:
    """Difference of `value` between two values of the column `between`, seed by seed.

    Rows of the same `keys` and seed are paired; a seed without a partner is left out.

    Returns
    -------
    DataFrame
        `keys`, n (pairs), difference = mean of first - second, lower, upper (Student, 95 %).
    """
    by = [*keys, "seed"]
    first_side, second_side = (
        frame[frame[between] == name].groupby(by, dropna=False, observed=True)[value].mean().rename(side).reset_index()
        for name, side in ((first, "first"), (second, "second"))
    )
    both = first_side.merge(second_side, on=by)
    both["difference"] = both["first"] - both["second"]
    found = over_seeds(both, keys, ["difference"])
    return found.rename(columns={"difference_lower": "lower", "difference_upper": "upper"})[
        [*keys, "n", "difference", "lower", "upper"]
    ]


def sign_of(pairs: Mapping[Any, Any] | pd.Series) -> Sign:
    """What a row of `paired_difference` shows: "+" or "-" where its interval excludes 0, "0" where it does not, and
    "?" where there are fewer than `SEEDS_NEEDED` pairs.

    An interval that touches 0 within rounding does not exclude it: equal runs differ by nothing else.
    """
    if pairs["n"] < SEEDS_NEEDED:
        return "?"
    return "+" if pairs["lower"] > TOLERANCE else "-" if pairs["upper"] < -TOLERANCE else "0"
