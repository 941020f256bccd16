from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import Fairness
from spofr_core.policy import Policies, fair_policies, fair_policy, read_table, verify

FAIRNESS = Fairness(delta=0.01)


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(2, 9, 12))])
    n = int(offsets[-1])
    return RankingDataset(
        query_ids=np.array([f"0{q}" for q in range(12)]),
        offsets=offsets,
        item_ids=np.array([f"={i}" if i % 3 else f"i{i}" for i in range(n)]),
        groups=rng.integers(0, 3, n).astype(np.int32),
        group_names=("a", "b", "c"),
        score=rng.normal(size=n),
    )


@pytest.fixture(scope="module")
def policies(data: RankingDataset) -> Policies:
    return fair_policies(data, FAIRNESS)


def test_flat_numbers_equal_those_of_the_matrices(policies: Policies) -> None:
    for q, policy in enumerate(policies):
        n = policy.rankings.shape[1]
        v, w = policies.lists.v[:n], policies.lists.w[:n]
        assert_allclose(policy.matrix.sum(axis=0), 1.0)
        assert_allclose(policy.matrix.sum(axis=1), 1.0)
        assert_allclose(policy.exposure, policy.matrix @ v)
        assert_allclose(policy.discounted, policy.matrix @ w)
        assert_allclose(policy.utility, policy.scores @ policy.matrix @ w)
        groups = np.array(policy.groups)
        for name, violation in policy.violations.items():
            mean = (policy.matrix @ v)[groups == name].mean()
            assert_allclose(violation, mean - v.mean(), atol=1e-14)
            assert_allclose(policy.group_exposure[name], mean)
        assert set(policy.violations) == set(policy.groups)
        assert policies.gap[q] < 1e-9


def test_indexing_and_iteration(policies: Policies) -> None:
    assert policies[-1].query == policies[len(policies) - 1].query == "011"
    assert [policy.query for policy in policies] == [f"0{q}" for q in range(12)]
    with pytest.raises(IndexError):
        policies[12]
    assert "12 lists" in repr(policies)
    assert "query '00'" in repr(policies[0])


def test_samples_follow_the_lottery() -> None:
    policy = fair_policy([1.0, 0.0, 0.5], ["a", "b", "b"], Fairness(delta=0.02))
    drawn = policy.sample(20_000, seed=1)
    assert drawn.shape == (20_000, 3)
    frequency = np.zeros((3, 3))
    for j in range(3):
        frequency[:, j] = np.bincount(drawn[:, j], minlength=3) / len(drawn)
    assert np.abs(frequency - policy.matrix).max() < 5 * 0.5 / np.sqrt(len(drawn))
    assert_array_equal(policy.sample(5, seed=2), policy.sample(5, seed=2))
    assert policy.sample(0).shape == (0, 3)
    with pytest.raises(ConfigError, match="'k' is -1"):
        policy.sample(-1)


def test_the_long_table_says_what_the_policies_say(policies: Policies, data: RankingDataset) -> None:
    frame = policies.to_frame()
    assert list(frame.columns) == ["query_id", "ranking", "probability", "position", "item_id"]
    of_one = frame[frame["query_id"] == "03"]
    policy = policies[3]
    assert len(of_one) == policy.rankings.size
    for r, ranking in enumerate(policy.rankings, start=1):
        rows = of_one[of_one["ranking"] == r].sort_values("position")
        assert rows["item_id"].tolist() == policy.item_ids[ranking].tolist()
        assert_allclose(rows["probability"], policy.probabilities[r - 1])
    pd.testing.assert_frame_equal(policy.to_frame(), of_one.reset_index(drop=True))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx", ".jsonl"])
