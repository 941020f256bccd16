"""A file without column names is noticed, asked about, and read whole."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.data import preview_table, read_dataset
from spofr_core.data.formats.header import header_doubt
from spofr_core.errors import DataError

EXPERTS = "retrieval,x1,0.71,m,1\nretrieval,x2,0.37,f,0\nvision,x1,0.62,m,2\nvision,x3,0.12,f,0\n"
COLUMNS = {"query": "column 1", "item": "column 2", "score": "column 3", "group": "column 4", "relevance": "column 5"}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("compressed", [False, True])
def test_every_row_is_read_when_told_so(tmp_path: Path, delimiter: str, encoding: str, compressed: bool) -> None:
    path = tmp_path / ("experts.csv.gz" if compressed else "experts.csv")
    content = EXPERTS.replace(",", delimiter).replace("\n", "\r\n").encode(encoding)
    path.write_bytes(gzip.compress(content) if compressed else content)
    with pytest.raises(DataError) as caught:
        read_dataset(path, **COLUMNS)
    error = caught.value
    assert (error.question, error.fields) == ("header", ("header",))
    assert "The first row of experts.csv" in str(error)
    assert "'0.71', '1' above numbers and 'retrieval', 'x1', 'm' above the same again" in str(error)
    assert "header=False reads every row" in str(error)
    assert "header=" not in error.plain
    preview = preview_table(path)
    assert preview.header_doubt == error.plain
    assert not preview.header
    assert preview.head.shape == (4, 5)
    assert list(preview.head.columns) == list(COLUMNS.values())
    data = read_dataset(path, header=False, **COLUMNS)
    assert data.item_ids.tolist() == ["x1", "x2", "x1", "x3"]
    assert data.score.tolist() == [0.71, 0.37, 0.62, 0.12]
    assert data.query_ids.tolist() == ["retrieval", "vision"]
    told = preview_table(path, header=False)
    assert (told.header, told.header_doubt) == (False, "")
    named = preview_table(path, header=True)
    assert (named.header, named.header_doubt) == (True, "")
    assert list(named.head.columns) == ["retrieval", "x1", "0.71", "m", "1"]
    assert len(named.head) == 3


def test_the_row_of_an_error_counts_from_the_first() -> None:
    with pytest.raises(DataError) as caught:
        read_dataset(EXPERTS.replace("0.62", "high").encode(), header=False, **COLUMNS)
    assert caught.value.row == 3


def test_one_row_is_a_file() -> None:
    data = read_dataset(b"q,a,1,f", header=False, query="column 1", item="column 2", group="column 4")
    assert data.item_ids.tolist() == ["a"]


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("country,2019,2020,2021\nDE,5,6,7\nFR,7,8,9\n", False),  # years
        ("country,0.25,0.5,0.75\nDE,5,6,7\nFR,7,8,9\n", False),  # quantiles
        ("query,item,group,2021\n1,a,f,3\n1,b,m,4\n", False),  # one year beside names
        ("who,what\nann,x\nbob,y\n", False),  # all text, nothing again
        ("f,bread\nm,milk\nf,bread\n", True),  # all text, both again
        ("0,1,2,3\nq1,a,f,0.5\nq1,b,m,0.4\n", False),  # counted columns
        ("0,1,2\n4,5,6\n", True),  # counted columns, or numbers: nobody can know
        ("qid,doc,group,score\n1,a,f,0.5\n", False),
        ("qid,doc,group,score\nqid,a,f,0.5\n", False),
        ('"q 1";"2,5";"x"\n"q 1";"3,5";"y"\n', True),  # decimal commas in quotes
        ("q1,NA,f,0.5\nq1,3,f,0.4\nq2,4,m,0.3\n", True),  # a missing number in the first row
        (",q,score\n0,a,0.5\n1,a,0.4\n", False),  # an index without a name
        ("Stadt,Wert\nBonn,1\nKiel,2\nBonn,3\nKiel,4\nBonn,2\nKiel,1\n", False),
        ("2020-01-01,a,5\n2020-01-01,b,6\n2020-01-02,a,7\n", True),
    ],
)
def test_what_is_doubtful(text: str, doubt: bool) -> None:
    assert bool(preview_table(text.encode()).header_doubt) == doubt


def test_formats_with_names_of_their_own_have_no_doubt(tmp_path: Path) -> None:
    frame = pd.DataFrame({"0": [1, 1], "1": [2, 3], "2": ["f", "m"]})
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet", b"2 qid:1 1:0.5 2:3\n0 qid:1 1:0.25 2:1\n", b"q1 Q0 d1 1 0.5 tag\n"):
        assert preview_table(source).header_doubt == ""
        assert preview_table(source).header


def test_a_table_of_item_groups_needs_names() -> None:
    shown = b"qid,doc,score\n1,a,0.5\n1,b,0.4\n"
    with pytest.raises(DataError, match="needs a line of column names"):
        read_dataset(shown, item_groups=b"a,f\nb,m\nc,f\n")


TEXT = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=2, max_size=8)


@given(
    seed=st.integers(0, 999),
    rows=st.integers(6, 60),
    names=st.lists(TEXT, min_size=4, max_size=4, unique=True),
)
@settings(max_examples=80)
def test_a_table_with_names_is_believed_and_without_them_is_not(seed: int, rows: int, names: list[str]) -> None:
    """Names of small letters; cells that no name is: the same table with and without its first row."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            names[0]: [f"Q{k}" for k in rng.integers(0, 3, rows)],
            names[1]: [f"D{k}" for k in range(rows)],
            names[2]: rng.choice(["F", "M"], rows),
            names[3]: rng.normal(size=rows).round(3),
        }
    )
    assert preview_table(frame.to_csv(index=False).encode()).header_doubt == ""
    bare = frame.to_csv(index=False, header=False).encode()
    assert preview_table(bare).header_doubt
    data = read_dataset(bare, header=False, query="column 1", item="column 2", group="column 3", score="column 4")
    assert data.n_items == rows
    again = pd.read_csv(io.BytesIO(bare), header=None)
    assert sorted(data.score.tolist()) == sorted(again[3].tolist())


def test_wide_tables_are_looked_at_in_a_few_rows() -> None:
    width = 60_000
    first = [str(k) for k in range(0, 2 * width, 2)]
    assert header_doubt(first, [["x"] * width] * 300) == ""
    assert header_doubt(["x"] * width, [["x"] * width] * 300)


def test_decimal_commas_are_found_out() -> None:
    data = read_dataset(b"search;doc;sex;score\n1;a;f;0,5\n1;b;m;1,25\n")
    assert data.score.tolist() == [0.5, 1.25]
    assert any("decimal comma" in note for note in data.notes)
    mixed = b"search;doc;sex;score;size\n1;a;f;0.5;1,2\n1;b;m;1.25;3,4\n"
    assert read_dataset(mixed).score.tolist() == [0.5, 1.25]
    assert preview_table(b"search;doc;sex;score\n1;a;f;0,5\n1;b;m;1,25\n").kinds["score"] == "number"
