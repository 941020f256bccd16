"""TREC runs, qrels, and a table from item to group."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

from spofr_core.data import read_dataset
from spofr_core.errors import DataError

RUN = "401 Q0 FT1 1 9.5 tag\n401 Q0 FT2 2 9.1 tag\n402\tQ0\tFT1\t1\t3 tag\n\n402 Q0 FT9 2 2 tag\n"
QRELS = "401 0 FT1 0\n401 0 FT2 2\n402 0 FT9 1\n403 0 FT9 1\n"
GROUPS = pd.DataFrame({"docno": ["FT1", "FT2", "FT9", "FT10"], "side": ["left", "right", "left", "x"]})


def test_run_qrels_and_groups(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "qrels.gz").write_bytes(gzip.compress(QRELS.encode()))
    GROUPS.to_csv(tmp_path / "groups.csv", index=False)
    data = read_dataset(
        tmp_path / "run.txt", qrels=tmp_path / "qrels.gz", item_groups=tmp_path / "groups.csv", group="side"
    )
    assert data.query_ids.tolist() == [401, 402]
    assert data.item_ids.tolist() == ["FT1", "FT2", "FT1", "FT9"]
    assert data.score.tolist() == [9.5, 9.1, 3, 2]
    assert data.relevance.tolist() == [0, 2, 0, 1]
    assert data.group_names == ("left", "right")
    assert data.groups.tolist() == [0, 1, 0, 0]
    told = " ".join(data.notes)
    assert "1 of 4 items have no judgment in qrels.gz and count as relevance 0" in told
    assert "1 queries of qrels.gz do not occur in the data" in told


def test_the_same_for_a_table_and_the_group_guessed() -> None:
    frame = pd.DataFrame({"qid": ["401", "401"], "docno": ["FT1", "FT2"], "score": [1.0, 2.0]})
    data = read_dataset(frame, qrels=QRELS.encode(), item_groups=GROUPS)
    assert data.relevance.tolist() == [0, 2]
    assert data.groups.tolist() == [0, 1]
    assert any("'side' of the DataFrame was taken as the group" in note for note in data.notes)


def test_an_item_without_a_group() -> None:
    known = GROUPS[GROUPS["docno"] != "FT9"]
    with pytest.raises(DataError, match="1 of 4 items have no group") as caught:
        read_dataset(RUN.encode(), item_groups=known, group="side")
    assert caught.value.row == 5
    data = read_dataset(RUN.encode(), item_groups=known, group="side", missing="exclude")
    assert dict(data.excluded) == {"items without a group, which kept their places": 1}


@pytest.mark.parametrize(
    ("run", "qrels", "words"),
    [
        ("401 Q0 FT1 1 9.5 tag\n401 Q0 FT2 2 9.1\n", QRELS, ["Line 2", "5 fields", "qid Q0 docno rank score tag"]),
        ("401 Q0 FT1 1 high tag\n", QRELS, ["'score'", "'high'"]),
        (RUN, "401 0 FT1\n", ["Line 1", "3 fields", "qid 0 docno relevance"]),
        (RUN, "401 0 FT1 1\n401 0 FT2 -inf\n", ["'-inf' at line 2", "finite number"]),
        (RUN, "401 0 FT1 1\n401 0 FT1 0\n", ["judges item 'FT1' of query '401' twice", "line 2"]),
        (RUN, "901 0 FT1 1\n", ["No item of the data is judged"]),
    ],
)
def test_bad_lines(run: str, qrels: str, words: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        read_dataset(run.encode(), qrels=qrels.encode(), item_groups=GROUPS, group="side")
    for word in words:
        assert word in str(caught.value)


def test_an_item_listed_twice_in_the_table() -> None:
    twice = pd.concat([GROUPS, GROUPS.iloc[:1]])
    with pytest.raises(DataError, match="lists item 'FT1' twice, again at row 5"):
        read_dataset(RUN.encode(), item_groups=twice, group="side")
