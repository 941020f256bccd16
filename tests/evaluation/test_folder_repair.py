"""A folder re-ranked part by part gets the policies that it gets in one piece."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from spofr_core.data import read_dataset
from spofr_core.errors import ConfigError, DataError, InfeasibleFairness
from spofr_core.evaluation import audit_folder, repair, repair_folder
from spofr_core.fairness import Fairness
from spofr_core.policy import verify_file

FAIRNESS = Fairness(delta=0.02)
PARTS = {"rows_per_part": 150}


@pytest.fixture
def rows() -> pd.DataFrame:
    """Queries and items named by numbers written as text, but for a few: a part may hold numbers only."""
    rng = np.random.default_rng(5)
    n = 900
    return pd.DataFrame(
        {
            "qid": rng.permutation([str(k % 120) if k % 120 else "first" for k in range(n)]),
            "doc": np.arange(n),
            "group": rng.choice(["a", "b", "c"], n, p=[0.5, 0.4, 0.1]),
            "score": rng.random(n),
            "relevance": rng.integers(0, 3, n),
        }
    )


@pytest.fixture
def folder(rows, tmp_path):
    return written(rows, tmp_path / "rows")


def written(rows, folder):
    """Rows of a query are spread over three files."""
    folder.mkdir()
    for k, part in enumerate(np.array_split(np.arange(len(rows)), 3)):
        rows.iloc[part].to_parquet(folder / f"{k}.parquet")
    return folder


def comparable(summary):
    return {key: value for key, value in summary.items() if key != "notes"}


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_one_file_is_that_of_one_piece(rows, folder, tmp_path, ending):
    whole = repair(read_dataset(rows), FAIRNESS)
    whole.policies.write(tmp_path / f"whole.{ending}")
    summary = repair_folder(folder, FAIRNESS, tmp_path / f"parts.{ending}", **PARTS)
    assert (tmp_path / f"parts.{ending}").read_bytes() == (tmp_path / f"whole.{ending}").read_bytes()
    assert comparable(summary) == comparable(whole.summary)
    assert summary["before"]["fair"] < summary["after"]["fair"] == summary["after"]["applicable"]


@pytest.mark.parametrize("column", ["score", "rank"])
def test_numbers_that_doubles_cannot_tell_apart_in_one_part_make_places_of_all_scores(rows, tmp_path, column):
    rows["score"] = np.random.default_rng(6).permutation(len(rows)) + np.where(rows.qid == "1", 2**60, 0)
    rows = rows.rename(columns={"score": column})
    whole = repair(read_dataset(rows, **{column: column}), FAIRNESS)
    whole.policies.write(tmp_path / "whole.parquet")
    asked = {"mapping": {column: column}, **PARTS}
    summary = repair_folder(written(rows, tmp_path / "rows"), FAIRNESS, tmp_path / "parts.parquet", **asked)
    assert (tmp_path / "parts.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert comparable(summary) == comparable(whole.summary)
    assert "beyond 2^53" in str(audit_folder(tmp_path / "rows", FAIRNESS, **asked).summary["notes"])


def test_a_new_folder_and_certificates_are_verified(rows, folder, tmp_path):
    out, proofs = tmp_path / "policies", tmp_path / "proofs.jsonl"
    repair_folder(folder, FAIRNESS, out, certificates=proofs, **PARTS)
    assert len(list(out.iterdir())) == 6
    data = read_dataset(folder)
    assert verify_file(out, data, FAIRNESS).ok
    assert verify_file(proofs, data, FAIRNESS).ok
    assert not verify_file(out, data, FAIRNESS.with_delta(0.01)).ok
    whole = repair(read_dataset(rows), FAIRNESS).policies.to_frame()
    order = ["query_id", "ranking", "position"]
    parts = pd.read_parquet(out).sort_values(order, ignore_index=True)
    pd.testing.assert_frame_equal(parts, whole.sort_values(order, ignore_index=True), check_dtype=False)


def test_items_without_a_name_have_the_row_of_the_folder(rows, tmp_path):
    nameless = rows.drop(columns="doc")
    repair_folder(written(nameless, tmp_path / "rows"), FAIRNESS, tmp_path / "parts.parquet", **PARTS)
    repair(read_dataset(nameless), FAIRNESS).policies.write(tmp_path / "whole.parquet")
    assert (tmp_path / "parts.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_parts_that_lose_all_their_items(rows, tmp_path):
    rows.loc[~rows["qid"].isin(["3", "first"]), "group"] = None
    mapping = {"drop_rows": True}
    whole = repair(read_dataset(rows, **mapping), FAIRNESS)
    folder = written(rows, tmp_path / "rows")
    summary = repair_folder(folder, FAIRNESS, tmp_path / "p.parquet", mapping=mapping, **PARTS)
    assert comparable(summary) == comparable(whole.summary)
    assert (
        audit_folder(folder, FAIRNESS, mapping=mapping, **PARTS).summary["excluded"] == whole.before.summary["excluded"]
    )
    assert whole.before.summary["excluded"]["queries left without items"] == 118
    rows["group"] = None
    empty = written(rows, tmp_path / "empty")
    with pytest.raises(DataError, match="has a group in column 'group': there is nothing to compare"):
        repair_folder(empty, FAIRNESS, tmp_path / "none", mapping=mapping, **PARTS)


def test_relaxed_queries_are_named_in_the_order_of_the_folder(rows, folder, tmp_path):
    hard = Fairness(delta=0.001, notion="merit", merits={"a": 0.1, "b": 3.0, "c": 1.0})
    whole = repair(read_dataset(rows), hard, on_infeasible="relax").summary
    assert 0 < len(whole["relaxed"]) < whole["queries"]
    assert repair_folder(folder, hard, tmp_path / "p.parquet", on_infeasible="relax", **PARTS) == whole


def test_a_failure_leaves_nothing_behind(folder, tmp_path):
    hard = Fairness(delta=0.001, notion="merit", merits={"a": 0.1, "b": 3.0, "c": 1.0})
    for out in ("policies", "policies.parquet"):
        with pytest.raises(InfeasibleFairness):
            repair_folder(
                folder,
                hard,
                tmp_path / "out" / out,
                certificates=tmp_path / "out" / "c.jsonl",
                on_infeasible="raise",
                **PARTS,
            )
    assert not (tmp_path / "out").exists() or list((tmp_path / "out").iterdir()) == []


def test_refusals_come_before_the_work(folder, tmp_path):
    def never(function, parts):
        raise AssertionError("work was begun")

    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(ConfigError, match="not an empty folder"):
        repair_folder(folder, FAIRNESS, tmp_path / "full", map_parts=never)
    with pytest.raises(DataError, match=r"ends in '\.txt'"):
        repair_folder(folder, FAIRNESS, tmp_path / "p.txt", map_parts=never)
    pd.read_parquet(folder / "0.parquet").iloc[:0].to_parquet(tmp_path / "full" / "0.parquet")
    with pytest.raises(DataError, match="have no rows"):
        repair_folder(tmp_path / "full", FAIRNESS, tmp_path / "p.csv", map_parts=never)
