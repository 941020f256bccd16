"""What SPOFR, its rivals and the anchors reach on held-out data: one network, one tuning budget, one selection rule.

    python benchmarks/quality.py                # runs the study, or continues it, and prints the tables
    python benchmarks/quality.py --end-to-end   # the same for: what does training through the programme add?
    python benchmarks/quality.py --report       # tables of what is there
    python benchmarks/quality.py --quick --results /tmp/quick.jsonl

Protocol. Every method gets the same data, network, optimiser and early stopping, and the same number of configurations
to choose from: each is trained on seeds that are used for nothing else, and the one with the best mean objective on the
VALIDATION lists is taken for all other seeds. Test lists are scored once, at the end, without a look at their labels.
One line per (dataset, method, seed, delta or penalty) is appended to the results file; what is there is not run again.
The results that come with it: seeds 60 to 71 (German Credit, Adult) and 60 to 65 (the others), read in docs/quality.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # many fits at a time, each on one core

import numpy as np
import torch
from quality_tables import END_TO_END, print_tables
from sklearn.linear_model import LogisticRegression

from spofr_core.data import RankingDataset, adult_lists, fit_logging_ranker, load_sample, sample_path, simulate_clicks
from spofr_core.evaluation import audit
from spofr_core.fairness import Discount, Fairness
from spofr_core.learning import CollapsedScores, Estimator, make_estimator
from spofr_core.policy import SortedPolicies

DELTAS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.4)
PENALTIES = (0.0, 1.0, 1e2, 1e3, 1e4, 1e5)
TUNING_SEEDS = (1000, 1001)
TUNING_DELTA = 0.02
REPORT_DELTA = 0.05

ADULT: dict[str, dict[str, Any]] = {
    "sex": {"groups": "sex"},
    "sex, work only": {"groups": "sex", "features": "work"},
    "marital status": {"groups": "marital_status", "list_length": 18},
}
"""Tasks on UCI Adult, as `adult_lists` takes them."""

Parts = tuple[RankingDataset, RankingDataset, RankingDataset]


@dataclass(frozen=True)
class Dataset:
    """A sample, its groups, how many clicks to learn from (0: true labels), and what makes it hard.

    "adult: ..." is one of `ADULT`. Validation has as many clicks, 3,000 at most unless said: they are solved
    again every 20 steps.
    """

    sample: str
    groups: int | None = None
    clicks: int = 0
    validation_clicks: int | None = None
    false_clicks: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)

    def load(self, seed: int, *, quick: bool) -> Parts:
        """Train, validation and test; clicks for the first two, true labels for the last."""
        _, adult, task = self.sample.partition("adult: ")
        if adult:
            lists = (200, 100, 100) if quick else (8_000, 3_000, 3_000)
            people = adult_lists(sample_path("adult"), lists=lists, seed=seed, **ADULT[task])
            return people.train, people.validation, people.test
        sizes = {} if self.sample == "hiring" else {"test_lists": 200 if quick else 1500}
        splits = load_sample(self.sample, groups=self.groups, seed=seed, **sizes)
        if not self.clicks:
            return splits.train, splits.validation, splits.test
        clicks = 500 if quick else self.clicks
        ranker = fit_logging_ranker(splits.train, seed=seed)
        shared: dict[str, Any] = {"logging": ranker, "epsilon_minus": self.false_clicks}
        train = simulate_clicks(splits.train, clicks, seed=2 * seed + 1, **shared)
        validation_clicks = min(clicks, self.validation_clicks or 3_000)
        return train, simulate_clicks(splits.validation, validation_clicks, seed=2 * seed + 2, **shared), splits.test


def _tuned(knob: str, *values: Any, **fixed: Any) -> tuple[dict[str, Any], ...]:
    """Six configurations: two values of the knob that matters most to the method, three weight decays."""
    return tuple({knob: value, "weight_decay": decay, **fixed} for value in values for decay in (0.0, 3.0, 10.0))


_LISTNET = _tuned("learning_rate", 3e-4, 1e-3)


@dataclass(frozen=True)
class Method:
    """A method, its fixed settings, and the configurations that tuning chooses from: six for each."""

    name: str
    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    choices: tuple[dict[str, Any], ...] = _LISTNET

    @property
    def by_penalty(self) -> bool:
        """Whether the tradeoff is made by a penalty instead of delta."""
        return self.method in ("fultr", "deltr")

    def grid(self, arguments: argparse.Namespace) -> tuple[float | None, ...]:
        """Deltas, penalties, or nothing to vary."""
        if self.method in ("unfair", "uniform"):
            return (None,)
        return tuple(arguments.penalties if self.by_penalty else arguments.deltas)


_MANY_PEOPLE = {"learning_rate": 3e-3}
DATASETS = {
    "german-credit": Dataset("german-credit", None, 5_000, validation_clicks=5_000),
    "mslr-2": Dataset("mslr", 2, 12_000),
    "mslr-5": Dataset("mslr", 5, 12_000),
    "hiring": Dataset("hiring", 2, 0),
}
HARD = {
    "german-credit, linear scorer": Dataset("german-credit", None, 5_000, settings={"hidden": ()}),
    "german-credit, 500 clicks": Dataset("german-credit", None, 500),
    "german-credit, false clicks": Dataset("german-credit", None, 5_000, false_clicks=0.1),
    "mslr, linear scorer, 5 groups": Dataset("mslr", 5, 12_000, settings={"hidden": ()}),
    "mslr, 7 groups": Dataset("mslr", 7, 12_000),
    "hiring, 8 groups": Dataset("hiring", 8, 0),
    "adult by sex": Dataset("adult: sex", settings=_MANY_PEOPLE),
    "adult by sex, work only": Dataset("adult: sex, work only", settings=_MANY_PEOPLE),
    "adult by sex, work only, linear scorer": Dataset("adult: sex, work only", settings=_MANY_PEOPLE | {"hidden": ()}),
    "adult by marital status": Dataset("adult: marital status", settings=_MANY_PEOPLE),
}
"""Where training through the decision should pay: few or noisy labels, a model that cannot be right, many groups, and
a scorer that must not see the group although much of what it sees gives the group away."""
KNOWN = DATASETS | HARD

_NO_REMEDY = {"ties": "random", "estimates": "scores", "margin": 0.0}
METHODS = {
    m.name: m
    for m in (
        Method("spofr", "spofr"),
        Method("spofr (spo+)", "spofr", {"loss": "spo+"}, _tuned("learning_rate", 3e-3, 1e-2)),
        Method("spofr (spo+ after listnet)", "spofr", {"loss": "spo+", "warm_up": "listnet", **_NO_REMEDY}),
        Method("pto (listnet)", "pto"),
        Method("pto (logistic)", "pto", {"scorer": "logistic"}, _tuned("learning_rate", 1e-3, 1e-2)),
        Method("fultr", "fultr", choices=_tuned("entropy", 0.1, 1.0, learning_rate=3e-3)),
        Method("deltr", "deltr", choices=_tuned("learning_rate", 1e-3, 1e-2)),
        Method("pto", "pto", choices=_tuned("scorer", "listnet", "logistic")),
        Method("spofr (fenchel-young)", "spofr", {"margin": 1.0}, _tuned("warm_up", "listnet", "logistic")),
        Method(
            "spofr (spo+, ties by scores)",
            "spofr",
            {"loss": "spo+"},
            _tuned("warm_up", "listnet", "logistic"),
        ),
        Method("unfair", "unfair"),
        Method("uniform", "uniform", choices=()),
    )
}
LOGISTIC_REGRESSION = "logistic regression"
"""Of people on clicks, sorted: what a statistician would try first. On German Credit only; MSLR takes it minutes."""


# -- one unit of work ----------------------------------------------------------------------------------


def fitted(spec: Method, fairness: Fairness, settings: dict[str, Any], data: Parts, *, quick: bool) -> Estimator:
    """A trained model; a collapse is not hidden by silencing its warning: it shows in the DCG."""
    torch.set_num_threads(1)
    if quick:
        settings = settings | {"max_steps": 60}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapsedScores)
        return make_estimator(spec.method, fairness, **spec.settings | settings).fit(data[0], data[1])


def tune_unit(
    dataset: str, seed: int, method: str, choice: dict[str, Any], _values: tuple[float | None, ...], quick: bool
) -> list[dict[str, Any]]:
    """The validation objective of one configuration on one tuning seed."""
    spec, data = METHODS[method], KNOWN[dataset].load(seed, quick=quick)
    settings = choice | KNOWN[dataset].settings | {"seed": seed} | ({"penalty": 1.0} if spec.by_penalty else {})
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
    settings = chosen | KNOWN[dataset].settings | {"seed": seed}
    return [start | _fit_and_measure(METHODS[method], value, settings, data, quick) for value in values]


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


# -- what is left to do --------------------------------------------------------------------------------


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All complete lines; one that was cut off by a crash is told, left out, and run again."""
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(text))
        except ValueError:
            print(f"left out a broken line: {text[:60]}...", file=sys.stderr)
    return lines


