"""The questions of docs/quality.md, each answered by a table: test DCG, and paired differences over seeds.

A cell without a value was not run. "SPOFR" is the default; "SPO+ by a margin" keeps what SPO+ makes of a trained scorer
only where it gains one standard error on the validation lists, so that a difference of exactly 0 means never.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd
from quality_cells import AT_BEST, ENSEMBLED, PLAIN_LOSSES, WITHIN, cell
from quality_plan import MAIN, PIECES, Line, as_cells, best_loss
from quality_tables import at_matched_violation, frame, markdown, paired

TASKS = {
    MAIN: "Adult by sex, work only",
    "adult by sex": "Adult by sex, all features",
    "adult by marital status": "Adult by marital status",
    "adult by race": "Adult by race",
    "german-credit": "German Credit",
    "mslr-2": "MSLR, 2 groups",
    "mslr-5": "MSLR, 5 groups",
    "hiring": "hiring",
}
CURVE = {f"{MAIN}, 500 lists": "500", f"{MAIN}, 2,000 lists": "2,000", MAIN: "8,000"}
LENGTHS = {MAIN: "20", f"{MAIN}, lists of 50": "50", f"{MAIN}, lists of 100": "100"}
_SMALL = f"{MAIN}, 2,000 lists"
_ROUNDING = 5e-7
"""Differences below it come from the order of additions."""
Row = dict[str, Any]


class Results:
    """Test DCG by dataset, delta and cell, one value a seed."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = as_cells(lines)
        self.models = frame(self._lines)
        self._table = self.models[self.models.delta.notna()].pivot_table(
            index=["dataset", "delta", "seed"], columns="method", values="test_dcg"
        )

    def dcg(self, dataset: str, delta: float, method: str) -> pd.Series:
        """Of each seed; empty if there is none."""
        if method not in self._table or (dataset, delta) not in self._table.index.droplevel("seed"):
            return pd.Series(dtype=float)
        return self._table[method].loc[(dataset, delta)].dropna()

    def best(self, family: str, dataset: str, scorer: str) -> str:
        """The cell of the plain loss that tuning preferred; the one that there is, where tuning was separate."""
        tuned_on = next((p.tuning for p in PIECES.values() if p.dataset == dataset and scorer == "trees"), dataset)
        chosen = cell(family, scorer, best_loss(self._lines, tuned_on, scorer))
        if len(self.dcg(dataset, 0.0, chosen)):
            return chosen
        there = [
            cell(family, scorer, loss)
            for loss in PLAIN_LOSSES
            if len(self.dcg(dataset, 0.0, cell(family, scorer, loss)))
        ]
        return there[0] if there else chosen

    def mean(self, dataset: str, delta: float, method: str, like: str | None = None) -> str:
        """Mean over the seeds, those that `like` has as well, and how many."""
        values = self.dcg(dataset, delta, method)
        values = values if like is None else values[values.index.isin(self.dcg(dataset, delta, like).index)]
        return f"{values.mean():.3f} (n={len(values)})" if len(values) else ""

    def minus(self, dataset: str, delta: float, one: str, other: str) -> str:
        """Paired difference in print."""
        return difference_text(paired(self.dcg(dataset, delta, one), self.dcg(dataset, delta, other)))

    def beside_penalties(self, dataset: str) -> pd.DataFrame:
        """Models of a dataset that are compared at the same violation: SPOFR and its rivals at their best.

        Where these were not run, SPOFR kept by a margin, and the rivals with fewer settings to choose from.
        """
        part, rivals = self.models[self.models.dataset == dataset], ("fultr", "deltr")
        named = {cell(rival, "network", AT_BEST): rival for rival in rivals}
        if part.method.isin(named).any():
            named[self.best("spofr", dataset, "network")] = "spofr"
        else:
            named = {name: rival for rival in rivals for name in (rival, cell(rival, "network", "its own"))}
            named[cell("spo+", "network", "listnet")] = "spofr"
        return part.assign(method=part.method.map(named)).dropna(subset="method")

    def members(self, dataset: str, method: str) -> pd.Series:
        """Mean DCG of the single members of the ensembles, by seed."""
        part = self.models[(self.models.dataset == dataset) & (self.models.method == method + ENSEMBLED)]
        return pd.Series(
            {row.seed: sum(row.members_dcg) / len(row.members_dcg) for row in part.itertuples()}, dtype=float
        )


def difference_text(difference: tuple[float, float, int]) -> str:
    """A paired difference; exactly 0 where nothing differs, nothing where no seed has both."""
    mean, half, n = difference
    if not n:
        return ""
    if abs(mean) < _ROUNDING and not half > _ROUNDING:
        return f"0 (n={n})"
    return f"{mean:+z.4f} (n=1)" if n == 1 else f"{mean:+z.4f} ± {half:.4f} (n={n})"


