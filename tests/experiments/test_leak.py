"""The label leak of a hot-started solver, and that this package's evaluation does not have it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from spofr_core.data import load_sample
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.policy import fair_policies

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "warm_start_leak.py"


@pytest.fixture(scope="module")
def leak():
    spec = importlib.util.spec_from_file_location("warm_start_leak", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def data():
    return load_sample("german-credit", test_lists=40).test


def test_a_constant_scorer_looks_perfect_after_the_labels_and_random_without(leak, data):
    found = {name: row["dcg"] for name, row in leak.measure(data, 0.1)["dcg"].items()}
    assert found["constant, leaky"] == pytest.approx(found["optimum of the labels"], abs=0.05)
    assert abs(found["constant, blind"] - found["random"]) < 0.25
    assert found["random"] == pytest.approx(0.704, abs=1e-3)


def test_policies_of_this_package_never_see_the_labels(data):
    fairness = Fairness(delta=0.1)
    constant = np.zeros(data.n_items)
    # The labels solved first, then the constant scores from where that ended.
    warm = fair_policies(data.relevance, data.groups, data.offsets, fairness, group_names=data.group_names)
    after = fair_policies(constant, data.groups, data.offsets, fairness, group_names=data.group_names, warm=warm)
    alone = fair_policies(constant, data.groups, data.offsets, fairness, group_names=data.group_names)
    np.testing.assert_array_equal(after.discounted, alone.discounted)
    dcg = audit(data, fairness, policies=after).table.dcg
    assert abs(dcg.mean() - 0.704) < 0.2
