"""Ranks say an order and no distances: what a repair of them maximises, and what is said of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from spofr_core.data import read_dataset
from spofr_core.errors import DataError
from spofr_core.evaluation import calibration_gain, repair
from spofr_core.evaluation.folder_repair import repair_folder
from spofr_core.fairness import Fairness
from spofr_core.policy import fair_policies

ASKED = Fairness(delta=0.1, unit="share")


def table(lists: int = 8, items: int = 9) -> pd.DataFrame:
    """Lists in which one group stands first, with labels that fall with the rank."""
    ranks = np.tile(np.arange(1, items + 1), lists)
    return pd.DataFrame(
        {
            "query": np.repeat([f"q{k}" for k in range(lists)], items),
            "item": [f"i{k}" for k in range(lists * items)],
            "sex": np.where(ranks <= items // 2, "m", "f"),
            "rank": ranks,
            "relevance": (np.random.default_rng(3).random(lists * items) < 1 / ranks).astype(int),
        }
    )


def test_a_reader_remembers_that_there_were_ranks_until_there_are_scores():
    data = read_dataset(table(), group="sex")
    assert data.ranks
    assert data[2:4].ranks
    assert not data.with_scores(data.score).ranks
    assert not read_dataset(table().assign(score=0.5), group="sex").ranks
    logged = table().drop(columns="relevance").assign(click=1, position=table()["rank"]).drop(columns="rank")
    assert read_dataset(logged, group="sex").ranks


def test_minus_the_rank_is_worth_what_the_place_from_the_end_is_worth():
    """What is said to be maximised is: the same policies come of n minus the rank."""
    data = read_dataset(table(), group="sex")
    found = repair(data, ASKED)
    backwards = fair_policies(data.with_scores(9 + np.asarray(data.score)), ASKED)
    for one, other in zip(found.policies, backwards, strict=True):
        np.testing.assert_allclose(one.exposure, other.exposure, atol=1e-9)
    assert "counted from the end of the list" in found.maximised
    assert found.maximised in found.after.summary["notes"]
    assert "at face value" in repair(data.with_scores(data.score), ASKED).maximised


def test_what_is_calibrated_is_called_by_its_name():
    data = read_dataset(table(), group="sex")
    found = repair(data, ASKED, calibrate=True)
    assert found.ranks
    assert "relevance estimated from the ranks by" in found.maximised
    assert "mean utility of the calibrated ranks" in set(found.table["label"])
    assert "score" not in calibration_gain(data, ASKED).sentence
    assert "from the scores" in repair(data.with_scores(data.score), ASKED, calibrate=True).maximised


def test_ranks_are_not_calibrated_by_scores_nor_scores_by_ranks():
    ranks = read_dataset(table(), group="sex")
    scores = ranks.with_scores(np.random.default_rng(0).random(ranks.n_items))
    with pytest.raises(DataError, match="The data has ranks and the data to calibrate by has scores"):
        repair(ranks, ASKED, calibrate=scores)
    with pytest.raises(DataError, match="The data has scores and the data to calibrate by has ranks"):
        repair(scores, ASKED, calibrate=ranks)


@pytest.mark.parametrize("column", ["rank", "score"])
def test_a_folder_says_the_same_as_a_file(tmp_path, column):
    frame = table().rename(columns={"rank": column})
    frame[column] *= 1 if column == "rank" else -1.5
    (tmp_path / "data").mkdir()
    frame.to_parquet(tmp_path / "data" / "part.parquet")
    how = {"query": "query", "item": "item", "group": "sex", column: column}
    whole = repair_folder(tmp_path / "data", ASKED, tmp_path / "out", mapping=how)
    one = repair(read_dataset(frame, **how), ASKED).summary
    assert (whole["ranks"], whole["maximised"]) == (one["ranks"], one["maximised"])
    assert whole["ranks"] is (column == "rank")


def test_a_utility_that_falls_below_zero_is_no_number_for_readers():
    """Of scores such as log-odds only differences of utility mean something, and a table shows two sizes."""
    data = read_dataset(table(), group="sex")
    centred = data.with_scores(np.asarray(data.score) + 4.1)
    found = repair(centred, Fairness(delta=0.0))
    before, after = (found.summary[when]["score_utility"] for when in ("before", "after"))
    assert after < 0 < before
    assert "score_utility" not in set(found.table["name"])
    assert "score_utility" in set(repair(data.with_scores(np.asarray(data.score) + 20), ASKED).table["name"])
