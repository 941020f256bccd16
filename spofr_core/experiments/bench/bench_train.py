"""`spofr bench train`: an epoch of SPOFR beside epochs of ListNet and FULTR on the same network, in one run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import torch

from spofr_core.data import load_sample, simulate_clicks
from spofr_core.experiments.bench.bench_trees import trees_table
from spofr_core.experiments.bench.timing import interleaved
from spofr_core.fairness import Discount, Fairness
from spofr_core.learning import FULTR, SPOFR, Estimator, PredictThenOptimize, TrainingSettings
from spofr_core.learning.lists import Batch, Lists, feature_table
from spofr_core.learning.losses.relevance import Loss
from spofr_core.learning.scorers.network import NetworkScorer
from spofr_core.learning.scorers.scaling import Scaler
from spofr_core.learning.trainer import Stage, Trainer

BATCH, HIDDEN, SAMPLES = 64, (32,), 32

PAPER_SECONDS = {
    "5000": {"SPOFR": 425.0, "SPOFR*": 39.0, "FULTR": 5.0},
    "50000": {"SPOFR": 2201.0, "SPOFR*": 202.0, "FULTR": 28.0},
    "100000": {"SPOFR": 4338.0, "SPOFR*": 398.0, "FULTR": 60.0},
}
PAPER = {
    "source": "Kotary et al., WWW 2022, Table 2: seconds per epoch, German Credit, one core of a Xeon Platinum 8260",
    **PAPER_SECONDS,
}
"""What the paper reports, for the table printed beside ours."""


def bench_train(
    *,
    sizes: tuple[int, ...] = (5_000, 50_000),
    rounds: int = 5,
    delta: float = 0.01,
    seed: int = 0,
    quick: bool = False,
) -> dict[str, Any]:
    """Seconds per epoch and ratios, German Credit clicks, lists of 20, batches of 64, one hidden layer of 32.

    All cases see the same lists in batches of the same size and update the same network with the same optimiser; they
    take turns round by round. FULTR draws 32 rankings per list. The "loop" variant of FULTR treats a batch list by
    list, vectorised over its samples, and is timed on a few batches. Targets: SPOFR at most 1.3 times ListNet, faster
    than FULTR, which is at least 5 times faster than its loop.

    Parameters
    ----------
    sizes : tuple of int
        Numbers of clicked impressions to train on.
    rounds : int
        Each case runs once per round; medians are reported.
    quick : bool
        Fewer lists and at most two rounds, to see that it works.
    """
    if quick:
        sizes, rounds = (1_000,), min(rounds, 2)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        tables = [_clicks_table(size, rounds, delta, seed) for size in sizes]
        long_lists = _long_lists_table(50 if quick else 500, rounds, delta, seed)
        trees = trees_table(100 if quick else 1_000, rounds, delta, seed)
    finally:
        torch.set_num_threads(threads)
    return {
        "what": "seconds per epoch",
        "delta": delta,
        "batch_size": BATCH,
        "hidden": list(HIDDEN),
        "fultr_samples": SAMPLES,
        "rounds": rounds,
        "cores": os.cpu_count(),
        "threads": {"torch": 1, "numba": numba.get_num_threads()},
        "german_credit": tables,
        "lists_of_200": long_lists,
        "trees_on_adult": trees,
        "paper": PAPER,
        "ratios": _all_ratios(tables, long_lists) | {f"adult: {k}": ratio for k, ratio in trees["ratios"].items()},
    }


def _all_ratios(tables: list[dict[str, Any]], long_lists: dict[str, Any]) -> dict[str, float]:
    """Ours, and beside each size the paper's own: there SPOFR*, with hot-started solvers, against FULTR."""
    ratios: dict[str, float] = {}
    for table in tables:
        size = str(table["samples"])
        ratios |= {f"{size} clicks: {name}": ratio for name, ratio in table["ratios"].items()}
        if size in PAPER_SECONDS:
            paper = PAPER_SECONDS[size]
            ratios[f"{size} clicks, paper: fultr / spofr*"] = paper["FULTR"] / paper["SPOFR*"]
    return ratios | {f"lists of 200: {name}": ratio for name, ratio in long_lists["ratios"].items()}


