"""The same audit asked about another delta: what was measured stays, what is judged by delta is judged anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spofr_core.evaluation.audit import AuditResult
from spofr_core.evaluation.summary import judged_by_delta
from spofr_core.fairness import Composition, feasible


def audit_at_delta(result: AuditResult, delta: float) -> AuditResult:
    """What `audit` finds for the same rankings or policies at another delta, without measuring them again.

    Exposures, violations, utilities and their intervals do not depend on delta; bounds, the lists that hold them and
    the lists that cannot do.
    """
    fairness = result.fairness.with_delta(delta)
    terms = fairness.terms(Composition(sizes=result.table.sizes, group_names=result.table.group_names))
    lower, upper = terms.bounds()
    table = replace(
        result.table, lower=lower, upper=upper, delta=np.asarray(terms.delta), feasible=feasible(fairness, terms)
    )
    moved = replace(result, table=table, fairness=fairness)
    # The cached property is filled ahead: computing it would resample the intervals.
    vars(moved)["summary"] = {**result.summary, **judged_by_delta(table, fairness)}
    return moved
