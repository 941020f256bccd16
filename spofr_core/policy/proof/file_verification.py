"""`verify_file`: policies from a file against a dataset."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

import numpy as np

from spofr_core.data import RankingDataset
from spofr_core.errors import DataError
from spofr_core.fairness import Fairness
from spofr_core.policy.optimal import fair_policies
from spofr_core.policy.policies import Policies
from spofr_core.policy.policy_table import document_table, read_table
from spofr_core.policy.proof.certificate import read_certificates
from spofr_core.policy.proof.verdicts import Verification
from spofr_core.policy.proof.verification import verify


def verify_file(
    path: str | Path,
    data: RankingDataset,
    fairness: Fairness,
    *,
    optimal: bool = True,
    allow_relaxed: bool = False,
) -> Verification:
    """Verify a table of policies (.parquet, .csv), certificates (.jsonl) or the document of one policy (.json) against
    the lists of `data`.

    Policies of one query of many are checked for that query.

    A table holds no multipliers, so for a bound on the utility some are computed here. Nothing is trusted by that: any
    multipliers give a true bound, and the bound itself comes from potentials of its own per query.

    Parameters
    ----------
    optimal : bool
        Whether the largest utility within the bounds is asked for, or delta alone. Certificates always state both.
    """
    check = partial(verify, optimal=optimal, allow_relaxed=allow_relaxed)
    table = None
    if Path(path).suffix in (".jsonl", ".json"):
        lines = read_certificates(path)
        table = document_table(lines[0]) if len(lines) == 1 else None
        if table is None and all(isinstance(line, dict) and "rankings" not in line for line in lines):
            raise DataError(f"{path} holds no rankings: give what `spofr repair` wrote, or the Policy page handed out.")
        if table is None:
            return check(lines, data, fairness)
    policies = Policies.from_frame(read_table(path) if table is None else table, data, fairness)
    held = np.flatnonzero(policies.solution.counts)
    if optimal and len(held):
        multipliers = np.full_like(policies.solution.multipliers, np.nan)
        multipliers[held] = fair_policies(data[held], fairness, on_infeasible="relax").solution.multipliers
        policies = dataclasses.replace(
            policies, solution=dataclasses.replace(policies.solution, multipliers=multipliers)
        )
    return check(policies, data, fairness)
