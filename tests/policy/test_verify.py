from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import Discount, Fairness
from spofr_core.policy import (
    fair_policies,
    fair_policy,
    gap_text,
    read_certificates,
    verify,
    write_certificates,
)

RNG = np.random.default_rng(8)
GROUPS = np.array(["a", "b", "c", "a", "b", "c", "a", "b"])
SCORES = RNG.normal(size=8) + np.array([0, 1, 2, 0, 1, 2, 0, 1])
FAIRNESS = Fairness(delta=0.02)


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    policies = fair_policies(SCORES, GROUPS, [0, 8], FAIRNESS, query_ids=["q7"])
    return json.loads(json.dumps(policies[0].certificate))


def check(certificate: Any, **options: Any) -> Any:
    return verify(certificate, SCORES, GROUPS, FAIRNESS, query_ids=["q7"], **options)


def test_a_true_certificate_passes(certificate: dict[str, Any]) -> None:
    result = check(certificate)
    assert result.ok, result.reasons
    assert_allclose(result.max_violation, 0.02)
    assert result.gap < 1e-9
    row = result.queries.iloc[0]
    assert row["query"] == "q7"
    assert row["fair"]
    assert abs(row["margin"]) < 1e-12
    assert_allclose(row["utility"], certificate["utility"])


@pytest.mark.parametrize(
    ("gap", "text"),
    [(-1e-17, "below 1e-9"), (0.0, "below 1e-9"), (9.99e-10, "below 1e-9"), (1e-9, "1e-09"), (0.02149, "0.021")],
)
def test_a_gap_that_rounding_leaves_has_no_digits(gap: float, text: str) -> None:
    assert gap_text(gap) == text


def test_what_python_prints_of_a_check_is_the_same_on_every_processor(certificate: dict[str, Any]) -> None:
    said = "1 of 1 lists passed, fair=True, optimal=True, largest violation 0.02, largest gap below 1e-9"
    assert repr(check(certificate)) == f"Verification({said})"


def tampered(field: str, certificate: dict[str, Any]) -> list[dict[str, Any]]:
    """Ways to lie in a field."""
    first = next(iter(certificate["multipliers"]))
    swapped = copy.deepcopy(certificate["rankings"])
    swapped[0][0], swapped[0][-1] = swapped[0][-1], swapped[0][0]
    doubled = copy.deepcopy(certificate["rankings"])
    doubled[0][0] = doubled[0][1]
    chances = certificate["probabilities"]
    shifted = [chances[0] + 1e-4, chances[1] - 1e-4, *chances[2:]]
    lies: dict[str, list[Any]] = {
        "query": ["q8", None],
        "fairness": [
            {**certificate["fairness"], "delta": 0.5},
            {**certificate["fairness"], "notion": "gap"},
            {**certificate["fairness"], "position_bias": {"shift": 0}},
        ],
        "discount": [{"cutoff": 3, "values": None}],
        "deltas": [{**certificate["deltas"], first: 0.5}, {}],
        "relaxed": [0.5, 0.0],
        "rankings": [swapped, doubled, certificate["rankings"][:-1], [row[:-1] for row in certificate["rankings"]], []],
        "probabilities": [shifted, [p + 1e-6 for p in chances], [-p for p in chances], chances[:-1]],
        "bounds": [
            {**certificate["bounds"], first: [0.0, 1.0]},
            {**certificate["bounds"], first: [None, None]},
            {},
        ],
        "multipliers": [
            {**certificate["multipliers"], first: certificate["multipliers"][first] + 0.01},
            {**certificate["multipliers"], first: -certificate["multipliers"][first]},
            {name: value for name, value in certificate["multipliers"].items() if name != first},
            {**certificate["multipliers"], "d": 0.0},
        ],
        "constraint_multipliers": [[0.0]],
        "utility": [certificate["utility"] + 1e-6],
        "dual_bound": [certificate["dual_bound"] - 1e-6],
        "gap": [certificate["gap"] + 1e-6, -1.0],
    }
    return [{**certificate, field: lie} for lie in lies[field]]


