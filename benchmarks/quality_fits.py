"""One unit of work of the quality study: fit, measure on the test lists, one line per model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from quality_cells import (
    DELTAS,
    ENSEMBLE,
    ENSEMBLED,
    KNOWN,
    LOGISTIC_REGRESSION,
    METHODS,
    REPORT_DELTA,
    TUNING_DELTA,
    Method,
    Parts,
)
from sklearn.linear_model import LogisticRegression

from spofr_core.data import RankingDataset
from spofr_core.evaluation import audit
from spofr_core.fairness import Discount, Fairness
from spofr_core.learning import CollapsedScores, Estimator, make_estimator
from spofr_core.policy import Policies, SortedPolicies, fair_policies


def fitted(spec: Method, fairness: Fairness, settings: dict[str, Any], data: Parts, *, quick: bool) -> Estimator:
    """A trained model; a collapse is not hidden by silencing its warning: it shows in the DCG."""
    torch.set_num_threads(1)
    if quick:
        settings = settings | {"max_steps": 60}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapsedScores)
        return make_estimator(spec.method, fairness, **spec.settings | settings).fit(data[0], data[1])


def all_settings(spec: Method, dataset: str, chosen: dict[str, Any], seed: int) -> dict[str, Any]:
    """What the dataset asks of a network unless it was chosen, what was chosen, and the seed."""
    return ({} if spec.by_trees else KNOWN[dataset].settings) | chosen | {"seed": seed}


def tune_unit(
    dataset: str, seed: int, method: str, choice: dict[str, Any], _values: tuple[float | None, ...], quick: bool
) -> list[dict[str, Any]]:
    """The validation objective of one configuration on one tuning seed."""
    spec, data = METHODS[method], KNOWN[dataset].load(seed, quick=quick)
    settings = all_settings(spec, dataset, choice, seed) | ({"penalty": 1.0} if spec.by_penalty else {})
    model = fitted(spec, Fairness(delta=TUNING_DELTA), settings, data, quick=quick)
    line = {"tuning": True, "dataset": dataset, "method": method, "seed": seed, "settings": choice}
    return [line | {"validation_objective": model.report.best["objective"]}]


def run_unit(
    dataset: str, seed: int, method: str, chosen: dict[str, Any], values: tuple[float | None, ...], quick: bool
) -> list[dict[str, Any]]:
    """The given deltas or penalties of one method on one dataset and seed: one line each."""
    data = KNOWN[dataset].load(seed, quick=quick)
    start = {"dataset": dataset, "method": method, "seed": seed, "settings": chosen}
    if method == LOGISTIC_REGRESSION:
        return [start | _logistic_regression(*data)]
    settings = all_settings(METHODS[method], dataset, chosen, seed)
    return [start | _fit_and_measure(METHODS[method], value, settings, data, quick) for value in values]


def ensemble_unit(
    dataset: str, seed: int, method: str, chosen: dict[str, Any], values: tuple[float | None, ...], quick: bool
) -> list[dict[str, Any]]:
    """Five fits that differ in their own seed alone, each measured; then the mean of their estimates."""
    data, spec, lines = KNOWN[dataset].load(seed, quick=quick), METHODS[method], []
    for delta in values:
        fairness, members, estimates = Fairness(delta=float(delta or 0.0)), [], []
        for member in range(ENSEMBLE):
            settings = all_settings(spec, dataset, chosen, 100 * seed + member)
            model = fitted(spec, fairness, settings, data, quick=quick)
            estimates.append(model.estimates(data[2]))
            members.append(measured(data[2], fairness, policies_of(data[2], fairness, estimates[-1]))["test_dcg"])
        found = measured(data[2], fairness, policies_of(data[2], fairness, np.mean(estimates, axis=0)))
        start = {"dataset": dataset, "method": method + ENSEMBLED, "seed": seed, "settings": chosen}
        lines.append(start | {"delta": delta, "penalty": None, "members_dcg": members, **found})
    return lines


def policies_of(data: RankingDataset, fairness: Fairness, estimates: NDArray[np.float64]) -> Policies:
    """The optimal fair policies for estimates."""
    return fair_policies(estimates, data.groups, data.offsets, fairness, group_names=data.group_names)


def _fit_and_measure(
    spec: Method, value: float | None, settings: dict[str, Any], data: Parts, quick: bool
) -> dict[str, Any]:
    fairness = Fairness(delta=REPORT_DELTA if spec.by_penalty or value is None else value)
    model = fitted(spec, fairness, settings | ({"penalty": value} if spec.by_penalty else {}), data, quick=quick)
    best = model.report.best
    return {
        "delta": None if spec.by_penalty else value,
        "penalty": value if spec.by_penalty else None,
        "steps": model.report.steps,
        "fit_seconds": round(model.report.seconds, 3),
        "validation_objective": best.get("objective"),
        "validation_dcg": best.get("validation_dcg"),
        "validation_violation": best.get("violation"),
        **measured(data[2], fairness, model.policies(data[2])),
    }


def measured(test: RankingDataset, fairness: Fairness, policies: Any) -> dict[str, Any]:
    """What policies do on the test lists."""
    result = audit(test, fairness, policies=policies)
    table = result.table
    violations = np.abs(table.worst_violation[table.applicable])
    shares = result.share_at(np.array(DELTAS))
    return {
        "test_dcg": float(table.dcg.mean()),
        "test_ndcg": float(np.nanmean(table.ndcg)),
        "mean_violation": float(violations.mean()),
        "max_violation": float(violations.max()),
        "fair_shares": {f"{delta:g}": float(share) for delta, share in zip(DELTAS, shares, strict=True)},
        "queries": len(test),
        "applicable": int(table.applicable.sum()),
    }


def _logistic_regression(train: RankingDataset, validation: RankingDataset, test: RankingDataset) -> dict[str, Any]:
    """An ordinary logistic regression on the same labels, its ridge penalty chosen on validation, sorted."""
    center, spread = train.features.mean(axis=0), train.features.std(axis=0)
    spread[spread == 0] = 1.0
    weights = np.where(train.relevance > 0, train.relevance, 1.0)

    def policies(model: LogisticRegression, data: RankingDataset) -> SortedPolicies:
        return SortedPolicies(model.decision_function((data.features - center) / spread), np.array(data.offsets))

    worths = Discount().vector(int(validation.list_lengths.max()))
    tried = []
    for strength in (1e-4, 1e-3, 1e-2, 1e-1):
        model = LogisticRegression(C=strength, max_iter=2000)
        model.fit((train.features - center) / spread, train.relevance > 0, sample_weight=weights)
        dcg = float(validation.relevance @ policies(model, validation).expectation(worths)) / len(validation)
        tried.append((dcg, strength, model))
    dcg, _, model = max(tried, key=lambda entry: entry[0])
    found = measured(test, Fairness(delta=REPORT_DELTA), policies(model, test))
    return {"delta": None, "penalty": None, "validation_dcg": dcg, **found}