def test_tables_come_back_from_files(policies: Policies, data: RankingDataset, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"policies{suffix}"
    if suffix == ".xlsx":
        policies.write(tmp_path / "policies.csv")
        pd.read_csv(tmp_path / "policies.csv", dtype=dict.fromkeys(("query_id", "item_id"), str)).to_excel(
            path, index=False
        )
    elif suffix == ".jsonl":
        policies.to_frame().to_json(path, orient="records", lines=True, double_precision=15)
    else:
        policies.write(path)
    back = Policies.from_frame(read_table(path), data, FAIRNESS)
    assert_array_equal(back.solution.counts, policies.solution.counts)
    assert_allclose(back.exposure, policies.exposure, rtol=1e-14)
    asked = {"group_names": data.group_names, "optimal": False}
    result = verify(back, data.score, data.groups, FAIRNESS, **asked)
    assert result.fair, result.reasons
    assert result.optimal is None
    assert np.isnan(result.gap)
    with pytest.raises(ConfigError, match="no multipliers"):
        _ = back[0].certificate


def verdict(frame: pd.DataFrame, data: RankingDataset) -> tuple[Policies, list[bool], list[str]]:
    back = Policies.from_frame(frame, data, FAIRNESS)
    result = verify(back, data.score, data.groups, FAIRNESS, group_names=data.group_names, optimal=False)
    return back, result.queries["fair"].tolist(), result.reasons


def test_a_table_changed_by_hand_fails_where_it_was_changed(policies: Policies, data: RankingDataset) -> None:
    frame = policies.to_frame()
    start = int(frame.index[frame["query_id"] == "05"][0])
    others = [q != 5 for q in range(12)]

    one_cell = frame.copy()
    one_cell.loc[start, "probability"] += 0.01
    back, ok, reasons = verdict(one_cell, data)
    assert ok == others
    assert "differs between its rows" in reasons[0]
    rows = slice(data.offsets[5], data.offsets[6])
    assert np.isnan(back.exposure[rows]).all()
    assert not np.isnan(np.delete(back.exposure, np.arange(rows.start, rows.stop))).any()

    whole = frame.copy()
    whole.loc[(whole["query_id"] == "05") & (whole["ranking"] == 1), "probability"] *= 0.9
    _, ok, reasons = verdict(whole, data)
    assert ok == others
    assert "sum to" in reasons[0]

    _, ok, reasons = verdict(frame.drop(index=start), data)
    assert ok == others
    assert "does not name each" in reasons[0]

    twice = frame.copy()
    twice.loc[start, "item_id"] = twice.loc[start + 1, "item_id"]
    _, ok, reasons = verdict(twice, data)
    assert ok == others
    assert "does not name each" in reasons[0]

    back, ok, reasons = verdict(frame[frame["query_id"] != "05"], data)
    assert ok == others
    assert "there is no policy for 1 of 12 queries" in reasons[0]
    assert np.isnan(back.utility[5])


def test_tables_that_cannot_be_understood_are_refused(policies: Policies, data: RankingDataset, tmp_path: Path) -> None:
    frame = policies.to_frame()

    def with_first(column: str, value: object) -> pd.DataFrame:
        changed = frame.astype({column: object})
        changed.loc[0, column] = value
        return changed

    for broken, message in (
        (frame.drop(columns="probability"), "no column 'probability'"),
        (with_first("query_id", "q99"), "query_id 'q99' in row 1 of the table is not in the data"),
        (with_first("item_id", "zzz"), "Item 'zzz' in row 1 of the table is not in the list of query"),
        (with_first("position", 0), "position is 0 in row 1"),
        (with_first("position", 100), "position is 100 in row 1"),
        (with_first("ranking", 1.5), "ranking is 1.5 in row 1"),
        (with_first("probability", "much"), "'probability' of the table holds something that is not a number"),
        (with_first("ranking", 900_000_000), "ranking is 900000000"),
    ):
        with pytest.raises(DataError, match=message):
            Policies.from_frame(broken, data, FAIRNESS)
    with pytest.raises(DataError, match=r"written as \.parquet or \.csv"):
        policies.write(tmp_path / "policies.xlsx")
    with pytest.raises(DataError, match=r"read from \.parquet, \.csv, \.xlsx or \.jsonl"):
        read_table(tmp_path / "policies.xls")
    with pytest.raises(DataError, match=r"There is no file .*missing\.csv"):
        read_table(tmp_path / "missing.csv")
    (tmp_path / "torn.csv").write_text("a\nb\nc,d,e\n")
    with pytest.raises(DataError, match="cannot be read as a table of policies") as caught:
        read_table(tmp_path / "torn.csv")
    assert "\n" not in str(caught.value)


def test_a_hundred_thousand_lists_without_matrices() -> None:
    rng = np.random.default_rng(1)
    n_lists, n = 100_000, 6
    groups = rng.integers(0, 2, n_lists * n)
    scores = rng.normal(size=n_lists * n) + groups
    offsets = np.arange(0, n_lists * n + 1, n)
    policies = fair_policies(scores, groups, offsets, FAIRNESS)
    assert np.nanmax(np.abs(policies.violations)) <= 0.01 + 1e-12
    assert policies.solution.rankings.nbytes < 20e6
    sums = policies.solution.probabilities.sum(axis=1)
    assert np.abs(sums - 1).max() < 1e-12
    assert np.all(policies.gap <= 1e-9)


def test_a_table_without_probabilities_is_no_lottery(data: RankingDataset, policies: Policies) -> None:
    table = policies.to_frame().assign(probability=np.nan)
    read = Policies.from_frame(table, data, FAIRNESS)
    result = verify(read, data.score, data.groups, FAIRNESS, group_names=data.group_names)
    assert not result.ok
    assert all("not a number" in reason for reason in result.reasons)
