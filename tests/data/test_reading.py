"""Reading tables: formats, encodings, guesses, ids as given."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.data import IPS, GroupSpec, preview_table, read_dataset
from spofr_core.data.formats.csv_text import sniff_delimiter
from spofr_core.data.ids import bare
from spofr_core.errors import ConfigError

TABLE = "qid,doc,sex,model,rel\nq1,a,f,0.9,1\nq1,b,m,0.8,0\nq2,a,f,0.1,2\nq1,c,m,0.7,0\nq2,d,m,0.6,0\n"
NAMES = {"query": "qid", "item": "doc", "group": "sex", "score": "model", "relevance": "rel"}


def check(data: object) -> None:
    assert data.query_ids.tolist() == ["q1", "q2"]
    assert data.offsets.tolist() == [0, 3, 5]
    assert data.item_ids.tolist() == ["a", "b", "c", "a", "d"]
    assert data.group_names == ("f", "m")
    assert data.groups.tolist() == [0, 1, 1, 0, 1]
    assert data.score.tolist() == [0.9, 0.8, 0.7, 0.1, 0.6]
    assert data.relevance.tolist() == [1, 0, 0, 2, 0]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_text_is_found_out(tmp_path: Path, delimiter: str, encoding: str, end: str) -> None:
    path = tmp_path / "shown.csv"
    path.write_bytes(TABLE.replace(",", delimiter).replace("\n", end).encode(encoding))
    check(read_dataset(path, **NAMES))


@pytest.mark.parametrize("compressed", [False, True])
def test_all_ways_in_agree(tmp_path: Path, compressed: bool) -> None:
    content = gzip.compress(TABLE.encode()) if compressed else TABLE.encode()
    path = tmp_path / ("t.csv.gz" if compressed else "t.csv")
    path.write_bytes(content)
    upload = io.BytesIO(content)
    upload.read(3)  # an upload may have been looked at before
    for source in (path, str(path), content, upload):
        check(read_dataset(source, **NAMES))
    if not compressed:
        check(read_dataset(io.StringIO(TABLE), **NAMES))


def test_parquet_and_frames(tmp_path: Path) -> None:
    frame = pd.read_csv(io.StringIO(TABLE))
    frame["sex"] = frame["sex"].astype("category")
    frame.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "folder").mkdir()
    frame.iloc[:2].to_parquet(tmp_path / "folder" / "part-0.parquet")
    frame.iloc[2:].to_parquet(tmp_path / "folder" / "part-1.parquet")
    for source in (frame, tmp_path / "t.parquet", tmp_path / "folder", (tmp_path / "t.parquet").read_bytes()):
        check(read_dataset(source, **NAMES))
    (tmp_path / "t.pq.gz").write_bytes(gzip.compress((tmp_path / "t.parquet").read_bytes()))
    check(read_dataset(tmp_path / "t.pq.gz", **NAMES))


def test_guesses_are_made_and_told() -> None:
    data = read_dataset(b"QueryID,docno,gender,prediction,judgment\n1,a,f,2,0\n1,b,m,1,1\n")
    assert data.score.tolist() == [2, 1]
    assert data.relevance.tolist() == [0, 1]
    told = " ".join(data.notes)
    for column, role in (("QueryID", "query"), ("docno", "item"), ("gender", "group"), ("prediction", "score")):
        assert f"Column {column!r} was taken as the {role}" in told


def test_a_guess_among_several_says_so() -> None:
    data = read_dataset(b"qid,doc,sex,race,score\n1,a,f,x,2\n1,b,m,y,1\n")
    assert any("'sex' was taken as the group ('race' could also have been meant)" in note for note in data.notes)


def test_nothing_is_guessed_when_told_not_to() -> None:
    text = b"qid,doc,sex,score,label\n1,a,f,2,1\n1,b,m,1,0\n"
    data = read_dataset(text, query="qid", group="sex", guess=False)
    assert data.score is None
    assert data.relevance is None
    assert data.item_ids.tolist() == [1, 2]
    assert any("row number" in note for note in data.notes)


@pytest.mark.parametrize("column", ["rank", "position"])
def test_a_rank_in_place_of_a_score(column: str) -> None:
    data = read_dataset(f"qid,doc,group,{column}\n1,a,f,2\n1,b,m,1\n".encode())
    assert data.score.tolist() == [-2, -1]
    assert any("1 is the top" in note for note in data.notes)
    with pytest.raises(ConfigError, match="a score or a rank, not both"):
        read_dataset(b"a,b\n", score="a", rank="b")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "2", "30"], [1, 2, 30]),
        (["-1", "0", "7"], [-1, 0, 7]),
        (["007", "7", "30"], ["007", "7", "30"]),
        (["1", "2", "x"], ["1", "2", "x"]),
        (["1.0", "2", "3"], ["1.0", "2", "3"]),
        (["+1", "2", "3"], ["+1", "2", "3"]),
        (["9223372036854775807", "1", "2"], [9223372036854775807, 1, 2]),
        (["99999999999999999999", "1", "2"], ["99999999999999999999", "1", "2"]),
        (["é", "日本", "a"], ["é", "日本", "a"]),
        (["a" * 100, "b", "c"], ["a" * 100, "b", "c"]),
        (["true", "false", "NA"], ["true", "false", "NA"]),
        (["2020-01-01", "b", "c"], ["2020-01-01", "b", "c"]),
    ],
)
def test_ids_stay_as_given(texts: list[str], expected: list[object]) -> None:
    rows = "".join(f"{text},{text},{g}\n" for text, g in zip(texts, "fmf", strict=True))
    data = read_dataset(f"qid,doc,group\n{rows}".encode(), join_alike=False)
    assert data.item_ids.tolist() == expected
    assert data.query_ids.tolist() == expected


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1).filter(bare),
        min_size=1,
        max_size=30,
        unique_by=bare,
    )
)
@settings(max_examples=60)
def test_any_text_survives_as_item_id(ids: list[str]) -> None:
    frame = pd.DataFrame({"qid": "q", "doc": ids, "group": "g"})
    data = read_dataset(frame.to_csv(index=False).encode(), query="qid", item="doc", group="group")
    # a column in which every id is a plain whole number is read as whole numbers
    assert [str(item) for item in data.item_ids.tolist()] == [bare(text) for text in ids]


def test_numbers_are_those_that_pandas_reads() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"qid": rng.integers(0, 50, 2000), "doc": np.arange(2000), "group": "g"})
    frame["score"] = rng.normal(size=2000) * 10.0 ** rng.integers(-8, 8, 2000)
    data = read_dataset(frame.to_csv(index=False).encode())
    expected = frame.sort_values("qid", kind="stable", key=lambda q: pd.factorize(q)[0])
    np.testing.assert_array_equal(data.score, expected["score"])
    np.testing.assert_array_equal(data.item_ids, expected["doc"])
    np.testing.assert_array_equal(np.repeat(data.query_ids, data.list_lengths), expected["qid"])


def test_quotes_with_delimiters_and_line_breaks() -> None:
    data = read_dataset(b'qid,doc,group,score\nq,"a, b\nc","f ""x""",1\nq,d,m,2\n')
    assert data.item_ids.tolist() == ["a, b\nc", "d"]
    assert data.group_names == ('f "x"', "m")


