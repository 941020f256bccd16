"""The words of the audit: each once, in a sentence, and worked out on one list of five items.

Every number of an example is computed by the package when it is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from spofr_core.fairness import NOTIONS, Composition, Fairness, Quota, largest_delta
from spofr_core.policy import Policy, fair_policy
from spofr_core.reporting.wording.phrases import listed, number, percent


class WorkedList:
    """Five items of two groups, best score first, judged at 10 % of the list's mean exposure."""

    items = ("Abe", "Ben", "Cleo", "Dan", "Eva")
    scores = (5.0, 4.0, 3.0, 2.0, 1.0)
    groups = ("men", "men", "women", "men", "women")
    fairness = Fairness(delta=0.1, unit="share")

    @cached_property
    def exposure(self) -> np.ndarray:
        """Of each item: that of its position."""
        return self.fairness.position_bias.vector(len(self.items))

    @property
    def mean(self) -> float:
        """Exposure of the list's items, on average."""
        return float(self.exposure.mean())

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """Its groups."""
        return tuple(sorted(set(self.groups)))

    def group_exposure(self, group: str) -> float:
        """Exposure of a group's items, on average."""
        return float(self.exposure[np.array(self.groups) == group].mean())

    @cached_property
    def _composition(self) -> Composition:
        places = np.array([self.group_names.index(group) for group in self.groups])
        return Composition.of(places, np.array([0, len(self.items)]), self.group_names)

    def violations(self, fairness: Fairness) -> dict[str, float]:
        """How far each group is from what a condition asks; below 0 it gets too little."""
        exposures = np.array([[self.group_exposure(group) for group in self.group_names]])
        found = fairness.terms(self._composition).violations(exposures)[0]
        return dict(zip(self.group_names, found.tolist(), strict=True))

    @property
    def largest_delta(self) -> float:
        """From this delta on no ranking of the list could exceed it."""
        return float(largest_delta(self.fairness, self.fairness.terms(self._composition))[0])

    @cached_property
    def policy(self) -> Policy:
        """The best lottery within delta."""
        return fair_policy(self.scores, self.groups, self.fairness)

    @property
    def worst(self) -> float:
        """The largest violation, whatever its direction."""
        return max(map(abs, self.violations(self.fairness).values()))

    @property
    def left(self) -> float:
        """What the repair leaves of it."""
        return max(map(abs, self.policy.violations.values()))

    def frame(self) -> pd.DataFrame:
        """The list, a row an item."""
        return pd.DataFrame(
            {
                "position": range(1, len(self.items) + 1),
                "item": self.items,
                "group": self.groups,
                "score": self.scores,
                "exposure": self.exposure,
            }
        )


@dataclass(frozen=True)
class Term:
    """A word, what it means in one sentence, and the example."""

    name: str
    meaning: str
    example: Callable[[WorkedList], str]


def _exposures(worked: WorkedList) -> str:
    first, last = number(float(worked.exposure[0])), number(float(worked.exposure[-1]))
    return f"{worked.items[0]}, at the top, gets {first}; {worked.items[-1]}, at the end, {last}."


def _means(worked: WorkedList) -> str:
    each = [f"the {group} {number(worked.group_exposure(group))}" for group in worked.group_names]
    return f"All five items get {number(worked.mean)} on average, {listed(each)}."


def _violations(worked: WorkedList) -> str:
    found = worked.violations(worked.fairness)
    return listed([f"the {group} get {_too_much(value)}" for group, value in found.items()], start=True) + "."


def _too_much(value: float) -> str:
    return f"{percent(abs(value), 0)} too {'much' if value > 0 else 'little'}"


def _judged(worked: WorkedList) -> str:
    worst = worked.worst
    delta = worked.fairness.deltas(worked.group_names)[0]
    verb = "exceeds" if worst > delta else "holds"
    return f"With a largest violation of {percent(worst, 0)}, this list {verb} a delta of {percent(delta, 0)}."


def _shares(worked: WorkedList) -> str:
    absolute = worked.violations(Fairness(delta=0.0))
    shares = worked.violations(worked.fairness)
    worst = max(absolute, key=lambda group: abs(absolute[group]))
    return (
        f"The {worst} are {number(abs(absolute[worst]))} of exposure away from the mean of {number(worked.mean)}: "
        f"{percent(abs(shares[worst]), 0)} of it."
    )


def _lottery(worked: WorkedList) -> str:
    policy = worked.policy
    drawn = [
        f"{' '.join(worked.items[item] for item in ranking)} in {percent(float(share), 0)} of the cases"
        for ranking, share in zip(policy.rankings, policy.probabilities, strict=True)
    ]
    return f"{listed(drawn)}: on average no group is more than {percent(worked.left, 0)} off."


