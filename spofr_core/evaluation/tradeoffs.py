"""From a table of runs to the tidy frames of curves. The table has the columns of `results.parquet`.

Every function looks at runs that are done, and at nothing but the table: any set of runs can be drawn.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from spofr_core.evaluation.seeds import over_seeds, paired_difference
from spofr_core.fairness import TOLERANCE

SETTING = ("dataset", "notion", "unit", "groups", "clicks")
"""What must be the same for two runs to be compared."""


def done(results: pd.DataFrame) -> pd.DataFrame:
    """The runs that are done."""
    return results[results["status"] == "done"]


def tradeoff(results: pd.DataFrame) -> pd.DataFrame:
    """Utility against the delta asked for: one curve per dataset, notion, number of groups, training size and method.

    y = mean over seeds of the mean test DCG; band = Student interval of that mean over seeds.

    Returns
    -------
    DataFrame
        dataset, notion, groups, clicks, method, delta, n, dcg with its interval and range, ideal_dcg.
    """
    runs = done(results)
    runs = runs[runs["delta"].notna()]
    keys = [*SETTING, "method", "delta"]
    curve = over_seeds(runs, keys, ["dcg"])
    ideal = over_seeds(runs, keys, ["ideal_dcg"])
    return curve.assign(ideal_dcg=ideal["ideal_dcg"])


def achieved_tradeoff(results: pd.DataFrame) -> pd.DataFrame:
    """Utility against the violation achieved: a point per setting of a method, that is per delta or penalty.

    x = mean over seeds of the mean test violation, y = mean over seeds of the mean test DCG, band = Student interval of
    that mean over seeds. Sorted by method and violation: what a line of a method goes through.

    Returns
    -------
    DataFrame
        dataset, notion, unit, groups, clicks, method, delta, penalty, n, dcg and violation_mean with their intervals
        and ranges.
    """
    keys = [*SETTING, "method", "delta", "penalty"]
    found = over_seeds(done(results), keys, ["dcg", "violation_mean"])
    return found.sort_values([*SETTING, "method", "violation_mean"], kind="stable", ignore_index=True)


def multi_group(results: pd.DataFrame) -> pd.DataFrame:
    """`tradeoff` of the data that was run with more than one number of groups: one curve per number.

    Adding groups adds conditions, so for the same scores the utility can only fall; for trained models it may not.
    """
    curve = tradeoff(results)
    counts = curve.groupby(["dataset", "notion"], dropna=False)["groups"].transform(_kinds)
    return curve[counts > 1].reset_index(drop=True)


def training_sizes(results: pd.DataFrame) -> pd.DataFrame:
    """`tradeoff` of the data that was run with more than one training size: one curve per size."""
    curve = tradeoff(results)
    counts = curve.groupby(["dataset", "notion", "groups"], dropna=False)["clicks"].transform(_kinds)
    return curve[counts > 1].reset_index(drop=True)


def run_times(results: pd.DataFrame) -> pd.DataFrame:
    """Time of training per method and training size.

    seconds_per_epoch = seconds / epochs of a run; epochs = passes over the training lists until it stopped, the last
    one counted as far as it went. Means over runs, with their range.

    Returns
    -------
    DataFrame
        dataset, groups, clicks, method, n, seconds_per_epoch, epochs and seconds with their intervals.
    """
    runs = done(results)
    runs = runs[runs["epochs"] > 0].assign(
        seconds_per_epoch=lambda f: f["seconds"] / f["epochs"],
    )
    return over_seeds(runs, ["dataset", "groups", "clicks", "method"], ["seconds_per_epoch", "epochs", "seconds"])


def asked_and_achieved(results: pd.DataFrame) -> pd.DataFrame:
    """What was asked of a method against what its policies do.

    asked is delta, or the penalty of methods that have one; achieved is, over the test queries, the mean of max_g
    abs(violation_g), and its maximum. `holds` says whether no query of any seed exceeds delta (missing where none was
    asked for): a bound on every query, so the mean lies well below it.

    Returns
    -------
    DataFrame
        dataset, notion, groups, clicks, method, asked ("delta" or "penalty"), value, n, violation_mean and
        violation_max with their ranges over seeds, fair_share, holds.
    """
    runs = done(results)
    frames = []
    for asked in ("delta", "penalty"):
        part = runs[runs[asked].notna()]
        frames.append(part.assign(asked=asked, value=part[asked]))
    keys = [*SETTING, "method", "asked", "value"]
    found = over_seeds(pd.concat(frames), keys, ["violation_mean", "violation_max", "fair_share"])
    within = found["violation_max_max"] <= found["value"] + TOLERANCE
    return found.assign(holds=within.astype("boolean").where(found["asked"] == "delta"))


def price_of_fairness(results: pd.DataFrame) -> pd.DataFrame:
    """Share of utility that a delta costs: 1 - DCG(delta) / DCG(largest delta), same method, same seed, then averaged.

    The largest delta of the runs stands for no condition; give one that binds nowhere (0.4 for lists of 20).

    Returns
    -------
    DataFrame
        dataset, notion, groups, clicks, method, delta, n, price with its interval.
    """
    runs = done(results)
    runs = runs[runs["delta"].notna()].copy()
    keys = [*SETTING, "method", "seed"]
    largest = runs.groupby(keys, dropna=False)["delta"].transform("max")
    free = runs[runs["delta"] == largest].drop_duplicates(keys)[[*keys, "dcg"]].rename(columns={"dcg": "free"})
    both = runs.merge(free, on=keys, how="left")
    both["price"] = 1.0 - both["dcg"] / both["free"].where(both["free"] > 0, np.nan)
    return over_seeds(both, [*SETTING, "method", "delta"], ["price"])


def method_difference(results: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """DCG of one method minus another's at the same delta, seed by seed.

    Returns
    -------
    DataFrame
        dataset, notion, groups, clicks, delta, n, difference, lower, upper.
    """
    runs = done(results)
    runs = runs[runs["delta"].notna()]
    return paired_difference(runs, [*SETTING, "delta"], "dcg", between="method", first=first, second=second)


def _kinds(column: pd.Series) -> int:
    """Distinct values; a missing one counts."""
    return int(column.nunique(dropna=False))
