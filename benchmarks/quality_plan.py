"""The third part of the quality study, piece by piece in the order of importance: scorers, losses, and the programme.

Predict-then-optimise is tuned for each scorer and loss. SPOFR starts from it with the same settings, so that what it
adds is added by training through the programme and by nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from quality_cells import ENSEMBLED, METHODS, PLAIN_LOSSES, TUNING_SEEDS, WITHIN, cell

BEST = "best"
"""Stands for the plain loss (list-wise or logistic) that did better on the tuning seeds."""
MAIN = "adult by sex, work only"
SEEDS = tuple(range(60, 72))
FRESH = tuple(range(72, 84))
"""Of everything that says what SPOFR adds: its settings were chosen after some test lists of `SEEDS` had been seen."""
Line = dict[str, Any]
Unit = tuple[str, int, str, dict[str, Any], tuple[float | None, ...]]


@dataclass(frozen=True)
class Piece:
    """Some methods on a dataset.

    Attributes
    ----------
    dataset : str
    methods : tuple of str
        Cells; `BEST` as their loss is looked up when the piece begins.
    deltas : tuple of float
    tuned_on : str or None
        Dataset whose tuning is taken over; its own by default.
    ensemble : bool
        Five fits of each method, their mean estimates into the programme.
    seeds : tuple of int
    """

    dataset: str
    methods: tuple[str, ...]
    deltas: tuple[float, ...] = (0.0, 0.02)
    tuned_on: str | None = None
    ensemble: bool = False
    seeds: tuple[int, ...] = SEEDS

    @property
    def tuning(self) -> str:
        """The dataset that settings are chosen on."""
        return self.tuned_on or self.dataset


NETWORK, THROUGH_NETWORK = cell("pto", "network", BEST), cell("spofr", "network", BEST)
TREES, THROUGH_TREES, SMOOTHED_TREES = (cell(family, "trees", BEST) for family in ("pto", "spo+", "fy"))
LISTNET, THROUGH = (cell(family, "network", "listnet") for family in ("pto", "spofr"))
IN_GROUPS, THROUGH_IN_GROUPS = (cell(family, "network", WITHIN) for family in ("pto", "spofr"))
BY_MARGIN = cell("spo+", "network", "listnet")
_ON_TREES = (TREES, THROUGH_TREES, SMOOTHED_TREES)
_CURVE = (LISTNET, IN_GROUPS, TREES, THROUGH_TREES)
_SMALL = f"{MAIN}, 2,000 lists"
_ALL_DELTAS = (0.0, 0.005, 0.01, 0.02)
_BESIDE_PENALTIES = (0.0, 0.01, 0.02, 0.03, 0.05)
PIECES = {
    f"through, {name}": Piece(*what, seeds=FRESH)
    for name, what in {
        "german-credit": ("german-credit", (NETWORK, THROUGH_NETWORK), _BESIDE_PENALTIES),
        "mslr-2": ("mslr-2", (NETWORK, THROUGH_NETWORK), _BESIDE_PENALTIES),
        "mslr-5": ("mslr-5", (NETWORK, THROUGH_NETWORK), _BESIDE_PENALTIES),
        "hiring": ("hiring", (NETWORK, THROUGH_NETWORK), _BESIDE_PENALTIES),
        "work only": (MAIN, (LISTNET, THROUGH), _ALL_DELTAS),
        "marital status": ("adult by marital status", (LISTNET, THROUGH)),
        "linear scorer": (f"{MAIN}, linear scorer", (LISTNET, THROUGH), (0.0, 0.02), MAIN),
        "all features": ("adult by sex", (NETWORK, THROUGH_NETWORK)),
        "race": ("adult by race", (NETWORK, THROUGH_NETWORK), (0.0,)),
        "2,000 lists": (_SMALL, (LISTNET, THROUGH), _BESIDE_PENALTIES, MAIN),
        "500 lists": (f"{MAIN}, 500 lists", (LISTNET, THROUGH), (0.0,), MAIN),
        "lists of 50": (f"{MAIN}, lists of 50", (LISTNET, THROUGH), (0.0,), MAIN),
        "lists of 100": (f"{MAIN}, lists of 100", (LISTNET, THROUGH), (0.0,), MAIN),
        "trees": (MAIN, (TREES, cell("spofr", "trees", BEST)), (0.0,)),
        "within groups": (MAIN, (IN_GROUPS, THROUGH_IN_GROUPS), (0.0,)),
        "five seeds": (_SMALL, (LISTNET, THROUGH), (0.0,), MAIN, True),
        "work only, beside the better loss": (MAIN, (NETWORK,), (0.0,)),
        "marital status, beside the better loss": ("adult by marital status", (NETWORK,), (0.0,)),
    }.items()
} | {
    "german-credit": Piece("german-credit", (TREES, THROUGH_TREES, IN_GROUPS), (0.0,)),
    "hiring": Piece("hiring", (NETWORK, *_ON_TREES, IN_GROUPS)),
    "all features": Piece("adult by sex", (*_ON_TREES, IN_GROUPS), (0.0,)),
    "marital status": Piece("adult by marital status", (LISTNET, *_ON_TREES, IN_GROUPS), (0.0,)),
    "race": Piece("adult by race", (NETWORK, TREES, THROUGH_TREES, IN_GROUPS), (0.0,)),
    "mslr-2": Piece("mslr-2", (*_ON_TREES, IN_GROUPS), (0.0,)),
    "mslr-5": Piece("mslr-5", (*_ON_TREES, IN_GROUPS), (0.0,)),
    "lists of 100": Piece(f"{MAIN}, lists of 100", _CURVE, (0.0,), MAIN),
    "rivals": Piece(
        _SMALL,
        (cell("unfair", "network", BEST), cell("unfair", "trees", BEST), "uniform", "deltr/network/its own"),
        tuned_on=MAIN,
    ),
    "beside penalties": Piece(_SMALL, (BY_MARGIN,), (0.0, 0.005, 0.01, 0.02, 0.03, 0.05), MAIN),
    "work only": Piece(MAIN, _CURVE),
    "more deltas": Piece(MAIN, (LISTNET, TREES, THROUGH_TREES), (0.005, 0.01, 0.05)),
    "other losses": Piece(
        MAIN, (*(cell("pto", "trees", loss) for loss in (*PLAIN_LOSSES, WITHIN)), SMOOTHED_TREES), (0.0,)
    ),
    "2,000 lists": Piece(_SMALL, _CURVE, (0.0,), MAIN),
    "500 lists": Piece(f"{MAIN}, 500 lists", _CURVE, (0.0,), MAIN),
    "lists of 50": Piece(f"{MAIN}, lists of 50", _CURVE, (0.0,), MAIN),
    "linear scorer": Piece(f"{MAIN}, linear scorer", (IN_GROUPS,), tuned_on=MAIN),
    "five seeds": Piece(_SMALL, _CURVE, (0.0,), MAIN, ensemble=True),
    "fultr": Piece(_SMALL, ("fultr/network/its own",)),
}
"""In the order of importance: a study that is stopped has whole tables of the first of them."""
PENALTIES = (1.0, 1e2, 1e3, 1e4, 1e5)


def as_cells(lines: list[Line]) -> list[Line]:
    """Lines of the second part under the names of the cells that they are, with the other lines as they are.

    Its methods chose among two losses and three weight decays, and a cell is one of the two losses: the best of six is
    the best of its three as well.
    """
    families = {"pto": ("pto", "scorer"), "spofr (fenchel-young)": ("fy", "warm_up")}
    families["spofr (spo+, ties by scores)"] = ("spo+", "warm_up")
    found = []
    for line in lines:
        family, knob = families.get(line["method"], ("", ""))
        if family:
            settings = {name: value for name, value in line["settings"].items() if name != knob}
            line = line | {"method": cell(family, "network", line["settings"][knob]), "settings": settings}
        found.append(line)
    return found


def objectives(lines: list[Line], dataset: str, method: str) -> dict[str, float]:
    """Mean validation objective over the tuning seeds of each configuration, written as JSON."""
    values: dict[str, list[float]] = {}
    for line in lines:
        if line.get("tuning") and (line["dataset"], line["method"]) == (dataset, method):
            values.setdefault(json.dumps(line["settings"], sort_keys=True), []).append(line["validation_objective"])
    return {settings: float(np.mean(each)) for settings, each in values.items()}


def best_loss(lines: list[Line], dataset: str, scorer: str) -> str:
    """The plain loss of predict-then-optimise that did better on the tuning seeds."""
    tried = {loss: objectives(lines, dataset, cell("pto", scorer, loss)) for loss in PLAIN_LOSSES}
    return max(PLAIN_LOSSES, key=lambda loss: max(tried[loss].values(), default=-np.inf))


def tuned_cell(method: str) -> str:
    """The cell whose tuning a method follows: SPOFR and the plain sort that of predict-then-optimise."""
    family, _, rest = method.partition("/")
    return f"pto/{rest}" if family in ("spofr", "spo+", "fy", "unfair") else method


def resolved(lines: list[Line], dataset: str, method: str) -> str:
    """The method with the best loss in place of `BEST`."""
    family, scorer, loss = (*method.split("/"), "", "")[:3]
    return cell(family, scorer, best_loss(lines, dataset, scorer)) if loss == BEST else method


def tuning_of(piece: Piece, lines: list[Line]) -> Iterator[Unit]:
    """Units of tuning that are not in the lines yet."""
    done = {
        (line["dataset"], line["method"], line["seed"], json.dumps(line["settings"], sort_keys=True))
        for line in lines
        if line.get("tuning")
    }
    asked: dict[str, None] = {}
    for method in piece.methods:
        _, scorer, loss = (*method.split("/"), "", "")[:3]
        asked.update(dict.fromkeys(cell("pto", scorer, each) for each in PLAIN_LOSSES) if loss == BEST else {})
        asked.update({} if loss == BEST else {tuned_cell(method): None})
    for seed in TUNING_SEEDS:
        for method in asked:
            for choice in METHODS[method].choices:
                if (piece.tuning, method, seed, json.dumps(choice, sort_keys=True)) not in done:
                    yield piece.tuning, seed, method, choice, ()


def study_of(piece: Piece, lines: list[Line], seeds: Sequence[int]) -> Iterator[Unit]:
    """Units of the study that are not in the lines yet, seed by seed; one fit each, so that little is lost."""
    done = {
        (line["dataset"], line["method"], line["seed"], line["delta"] if line["penalty"] is None else line["penalty"])
        for line in lines
        if not line.get("tuning")
    }
    for seed in (each for each in piece.seeds if each in seeds):
        for method in dict.fromkeys(resolved(lines, piece.tuning, each) for each in piece.methods):
            tried = objectives(lines, piece.tuning, tuned_cell(method))
            chosen = json.loads(max(tried, key=tried.__getitem__)) if tried else {}
            name = method + ENSEMBLED if piece.ensemble else method
            for value in METHODS[method].grid(piece.deltas, PENALTIES):
                if (piece.dataset, name, seed, value) not in done:
                    yield piece.dataset, seed, method, chosen, (value,)