@pytest.mark.parametrize(
    "field",
    [
        "query",
        "fairness",
        "discount",
        "deltas",
        "relaxed",
        "rankings",
        "probabilities",
        "bounds",
        "multipliers",
        "constraint_multipliers",
        "utility",
        "dual_bound",
        "gap",
    ],
)
def test_a_lie_in_any_field_is_caught(certificate: dict[str, Any], field: str) -> None:
    for lie in tampered(field, certificate):
        result = check(lie)
        assert not result.ok, lie[field]
        assert result.reasons[0].startswith("query 'q7': ")


def test_every_field_is_tampered_with(certificate: dict[str, Any]) -> None:
    assert certificate["multipliers"]["a"] != 0
    tested = set(test_a_lie_in_any_field_is_caught.pytestmark[0].args[1])
    assert tested | {"schema"} == set(certificate)


def test_a_certificate_that_cannot_be_read_is_refused(certificate: dict[str, Any]) -> None:
    for broken in (
        {**certificate, "schema": 2},
        {**certificate, "probabilities": "all"},
        {**certificate, "rankings": [[0.5]]},
        {**certificate, "extra": 1},
        {**certificate, "utility": float("nan")},
        {key: value for key, value in certificate.items() if key != "gap"},
    ):
        with pytest.raises(DataError, match="cannot be read"):
            check(broken)
    with pytest.raises(DataError, match="neither a policy nor a certificate"):
        check(3)
    with pytest.raises(DataError, match="not a str"):
        check(["x"])


def test_other_scores_or_groups_than_the_claimed_ones_are_caught(certificate: dict[str, Any]) -> None:
    moved = SCORES.copy()
    moved[0] += 0.5
    assert not verify(certificate, moved, GROUPS, FAIRNESS, query_ids=["q7"]).ok
    swapped = GROUPS.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    assert not verify(certificate, SCORES, swapped, FAIRNESS, query_ids=["q7"]).ok


def test_a_policy_within_delta_that_is_not_optimal_is_told_apart() -> None:
    """The optimum for half the delta holds delta, but leaves utility behind."""
    strict = fair_policy(SCORES, GROUPS, Fairness(delta=0.01))
    result = verify(strict, SCORES, GROUPS, FAIRNESS)
    row = result.queries.iloc[0]
    assert not result.ok
    assert row["fair"]
    assert_allclose(row["margin"], 0.01, atol=1e-12)
    best = fair_policy(SCORES, GROUPS, FAIRNESS).utility
    assert row["gap"] >= best - strict.utility - 1e-12


def test_a_policy_that_breaks_delta_is_named_by_group() -> None:
    loose = fair_policy(SCORES, GROUPS, Fairness(delta=0.05))
    result = verify(loose, SCORES, GROUPS, FAIRNESS)
    assert not result.ok
    assert "delta is 0.02" in result.reasons[0]
    assert_allclose(result.max_violation, 0.05)


@pytest.mark.parametrize(
    "fairness",
    [
        Fairness(delta=0.02),
        Fairness(delta={"a": 0.0, "b": 0.03}),
        Fairness(delta=0.02, notion="gap"),
        Fairness(delta=0.05, notion="merit", merits={"a": 0.8, "b": 1.2}),
        Fairness(delta=0.01, position_bias={"cutoff": 3}),
    ],
)
def test_own_formulas_agree_with_the_solvers(fairness: Fairness) -> None:
    rng = np.random.default_rng(5)
    groups = rng.choice(["a", "b"], 60)
    scores = rng.normal(size=60) + (groups == "a")
    offsets = np.arange(0, 61, 6)
    policies = fair_policies(scores, groups, offsets, fairness)
    result = verify(policies, scores, groups, fairness)
    assert result.ok, result.reasons
    assert_allclose(
        result.queries["violation"].fillna(0.0),
        np.nan_to_num(np.where(policies.lists.terms.constrained, np.abs(policies.violations), 0.0)).max(axis=1),
        atol=1e-12,
    )
    assert_allclose(result.queries["utility"], policies.utility, rtol=1e-12)


def test_lists_with_one_group_have_nothing_to_hold() -> None:
    policy = fair_policy([1.0, 2.0, 3.0], ["a", "a", "a"], FAIRNESS)
    result = verify(policy, [1.0, 2.0, 3.0], ["a", "a", "a"], FAIRNESS)
    assert result.ok
    assert np.isnan(result.max_violation)
    assert result.queries["fair"].all()
    assert verify(policy.certificate, [1.0, 2.0, 3.0], ["a", "a", "a"], FAIRNESS).ok


