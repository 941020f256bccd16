"""Scores, exposures and worths of sizes that no sum of them fits: solved and proved, or refused with the range."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from spofr_core import Discount, Fairness, PositionBias, Quota, fair_policies, fair_policy, verify
from spofr_core.errors import ConfigError, DataError, SpofrError
from spofr_core.policy import Policy


def power(rng: np.random.Generator, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def scores_of(rng: np.random.Generator, n: int) -> np.ndarray:
    kind = rng.integers(6)
    if kind == 0:
        return rng.normal(size=n) * power(rng, -298, 298)
    if kind == 1:
        return 10.0 ** rng.uniform(-320, 298, n)
    if kind == 2:
        return rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-320, 298, n)
    if kind == 3:
        return rng.integers(0, 3, n) * power(rng, -298, 298)
    if kind == 4:
        return power(rng, -200, 298) * (1 + 1e-15 * rng.integers(0, 5, n))
    return rng.uniform(size=n) * power(rng, -298, -250)


def vector_of(rng: np.random.Generator, n: int, kind: type[PositionBias] | type[Discount]) -> PositionBias | Discount:
    choice = rng.integers(4)
    if choice == 0:
        return kind()
    if choice == 1:
        return kind(cutoff=int(rng.integers(1, n + 1)))
    values = rng.uniform(size=n) * power(rng, -29, 29) if choice == 2 else 10.0 ** rng.uniform(-320, 30, n)
    values[0] = values.max() if choice == 2 else power(rng, -29, 30)
    return kind(values=np.sort(values)[::-1] if choice == 2 else np.sort(np.minimum(values, values[0]))[::-1])


def case_of(seed: int, most: int) -> tuple[np.ndarray, np.ndarray, Fairness, Discount]:
    """A list of at most so many items; of every notion, unit, number of groups, with a quota or without."""
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(2, most + 1)), int(rng.integers(2, 13 if rng.random() < 0.3 else 4))
    notion, unit = rng.choice(["exposure", "merit", "gap"]), rng.choice(["absolute", "share"])
    codes = rng.integers(0, 2 if notion == "gap" else groups, n)
    v, w = vector_of(rng, n, PositionBias), vector_of(rng, n, Discount)
    delta = float(rng.choice([0.0, 0.01, 0.1, 1.0, 1e-300, 1e200]))
    scale = power(rng, -23, 23)
    merits = {
        str(g): scale * (power(rng, -6, 5.9) if rng.random() < 0.3 else rng.uniform(0.1, 3)) for g in range(groups)
    }
    fairness = Fairness(
        delta=delta * (1.0 if unit == "share" else float(v.vector(n).max())),
        notion=notion,
        unit=unit,
        position_bias=v,
        merits=merits if notion == "merit" else None,
        every_ranking=Quota(slack=int(rng.integers(3))) if rng.random() < 0.25 else None,
    )
    return scores_of(rng, n), codes, fairness, w


def usable(scores: np.ndarray, fairness: Fairness, discount: Discount) -> bool:
    """Whether scores, utilities and prices have digits, with a hair of room."""
    n, size = len(scores), Fraction(float(np.abs(scores).max()))
    v = Fraction(float(fairness.position_bias.vector(n).max()))
    w = Fraction(float(discount.vector(n).max()))
    products = (size, size * w / 1000, size * w / v / 1000)
    return max(products) <= Fraction(1e300) and min(size, size * w * 1000, size * w / v * 1000) >= Fraction(1e-300)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_every_list_is_proved_or_refused_with_the_range(first: int) -> None:
    solved = 0
    for seed in range(first, first + 100):
        scores, codes, fairness, discount = case_of(seed, 13)
        if not usable(scores, fairness, discount):
            with pytest.raises(DataError, match="it must be 0, or lie from"):
                fair_policy(scores, codes, fairness, discount=discount, on_infeasible="relax")
            continue
        policies = fair_policies(scores, codes, [0, len(scores)], fairness, discount=discount, on_infeasible="relax")
        found = verify(policies, scores, codes, fairness, discount=discount, allow_relaxed=True)
        assert found.ok, (seed, found.reasons)
        solved += 1
    assert solved > 60


def exact_bound(
    policy: Policy, scores: list[Fraction], codes: list[int], v: list[Fraction], w: list[Fraction]
) -> Fraction:
    """The dual bound at the policy's multipliers, over all rankings, in whole fractions."""
    prices = {name: Fraction(value) for name, value in policy.multipliers.items()}
    best = max(
        sum(scores[i] * w[j] + prices[str(codes[i])] * v[j] for j, i in enumerate(order))
        for order in permutations(range(len(scores)))
    )
    members = {name: sum(str(code) == name for code in codes) for name in prices}
    for name, (low, high) in policy.bounds.items():
        if prices[name] != 0:
            best -= prices[name] * members[name] * Fraction(low if prices[name] > 0 else high)
    return best