def test_decimal_comma() -> None:
    data = read_dataset(b"qid;doc;group;score\n1;a;f;0,5\n1;b;m;1,25\n", decimal=",")
    assert data.score.tolist() == [0.5, 1.25]


def test_latin_1_when_said() -> None:
    data = read_dataset("qid,doc,group\n1,é,f\n1,b,m\n".encode("latin-1"), encoding="latin-1")
    assert data.item_ids.tolist() == ["é", "b"]


def test_empty_and_repeated_names_of_unused_columns_do_no_harm() -> None:
    data = read_dataset(b"\xef\xbb\xbf,qid,group,score,x,x,,\r\n0,1,f,2,,,,\r\n1,1,m,1,,,,\r\n")
    assert data.score.tolist() == [2, 1]


def test_blanks_in_the_header_and_blank_lines() -> None:
    data = read_dataset(b"\n\nqid, doc, group, score\n\n1,a,f, 2\n\n1,b,m, 1\n\n")
    assert data.score.tolist() == [2, 1]


def test_features_by_name_or_all_numeric_ones() -> None:
    text = b"qid,doc,group,score,age,town,height\n1,a,f,2,30,x,1.5\n1,b,m,1,40,y,1.75\n"
    auto = read_dataset(text, features="auto")
    assert auto.feature_names == ("age", "height")
    assert auto.features.tolist() == [[30, 1.5], [40, 1.75]]
    named = read_dataset(text, features=["height", "score"])
    assert named.features.tolist() == [[1.5, 2], [1.75, 1]]
    assert named.score.tolist() == [2, 1]
    assert read_dataset(text).features is None


