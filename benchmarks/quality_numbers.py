"""Single numbers of the study for sentences: what they are is asked beside them, and what they come to is filled in.

    DATASET: CELL - CELL @ DELTA          a paired difference, as the tables have it
    DATASET: CELL - CELL @ DELTA in %     its mean as a share of the second cell's
    DATASET: CELL - CELL @ DELTA in words what it says: "adds", "is behind", or "adds nothing that can be shown"
    DATASET: CELL @ DELTA                 a mean
    every task: CELL - CELL @ DELTA counted  on how many tasks of the table its interval is above 0, below, or neither
    DATASET: spofr - RIVAL within LEVEL   what a paired difference at a mean violation of at most the level says
    DATASET: CELL - CELL at penalty P     the same of methods that a penalty steers; the second may be a plain sort
    DATASET: METHOD violation             the mean violation of a method that nothing steers

"best" as the loss of a cell is the one that tuning preferred; "one of five" is the mean over single members of an
ensemble.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from quality_answers import TASKS, Results, difference_text
from quality_cells import ENSEMBLED
from quality_plan import BEST
from quality_tables import paired, within_violation

_ASKED = re.compile(
    r"(?P<dataset>.+): (?P<one>.+?)(?: - (?P<other>.+))? @ (?P<delta>[\d.]+)"
    r"(?P<share> in %)?(?P<words> in words)?"
)
_WITHIN = re.compile(r"(?P<dataset>.+): spofr - (?P<rival>fultr|deltr) within (?P<level>[\d.]+)")
_COUNTED = re.compile(r"every task: (?P<one>\S+) - (?P<other>\S+) @ (?P<delta>[\d.]+) counted")
_PENALISED = re.compile(r"(?P<dataset>.+): (?P<one>.+?) - (?P<other>.+) at penalty (?P<penalty>[\d.]+)")
_VIOLATION = re.compile(r"(?P<dataset>.+): (?P<method>\S+) violation")
ONE_OF_FIVE = "one of five"


def number(results: Results, asked: str) -> str:
    """The number that a question asks for.

    Raises
    ------
    KeyError
        When the question cannot be read, or what it asks about was not run.
    """
    if found := _WITHIN.fullmatch(asked):
        picks = within_violation(results.beside_penalties(found["dataset"]), float(found["level"]))
        difference, rival = paired(picks["spofr"], picks[found["rival"]]), found["rival"].upper()
        if len(picks["spofr"]) and picks[found["rival"]].empty:
            return f"gets there and {rival} does not"
        told = _said(difference, asked)
        if difference[0] - difference[1] > 0:
            return f"is ahead of {rival} by {told}"
        verb = "is behind" if difference[0] + difference[1] < 0 else "shows no difference from"
        return f"{verb} {rival} ({told.replace(' (', ', ').removesuffix(')')})"
    if found := _COUNTED.fullmatch(asked):
        delta = float(found["delta"])
        signs = [
            np.sign(mean) * (abs(mean) > half)
            for mean, half, n in (
                paired(*(_dcg(results, task, delta, found[side]) for side in ("one", "other"))) for task in TASKS
            )
            if n > 1
        ]
        ahead, behind = signs.count(1), signs.count(-1)
        told = f"ahead on {ahead} and behind on {behind} of {len(signs)}"
        return f"{told}, and on {len(signs) - ahead - behind} no difference can be shown"
    if found := _VIOLATION.fullmatch(asked):
        models = results.models
        own = models[(models.dataset == found["dataset"]) & (models.method == found["method"])]
        if own.empty:
            raise KeyError(f"not run: {asked!r}")
        return f"{own.mean_violation.mean():.3f}"
    if found := _PENALISED.fullmatch(asked):
        models = results.models[results.models.dataset == found["dataset"]]
        models = models[models.penalty.isna() | (models.penalty == float(found["penalty"]))]
        one, other = (models[models.method == found[side]].set_index("seed").test_dcg for side in ("one", "other"))
        return _said(paired(one, other), asked)
    found = _ASKED.fullmatch(asked)
    if found is None:
        raise KeyError(f"not a question about the study: {asked!r}")
    dataset, delta = found["dataset"], float(found["delta"])
    one = _dcg(results, dataset, delta, found["one"])
    other = one if found["other"] is None else _other(results, dataset, delta, found["one"], found["other"])
    difference = paired(one, other)
    told = _said(difference, asked)
    if found["other"] is None:
        return f"{one.mean():.3f} (n={len(one)})"
    if found["share"]:
        return f"{100 * difference[0] / other[other.index.isin(one.index)].mean():.1f} %"
    return in_words(difference) if found["words"] else told


def in_words(difference: tuple[float, float, int]) -> str:
    """A paired difference as a verb with its number: which verb hangs on the interval alone."""
    mean, half, _ = difference
    told = difference_text(difference)
    if mean - half > 0:
        return f"adds {told}"
    verb = "is behind" if mean + half < 0 else "adds nothing that can be shown"
    return f"{verb} ({told.replace(' (', ', ').removesuffix(')')})"


def _said(difference: tuple[float, float, int], asked: str) -> str:
    if not difference[2]:
        raise KeyError(f"not run: {asked!r}")
    return difference_text(difference)


def _dcg(results: Results, dataset: str, delta: float, method: str) -> pd.Series:
    family, scorer, loss = (*method.split("/"), "", "")[:3]
    return results.dcg(dataset, delta, results.best(family, dataset, scorer) if loss == BEST else method)


def _other(results: Results, dataset: str, delta: float, one: str, other: str) -> pd.Series:
    if other == ONE_OF_FIVE:
        return results.members(dataset, one.removesuffix(ENSEMBLED))
    return _dcg(results, dataset, delta, other)
