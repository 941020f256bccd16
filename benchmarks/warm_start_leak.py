"""How a hot-started solver can hand the labels of the test set to a scorer that knows nothing.

Evaluating a scorer yhat means solving max yhat' Pi w and measuring y' Pi w with the true labels y. If the same solver
has just solved the programme of y itself, it starts from that optimal basis. Where yhat has ties the old basis may be
optimal for yhat too, and the solver stops there: the ties are broken by the labels. A scorer that gives every item the
same score then looks nearly perfect.

Measured here on German Credit lists of 20 people, 2 of them relevant, with the GLOP backend of this package:

- leaky: on one hot solver per composition of groups, the programme of the labels first, then that of a constant score;
- blind: the same solvers and the same constant score, but no solver has ever seen a label;
- the random ranking, and the optimum of the labels, as the two ends.

Run: python benchmarks/warm_start_leak.py [--lists 200] [--deltas 0,0.1,0.4] [--json leak.json]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.data import RankingDataset, load_sample
from spofr_core.evaluation import bootstrap_mean
from spofr_core.fairness import Discount, Fairness
from spofr_core.policy.programme import PreparedLists, prepare
from spofr_core.policy.solvers.glop import GlopModel

FloatArray = NDArray[np.float64]


class HotSolvers:
    """One GLOP model per composition of groups, each starting from its last basis, as a training loop keeps them."""

    def __init__(self, lists: PreparedLists) -> None:
        self._lists = lists
        self._models: dict[tuple[int, ...], GlopModel] = {}

    def solve(self, query: int, scores: FloatArray) -> FloatArray:
        """Pi of one list for these scores. Items enter by group, in the order of the list within a group."""
        lists = self._lists
        start, end = int(lists.offsets[query]), int(lists.offsets[query + 1])
        n = end - start
        order = np.argsort(lists.codes[start:end], kind="stable")
        sizes = tuple(lists.sizes[query].tolist())
        if sizes not in self._models:
            self._models[sizes] = GlopModel(sizes, lists.v[:n])
        model = self._models[sizes]
        model.load(scores[order], lists.w[:n], lists.lower[query], lists.upper[query])
        if model.run() != 0:
            raise RuntimeError(f"GLOP did not solve list {query}.")
        matrix = np.empty((n, n))
        matrix[order] = model.read().matrix
        return matrix


def measure(data: RankingDataset, delta: float) -> dict[str, Any]:
    """Mean DCG of a constant scorer, evaluated after the labels and without them."""
    if data.relevance is None:
        raise ValueError("The lists need labels.")
    lists = prepare(data.groups, data.offsets, Fairness(delta=delta), group_names=data.group_names)
    leaky, blind = HotSolvers(lists), HotSolvers(lists)
    found: dict[str, list[float]] = {
        "optimum of the labels": [],
        "constant, leaky": [],
        "constant, blind": [],
        "random": [],
    }
    for query in range(len(data)):
        labels = data.relevance[data.offsets[query] : data.offsets[query + 1]]
        w = Discount().vector(len(labels))
        constant = np.zeros(len(labels))
        found["optimum of the labels"].append(float(labels @ leaky.solve(query, labels) @ w))
        found["constant, leaky"].append(float(labels @ leaky.solve(query, constant) @ w))
        found["constant, blind"].append(float(labels @ blind.solve(query, constant) @ w))
        found["random"].append(float(labels.sum() * w.mean()))
    rows: dict[str, Any] = {}
    for name, values in found.items():
        lower, upper = bootstrap_mean(np.array(values), seed=0) or (np.nan, np.nan)
        rows[name] = {"dcg": float(np.mean(values)), "lower": lower, "upper": upper}
    return {"delta": delta, "lists": len(data), "dcg": rows}


def main() -> None:
    """Print the table; write it as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lists", type=int, default=200)
    parser.add_argument("--deltas", default="0,0.1,0.4")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    data = load_sample("german-credit", test_lists=arguments.lists, seed=arguments.seed).test
    rows = [measure(data, float(delta)) for delta in arguments.deltas.split(",")]
    names = list(rows[0]["dcg"])
    print(f"{len(data)} German Credit lists, mean DCG (95 % bootstrap interval)")
    print(f"{'delta':>6}  " + "  ".join(f"{name:>25}" for name in names))
    for row in rows:
        cells = [f"{c['dcg']:.3f} ({c['lower']:.3f}-{c['upper']:.3f})" for c in row["dcg"].values()]
        print(f"{row['delta']:>6g}  " + "  ".join(f"{cell:>25}" for cell in cells))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
