"""Does SPO+ leave the items of a list with scores of their own, with layers that halve and with one wide layer?

Each seed trains SPO+ on 5,000 clicks of German Credit, delta = 0.05, PyTorch's usual initialisation. Printed for each:
how many different scores a test list of 20 people has on average, and the test DCG of the fair policies.

Run: python benchmarks/collapse.py
"""

from __future__ import annotations

import warnings

import numpy as np
import torch

from spofr_core.data import fit_logging_ranker, load_sample, simulate_clicks
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.learning import SPOFR, CollapsedScores

FAIRNESS = Fairness(delta=0.05)


def trained(hidden: str | tuple[int, ...], seed: int) -> tuple[float, float]:
    """Mean number of different scores in a test list, and the mean test DCG."""
    splits = load_sample("german-credit", seed=seed)
    ranker = fit_logging_ranker(splits.train, seed=seed)
    train = simulate_clicks(splits.train, 5_000, logging=ranker, seed=seed)
    validation = simulate_clicks(splits.validation, 2_000, logging=ranker, seed=seed + 100)
    model = SPOFR(FAIRNESS, warm_up="none", hidden=hidden, seed=seed, max_steps=400).fit(train, validation)
    lists = np.split(np.round(model.scores(splits.test), 9), splits.test.offsets[1:-1])
    different = float(np.mean([len(np.unique(scores)) for scores in lists]))
    return different, float(audit(splits.test, FAIRNESS, policies=model.policies(splits.test)).table.dcg.mean())


def main() -> None:
    """Ten seeds of both networks."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", CollapsedScores)  # it is what is counted here
    for hidden in ("halving", (32,)):
        found = [trained(hidden, seed) for seed in range(10)]
        told = ", ".join(f"{different:.1f} ({dcg:.2f})" for different, dcg in found)
        print(f"hidden={hidden}: different scores in a list (DCG): {told}")


if __name__ == "__main__":
    main()
