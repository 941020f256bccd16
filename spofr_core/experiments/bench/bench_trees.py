"""Trees beside a network on the same people: until validation is best, and how much of a round the solver takes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from spofr_core.data import Splits, load_sample
from spofr_core.experiments.bench.timing import interleaved
from spofr_core.fairness import Fairness
from spofr_core.learning import SPOFR, Estimator, PredictThenOptimize
from spofr_core.learning.lists import Lists, feature_table
from spofr_core.learning.losses.through_programme import ProgrammeLoss
from spofr_core.learning.scorers.scaling import Scaler
from spofr_core.learning.scorers.trees import TreeScorer


def trees_table(lists: int, rounds: int, delta: float, seed: int) -> dict[str, Any]:
    """Seconds to the best validation of predict-then-optimise, logistic loss, network and trees; a round of SPO+.

    Both scorers have their usual settings but for the network's learning rate, 0.003, with which it gets further here.
    """
    splits = load_sample("adult", lists=lists, seed=seed)
    fairness = Fairness(delta=delta)
    models: dict[str, Estimator] = {
        "network": PredictThenOptimize(fairness, loss="logistic", learning_rate=3e-3, seed=seed),
        "trees": PredictThenOptimize(fairness, loss="logistic", scorer="trees", seed=seed),
    }
    models["trees"].fit(splits.train[:50], splits.validation[:50])  # LightGBM is loaded before the clock runs
    reports = {name: model.fit(splits.train, splits.validation).report for name, model in models.items()}
    to_best = {name: float(report.best["seconds"]) for name, report in reports.items()}
    round_, solver = _round(splits, rounds, fairness)
    return {
        "lists": lists,
        "seconds_to_best": to_best,
        "validation_dcg": {name: report.best["validation_dcg"] for name, report in reports.items()},
        "steps_to_best": {name: report.best_step for name, report in reports.items()},
        "seconds_per_spo+_round": round_,
        "ratios": {
            "trees / network to the best validation": to_best["trees"] / to_best["network"],
            "solver / round of SPO+ on trees": solver / round_,
        },
    }


def _round(splits: Splits, rounds: int, fairness: Fairness) -> tuple[float, float]:
    """Seconds of a round of SPO+ on trees, and of those the seconds of the two solutions that it takes."""
    table, rows = feature_table(splits.train)
    counts = np.bincount(rows, minlength=len(table))
    lists = Lists.of(splits.train, Scaler.fit(table, counts, "standard"), np.arange(table.shape[1]))
    stage = SPOFR(fairness, loss="spo+", warm_up="logistic", scorer="trees")._stages(lists)[-1]
    timed = _Timed(stage.loss)
    scorer = TreeScorer(table.shape[1])
    scorer.start(0.05)
    (batch,) = scorer.batches(stage.lists, np.arange(len(stage.lists)), 0)
    seconds = interleaved({"round": lambda: scorer.step(timed, batch)}, rounds=rounds)["round"]
    return seconds, float(np.median(timed.seconds))


class _Timed(ProgrammeLoss):
    """A loss that takes down how long the programme takes."""

    def __init__(self, loss: Any) -> None:
        super().__init__(loss._link)
        self._loss = loss
        self.seconds: list[float] = []

    def of_estimates(self, estimates: Any, batch: Any) -> Any:
        """The same, timed."""
        started = time.perf_counter()
        found = self._loss.of_estimates(estimates, batch)
        self.seconds.append(time.perf_counter() - started)
        return found
