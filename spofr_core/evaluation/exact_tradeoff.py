"""The tradeoff of a trained model without training it again: one scorer, many deltas, the solver alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spofr_core.data import RankingDataset
from spofr_core.errors import DataError
from spofr_core.evaluation.intervals import bootstrap_mean
from spofr_core.evaluation.measurement import measure_exposure
from spofr_core.evaluation.query_table import FloatArray
from spofr_core.fairness import Discount, Fairness
from spofr_core.policy import Policies, fair_policies

EXACT_DELTAS: tuple[float, ...] = tuple(np.round(np.linspace(0.0, 0.4, 41), 10).tolist())
EXACT_SHARES: tuple[float, ...] = tuple(np.round(np.linspace(0.0, 2.0, 41), 10).tolist())
"""The same for deltas that are shares of the list's mean exposure."""


def exact_tradeoff(
    estimates: NDArray[np.float64],
    data: RankingDataset,
    fairness: Fairness,
    deltas: Sequence[float] | None = None,
    *,
    discount: Discount | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Utility and violation of the optimal policies of fixed estimates, delta by delta.

    For each delta every list is solved for the estimates; what is reported is measured with the relevance of the data,
    which the solver never sees. The utility of the *estimates* cannot fall as delta grows; that of the relevance may.

    Parameters
    ----------
    estimates : (N,) float
        What the programme is given: `model.estimates(data)`, or any scores.
    data : RankingDataset
        With relevance.
    fairness : Fairness
        Notion and exposure model; its delta is not used.
    deltas : sequence of float, optional
        `EXACT_DELTAS`, or `EXACT_SHARES` where delta is a share.

    Returns
    -------
    DataFrame
        delta, dcg, dcg_lower, dcg_upper (bootstrap over queries, 95 %), violation_mean, violation_max, fair_share,
        relaxed (lists that cannot meet delta and got their smallest one).
    """
    if data.relevance is None:
        raise DataError("A tradeoff of utility needs relevance labels: choose a relevance column.", column="relevance")
    rows = []
    policies: Policies | None = None
    if deltas is None:
        deltas = EXACT_SHARES if fairness.unit == "share" else EXACT_DELTAS
    for delta in deltas:
        asked = fairness.with_delta(delta)
        policies = fair_policies(
            estimates,
            data.groups,
            data.offsets,
            asked,
            discount=discount,
            group_names=data.group_names,
            query_ids=data.query_ids,
            seed=seed,
            on_infeasible="relax",
            warm=policies,
        )
        table = measure_exposure(data, asked, policies=policies, discount=discount).judge(asked).table
        utility = np.zeros(0) if table.dcg is None else table.dcg
        lower, upper = bootstrap_mean(utility, seed=seed) or (np.nan, np.nan)
        violation: FloatArray = np.abs(table.worst_violation[table.applicable])
        rows.append(
            {
                "delta": delta,
                "dcg": utility.mean() if len(utility) else np.nan,
                "dcg_lower": lower,
                "dcg_upper": upper,
                "violation_mean": violation.mean() if len(violation) else np.nan,
                "violation_max": violation.max(initial=0.0),
                "fair_share": table.holds[table.applicable].all(axis=1).sum() / max(1, table.applicable.sum()),
                "relaxed": len(policies.relaxed),
            }
        )
    return pd.DataFrame(rows)