def _clicks_table(size: int, rounds: int, delta: float, seed: int) -> dict[str, Any]:
    lists = _click_lists(size, seed)
    fairness = Fairness(delta=delta)
    models: dict[str, Estimator] = {
        "listnet": PredictThenOptimize(fairness),
        "spofr": SPOFR(fairness),
        "spofr_published": SPOFR(fairness, warm_up="none"),
        "fultr": FULTR(fairness, samples=SAMPLES),
    }
    cases = {name: _epoch(model._stages(lists)[-1]) for name, model in models.items()}
    cases["spofr_first_stage"] = _epoch(models["spofr"]._stages(lists)[0])
    seconds = interleaved(cases, rounds=rounds)
    n_batches = min(4, -(-len(lists) // BATCH))
    looped = Stage("loop", LoopedFULTR(lists, fairness), lists.take(np.arange(n_batches * BATCH)), 1e-3, 10**9)
    seconds["fultr_loop"] = interleaved({"loop": _epoch(looped)}, rounds=1)["loop"] * len(lists) / (n_batches * BATCH)
    return {
        "samples": size,
        "items": lists.longest,
        "seconds": seconds,
        "ratios": {
            "spofr / listnet": seconds["spofr"] / seconds["listnet"],
            "spofr_first_stage / listnet": seconds["spofr_first_stage"] / seconds["listnet"],
            "spofr_published / listnet": seconds["spofr_published"] / seconds["listnet"],
            "fultr / spofr": seconds["fultr"] / seconds["spofr"],
            "fultr_loop / fultr": seconds["fultr_loop"] / seconds["fultr"],
        },
    }


def _long_lists_table(n_lists: int, rounds: int, delta: float, seed: int) -> dict[str, Any]:
    """The same with lists of 200 synthetic items: no change of code."""
    rng = np.random.default_rng(seed)
    lists = Lists(
        table=torch.from_numpy(rng.normal(size=(n_lists * 200, 58)).astype(np.float32)),
        rows=torch.arange(n_lists * 200),
        labels=torch.from_numpy((rng.random(n_lists * 200) < 0.1).astype(np.float32)),
        codes=rng.integers(0, 2, n_lists * 200).astype(np.int32),
        offsets=np.arange(0, n_lists * 200 + 1, 200),
        group_names=("a", "b"),
        weights=np.ones(n_lists),
    )
    fairness = Fairness(delta=delta)
    models: dict[str, Estimator] = {"listnet": PredictThenOptimize(fairness), "spofr": SPOFR(fairness)}
    seconds = interleaved(
        {name: _epoch(model._stages(lists)[-1]) for name, model in models.items()}, rounds=min(rounds, 3)
    )
    return {"lists": n_lists, "seconds": seconds, "ratios": {"spofr / listnet": seconds["spofr"] / seconds["listnet"]}}


def _click_lists(size: int, seed: int) -> Lists:
    """Clicked impressions of German Credit."""
    clicks = simulate_clicks(load_sample("german-credit", seed=seed).train, size, seed=seed)
    table, rows = feature_table(clicks)
    return Lists.of(clicks, Scaler.fit(table, np.bincount(rows), "standard"), np.arange(table.shape[1]))


def _epoch(stage: Stage) -> Callable[[], object]:
    """One epoch of a stage on a scorer of its own, through the loop that `fit` uses."""
    scorer = NetworkScorer(stage.lists.table.shape[1], HIDDEN)
    once = Stage(stage.name, stage.loss, stage.lists, 1e-3, 10**9, max_epochs=1)
    return lambda: Trainer("bench", scorer, [once], TrainingSettings(batch_size=BATCH)).run()


class LoopedFULTR(Loss):
    """FULTR's loss with penalty 1, list by list: what vectorising over the batch is measured against."""

    def __init__(self, lists: Lists, fairness: Fairness) -> None:
        self._w = torch.from_numpy(Discount().vector(lists.longest).astype(np.float32))
        self._v = torch.from_numpy(fairness.position_bias.vector(lists.longest).astype(np.float32))
        self._codes = torch.from_numpy(lists.codes)
        self._offsets = lists.offsets
        self._gap = 0.0

    def __call__(self, scores: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Mean over the lists of the batch."""
        total = scores.new_zeros(())
        for b, q in enumerate(batch.queries):
            rows = slice(int(batch.offsets[b]), int(batch.offsets[b + 1]))
            codes = self._codes[int(self._offsets[q]) : int(self._offsets[q + 1])]
            total = total + self._of_list(scores[rows], batch.labels[rows], codes)
        return total / len(batch)

    def _of_list(self, scores: torch.Tensor, labels: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
        noise = -torch.log(-torch.log(torch.rand(SAMPLES, len(scores)).clamp(1e-12, 1 - 1e-7)))
        order = torch.argsort(scores.detach() + noise, dim=1, descending=True)
        ranked = scores[order]
        log_probability = (ranked - ranked.flip(1).logcumsumexp(1).flip(1)).sum(dim=1)
        exposure = torch.zeros(SAMPLES, len(scores)).scatter_(1, order, self._v.expand(SAMPLES, -1))
        gap = exposure[:, codes == 0].mean(dim=1) - exposure[:, codes == 1].mean(dim=1)
        gap = torch.nan_to_num(gap)  # lists of a single group
        reward = (labels[order] * self._w).sum(dim=1) - 2.0 * self._gap * gap
        self._gap = 0.99 * self._gap + 0.01 * float(gap.mean())
        p = torch.softmax(scores, dim=0)
        entropy = -(p * torch.log(p)).sum()
        return -((reward - reward.mean()) * log_probability).mean() - entropy
