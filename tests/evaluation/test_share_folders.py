"""A folder of long and short lists, judged and re-ranked part by part in shares: as in one piece, and as by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from spofr_core.data import read_dataset
from spofr_core.evaluation import audit, audit_folder, repair, repair_folder
from spofr_core.fairness import Fairness
from spofr_core.policy import verify_file

SHARE = Fairness(delta=0.1, unit="share")
LENGTHS = (12, 480, 25, 12, 90)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    n = sum(LENGTHS)
    group = rng.choice(["f", "m"], n)
    return pd.DataFrame(
        {
            "query": np.repeat([f"list of {n} ({k})" for k, n in enumerate(LENGTHS)], LENGTHS),
            "item": np.arange(n),
            "group": group,
            "score": rng.normal(size=n) + 0.8 * (group == "m"),
        }
    )


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    place = tmp_path_factory.mktemp("rows")
    for k, part in enumerate(np.array_split(np.arange(len(rows)), 3)):
        rows.iloc[part].to_parquet(place / f"{k}.parquet")
    return place


def comparable(summary):
    return {key: value for key, value in summary.items() if key != "notes"}


def test_a_folder_is_judged_in_shares(folder, rows):
    whole = audit(read_dataset(rows), SHARE)
    parts = audit_folder(folder, SHARE, rows_per_part=200)
    assert comparable(parts.summary) == comparable(whole.summary)
    violations = parts.queries.set_index(["query", "group"])["violation"]
    for name, part in rows.groupby("query"):
        ordered = part.sort_values("score", ascending=False)
        exposure = pd.Series(1 / (2 + np.arange(len(part))), index=ordered.index)
        for group, members in part.groupby("group"):
            by_hand = exposure[members.index].mean() / exposure.mean() - 1
            assert violations[name, group] == pytest.approx(by_hand, abs=1e-12)


def test_a_folder_is_repaired_in_shares(folder, rows, tmp_path):
    data = read_dataset(rows)
    out, proofs = tmp_path / "policies.parquet", tmp_path / "proofs.jsonl"
    summary = repair_folder(folder, SHARE, out, certificates=proofs, rows_per_part=200)
    assert comparable(summary) == comparable(repair(data, SHARE).summary)
    assert summary["unit"] == "share"
    assert summary["before"]["violation_max"] > 0.1
    assert summary["after"]["violation_max"] <= 0.1 + 1e-9
    assert verify_file(out, data, SHARE).ok
    # The absolute delta that 10 % comes to in the longest list forbids much more in the shortest.
    longest = float(np.mean(1 / (2 + np.arange(480))))
    assert not verify_file(out, data, Fairness(delta=0.1 * longest)).ok