def test_a_column_may_be_group_and_feature() -> None:
    data = read_dataset(b"qid,doc,level,score\n1,a,1,2\n1,b,3,1\n", group="level", features=["level"])
    assert data.group_names == ("1", "3")
    assert data.features.tolist() == [[1], [3]]


def test_one_item_queries_are_legal() -> None:
    data = read_dataset(b"qid,doc,group,score\n1,a,f,2\n2,b,m,1\n3,c,m,1\n")
    assert data.list_lengths.tolist() == [1, 1, 1]


def test_clicks_become_labels_by_propensity_or_position() -> None:
    text = "qid,doc,group,click,position,propensity\n1,a,f,0,1,1\n1,b,m,1,2,0.25\n1,c,m,1,4,0.001\n"
    data = read_dataset(text.encode(), ips=IPS(clip=0.1))
    assert data.clicks.tolist() == [0, 1, 1]
    assert data.positions.tolist() == [1, 2, 4]
    assert data.propensities.tolist() == [1, 0.25, 0.1]
    np.testing.assert_allclose(data.relevance, [0, 4, 10])
    assert any("1 propensities below 0.1 were clipped to it; 1 of these items" in note for note in data.notes)
    assert data.score.tolist() == [-1, -2, -4]
    by_position = read_dataset(
        "\n".join(line.rsplit(",", 1)[0] for line in text.splitlines()).encode(), ips=IPS(eta=0.5)
    )
    np.testing.assert_allclose(by_position.relevance, [0, 2**0.5, 2])
    assert any("positions with eta 0.5" in note for note in by_position.notes)


def test_flags_are_numbers() -> None:
    data = read_dataset(b"qid,doc,group,label\n1,a,f,True\n1,b,m,false\n")
    assert data.relevance.tolist() == [1, 0]


def test_a_training_spec_gives_a_test_part_the_same_groups() -> None:
    train = read_dataset(b"qid,doc,sex\n1,a,z\n1,b,b\n1,c,a\n", group="sex")
    test = read_dataset(b"qid,doc,sex\n1,a,b\n1,b,k\n", group=train.group_spec)
    assert train.group_names == ("a", "b", "z")
    assert test.group_names == ("a", "b", "z", "k")
    assert test.groups.tolist() == [1, 3]
    with pytest.raises(ConfigError, match="put quantiles into it"):
        read_dataset(b"", group=GroupSpec(columns="sex"), group_quantiles=2)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a;b,c;d", "1;2,5;3"], ";"),
        (["a,b", "1,2"], ","),
        (["one column", "x"], None),
        (['a,"x;y;z",c', '1,"u;v;w",2'], ","),
        (["a|b|c", "1|2|3"], "|"),
    ],
)
def test_delimiters(lines: list[str], expected: str | None) -> None:
    assert sniff_delimiter(lines) == expected


def test_preview() -> None:
    preview = preview_table(TABLE.encode())
    assert preview.format == "csv"
    assert preview.mapping == {"query": "qid", "item": "doc", "group": "sex", "relevance": "rel"}
    assert preview.kinds == {"qid": "text", "doc": "text", "sex": "text", "model": "number", "rel": "number"}
    assert len(preview.head) == 5
    assert preview_table(TABLE.encode(), rows=2).head["doc"].tolist() == ["a", "b"]
    lines = preview_table(b"2 qid:1 1:0.5 2:3\n0 qid:1 1:0.25 2:1\n")
    assert lines.format == "letor"
    assert lines.mapping == {"query": "qid", "relevance": "label"}
    assert lines.head["2"].tolist() == [3, 1]
    assert preview_table(pd.read_csv(io.StringIO(TABLE))).format == "frame"