def test_against_fractions() -> None:
    """No rounding anywhere in the reference: the utility reaches the bound, and delta is held."""
    looked = 0
    for seed in range(1_000, 1_120):
        scores, codes, fairness, discount = case_of(seed, 5)
        if fairness.every_ranking is not None:
            continue
        try:
            policy = fair_policy(scores, codes, fairness, discount=discount, on_infeasible="relax")
        except DataError:
            continue
        n = len(scores)
        y = [Fraction(score) for score in scores.tolist()]
        v = [Fraction(value) for value in fairness.position_bias.vector(n).tolist()]
        w = [Fraction(value) for value in discount.vector(n).tolist()]
        shares = [Fraction(p) for p in policy.probabilities.tolist()]
        lottery = list(zip(policy.rankings.tolist(), shares, strict=True))
        utility = sum(p * sum(y[i] * w[j] for j, i in enumerate(order)) for order, p in lottery)
        unit = max(map(abs, y)) * sum(w)
        assert exact_bound(policy, y, codes.tolist(), v, w) - utility <= Fraction(1, 10**9) * unit, seed
        for name, (low, high) in policy.bounds.items():
            places = [sum(p * v[order.index(i)] for order, p in lottery) for i in range(n) if str(codes[i]) == name]
            mean = sum(places) / len(places)
            room = Fraction(1, 10**9) * max(v)
            assert low == -np.inf or mean >= Fraction(low) - room, seed
            assert high == np.inf or mean <= Fraction(high) + room, seed
        looked += 1
    assert looked > 50


def test_scores_of_very_different_sizes_in_one_list() -> None:
    scores = [9e278, 5e-293, 1.0, -3e200, 0.0, 2e-10]
    policy = fair_policy(scores, list("abaabb"), Fairness(delta=0.02))
    assert verify(policy, scores, list("abaabb"), Fairness(delta=0.02)).ok


def test_small_scores_and_large_exposures_are_refused_with_the_range() -> None:
    """Prices of exposure are scores over exposures: here they would have no digits left."""
    fairness = Fairness(delta=0.0, position_bias=1e29 / np.arange(1, 6), unit="share")
    with pytest.raises(
        DataError, match=r"is 8e-298 in size; .* from 1e-274 to 1e\+300: multiply the scores by a const"
    ):
        fair_policy(1e-298 * np.array([8, 1, 3, 5, 2]), list("aabab"), fairness)


@pytest.mark.parametrize("values", [[1e41, 1.0], [1e-41, 0.0], [5e-324, 0.0]])
def test_vectors_beyond_measure_are_refused_with_the_range(values: list[float]) -> None:
    for kind in (PositionBias, Discount):
        with pytest.raises(ConfigError, match=r"largest of the values is .* from 1e-30 to 1e\+30"):
            kind(values=values)
    with pytest.raises(ConfigError, match="even the first position has an exposure of"):
        PositionBias(power=101.0)
    with pytest.raises(ConfigError, match="merits go from 1e-05 to 1e\\+08; one may be 1e\\+12 times another"):
        Fairness(notion="merit", merits={"a": 1e-5, "b": 1e8}, delta=0.1)
    with pytest.raises(ConfigError, match=r"merit of group 'a' is .* from 1e-30 to 1e\+30"):
        Fairness(notion="merit", merits={"a": values[0], "b": 1.0}, delta=0.1)


@pytest.mark.parametrize(
    ("groups", "merits", "delta"),
    [
        ("bccbbb", {"b": 3.0, "c": 0.0}, {"b": 0.0, "c": 1e-12}),  # relaxed: c takes the last two places
        ("cacaaacaa", {"a": 1e6, "c": 0.0}, {"a": 0.5, "c": 1e-12}),  # feasible by a hair
    ],
)
def test_exposures_too_different_for_a_proof_are_refused_with_a_way_out(groups, merits, delta) -> None:
    """Exposures fall by nine powers of ten and more, and the delta is held at the last of them."""
    scores = np.random.default_rng(7).normal(size=len(groups))
    steep = {"power": 20.0, "shift": 1.0}
    asked = {"delta": delta, "notion": "merit", "merits": merits}
    with pytest.raises(SpofrError, match="cannot be proved") as refused:
        fair_policy(scores, list(groups), Fairness(**asked, position_bias=PositionBias(**steep)), on_infeasible="relax")
    cutoff = int(re.search(r"cutoff=(\d+)", str(refused.value))[1])
    fairness = Fairness(**asked, position_bias=PositionBias(**steep, cutoff=cutoff))
    policy = fair_policy(scores, list(groups), fairness, on_infeasible="relax")
    found = verify(policy, scores, list(groups), fairness, allow_relaxed=True)
    assert found.ok, found.reasons


@pytest.mark.filterwarnings("error")
def test_prices_beyond_all_numbers_are_refused_in_a_sentence() -> None:
    """Scores near the largest allowed, exposures next to nothing: what a unit of exposure costs there is infinite."""
    scores = [-7e279, -2e103, 3e-134, 4e159, 7e296, -8e249, -2e239, 2e-174]
    fairness = Fairness(
        delta=1e-9, notion="merit", merits={"a": 3.0, "c": 1e-6, "d": 1e6}, position_bias=PositionBias(power=20.0)
    )
    for solver in ("exact", "glop"):
        with pytest.raises(SpofrError, match=r"query 0.*(larger delta|try solver)"):
            fair_policy(scores, list("adddcddd"), fairness, solver=solver, on_infeasible="relax")


def test_steep_exposures_alone_are_no_reason_to_refuse() -> None:
    """The same exposures with a delta that can be held: solved, and proved."""
    scores, groups = np.random.default_rng(7).normal(size=9), list("cacaaacaa")
    fairness = Fairness(delta=0.1, unit="share", position_bias=PositionBias(power=20.0))
    policy = fair_policy(scores, groups, fairness)
    assert len(policy.rankings) == 2
    assert verify(policy, scores, groups, fairness).ok
