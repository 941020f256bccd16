"""A repair where nothing binds changes nothing: the tables before and after are one, ties included."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from spofr_core.data import read_dataset
from spofr_core.evaluation import audit, repair, repair_folder
from spofr_core.fairness import Fairness
from spofr_core.policy import Policies, read_table, verify_file

LOOSE = [Fairness(delta=5.0), Fairness(delta=50.0, unit="share"), Fairness(delta=9.0, notion="gap")]


@pytest.fixture
def rows() -> pd.DataFrame:
    """Ratings of one to five stars, so that most items are tied; lists of one item, of one group, of a hundred."""
    rng = np.random.default_rng(3)
    lengths = [1, 2, 7, 20, 100, 5, 12]
    query = np.repeat([f"q{k}" for k in range(len(lengths))], lengths)
    group = np.where(query == "q5", "men", rng.choice(["men", "women"], len(query)))
    return pd.DataFrame(
        {
            "query": query,
            "item": np.arange(len(query)),
            "group": group,
            "score": rng.integers(1, 6, len(query)),
            "relevance": rng.integers(0, 3, len(query)),
        }
    )


def assert_unchanged(summary):
    before, after = (pd.json_normalize(summary[when]) for when in ("before", "after"))
    assert_frame_equal(before, after, rtol=1e-12)
    assert summary["score_utility_change"]["mean"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("fairness", LOOSE, ids=lambda fairness: f"{fairness.notion} {fairness.unit}")
def test_every_number_stays(rows, fairness, tmp_path):
    data = read_dataset(rows)
    found = repair(data, fairness)
    assert_unchanged(found.summary)
    shown, repaired = found.before.queries, found.after.queries
    assert_frame_equal(shown, repaired, rtol=1e-12)
    # The file says the same to whoever reads it.
    found.policies.write(tmp_path / "policies.csv")
    stored = Policies.from_frame(read_table(tmp_path / "policies.csv"), data, fairness)
    assert_frame_equal(audit(data, fairness, policies=stored).queries, shown, rtol=1e-9)
    result = verify_file(tmp_path / "policies.csv", data, fairness)
    assert result.ok, result.reasons


@pytest.mark.parametrize("fairness", LOOSE[:2], ids=["absolute", "share"])
def test_a_folder_stays_as_it_is(rows, fairness, tmp_path):
    (tmp_path / "rows").mkdir()
    for k, part in enumerate(np.array_split(np.arange(len(rows)), 3)):
        rows.iloc[part].to_parquet(tmp_path / "rows" / f"{k}.parquet")
    assert_unchanged(repair_folder(tmp_path / "rows", fairness, tmp_path / "policies.parquet", rows_per_part=30))


def test_a_rank_that_holds_delta_is_the_ranking(rows):
    """Given ranks there are no ties: one ranking a list, that of the file."""
    ranked = rows.drop(columns="score").assign(place=rows.groupby("query").cumcount() + 1)
    found = repair(read_dataset(ranked, rank="place"), Fairness(delta=5.0))
    for policy in found.policies:
        assert policy.rankings.tolist() == [list(range(len(policy.exposure)))]
    assert_unchanged(found.summary)


def test_only_the_lists_that_exceed_delta_change(rows):
    fairness = Fairness(delta=0.03)
    found = repair(read_dataset(rows), fairness)
    before, after = found.before.queries, found.after.queries
    exceeding = before["query"][before["violation"].abs() > 0.03]
    held = ~before["query"].isin(exceeding)
    assert 0 < held.sum() < len(held)
    assert_frame_equal(before[held], after[held], rtol=1e-12)
    assert not np.isclose(before["violation"][~held], after["violation"][~held]).any()
    assert found.after.ok
