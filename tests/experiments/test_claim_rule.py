"""The rule that judges every claim, by hand: t tests of three seeds have p = 1/2 - t / (2 sqrt(2 + t^2))."""

from __future__ import annotations

from math import inf, nan, sqrt

import numpy as np
import pytest

from spofr_core.experiments.paper.claim_rule import MARGIN, Measured, less, more, no_effect, of_seeds, verdict
from spofr_core.experiments.paper.findings import CLAIMS, findings

POSITIVE, SMALL = (0.0, inf), (-1.0, 1.0)


def seeds(*values: float) -> np.ndarray:
    return np.array(values)


def pairs(difference: float, half: float, n: int = 3) -> dict[str, float]:
    return {"difference": difference, "lower": difference - half, "upper": difference + half, "n": n}


def test_the_p_value_is_that_of_a_one_sided_t_test():
    found = of_seeds(seeds(1, 2, 3), POSITIVE)  # mean 2, standard error 1 / sqrt(3): t = 2 sqrt(3)
    assert found.p_claimed() == pytest.approx(1 / 2 - sqrt(12) / (2 * sqrt(14)))
    assert found.p_against() == pytest.approx(1 - found.p_claimed())
    between = of_seeds(seeds(-0.5, 0, 0.5), SMALL)  # 1 from either end, standard error 0.5 / sqrt(3)
    assert between.p_claimed() == pytest.approx(found.p_claimed())


def test_one_number_is_as_claimed_where_its_interval_lies_in_the_range():
    assert verdict([of_seeds(seeds(2, 3, 4), POSITIVE)]) == "same"  # p = 0.0175
    assert verdict([of_seeds(seeds(1, 2, 3), POSITIVE)]) == "open"  # p = 0.0371, interval -0.48 to 4.48
    assert verdict([of_seeds(seeds(-2, -3, -4), POSITIVE)]) == "different"
    assert verdict([]) == "open"


def test_several_numbers_are_corrected_by_holm():
    shown, sure = of_seeds(seeds(2, 3, 4), POSITIVE), of_seeds(seeds(20, 21, 22), POSITIVE)  # p = 0.0175 and 0.0004
    assert verdict([shown, shown]) == "open"  # 0.0175 is above 0.025 / 2
    assert verdict([shown, sure]) == "same"  # 0.0004 is below 0.025 / 2, then 0.0175 below 0.025
    assert verdict([shown, shown, sure]) == "partly"  # then 0.0175 is above 0.025 / 2


def test_a_claim_is_partly_so_where_some_of_its_numbers_are_and_not_so_where_none_is():
    yes, no, unknown = (of_seeds(seeds(*values), POSITIVE) for values in ((20, 21, 22), (-20, -21, -22), (-1, 0, 1)))
    assert verdict([yes, yes]) == "same"
    assert verdict([yes, no]) == verdict([yes, unknown]) == verdict([yes, no, unknown]) == "partly"
    assert verdict([no, unknown]) == verdict([no, no]) == "different"
    assert verdict([unknown, unknown]) == "open"


def test_no_effect_has_to_be_shown_and_is_not_what_is_left_where_nothing_is_seen():
    assert verdict([no_effect(pairs(0.01, 0.03), 1.0)]) == "same"  # within -0.05 to 0.05
    assert verdict([no_effect(pairs(0.02, 0.01), 1.0)]) == "same"  # a difference, but smaller than the margin
    assert verdict([no_effect(pairs(0.00, 0.20), 1.0)]) == "open"
    assert verdict([no_effect(pairs(0.06, 0.03), 1.0)]) == "open"  # beyond the margin or not
    assert verdict([no_effect(pairs(0.10, 0.02), 1.0)]) == verdict([no_effect(pairs(-0.1, 0.02), 1.0)]) == "different"
    assert verdict([no_effect(pairs(0.10, 0.02), 3.0)]) == "same"  # the margin is a share of the DCG
    assert MARGIN == 0.05


def test_more_is_contradicted_by_a_difference_that_is_shown_to_be_below_the_margin():
    assert verdict([more(pairs(0.02, 0.01), 1.0)]) == "same"
    assert verdict([more(pairs(0.01, 0.03), 1.0)]) == "different"
    assert verdict([more(pairs(0.01, 0.30), 1.0)]) == "open"
    assert verdict([less(pairs(-0.02, 0.01), 1.0)]) == "same"
    assert verdict([less(pairs(-0.01, 0.03), 1.0)]) == "different"


def test_fewer_than_three_seeds_tell_nothing_and_equal_ones_differ_by_nothing():
    assert verdict([more(pairs(9.0, 0.1, n=2), 1.0)]) == verdict([more(pairs(9.0, nan, n=1), 1.0)]) == "open"
    assert verdict([more(pairs(0.0, 0.0), 1.0)]) == "different"
    assert verdict([more(pairs(1e-12, 0.0), 1.0)]) == "different"  # rounding
    assert verdict([no_effect(pairs(0.0, 0.0), 1.0)]) == "same"


def test_a_number_without_chance_is_where_it_is():
    claimed, agreeing = (-0.5, inf), (-0.8, inf)
    assert [verdict([Measured(rank, claimed, agreeing)]) for rank in (0.1, -0.6, -0.9)] == ["same", "open", "different"]
    assert verdict([Measured(nan, claimed)]) == "open"


def test_every_claim_says_what_is_asked_of_its_numbers():
    claims = [claim for each in CLAIMS.values() for claim in each]
    assert len({claim.asked for claim in claims}) == len(claims)


def test_a_verdict_comes_from_the_rule_alone(monkeypatch):
    from spofr_core.experiments.paper import findings as module
    from tests.experiments.frames import table

    monkeypatch.setattr(module, "verdict", lambda numbers: f"{len(numbers)} numbers")
    found = {
        each.verdict for figure in ("tradeoff", "grid", "sizes") for each in findings(figure, {"results": table()})
    }
    assert found == {"0 numbers"}