def which_method(results: Results, delta: float) -> Iterable[Row]:
    """Every task: predict-then-optimise with a network, and what else would bring instead."""
    for dataset, title in TASKS.items():
        base = results.best("pto", dataset, "network")
        if not len(results.dcg(dataset, delta, base)):
            continue
        minus = lambda one, dataset=dataset, base=base: results.minus(dataset, delta, one, base)  # noqa: E731
        yield {
            "": title,
            "network, then the programme": results.mean(dataset, delta, base),
            "trees": minus(results.best("pto", dataset, "trees")),
            "network within groups": minus(cell("pto", "network", WITHIN)),
            "network, SPOFR": minus(results.best("spofr", dataset, "network")),
            "trees, SPO+ by a margin": minus(results.best("spo+", dataset, "trees")),
        }


def what_the_programme_adds(results: Results) -> Iterable[Row]:
    """Through the programme minus predict-then-optimise with the same scorer and first loss, same settings."""
    for dataset, title in {**TASKS, _SMALL: "Adult by sex, work only, 2,000 lists"}.items():
        for scorer, losses in (("network", (*PLAIN_LOSSES, WITHIN)), ("trees", PLAIN_LOSSES)):
            for loss in losses:
                found = {
                    f"{name}, delta {delta:g}": results.minus(
                        dataset, delta, cell(family, scorer, loss), cell("pto", scorer, loss)
                    )
                    for family, name in (("spofr", "SPOFR"), ("spo+", "SPO+ by a margin"), ("fy", "Fenchel-Young"))
                    for delta in (0.0, 0.02)
                }
                if any(found.values()):
                    yield {"": title, "scorer": scorer, "first loss": loss, **found}


def losses_of_trees(results: Results) -> Iterable[Row]:
    """The losses that trees can learn from, before the programme, at delta 0."""
    logistic = cell("pto", "trees", "logistic")
    for dataset, title in {**TASKS, _SMALL: "Adult by sex, work only, 2,000 lists"}.items():
        row = {
            name: results.minus(dataset, 0.0, cell("pto", "trees", loss), logistic)
            for name, loss in (("list-wise minus it", "listnet"), ("within groups minus it", WITHIN))
        }
        if any(row.values()):
            yield {"": title, "trees, logistic": results.mean(dataset, 0.0, logistic), **row}


def within_groups(results: Results) -> Iterable[Row]:
    """What the loss within groups does without a solver, what SPOFR adds beside it, and what with it."""
    within, after = cell("pto", "network", WITHIN), cell("spofr", "network", WITHIN)
    plain, through = cell("pto", "network", "listnet"), cell("spofr", "network", "listnet")
    tasks = {MAIN: "8,000 lists", f"{MAIN}, linear scorer": "8,000 lists, linear scorer", _SMALL: "2,000 lists"}
    for dataset, title in tasks.items():
        for delta in (0.0, 0.02):
            row = {
                "within groups minus list-wise": results.minus(dataset, delta, within, plain),
                "SPOFR minus list-wise": results.minus(dataset, delta, through, plain),
                "SPOFR minus within groups": results.minus(dataset, delta, through, within),
                "SPOFR with within groups minus SPOFR with list-wise": results.minus(dataset, delta, after, through),
            }
            if any(row.values()):
                yield {"": title, "delta": f"{delta:g}", **row}


def curve(results: Results, datasets: dict[str, str], first: str) -> Iterable[Row]:
    """Along the number of training lists, or the length of a list, at delta 0."""
    for dataset, title in datasets.items():
        yield from _beside_the_network(results, dataset, 0.0, {first: title})


def _beside_the_network(results: Results, dataset: str, delta: float, head: Row) -> Iterable[Row]:
    """All minus the list-wise network, and SPO+ on trees minus trees; no row where that network was not run."""
    plain, through, within = (
        cell("pto", "network", "listnet"),
        cell("spofr", "network", "listnet"),
        cell("pto", "network", WITHIN),
    )
    trees, through_trees = (results.best(family, dataset, "trees") for family in ("pto", "spo+"))
    if len(results.dcg(dataset, delta, plain)):
        yield head | {
            "network, list-wise": results.mean(dataset, delta, plain),
            "SPOFR minus it": results.minus(dataset, delta, through, plain),
            "within groups minus it": results.minus(dataset, delta, within, plain),
            "trees minus it": results.minus(dataset, delta, trees, plain),
            "trees: SPO+ minus trees": results.minus(dataset, delta, through_trees, trees),
        }


