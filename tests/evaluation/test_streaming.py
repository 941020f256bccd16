"""A folder audited part by part says what the folder says in one piece."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from spofr_core.data import read_dataset
from spofr_core.data.reading.assemble import DROPPED, WITHOUT
from spofr_core.errors import DataError
from spofr_core.evaluation import SmallGroups, audit, audit_folder, measure, measure_folder
from spofr_core.fairness import Fairness


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    n = 900
    return pd.DataFrame(
        {
            "qid": rng.permutation([f"query {k % 120}" for k in range(n)]),
            "docno": np.arange(n),
            "sex": rng.choice(["f", "m", None], n, p=[0.4, 0.5, 0.1]),
            "region": rng.choice(["south", "north", "east"], n),
            "age": rng.integers(18, 70, n),
            "score": rng.integers(0, 9, n) / 8,
            "rel": rng.integers(0, 3, n),
            "unused": "x" * 50,
        }
    )


@pytest.fixture
def folder(rows, tmp_path):
    """Rows of a query are spread over three files."""
    for k, part in enumerate(np.array_split(np.arange(len(rows)), 3)):
        target = tmp_path / "data" / f"month={k}" / "rows.parquet"
        target.parent.mkdir(parents=True)
        rows.iloc[part].to_parquet(target)
    return tmp_path / "data"


def comparable(summary):
    return {key: value for key, value in summary.items() if key != "notes"}


@pytest.mark.parametrize(
    "mapping",
    [
        {"group": "sex", "missing": "exclude"},
        {"group": "sex", "missing": "own_group"},
        {"group": ["sex", "region"], "missing": "own_group"},
        {"group": "region"},
        {"group": "age", "group_quantiles": 3},
        {"group": "region", "group_against_rest": "north"},
    ],
)
def test_same_summary_as_in_one_piece(rows, folder, mapping):
    fairness = Fairness(delta=0.05)
    whole = audit(read_dataset(rows, **mapping), fairness)
    streamed = audit_folder(folder, fairness, mapping=mapping, rows_per_part=150)
    assert comparable(streamed.summary) == comparable(whole.summary)
    pd.testing.assert_frame_equal(streamed.queries, whole.queries)
    assert 0 < whole.summary["queries"]["fair"] < whole.summary["queries"]["applicable"]


@pytest.mark.parametrize(
    "how", [{"missing": "keep"}, {"missing": "exclude"}, {"missing": "exclude", "drop_rows": True}]
)
def test_what_is_noted_of_missing_groups_is_the_same_in_a_stream(rows, folder, tmp_path, how):
    rows.loc[rows.qid == "query 7", "sex"] = None
    rows.loc[5, "sex"] = "x"
    rows.to_parquet(folder / "month=0" / "rows.parquet")
    for month in (1, 2):
        (folder / f"month={month}" / "rows.parquet").unlink()
    data, fairness, cut = read_dataset(folder, group="sex", **how), Fairness(delta=0.05), {"rows_per_part": 100}
    asked = {"mapping": {"group": "sex", **how}, **cut}
    notes = audit(data, fairness).summary["notes"]
    assert audit_folder(folder, fairness, **asked).summary["notes"] == notes
    assert {*measure_folder(folder, ["nDCG"], **asked).notes} == {*measure(data, ["nDCG"]).notes}
    missing = data.excluded.get(DROPPED[WITHOUT], 0) or rows.sex.isna().sum()
    assert any(note.startswith(f"{missing} of 900") for note in notes)
    assert any("single member in all of the data: 'x'" in note for note in notes)


def test_what_is_small_is_the_same_in_a_stream(rows, folder):
    mapping, small = {"group": "region"}, SmallGroups(items=10_000, lists=0)
    whole = audit(read_dataset(rows, **mapping), Fairness(delta=0.05), small=small)
    streamed = audit_folder(folder, Fairness(delta=0.05), mapping=mapping, rows_per_part=150, small=small)
    assert comparable(streamed.summary) == comparable(whole.summary)
    assert all(group["small"] for group in streamed.summary["groups"].values())
    assert streamed.summary["worst"] == []


def test_excluded_queries_disappear_alike(rows, tmp_path):
    """A query whose items all lack a group is counted as excluded, in a stream too."""
    rows.loc[rows["qid"] == "query 7", "sex"] = None
    (tmp_path / "data").mkdir()
    rows.to_parquet(tmp_path / "data" / "rows.parquet")
    mapping = {"group": "sex", "drop_rows": True}
    whole = audit(read_dataset(rows, **mapping), Fairness(delta=0.05))
    streamed = audit_folder(tmp_path / "data", Fairness(delta=0.05), mapping=mapping, rows_per_part=200)
    assert comparable(streamed.summary) == comparable(whole.summary)
    assert whole.summary["queries"]["total"] == 119


def test_refusals(folder, tmp_path):
    fairness = Fairness(delta=0.05)
    with pytest.raises(DataError, match=r"no column 'gender'"):
        audit_folder(folder, fairness, mapping={"group": "gender"})
    with pytest.raises(DataError, match=r"no column 'topic'"):
        audit_folder(folder, fairness, mapping={"query": "topic", "group": "region"})
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"has no \.parquet file"):
        audit_folder(tmp_path / "empty", fairness)