def chosen_settings(lines: list[dict[str, Any]], dataset: str, method: str) -> dict[str, Any]:
    """The configuration with the best mean objective over the tuning seeds."""
    objectives: dict[str, list[float]] = {}
    for line in lines:
        if line.get("tuning") and (line["dataset"], line["method"]) == (dataset, method):
            key = json.dumps(line["settings"], sort_keys=True)
            objectives.setdefault(key, []).append(line["validation_objective"])
    if not objectives:
        return {}
    best = max(objectives, key=lambda key: float(np.mean(objectives[key])))
    chosen: dict[str, Any] = json.loads(best)
    return chosen


def tuning_left(arguments: argparse.Namespace, lines: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """Units (dataset, seed, method, settings, values) of tuning that are not in the results yet."""
    done = {
        (line["dataset"], line["method"], line["seed"], json.dumps(line["settings"], sort_keys=True))
        for line in lines
        if line.get("tuning")
    }
    for dataset in arguments.datasets:
        for method in arguments.methods:
            choices = METHODS[method].choices if method in METHODS else ()
            for choice in choices[:2] if arguments.quick else choices:
                for seed in TUNING_SEEDS[:1] if arguments.quick else TUNING_SEEDS:
                    if (dataset, method, seed, json.dumps(choice, sort_keys=True)) not in done:
                        yield dataset, seed, method, choice, ()


def study_left(arguments: argparse.Namespace, lines: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """The same of the study itself, seed by seed, so that an unfinished study has whole pairs."""
    done = {
        (line["dataset"], line["method"], line["seed"], line["delta"] if line["penalty"] is None else line["penalty"])
        for line in lines
        if not line.get("tuning")
    }
    for seed in arguments.seeds:
        for dataset in arguments.datasets:
            for method in arguments.methods:
                if method == LOGISTIC_REGRESSION and KNOWN[dataset].sample != "german-credit":
                    continue
                grid = METHODS[method].grid(arguments) if method in METHODS else (None,)
                values = tuple(value for value in grid if (dataset, method, seed, value) not in done)
                if values:
                    yield dataset, seed, method, chosen_settings(lines, dataset, method), values


def run(arguments: argparse.Namespace) -> None:
    """Tune what is not tuned, then run what is not there."""
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    for name, unit, find in (("tuning", tune_unit, tuning_left), ("study", run_unit, study_left)):
        left = list(find(arguments, read_lines(arguments.results)))
        print(f"{name}: {len(left)} units to run", file=sys.stderr)
        started = time.perf_counter()
        with ProcessPoolExecutor(arguments.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            futures = {pool.submit(unit, *work, arguments.quick): work for work in left}
            for count, future in enumerate(as_completed(futures), start=1):
                with arguments.results.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(line) + "\n" for line in future.result())
                eta = (time.perf_counter() - started) / count * (len(left) - count)
                print(f"{count}/{len(left)} {futures[future][:3]}, {eta / 60:.0f} min left", file=sys.stderr)


def _seeds(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main() -> None:
    """Read the command line."""
    rivals = [*(name for name in METHODS if name not in END_TO_END), LOGISTIC_REGRESSION]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results/quality.jsonl"))
    parser.add_argument("--end-to-end", action="store_true", help="what training through the programme adds, and where")
    parser.add_argument("--datasets", nargs="+", choices=KNOWN)
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, LOGISTIC_REGRESSION])
    parser.add_argument("--seeds", type=_seeds, default=_seeds("60-71"), help="first-last")
    parser.add_argument("--deltas", nargs="+", type=float)
    parser.add_argument("--penalties", nargs="+", type=float, default=list(PENALTIES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quick", action="store_true", help="two seeds, two deltas, few steps")
    parser.add_argument("--report", action="store_true", help="only print the tables")
    arguments = parser.parse_args()
    arguments.datasets = arguments.datasets or list(KNOWN if arguments.end_to_end else DATASETS)
    arguments.methods = arguments.methods or (list(END_TO_END) if arguments.end_to_end else rivals)
    arguments.deltas = arguments.deltas or ([0.0, 0.02] if arguments.end_to_end else list(DELTAS))
    if arguments.quick:
        arguments.seeds, arguments.deltas, arguments.penalties = arguments.seeds[:2], [0.0, 0.03], [0.0, 100.0]
    if not arguments.report:
        run(arguments)
    print_tables(read_lines(arguments.results))


if __name__ == "__main__":
    main()
