"""How often what is shown breaks a quota, against all orders of small lists written out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
import pytest

from spofr_core import Fairness, Quota, audit, fair_policies, read_dataset
from spofr_core.errors import ConfigError
from spofr_core.evaluation import audit_folder, measure_exposure, repair
from spofr_core.learning.losses.plackett_luce import PlackettLucePolicies
from spofr_core.policy import SortedPolicies
from tests.policy.brute_force import patterns, within

QUOTAS = [Quota(slack=0), Quota(slack=0, top=3), Quota(slack=1, top=4), Quota(minimum={"b": {2: 1, 4: 2}})]


def table_of(lists) -> pd.DataFrame:
    """A row per item of lists written as [(group, score), ...]."""
    rows = [
        {"query": f"q{q}", "item": f"i{q}-{i}", "group": group, "score": score}
        for q, items in enumerate(lists)
        for i, (group, score) in enumerate(items)
    ]
    return pd.DataFrame(rows)


def dataset(lists):
    return read_dataset(table_of(lists), query="query", item="item", group="group", score="score")


def sorts(items) -> Iterator[list[str]]:
    """The groups from the top down in every order that a sort by score may have, all equally likely."""
    levels = sorted({score for _, score in items}, reverse=True)
    ties = [[group for group, score in items if score == level] for level in levels]
    for orders in product(*(patterns(Counter(tie)) for tie in ties)):  # orders of items give each pattern equally often
        yield [group for order in orders for group in order]


def random_lists(seed, n_lists=25):
    rng = np.random.default_rng(seed)
    lists = [[("a", 1.0), ("a", 2.0)]]  # nobody to compare
    for _ in range(n_lists):
        groups = [str(name) for name in rng.choice(list("aabbbc"), int(rng.integers(2, 10)))]
        lists.append([(group, float(rng.integers(0, 3) + 2 * (group == "a"))) for group in groups])
    return [*lists, [("a", 2.0), ("b", 2.0), ("c", 1.0)]]


def expected(lists, quota):
    """Per list: the chance that a draw breaks the quota; None where there is nothing to keep; "impossible"."""
    found = []
    for items in lists:
        groups = [group for group, _ in items]
        if len(set(groups)) < 2:
            found.append(None)
        elif not any(within(quota, order) for order in patterns(Counter(groups))):
            found.append("impossible")
        else:
            orders = list(sorts(items))
            found.append(sum(not within(quota, order) for order in orders) / len(orders))
    return found


@pytest.mark.parametrize("quota", QUOTAS, ids=lambda quota: quota.text)
def test_a_sort_with_ties_is_counted_over_all_its_orders(quota):
    lists = random_lists(1)
    found = audit(dataset(lists), Fairness(delta=1.0, every_ranking=quota))
    right = expected(lists, quota)
    chances = [chance for chance in right if isinstance(chance, float)]
    assert 0.0 < np.mean(chances) < 1.0  # otherwise this shows nothing
    assert any(0.0 < chance < 1.0 for chance in chances)

    of_query = found.queries.groupby("query", sort=False)["breaks_quota"].first()
    for q, chance in enumerate(right):
        seen = of_query[f"q{q}"]
        assert np.isnan(seen) if not isinstance(chance, float) else seen == pytest.approx(chance), lists[q]
    summary = found.summary["quota"]
    broken = sum(chance > 0 for chance in chances)
    assert summary["queries"]["applicable"] == len(chances)
    assert summary["queries"]["broken"] == broken
    assert summary["queries"]["share"] == pytest.approx(broken / len(chances))
    assert summary["queries"]["ci"][0] < broken / len(chances) < summary["queries"]["ci"][1]
    assert summary["draws"]["share"] == pytest.approx(np.mean(chances))
    assert summary["draws"]["ci"][0] <= np.mean(chances) <= summary["draws"]["ci"][1]
    assert summary["impossible"] == right.count("impossible")
    assert len(summary["impossible_queries"]) == min(summary["impossible"], 10)
    assert (summary["impossible"] > 0) == (quota.minimum is not None)
    assert summary["error"] == 0
    assert {name: summary[name] for name in ("slack", "top", "minimum") if summary[name] is not None} == quota.to_dict()
    assert summary["text"] == quota.text
    assert not found.holds_quota
    assert not found.ok
    assert found.holds_delta


def test_without_a_quota_nothing_is_said_of_one():
    found = audit(dataset(random_lists(2)), Fairness(delta=1.0))
    assert found.summary["quota"] is None
    assert "breaks_quota" not in found.queries
    assert found.ok


def test_a_policy_is_counted_over_its_lottery():
    rng = np.random.default_rng(4)
    lists = [[(str(rng.choice(list("ab"))), float(rng.random())) for _ in range(16)] for _ in range(30)]
    data, mixed, seen = dataset(lists), 0, 0
    for delta, quota in product((0.0, 0.04), QUOTAS[:3]):
        policies = fair_policies(data, Fairness(delta=delta))
        asked = Fairness(delta=delta, every_ranking=quota)
        chances = np.zeros(len(lists))
        for q, policy in enumerate(policies):
            shown = [[lists[q][i][0] for i in ranking] for ranking in policy.rankings.tolist()]
            chances[q] = policy.probabilities @ [not within(quota, order) for order in shown]
        mixed, seen = mixed + int(np.sum((chances > 0) & (chances < 0.99))), seen + int(np.sum(chances > 0))
        summary = audit(data, asked, policies=policies).summary["quota"]
        assert summary["queries"]["broken"] == np.sum(chances > 0)
        assert summary["draws"]["share"] == pytest.approx(chances.mean())
        assert repair(data, asked).after.holds_quota
    assert seen > mixed > 0  # otherwise this shows nothing


def test_more_ties_than_orders_looked_at_are_drawn_and_still_known_to_break():
    """One order in 2,002 breaks the quota: draws miss it, the count of broken queries does not."""
    items = [("a", 1.0)] * 5 + [("b", 1.0)] * 9
    data = dataset([items])
    quota = Quota(minimum={"b": {5: 1}})  # only a a a a a b b b ... breaks it
    found = audit(data, Fairness(delta=1.0, every_ranking=quota)).summary["quota"]
    assert found["queries"]["broken"] == 1
    assert found["draws"]["share"] == 0.0
    alike = SortedPolicies(np.ones(14), data.offsets)
    again = audit(data, Fairness(delta=1.0, every_ranking=quota), policies=alike).summary["quota"]
    assert again == found
    common = Quota(minimum={"b": {2: 1}})  # broken when both of the first two are of a: 5/14 * 4/13
    found = audit(data, Fairness(delta=1.0, every_ranking=common)).summary["quota"]
    assert found["error"] > 0
    assert abs(found["draws"]["share"] - 20 / 182) < 4 * found["error"]


def test_plackett_luce_is_drawn():
    items = [("a", 1.0), ("a", 0.0), ("b", 0.5)]
    data = dataset([items] * 200)
    scores = np.tile([1.0, 0.0, 0.5], 200)
    policies = PlackettLucePolicies(scores, data.offsets, samples=100, seed=1)
    found = audit(data, Fairness(delta=1.0, every_ranking=Quota(minimum={"b": {2: 1}})), policies=policies)
    weight = np.exp([1.0, 0.0, 0.5])
    total = weight.sum()
    last = sum(weight[i] / total * weight[j] / (total - weight[i]) for i, j in ((0, 1), (1, 0)))
    summary = found.summary["quota"]
    assert 0 < summary["error"] < 0.01
    assert abs(summary["draws"]["share"] - last) < 4 * summary["error"]


def test_a_folder_in_parts_says_the_same_as_one_table(tmp_path):
    lists = random_lists(3, n_lists=60)
    frame = table_of(lists)
    middle = int(np.flatnonzero(frame["query"] == "q30")[0])
    for part, rows in enumerate((frame[:middle], frame[middle:])):
        rows.to_parquet(tmp_path / f"part-{part}.parquet")
    asked = Fairness(delta=0.1, every_ranking=QUOTAS[3])
    columns = {name: name for name in ("query", "item", "group", "score")}
    whole = audit(read_dataset(frame, **columns), asked)
    parts = audit_folder(tmp_path, asked, mapping=columns, rows_per_part=50, min_parts=4)
    assert parts.summary["quota"] == whole.summary["quota"]
    assert parts.queries["breaks_quota"].equals(whole.queries["breaks_quota"])


def test_a_measurement_judges_the_quota_that_it_counted_and_no_other():
    data = dataset(random_lists(5))
    counted = Fairness(delta=0.1, every_ranking=Quota(slack=0))
    measured = measure_exposure(data, counted)
    assert measured.judge(0.2).summary == audit(data, counted.with_delta(0.2)).summary
    assert measured.judge(counted.with_quota(None)).summary["quota"] is None
    with pytest.raises(
        ConfigError, match="'at most 1 from its share in every prefix', but the one counted is 'at most 0"
    ):
        measured.judge(counted.with_quota(Quota(slack=1)))
    with pytest.raises(ConfigError, match="but none was counted; measure again"):
        measure_exposure(data, Fairness(delta=0.1)).judge(counted)


def test_a_table_that_shows_an_item_twice_is_counted_and_not_read_beyond_its_end():
    data = dataset([[("a", 2.0), ("b", 1.0)]])
    policies = fair_policies(data, Fairness(delta=1.0))
    policies.solution.rankings[:] = [[1, 1]]
    found = audit(data, Fairness(delta=1.0, every_ranking=Quota(slack=1)), policies=policies)
    assert found.summary["quota"]["queries"]["broken"] == 1
