"""A model that is asked for shares: trained, validated, saved and held in every list, whatever its length."""

from __future__ import annotations

import numpy as np
import pytest

from spofr_core.fairness import Fairness
from spofr_core.learning import SPOFR, PredictThenOptimize, load_model
from tests.learning.toy import toy_data

SHARE = Fairness(delta=0.1, unit="share")


@pytest.mark.parametrize("method", [SPOFR, PredictThenOptimize])
def test_a_share_is_held_in_every_test_list(method, tmp_path):
    train, test = (toy_data(30, lengths=(4, 40), seed=seed) for seed in (1, 2))
    model = method(SHARE, seed=0, max_steps=20, validate_every=10).fit(train, toy_data(20, lengths=(4, 40), seed=3))
    assert model.report.history[-1]["fair_share"] == 1.0
    assert model.report.history[-1]["max_violation"] <= 0.1 + 1e-9
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.fairness == SHARE
    policies = loaded.policies(test)
    item_exposure = policies.expectation(SHARE.position_bias.vector(40))
    widest = 0.0
    for q in range(len(test)):
        rows = slice(int(test.offsets[q]), int(test.offsets[q + 1]))
        groups, exposure = test.groups[rows], item_exposure[rows]
        if len(np.unique(groups)) == 2:
            shares = [exposure[groups == g].mean() / exposure.mean() - 1 for g in (0, 1)]
            widest = max(widest, *np.abs(shares))
    assert widest == pytest.approx(0.1, abs=1e-9)  # held everywhere, and used up somewhere


def test_validation_measures_violations_in_the_unit_that_is_asked():
    """All lists of one length: both ask the same of them, one in units of the other's mean exposure."""
    train, validation = (toy_data(20, lengths=(6, 6), seed=seed) for seed in (1, 2))
    mean = float(np.mean(1 / (2 + np.arange(6))))
    shares, exposures = (
        SPOFR(fairness, seed=0, max_steps=10, validate_every=10).fit(train, validation).report.history[-1]
        for fairness in (SHARE, Fairness(delta=0.1 * mean))
    )
    assert shares["max_violation"] == pytest.approx(0.1, abs=1e-9)
    assert exposures["max_violation"] == pytest.approx(0.1 * mean, abs=1e-9)
    assert shares["fair_share"] == exposures["fair_share"] == 1.0