def _counts(worked: WorkedList) -> str:
    quota = Quota(slack=0)
    women = [worked.groups[: k + 1].count("women") for k in range(len(worked.items))]
    kept = fair_policy(worked.scores, worked.groups, worked.fairness.with_quota(quota))
    orders = listed([" ".join(worked.items[item] for item in ranking) for ranking in kept.rankings], word="or")
    return (
        f"Of the first three, {women[2]} is a woman; the share of women is {number(3 * women[-1] / len(women))}, "
        f"rounded 1 or 2. With that rule for every prefix, {orders} may be drawn."
    )


def _proved(worked: WorkedList) -> str:
    proof = worked.policy.certificate
    return (
        f"No lottery within delta has a DCG above {number(proof['dual_bound'], 4)}; this one has "
        f"{number(proof['utility'], 4)}."
    )


def _kept(worked: WorkedList) -> str:
    discount = worked.policy.discount.vector(len(worked.items))
    best = float(np.array(worked.scores) @ discount)
    return (
        f"Sorted by score the list has {number(best, 4)}, its repair {number(worked.policy.utility, 4)}: "
        f"{percent(worked.policy.utility / best)} of it."
    )


TERMS: tuple[Term, ...] = (
    Term(
        "query",
        "What was asked for, such as a search; each query has one list.",
        lambda worked: "Our query is one search.",
    ),
    Term(
        "list",
        "The items that a query shows, best first.",
        lambda worked: f"Our list has {len(worked.items)} items: {listed(worked.items)}.",
    ),
    Term(
        "group",
        "Items that are compared as one, such as those of women; each item belongs to one.",
        lambda worked: f"There are {worked.groups.count('women')} women and {worked.groups.count('men')} men.",
    ),
    Term(
        "exposure",
        "The attention that a position gets: position j counts 1 / (1 + j), unless another model is chosen.",
        _exposures,
    ),
    Term(
        "mean exposure",
        "The exposure of items on average: of a group's, or of the whole list's.",
        _means,
    ),
    Term(
        "violation",
        "How far a group is from what the notion asks of it, and in whose favour.",
        _violations,
    ),
    Term(
        "delta",
        "The tolerance: the largest violation that a list may have.",
        _judged,
    ),
    Term(
        "share",
        "A violation or a delta counted in parts of the list's mean exposure, so that it means the same in long lists.",
        _shares,
    ),
    Term(
        "notion",
        "What counts as fair: the condition that each group of a list has to meet, up to delta.",
        lambda worked: f"We ask for {NOTIONS[worked.fairness.notion].label.lower()}: {worked.fairness.formula}.",
    ),
    Term(
        "cannot fail",
        "A list of which no ranking could exceed delta; it is counted apart, because holding it says nothing.",
        lambda worked: f"Our list cannot fail at a delta of {percent(worked.largest_delta, 0)} or more.",
    ),
    Term(
        "not applicable",
        "A list with items of a single group: there is nobody to be fair between.",
        lambda worked: f"Our list has {len(worked.group_names)} groups, so it is judged.",
    ),
    Term(
        "small group",
        "A group with too few items or lists for its mean to say much; it is listed, but makes no headline.",
        lambda worked: f"With {worked.groups.count('women')} items in one list, the women would be a small group.",
    ),
    Term(
        "confidence interval",
        "A range around a value, made so that 95 of 100 such ranges hold what all queries like these would give.",
        lambda worked: "A single list has none: there is nothing to tell how much lists differ.",
    ),
    Term(
        "policy",
        "A lottery over rankings: each reader sees one of them, and delta holds on average.",
        _lottery,
    ),
    Term(
        "quota",
        "What must hold in each ranking that is drawn, and not on average: how many items of a group the first k have.",
        _counts,
    ),
    Term(
        "repair",
        "The policy that keeps most of the ranking's quality among all within delta, solved exactly.",
        lambda worked: f"It takes the largest violation from {percent(worked.worst, 0)} to {percent(worked.left, 0)}.",
    ),
    Term(
        "DCG",
        "How good a ranking is: relevance or score of each item, counted less the further down it stands.",
        _kept,
    ),
    Term(
        "certificate",
        "Numbers that prove, without trusting the solver, that a policy holds delta and that none is better.",
        _proved,
    ),
)
"""In the order in which they build on each other."""


def meaning(name: str) -> str:
    """What a word means, in one sentence."""
    return next(term.meaning for term in TERMS if term.name == name)
