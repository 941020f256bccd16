"""Every pair of options of `fair_policy` on small lists, against all rankings in a linear programme."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import pytest

from spofr_core import ConfigError, Discount, Fairness, InfeasibleFairness, PositionBias, Quota, fair_policy, verify
from spofr_core.policy import LinearConstraint
from tests.policy.brute_force import optimum

OPTIONS: dict[str, tuple[str, ...]] = {
    "notion": ("exposure", "merit", "gap"),
    "unit": ("absolute", "share"),
    "groups": ("two", "three", "each item"),
    "without a group": ("none", "one", "two"),
    "quota": ("none", "slack", "minimum"),
    "constraints": ("none", "one", "two"),
    "exposure": ("falling", "cut off", "increasing"),
    "discount": ("falling", "cut off", "increasing"),
    "delta": ("zero", "small", "per group"),
    "scores": ("distinct", "ties"),
    "solver": ("exact", "glop"),
    "on_infeasible": ("raise", "relax"),
}
REFUSED = {
    "compares two groups": {"notion": ("gap",), "groups": ("three", "each item")},
    "all of one of two groups": {"notion": ("gap",), "without a group": ("one", "two")},
    "quota and constraints": {"quota": ("slack", "minimum"), "constraints": ("one", "two")},
    "discount that never increases": {"quota": ("slack", "minimum"), "discount": ("increasing",)},
    "use solver='glop'": {"constraints": ("one", "two"), "solver": ("exact",)},
}


class Case(NamedTuple):
    """What `fair_policy` is called with."""

    scores: np.ndarray
    groups: list[str | None]
    fairness: Fairness
    discount: Discount
    constraints: list[LinearConstraint]


def refusal(chosen: dict[str, str]) -> str | None:
    """The words of the refusal, where these options cannot be had together."""
    refused = (words for words, pair in REFUSED.items() if all(chosen[name] in values for name, values in pair.items()))
    return next(refused, None)


def completed(rng: np.random.Generator, pair: dict[str, str]) -> dict[str, str]:
    """A value for every option: the others are drawn until nothing is refused, unless the pair itself is."""
    chosen: dict[str, str] = {}
    for _ in range(200):
        chosen = {name: str(rng.choice(values)) for name, values in OPTIONS.items()} | pair
        if refusal(chosen) is None:
            return chosen
    return {name: values[0] for name, values in OPTIONS.items()} | {"solver": "glop"} | pair


def made(rng: np.random.Generator, chosen: dict[str, str]) -> Case:
    n = int(rng.integers(3, 7))
    free = ("none", "one", "two").index(chosen["without a group"])
    size = max(n - free, 3 if chosen["groups"] == "three" else 2)
    labels = {
        "two": lambda: rng.permutation(["a", "b", *rng.choice(["a", "b"], size - 2)]),
        "three": lambda: rng.permutation(["a", "b", "c", *rng.choice(["a", "b", "c"], size - 3)]),
        "each item": lambda: np.array([f"item {i}" for i in range(size)]),
    }[chosen["groups"]]()
    names = sorted({str(label) for label in labels})
    groups: list[str | None] = [*map(str, labels), *[None] * free]
    rng.shuffle(groups)
    n = len(groups)
    scores = rng.integers(-1, 2, n).astype(float) if chosen["scores"] == "ties" else rng.normal(size=n)
    scores += np.array([0.5 * (label == names[0]) for label in groups])

    def positions(kind: str) -> dict[str, Any]:
        rising = rng.permutation(np.arange(1, n + 1) / n)
        rising[:2].sort()
        return {"falling": {}, "cut off": {"cutoff": 2}, "increasing": {"values": rising}}[kind]

    share = chosen["unit"] == "share"
    delta: Any = {
        "zero": 0.0,
        "small": float(rng.choice([0.02, 0.1])),
        "per group": {name: float(rng.choice([0.0, 0.05, 0.2])) for name in names},
    }[chosen["delta"]]
    minimum = {names[0]: {int(rng.integers(1, n + 1)): 1}, names[-1]: {1 + n // 2: 1, n: int(rng.integers(0, 3))}}
    fairness = Fairness(
        delta=delta,
        unit="share" if share else "absolute",
        notion=chosen["notion"],
        merits={name: float(rng.choice([0.0, 0.8, 1.0, 1.3])) for name in names}
        if chosen["notion"] == "merit"
        else None,
        position_bias=PositionBias(**positions(chosen["exposure"])),
        every_ranking={
            "none": None,
            "slack": Quota(slack=int(rng.integers(0, 2)), top=int(rng.integers(1, n + 1))),
            "minimum": Quota(minimum=minimum),
        }[chosen["quota"]],
    )
    constraints = []
    for _ in range(("none", "one", "two").index(chosen["constraints"])):
        prices = rng.integers(1, 20, n).astype(float)
        top = np.where(np.arange(n) < 3, prices[:, None] / 3, 0.0)
        constraints.append(LinearConstraint(top, upper=float(prices.mean() * rng.choice([0.9, 1.0, 1.1]))))
    return Case(scores, groups, fairness, Discount(**positions(chosen["discount"])), constraints)


def outcome_of(error: InfeasibleFairness | ConfigError) -> str:
    if not isinstance(error, InfeasibleFairness):
        return "contradiction" if "contradict each other" in str(error) else str(error)
    return "no ranking" if error.prefix else "no policy"


@pytest.mark.parametrize(("one", "other"), list(combinations(OPTIONS, 2)))
def test_the_answer_is_that_of_all_rankings(one: str, other: str) -> None:
    for k, values in enumerate(product(OPTIONS[one], OPTIONS[other])):
        rng = np.random.default_rng([k, *f"{one} {other}".encode()])
        chosen = completed(rng, dict(zip((one, other), values, strict=True)))
        case = made(rng, chosen)
        options = {"solver": chosen["solver"], "on_infeasible": chosen["on_infeasible"], "missing": "keep"}
        given = {"discount": case.discount, "constraints": case.constraints}
        if words := refusal(chosen):
            with pytest.raises(ConfigError, match=words):
                fair_policy(case.scores, case.groups, case.fairness, **given, **options)
            continue
        expected = optimum(*case, relax=chosen["on_infeasible"] == "relax")
        if expected.outcome != "optimal":
            with pytest.raises((InfeasibleFairness, ConfigError)) as caught:
                fair_policy(case.scores, case.groups, case.fairness, **given, **options)
            assert outcome_of(caught.value) == expected.outcome, chosen
            if expected.outcome == "no policy":
                assert caught.value.min_delta == pytest.approx(expected.least, abs=1e-9), chosen
            continue
        policy = fair_policy(case.scores, case.groups, case.fairness, **given, **options)
        assert policy.utility == pytest.approx(expected.utility, abs=1e-8), chosen
        asked = {"constraints": case.constraints, "allow_relaxed": True, "missing": "keep"}
        for claim in (policy, policy.certificate):
            checked = verify(claim, case.scores, case.groups, case.fairness, **asked)
            assert checked.ok, (chosen, checked.reasons)
            assert checked.gap <= 1e-8, chosen
        # Whatever the multipliers of a claim are, what it is said to be short of the optimum is never too little.
        drawn = dict(zip(policy.multipliers, rng.normal(size=len(policy.multipliers)).tolist(), strict=True))
        worse = policy.rankings[-1:].tolist()
        claim = {**policy.certificate, "rankings": worse, "probabilities": [1.0], "multipliers": drawn}
        found = verify(claim, case.scores, case.groups, case.fairness, **asked).queries.iloc[0]
        assert found["gap"] >= expected.utility - found["utility"] - 1e-9, chosen