def by_delta(results: Results) -> Iterable[Row]:
    """At which delta training through the programme pays: work only, 8,000 lists."""
    for delta in (0.0, 0.005, 0.01, 0.02, 0.05):
        yield from _beside_the_network(results, MAIN, delta, {"delta": f"{delta:g}"})


def ensembles(results: Results) -> Iterable[Row]:
    """Five fits that differ in their own seed: the mean of one, the mean of their estimates, the gain."""
    plain = cell("pto", "network", "listnet")
    names = {
        plain: "network, list-wise",
        cell("spo+", "network", "listnet"): "network, SPO+ by a margin",
        cell("pto", "network", WITHIN): "network within groups",
        results.best("pto", _SMALL, "trees"): "trees",
        results.best("spo+", _SMALL, "trees"): "trees, SPO+ by a margin",
    }
    for method, title in names.items():
        one, five = results.members(_SMALL, method), results.dcg(_SMALL, 0.0, method + ENSEMBLED)
        if len(five):
            yield {
                "": title,
                "one fit": f"{one.mean():.3f} (n={len(one)})",
                "five minus one": difference_text(paired(five, one)),
                "five minus five of the list-wise network": ""
                if method == plain
                else difference_text(paired(five, results.dcg(_SMALL, 0.0, plain + ENSEMBLED))),
            }


def penalties(results: Results) -> Iterable[Row]:
    """SPOFR and the penalty methods at the same mean violation: levels of which validation lists know."""
    titles = TASKS | {_SMALL: "Adult by sex, work only, 2,000 lists"}
    for dataset in ("german-credit", "mslr-2", "mslr-5", "hiring", _SMALL):
        part = results.beside_penalties(dataset)
        levels = (0.01, 0.02, 0.03) if dataset == _SMALL else (0.01, 0.03, 0.05)  # a plain sort of Adult is at 0.027
        for row in at_matched_violation(part).to_dict("records") if len(part) else ():
            if row["mean violation <="] in levels:
                yield {"": titles[dataset], **{key: "" if pd.isna(value) else value for key, value in row.items()}}


def without_a_guarantee(results: Results) -> Iterable[Row]:
    """What a plain sort and a random order do on Adult: DCG and mean violation, over the seeds."""
    models = results.models
    names = {
        "unfair/network/logistic": "network, sorted",
        "unfair/trees/logistic": "trees, sorted",
        "uniform": "random",
    }
    for method, title in names.items():
        part = models[(models.dataset == _SMALL) & (models.method == method)]
        if len(part):
            yield {
                "": title,
                "DCG": f"{part.test_dcg.mean():.3f} (n={len(part)})",
                "mean violation": f"{part.mean_violation.mean():.4f}",
            }


def every_task(results: Results) -> Iterable[Row]:
    """What SPOFR adds to the better of two losses, and Fenchel-Young and SPO+ by a margin, tuned on their own."""
    dataset_names = results.models[
        results.models.method.str.startswith(("fy/network", "spo+/network"))
    ].dataset.unique()
    for dataset in dataset_names:
        base = results.best("pto", dataset, "network")
        if results.best("fy", dataset, "network") and len(
            results.dcg(dataset, 0.0, results.best("fy", dataset, "network"))
        ):
            row: Row = {"": dataset}
            for delta in (0.0, 0.02):
                row[f"delta {delta:g}: predict-then-optimise"] = results.mean(dataset, delta, base)
                for family, title in (("spofr", "SPOFR"), ("fy", "Fenchel-Young"), ("spo+", "SPO+ by a margin")):
                    row[f"{title} minus it, {delta:g}"] = results.minus(
                        dataset, delta, results.best(family, dataset, "network"), base
                    )
            yield row


def answers(lines: list[Line]) -> dict[str, str]:
    """Every table as Markdown, by its name in the document; none of what is not there."""
    if all(line.get("tuning") for line in lines):
        return {}
    results = Results(lines)
    made: dict[str, Callable[[], Iterable[Row]]] = {
        "which method, delta 0": lambda: which_method(results, 0.0),
        "which method, delta 0.02": lambda: which_method(results, 0.02),
        "losses of trees": lambda: losses_of_trees(results),
        "without a guarantee": lambda: without_a_guarantee(results),
        "what the programme adds": lambda: what_the_programme_adds(results),
        "within groups": lambda: within_groups(results),
        "learning curve": lambda: curve(results, CURVE, "training lists"),
        "length of lists": lambda: curve(results, LENGTHS, "people in a list"),
        "by delta": lambda: by_delta(results),
        "five seeds": lambda: ensembles(results),
        "penalty methods": lambda: penalties(results),
        "every task": lambda: every_task(results),
    }
    tables = {name: pd.DataFrame(list(make())) for name, make in made.items()}
    return {name: markdown(table.dropna(axis=1, how="all")) for name, table in tables.items() if not table.empty}
