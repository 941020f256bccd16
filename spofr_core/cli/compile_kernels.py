"""Compile every numba kernel once: the cache beside the source serves all later processes."""

from __future__ import annotations

import numpy as np

from spofr_core.data import RankingDataset
from spofr_core.evaluation import audit, measure, repair
from spofr_core.evaluation.slicing.change_test import permutation_test
from spofr_core.fairness import Fairness, Quota
from spofr_core.policy import fair_policy, verify
from spofr_core.serving import Reranker


def compile_kernels() -> None:
    """Run an audit, every measure, a repair, its verification and a reranker on a few items of two and three groups.

    And the same under a quota, and solve a list of so many groups that it is started from an interior point.
    """
    fair_policy(np.arange(12.0), np.arange(12), Fairness(delta=0.0))
    for names in (("a", "b"), ("a", "b", "c")):
        n = 2 * len(names)
        data = RankingDataset(
            query_ids=np.array(["q"]),
            offsets=np.array([0, n]),
            item_ids=np.arange(n),
            groups=np.arange(n, dtype=np.int32) % len(names),
            group_names=names,
            relevance=np.arange(n, dtype=np.float64),
            score=np.arange(n, dtype=np.float64),
        )
        permutation_test(np.arange(12.0), np.arange(12.0), seed=0)
        audit(data, Fairness(delta=0.0, notion="merit", merits=dict.fromkeys(names, 1.0))).to_json()
        measure(data, "all").to_json()
        certificate = repair(data, Fairness(delta=0.0)).policies[0].certificate
        Reranker(Fairness(delta=0.0)).rank(np.arange(n, dtype=np.float64), [names[code] for code in data.groups])
        kept = repair(data, Fairness(delta=0.0, every_ranking=Quota(slack=0)))
        verify(kept.policies[0].certificate, np.arange(n), kept.data.groups, kept.fairness, group_names=names)
        kept.after.to_json()
        verify(certificate, np.arange(n), np.arange(n) % len(names), Fairness(delta=0.0), group_names=names)


if __name__ == "__main__":
    compile_kernels()
