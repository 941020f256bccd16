"""delta as a share of the list's mean exposure: the programme of the absolute delta * e(n), list by list."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings

from spofr_core.errors import InfeasibleFairness
from spofr_core.fairness import NOTIONS, Composition, Discount, Fairness, PositionBias, smallest_delta
from spofr_core.policy import fair_policies, fair_policy, verify, verify_file, write_certificates
from spofr_core.policy.proof.formulas import ListCase, conditions, smallest_feasible_delta
from tests.evaluation.lists import dataset
from tests.policy.lists import Case, cases
from tests.policy.test_registered_notion import WeightedExposure


def share_base(fairness: Fairness, groups: np.ndarray) -> float:
    """e, or mu e, of one list, from the definitions."""
    mean = float(np.mean(fairness.position_bias.vector(len(groups))))
    if fairness.merits is not None:
        mean *= float(np.mean([fairness.merits[group] for group in groups]))
    return mean if mean > 0 else 1.0


def both(fairness: Fairness, groups: np.ndarray) -> tuple[Fairness, Fairness, float]:
    """delta taken as a share, the absolute delta that it comes to in this list, and what a share is of."""
    base = share_base(fairness, groups)
    given_ = fairness.delta
    scaled = {name: base * delta for name, delta in given_.items()} if isinstance(given_, dict) else base * given_
    return fairness.with_delta(given_, "share"), fairness.with_delta(scaled), base


def same_programme(case: Case) -> None:
    share, absolute, base = both(case.fairness, case.groups)
    how = {"discount": case.discount, "on_infeasible": "relax"}
    found, wanted = (fair_policy(case.scores, case.groups, fairness, **how) for fairness in (share, absolute))
    unit = max(float(np.abs(case.scores).max()) * float(case.discount.vector(len(case.scores)).sum()), 1e-12)
    assert found.utility == pytest.approx(wanted.utility, abs=1e-9 * unit)
    assert found.certificate["dual_bound"] == pytest.approx(wanted.certificate["dual_bound"], abs=1e-9 * unit)
    for name, bounds in wanted.bounds.items():
        assert found.bounds[name] == pytest.approx(bounds, abs=1e-11)
        assert found.deltas[name] * base == pytest.approx(wanted.deltas[name], abs=1e-11)
    assert (found.relaxed is None) == (wanted.relaxed is None)
    if found.relaxed is not None:
        assert found.relaxed * base == pytest.approx(wanted.relaxed, abs=1e-11)
    # Each is proved, as a policy and as a certificate, and each is feasible and optimal for what the other asks.
    for policy, own, other in ((found, share, absolute), (wanted, absolute, share)):
        data = (case.scores, case.groups)
        assert verify(policy, *data, own, allow_relaxed=True).ok
        assert verify(policy.certificate, *data, own, allow_relaxed=True).ok
        if policy.relaxed is None:  # a relaxed policy names its delta, in its own unit
            assert verify(policy, *data, other, discount=case.discount).ok


@settings(max_examples=120, deadline=None)
@given(cases())
def test_a_share_is_the_absolute_delta_times_the_mean_exposure(case):
    same_programme(case)


@pytest.fixture(scope="module")
def registered() -> Iterator[None]:
    NOTIONS.register(WeightedExposure())
    importlib.import_module("tests.extending.notion")  # registers "relative"
    yield
    for name in ("weighted", "relative"):
        NOTIONS.unregister(name)
    del sys.modules["tests.extending.notion"]


@settings(max_examples=30, deadline=None)
@given(cases(notions=("exposure",)))
@pytest.mark.parametrize("notion", ["weighted", "relative"])
def test_the_same_for_a_notion_that_somebody_registers(registered, notion, case):
    names = np.array(["a", "b", "c"])[np.unique(case.groups, return_inverse=True)[1] % 3]
    delta = dict.fromkeys("abc", 0.03) if isinstance(case.fairness.delta, dict) else case.fairness.delta
    asked = Fairness(delta=delta, notion=notion, position_bias=case.fairness.position_bias)
    same_programme(Case(case.scores, names, asked, case.discount))


@pytest.mark.parametrize("delta", [0.1, {"f": 0.05, "m": 0.2}])
@pytest.mark.parametrize("notion", ["exposure", "gap"])
def test_lists_of_12_and_of_480_in_one_batch(notion, delta):
    rng = np.random.default_rng(2)
    lengths = [12, 480, 12, 480]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    groups = rng.choice(["f", "m"], offsets[-1])
    scores = rng.normal(size=offsets[-1]) + (groups == "m")
    share = Fairness(delta=delta, unit="share", notion=notion)
    found = fair_policies(scores, groups, offsets, share)
    assert verify(found, scores, groups, share).ok
    for q, n in enumerate(lengths):
        rows = slice(offsets[q], offsets[q + 1])
        mean = sum(1 / (1 + j) for j in range(1, n + 1)) / n
        scaled = {g: d * mean for g, d in delta.items()} if isinstance(delta, dict) else delta * mean
        alone = fair_policy(scores[rows], groups[rows], Fairness(delta=scaled, notion=notion))
        assert found[q].utility == pytest.approx(alone.utility, rel=1e-10)
        exposures = {g: float(found[q].exposure[groups[rows] == g].mean()) for g in ("f", "m")}
        gap = abs(exposures["f"] - exposures["m"])
        for group, exposure in exposures.items():
            allowed = delta[group] if isinstance(delta, dict) else delta
            assert (gap if notion == "gap" else abs(exposure - mean)) <= allowed * mean + 1e-12


@settings(max_examples=60, deadline=None)
@given(cases(notions=("merit",), most=10))
def test_the_smallest_delta_in_shares_is_that_of_the_linear_programme(case):
    share, absolute, base = both(case.fairness, case.groups)
    names, counts = np.unique(case.groups, return_counts=True)
    one = Composition(sizes=counts[None, :], group_names=tuple(names.tolist()))
    found = float(smallest_delta(share, share.terms(one))[0])
    assert found * base == pytest.approx(float(smallest_delta(absolute, absolute.terms(one))[0]), abs=1e-11)
    n = len(case.scores)
    alone = ListCase(case.scores, case.groups, share.position_bias.vector(n), Discount().vector(n))
    asked = conditions(alone, share)
    if asked:
        assert found == pytest.approx(smallest_feasible_delta(alone, asked), abs=1e-7)


def test_what_is_infeasible_is_said_in_its_unit():
    asked = Fairness(delta=0.01, unit="share", notion="merit", merits={"a": 5.0, "b": 0.1})
    with pytest.raises(InfeasibleFairness) as caught:
        fair_policy([3.0, 2.0, 1.0, 0.0], ["a", "b", "b", "b"], asked)
    assert "satisfies delta = 1 % under" in str(caught.value)
    assert f"its smallest feasible delta is {100 * caught.value.min_delta:.6g} %" in str(caught.value)


@pytest.fixture
def repaired(tmp_path):
    """Lists of 4 to 30 items, their policies within 10 %, and the certificates of these."""
    rng = np.random.default_rng(8)
    lengths = (4, 9, 30)
    data = dataset([rng.normal(size=n) for n in lengths], [rng.choice(["a", "b", "c"], n) for n in lengths])
    share = Fairness(delta=0.1, unit="share", position_bias=PositionBias(cutoff=8))
    path = tmp_path / "proofs.jsonl"
    write_certificates(fair_policies(data, share), path)
    return data, share, path


def test_certificates_in_shares_verify(repaired):
    data, share, path = repaired
    checked = verify_file(path, data, share)
    assert checked.ok
    assert checked.max_violation <= 0.1 + 1e-9


def test_a_violation_is_told_in_its_unit():
    """Two items, one above the other: e = 5/12, and the upper one gets (1/2) / e - 1 = 20 % too much."""
    sort = fair_policy([1.0, 0.0], ["a", "b"], Fairness(delta=1.0))
    checked = verify(sort, [1.0, 0.0], ["a", "b"], Fairness(delta=0.1, unit="share"))
    assert "group 'a' has a violation of 20 %, delta is 10 %" in checked.reasons[0]


def test_another_unit_than_was_asked_for_is_caught(repaired, tmp_path):
    data, share, path = repaired
    assert not verify_file(path, data, share.with_delta(0.1, "absolute")).ok
    certificates = [json.loads(line) for line in path.read_text().splitlines()]
    for forged in ("absolute", None):
        for certificate in certificates:
            certificate["fairness"].pop("unit", None)
            if forged is not None:
                certificate["fairness"]["unit"] = forged
        tampered = tmp_path / "tampered.jsonl"
        tampered.write_text("\n".join(json.dumps(certificate) for certificate in certificates))
        checked = verify_file(tampered, data, share)
        assert not checked.queries["ok"].any()
        assert "the certificate's fairness is" in checked.reasons[0]
        # Its numbers are those of shares: neither do they pass for an absolute delta.
        assert not verify_file(tampered, data, share.with_delta(0.1, "absolute")).ok


def test_a_certificate_from_before_there_were_units_is_of_an_absolute_delta(repaired):
    data, _, _ = repaired
    asked = Fairness(delta=0.02)
    certificate = fair_policies(data, asked)[2].certificate
    del certificate["fairness"]["unit"]
    rows = slice(int(data.offsets[2]), int(data.offsets[3]))
    groups = np.array(data.group_names)[data.groups[rows]]
    assert verify(certificate, data.score[rows], groups, asked).ok
