"""docs/concepts.md: each number of its sentences, computed again by hand from five scores, without the package."""

from __future__ import annotations

from itertools import permutations
from math import log2
from pathlib import Path

import pytest

from spofr_core.reporting import WorkedList

PAGE = " ".join((Path(__file__).resolve().parent.parent / "docs" / "concepts.md").read_text("utf-8").split())
NAMES = ("Abe", "Ben", "Cleo", "Dan", "Eva")
SCORE = dict(zip(NAMES, (5, 4, 3, 2, 1), strict=True))
WOMEN = ("Cleo", "Eva")
PLACES = [1 / (1 + j) for j in range(1, 6)]
MEAN = sum(PLACES) / 5
FIRST, SECOND = ("Abe", "Ben", "Cleo", "Eva", "Dan"), ("Abe", "Cleo", "Ben", "Eva", "Dan")


def women(order) -> float:
    return sum(PLACES[order.index(name)] for name in WOMEN) / 2


def men(order) -> float:
    return (sum(PLACES) - 2 * women(order)) / 3


def dcg(order) -> float:
    return sum(SCORE[name] / log2(2 + place) for place, name in enumerate(order))


def mixed(value, shares) -> float:
    return sum(share * value(order) for order, share in shares.items())


LOTTERY = {FIRST: 0.136, SECOND: 0.864}
STRICT = {("Abe", "Cleo", "Ben", "Dan", "Eva"): 0.34, SECOND: 0.66}
PRICE = (dcg(FIRST) - dcg(SECOND)) / (2 * women(SECOND) - 2 * women(FIRST))


@pytest.mark.parametrize(
    "sentence",
    [
        *(f"| {j} | {name} | {'women' if name in WOMEN else 'men'} | {SCORE[name]} | {PLACES[j - 1]:.3g} |"
          for j, name in enumerate(NAMES, start=1)),
        f"first place is worth {PLACES[0]:g} and the fifth {PLACES[4]:.3f}",
        f"worth {MEAN:.2f} on average. The men stand at 1, 2 and 4 and get {men(NAMES):.3f} on average, "
        f"the women at 3 and 5 and get {women(NAMES):.3f}.",
        f"the men get {men(NAMES) / MEAN - 1:.0%} more".replace("%", " %"),
        f"and the women {1 - women(NAMES) / MEAN:.0%} less".replace("%", " %"),
        f"between {0.9 * MEAN:.3f} and {1.1 * MEAN:.3f}. The women, with {women(NAMES):.3f}, are outside",
        f"the women have {women(FIRST):.3f} on average, in the second {women(SECOND):.3f}. "
        f"Mixed 13.6 to 86.4 that is {mixed(women, LOTTERY):.3f}",
        f"The men then have {mixed(men, LOTTERY) / MEAN - 1:.0%}".replace("%", " %"),
        f"the women {1 - mixed(women, LOTTERY) / MEAN:.0%} too little".replace("%", " %"),
        f"has {dcg(NAMES):.2f}, the lottery {mixed(dcg, LOTTERY):.2f}, "
        f"{mixed(dcg, LOTTERY) / dcg(NAMES):.1%} of it".replace("%", " %"),
        f"here {PRICE:.3f} for each unit of the women's exposure. Moving Cleo above Ben costs "
        f"{dcg(FIRST) - dcg(SECOND):.3f} of DCG and gives the women {2 * women(SECOND) - 2 * women(FIRST):.3g}",
        f"2 × {0.9 * MEAN:.3f} = {1.8 * MEAN:.3f} at least, worth {PRICE * 1.8 * MEAN:.2f}.",
        f"10.94 − {PRICE * 1.8 * MEAN:.2f} = {mixed(dcg, LOTTERY):.2f}, and ours has it",
        "In 13.6 % of the draws no woman is among the first two.",
        f"Ten impressions at 13.6 % are {10 * 0.136:.2f} of the first order",
    ],
)  # fmt: skip
def test_the_page_says_what_arithmetic_says(sentence):
    assert sentence in PAGE


def test_the_shares_of_the_lottery_are_those_that_delta_asks_for():
    # women(FIRST) + share (women(SECOND) - women(FIRST)) = 0.9 mean
    share = (0.9 * MEAN - women(FIRST)) / (women(SECOND) - women(FIRST))
    assert share == pytest.approx(LOTTERY[SECOND])
    assert mixed(women, STRICT) == pytest.approx(0.9 * MEAN)
    assert f"{mixed(dcg, STRICT):.4f} instead of {mixed(dcg, LOTTERY):.4f}" in PAGE


def test_the_proof_of_the_page_holds_for_all_orders():
    paid = {order: dcg(order) + PRICE * 2 * women(order) for order in permutations(NAMES)}
    assert len(paid) == 120
    assert f"none then has more than {max(paid.values()):.2f}, which both orders" in PAGE
    for order in LOTTERY:
        assert paid[order] == pytest.approx(max(paid.values()))
    bound = max(paid.values()) - PRICE * 1.8 * MEAN
    assert bound == pytest.approx(mixed(dcg, LOTTERY))


def test_no_woman_is_among_the_first_two_only_in_the_first_order():
    assert [any(name in WOMEN for name in order[:2]) for order in LOTTERY] == [False, True]
    assert all(any(name in WOMEN for name in order[:2]) for order in STRICT)


def test_it_is_the_list_of_the_glossary():
    assert (WorkedList.items, WorkedList.scores) == (NAMES, tuple(map(float, SCORE.values())))
    assert WorkedList.groups == tuple("women" if name in WOMEN else "men" for name in NAMES)
    assert WorkedList.fairness.delta_text == "10 %"


def test_each_item_on_its_own():
    """Within 10 % of the mean; the best that a linear programme over all 120 orders finds."""
    from scipy.optimize import linprog

    orders = list(permutations(NAMES))
    seen = [[PLACES[order.index(name)] for order in orders] for name in NAMES]
    rows, limits = [*seen, *([-e for e in row] for row in seen)], [1.1 * MEAN] * 5 + [-0.9 * MEAN] * 5
    best = linprog([-dcg(order) for order in orders], rows, limits, [[1.0] * 120], [1.0], method="highs")
    assert f"{-best.fun:.4f}" == "9.2888"
    assert "# 5 9.2888" in PAGE
    assert "a DCG of 9.29 instead of 10.11" in PAGE
    found = [sum(p * e for p, e in zip(best.x, row, strict=True)) for row in seen]
    assert " ".join(f"{name} {exposure:.3f}" for name, exposure in zip(NAMES, found, strict=True)) in PAGE
    assert f"mean of {MEAN:.2f}" in PAGE
    assert f"gets 0.5, {0.5 / MEAN - 1:.0%} more".replace("%", " %") in PAGE
