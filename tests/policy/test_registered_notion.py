"""A notion that somebody registers: audited, repaired, verified and relaxed like those of the package."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import linprog

from spofr_core.errors import ConfigError, InfeasibleFairness
from spofr_core.evaluation import audit
from spofr_core.fairness import NOTIONS, Composition, Fairness, Notion, PositionBias, feasible, smallest_delta
from spofr_core.policy import fair_policies, fair_policy, verify
from tests.evaluation.lists import dataset
from tests.policy.reference import reference_optimum

WEIGHTS = {"a": 1.0, "b": 0.5, "c": 2.5}


class WeightedExposure(Notion):
    """abs(e_g / weight_g - e) <= delta: scales that differ from group to group."""

    name = "weighted"
    label = "Weighted"
    definition = "In every list, each group's mean exposure is its weight times the list's, up to delta."
    formula = "|e_g / weight_g - e| <= delta"
    latex = r"|e_g / \omega_g - e| \le \delta"

    def scale_and_target(self, fairness, composition, mean_exposure):
        scale = 1 / np.array([WEIGHTS[name] for name in composition.group_names])
        shape = composition.sizes.shape
        return np.broadcast_to(scale, shape), np.broadcast_to(mean_exposure[:, None], shape)

    def condition(self, fairness, group, sizes, mean_exposure):
        return 1 / WEIGHTS[group], mean_exposure


class Unmoved(WeightedExposure):
    """Asks of group "a" what no policy can change: abs(target) <= delta."""

    name = "unmoved"

    def scale_and_target(self, fairness, composition, mean_exposure):
        here = np.array([name != "a" for name in composition.group_names], dtype=float)
        shape = composition.sizes.shape
        return np.broadcast_to(here, shape), np.broadcast_to(mean_exposure[:, None], shape)


class Backwards(WeightedExposure):
    name = "backwards"

    def scale_and_target(self, fairness, composition, mean_exposure):
        return -np.ones(composition.sizes.shape), np.zeros(composition.sizes.shape)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    added = [WeightedExposure(), Unmoved(), Backwards()]
    for notion in added:
        NOTIONS.register(notion)
    yield
    for notion in added:
        NOTIONS.unregister(notion.name)


def smallest_by_highs(groups: str, v: np.ndarray) -> float:
    """min d with abs(e_g / weight_g - e) <= d, as a linear programme over shares of positions by group."""
    names, n = sorted(set(groups)), len(groups)
    sizes = np.array([groups.count(name) for name in names])
    mean = np.zeros((len(names), len(names) * n + 1))
    for g, name in enumerate(names):
        mean[g, g * n : (g + 1) * n] = v / sizes[g] / WEIGHTS[name]
    below, above = mean.copy(), -mean
    below[:, -1] = above[:, -1] = -1.0
    by_group = np.hstack([np.kron(np.eye(len(names)), np.ones(n)), np.zeros((len(names), 1))])
    by_position = np.hstack([np.kron(np.ones(len(names)), np.eye(n)), np.zeros((n, 1))])
    target = np.full(len(names), v.mean())
    found = linprog(
        [*np.zeros(len(names) * n), 1.0],
        A_ub=np.vstack([below, above]),
        b_ub=np.concatenate([target, -target]),
        A_eq=np.vstack([by_group, by_position]),
        b_eq=np.concatenate([sizes, np.ones(n)]),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return float(found.x[-1])


def random_groups(rng: np.random.Generator, n_groups: int) -> str:
    return "".join(rng.choice(list("abc"[:n_groups]), rng.integers(3, 12))) + "abc"[:n_groups]


@pytest.mark.parametrize("n_groups", [2, 3])
def test_smallest_delta_by_bisection_is_the_one_of_a_linear_programme(n_groups):
    rng = np.random.default_rng(3)
    positive = 0
    for _ in range(25):
        groups = random_groups(rng, n_groups)
        names = tuple(sorted(set(groups)))
        codes = np.array([names.index(g) for g in groups], dtype=np.int32)
        composition = Composition.of(codes, np.array([0, len(groups)]), names)
        asked = Fairness(delta=0.0, notion="weighted", position_bias=PositionBias(power=float(rng.choice([0.5, 1, 2]))))
        terms = asked.terms(composition)
        smallest = float(smallest_delta(asked, terms)[0])
        wanted = smallest_by_highs(groups, asked.position_bias.vector(len(groups)))
        assert smallest == pytest.approx(wanted, abs=1e-9)
        positive += wanted > 1e-6
        if wanted > 1e-6:
            assert not feasible(asked, asked.with_delta(wanted * 0.999).terms(composition))[0]
            assert feasible(asked, asked.with_delta(wanted * 1.001).terms(composition))[0]
    assert positive > 5


@pytest.mark.parametrize("n_groups", [2, 3])
def test_repaired_lists_hold_it_at_the_optimum_and_are_verified(n_groups):
    rng = np.random.default_rng(5)
    for _ in range(12):
        groups = random_groups(rng, n_groups)
        scores = rng.normal(size=len(groups)) + 0.5 * np.array(["abc".index(g) for g in groups])
        low = smallest_by_highs(groups, PositionBias().vector(len(groups)))
        fairness = Fairness(delta=low + 0.01, notion="weighted")
        policy = fair_policy(scores, list(groups), fairness)
        assert max(abs(v) for v in policy.violations.values()) <= low + 0.01 + 1e-9
        names = sorted(set(groups))
        lower, upper = policy._batch.lists.lower[0], policy._batch.lists.upper[0]
        lists = policy._batch.lists
        best = reference_optimum(scores, [names.index(g) for g in groups], lower, upper, lists.v, lists.w)
        assert policy.utility == pytest.approx(best, abs=1e-8)
        assert fair_policy(scores, list(groups), fairness, solver="glop").utility == pytest.approx(best, abs=1e-8)
        assert verify(policy, scores, list(groups), fairness).ok
        assert verify(policy.certificate, scores, list(groups), fairness).ok
        if policy.delta_price > 1e-6:
            assert not verify(policy, scores, list(groups), fairness.with_delta(low + 0.005)).ok


def test_a_delta_out_of_reach_is_refused_or_relaxed_to_the_smallest():
    groups, scores = "aaaaac", np.arange(6.0)
    smallest = smallest_by_highs(groups, PositionBias().vector(6))
    assert smallest > 0.01
    fairness = Fairness(delta=0.0, notion="weighted")
    with pytest.raises(InfeasibleFairness) as caught:
        fair_policy(scores, list(groups), fairness)
    assert caught.value.min_delta == pytest.approx(smallest, abs=1e-9)
    relaxed = fair_policy(scores, list(groups), fairness, on_infeasible="relax")
    assert relaxed.relaxed == pytest.approx(smallest, abs=1e-9)
    assert max(abs(v) for v in relaxed.violations.values()) == pytest.approx(smallest, abs=1e-9)
    assert verify(relaxed, scores, list(groups), fairness, allow_relaxed=True).ok
    assert not verify(relaxed, scores, list(groups), fairness).ok


def test_an_audit_measures_and_a_repair_mends_it():
    data = dataset([np.arange(8.0), np.arange(6.0)], ["aaaabbbc", "abcabc"])
    fairness = Fairness(delta=0.08, notion="weighted")
    before = audit(data, fairness)
    v = PositionBias().vector(8)[::-1]  # the last item has the highest score
    e_a = v[:4].mean()
    row = before.queries.query("group == 'a'").iloc[0]
    assert row["violation"] == pytest.approx(e_a / WEIGHTS["a"] - v.mean())
    assert before.summary["definition"] == WeightedExposure.definition
    after = audit(data, fairness, policies=fair_policies(data, fairness, on_infeasible="relax"))
    assert after.summary["violation"]["max"] < before.summary["violation"]["max"]


def test_what_no_policy_can_change_counts_against_delta():
    groups, scores = list("aabb"), np.arange(4.0)
    mean = PositionBias().vector(4).mean()
    with pytest.raises(InfeasibleFairness) as caught:
        fair_policy(scores, groups, Fairness(delta=mean / 2, notion="unmoved"))
    assert caught.value.min_delta == pytest.approx(mean)
    assert fair_policy(scores, groups, Fairness(delta=mean * 1.01, notion="unmoved")).relaxed is None


def test_a_negative_scale_is_refused():
    with pytest.raises(ConfigError, match=r"'backwards' has the scale -1; a notion multiplies exposures by 0 or more"):
        fair_policy([1.0, 2.0], ["a", "b"], Fairness(delta=0.1, notion="backwards"))


def test_the_condition_of_one_group_is_by_default_the_one_of_the_batch():
    fairness = Fairness(delta=0.1, notion="merit", merits={"a": 2.0, "b": 0.5})
    scale, target = NOTIONS["merit"].condition(fairness, "b", {"a": 2, "b": 1}, 0.4)
    assert (scale, target) == (pytest.approx(4.5 / 3), pytest.approx(0.5 * 0.4))