def test_a_relaxed_list_passes_only_when_that_is_allowed_and_true() -> None:
    fairness = Fairness(delta=0.0, notion="merit", merits={"a": 0.0, "b": 2.0})
    scores, groups = [3.0, 2.0, 1.0, 0.0], ["a", "b", "a", "b"]
    policy = fair_policy(scores, groups, fairness, on_infeasible="relax")
    for claim in (policy, policy.certificate):
        assert "infeasible" in verify(claim, scores, groups, fairness).reasons[0]
        result = verify(claim, scores, groups, fairness, allow_relaxed=True)
        assert result.ok, result.reasons
        assert_allclose(result.queries["relaxed"], policy.relaxed)
    worse = {**policy.certificate, "relaxed": policy.relaxed + 0.01}
    assert "smallest feasible delta is" in verify(worse, scores, groups, fairness, allow_relaxed=True).reasons[0]


def test_the_discount_is_the_claims_own_or_the_callers() -> None:
    policy = fair_policy(SCORES, GROUPS, FAIRNESS, discount=Discount(cutoff=2))
    assert verify(policy, SCORES, GROUPS, FAIRNESS).ok
    assert verify(policy, SCORES, GROUPS, FAIRNESS, discount=Discount(cutoff=2)).ok
    assert not verify(policy.certificate, SCORES, GROUPS, FAIRNESS, discount=Discount()).ok


def test_certificates_of_a_batch_in_a_file(tmp_path: Path) -> None:
    scores, groups, offsets = np.tile(SCORES, 3), np.tile(GROUPS, 3), [0, 8, 16, 24]
    policies = fair_policies(scores, groups, offsets, FAIRNESS, query_ids=np.array([11, 12, 13]))
    path = tmp_path / "proofs.jsonl"
    write_certificates(policies, path)
    found = read_certificates(path)
    assert verify(found, scores, groups, FAIRNESS, offsets=offsets, query_ids=[11, 12, 13]).ok
    found[1]["probabilities"][0] += 1e-3
    result = verify(found, scores, groups, FAIRNESS, offsets=offsets)
    assert result.queries["ok"].tolist() == [True, False, True]
    with pytest.raises(ConfigError, match="need offsets"):
        verify(found, scores, groups, FAIRNESS)
    with pytest.raises(DataError, match="3 policies for 1 lists"):
        verify(found, scores, groups, FAIRNESS, offsets=[0, 24])
    path.write_text('{"schema": 1}\nnot json\n')
    with pytest.raises(DataError, match="Line 2"):
        read_certificates(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_certificates(tmp_path / "missing.jsonl")


def test_long_lists() -> None:
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 2, 300)
    scores = rng.normal(size=300) + groups
    fairness = Fairness(delta=0.001)
    assert verify(fair_policy(scores, groups, fairness), scores, groups, fairness).ok


def test_a_notion_that_does_not_fit_the_groups_is_refused() -> None:
    policy = fair_policy(SCORES, GROUPS, FAIRNESS)
    for fairness, words in (
        (Fairness(delta=1.0, notion="gap"), "compares two groups"),
        (Fairness(delta={"a": 1.0, "b": 1.0}), "No delta is given for group 'c'"),
        (Fairness(delta=1.0, notion="merit", merits={"a": 1.0}), "No merit is given for group 'b'"),
        (0.05, "must be a Fairness"),
    ):
        with pytest.raises(ConfigError, match=words):
            verify(policy, SCORES, GROUPS, fairness)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_relaxed_lists_are_checked_at_any_scale_of_exposure(scale: float) -> None:
    bias = scale / np.arange(2, 10) ** 4
    fairness = Fairness(delta=0.0, notion="merit", merits={"a": 0.0, "b": 1.0, "c": 2.0}, position_bias=bias)
    policy = fair_policy(SCORES, GROUPS, fairness, on_infeasible="relax")
    assert policy.relaxed is not None
    result = verify(policy, SCORES, GROUPS, fairness, allow_relaxed=True)
    assert result.ok, result.reasons
