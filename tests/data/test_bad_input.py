"""Bad input: each refusal names the column, the first offending row, the value, and the way to mend it."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spofr_core.data import Limits, read_dataset
from spofr_core.errors import ConfigError, DataError

HEADER = "qid,doc,group,score,label\n"
GOOD = "1,a,f,0.5,1\n1,b,m,0.4,0\n"


def refusal(source: object, **options: object) -> DataError:
    with pytest.raises(DataError) as caught:
        read_dataset(source, **options)
    return caught.value


@pytest.mark.parametrize(
    ("rows", "column", "row", "words"),
    [
        ("1,a,f,0.5,1\n1,b,m,,0\n", "score", 3, ["score is missing", "Fill it in"]),
        ("1,a,f,0.5,1\n1,b,m,nan,0\n", "score", 3, ["score is missing", "'score'"]),
        ("1,a,f,0.5,1\n1,b,m,inf,0\n", "score", 3, ["score is inf", "finite number"]),
        ("1,a,f,0.5,NaN\n1,b,m,1,0\n", "label", 2, ["relevance is missing", "'label'"]),
        ("1,a,f,0.5,1\n1,b,m,1,-inf\n", "label", 3, ["relevance is -inf"]),
        ("1,a,f,0.5,1\n1,b,m,high,0\n", "score", 3, ["the text 'high'", "number is needed", "another column"]),
        ('1,a,f,"4,752",1\n1,b,m,1,0\n', "score", 2, ["'4,752'", "4.752 or 4752", "decimal=','"]),
        ('1,a,f,"0,5",1\n1,b,m,1.5,0\n', "score", 2, ["'0,5' at row 2 and '1.5' at row 3"]),
        ("1,a,f,5%,1\n1,b,m,1.5 %,0\n", "score", 2, ["'5%'", "without percent signs"]),
        ("1,a,f,0.5,1\n\n1,a,m,1,0\n", "doc", 4, ["'a' occurs twice in query 1", "remove the copies"]),
        ("1,a,f,0.5,1\n2,a,m,1,0\n2,b,m,1,0\n1,a,f,3,0\n", "doc", 5, ["'a' occurs twice in query 1"]),
        ("1,a,f,0.5,1\n1,b,,1,0\n", "group", 3, ["1 of 2 items have no group", "own_group", "exclude"]),
        ("1,a,f,0.5,1\n,b,m,1,0\n", "qid", 3, ["query id is missing", "remove the row"]),
        ("1,a,f,0.5,1\n1,,m,1,0\n", "doc", 3, ["item id is missing"]),
        ("1,a,f,0.5,1\n1,b,m,1\n", None, 3, ["Line 3", "has 4 fields", "5 columns", "delimiter"]),
        ("1,a,f,0.5,1\n1,b,m,1,0,9\n", None, 3, ["has 6 fields", "'1,b,m,1,0,9'"]),
    ],
)
def test_rows(rows: str, column: str | None, row: int, words: list[str]) -> None:
    error = refusal((HEADER + rows).encode())
    assert error.column == column
    assert error.row == row
    for word in words:
        assert word in str(error)
    assert str(row) in str(error)


def test_the_row_is_right_behind_quoted_line_breaks() -> None:
    error = refusal((HEADER + '1,"a\n\nx",f,0.5,1\n1,b,m,bad,0\n').encode())
    assert error.row == 5


def test_missing_column() -> None:
    error = refusal((HEADER + GOOD).encode(), score="scor")
    assert error.column == "scor"
    assert "no column 'scor' (asked for as the score)" in str(error)
    assert "'qid', 'doc', 'group', 'score', 'label'" in str(error)
    assert "Did you mean 'score'?" in str(error)


@pytest.mark.parametrize(("header", "role"), [("id,doc,group,score", "query"), ("qid,doc,team,score", "group")])
def test_a_role_that_cannot_be_guessed(header: str, role: str) -> None:
    error = refusal(f"{header}\n1,a,f,1\n".encode())
    assert f"is the {role}?" in str(error)
    assert f"{role}='...'" in str(error)


def test_a_file_without_column_names() -> None:
    error = refusal(b"1,2,3\n4,5,6\n")
    assert (error.question, error.fields) == ("header", ("header",))
    assert "looks like a row of data, not like column names: it has '1', '2', '3' above numbers" in str(error)
    assert "header=False" in str(error)
    assert "header=" not in error.plain


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\n\n\n", gzip.compress(b"", mtime=0)])
def test_empty_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "shown.csv"
    path.write_bytes(content)
    error = refusal(path)
    assert "shown.csv is empty" in str(error)


@pytest.mark.parametrize("content", [HEADER, HEADER.strip()])
def test_no_rows(content: str) -> None:
    assert "column names but no rows" in str(refusal(content.encode()))
    assert "no rows" in str(refusal(pd.DataFrame(columns=["qid", "doc", "group", "score"])))


def test_no_such_file() -> None:
    assert "There is no file 'nowhere.csv'" in str(refusal("nowhere.csv"))


def test_ten_thousand_groups() -> None:
    rows = "".join(f"{k // 10},{k},g{k},1,0\n" for k in range(10_000))
    error = refusal((HEADER + rows).encode())
    assert error.column == "group"
    for word in ("10,000 distinct values", "limit of 100 groups", "group_quantiles", "Limits(groups=...)"):
        assert word in str(error)


def test_crossing_ten_thousand_ways() -> None:
    frame = pd.DataFrame({"qid": 1, "doc": range(400), "a": range(400), "b": range(400)}).astype(str)
    assert "400 distinct values" in str(refusal(frame, group=["a", "b"]))


def test_a_group_with_one_member_is_told() -> None:
    data = read_dataset((HEADER + GOOD + "1,c,m,0.1,0\n").encode())
    assert any("Groups with a single member in all of the data: 'f'" in note for note in data.notes)


def test_mixed_types_in_an_id_column() -> None:
    frame = pd.DataFrame({"qid": [1, 1, 1], "doc": ["a", 2, "c"], "group": ["f", "m", "m"]}, dtype=object)
    error = refusal(frame)
    assert error.column == "doc"
    assert error.row == 2
    for word in ("mixes types", "'a' (str)", "2 (int)", "astype(str)"):
        assert word in str(error)


def test_numbers_and_text_in_an_id_column_of_a_text_file_are_told() -> None:
    data = read_dataset((HEADER + GOOD + "x7,c,m,0.1,0\n").encode())
    assert data.query_ids.tolist() == ["1", "x7"]
    assert any("Column 'qid' begins with whole numbers, but also holds 'x7'" in note for note in data.notes)
    assert not any("begins with" in note for note in read_dataset((HEADER + GOOD).encode()).notes)


def test_truncated_gzip(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    text = HEADER + "".join(f"1,{k},f,{rng.random()},0\n" for k in range(2000))
    path = tmp_path / "shown.csv.gz"
    path.write_bytes(gzip.compress(text.encode())[:-500])
    assert "shown.csv.gz is a gzip file that ends too early" in str(refusal(path))
    assert "truncated" in str(refusal(path))
    damaged = bytearray(gzip.compress(text.encode()))
    damaged[200] ^= 0xFF
    path.write_bytes(bytes(damaged))
    assert "damaged gzip" in str(refusal(path)) or "ends too early" in str(refusal(path))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (bytes(range(256)) * 20, "binary: byte 0x00 at offset 0"),
        (b"PK\x03\x04" + b"abc" * 50, "cannot be read as an Excel workbook"),
        (b"\x89PNG\r\n\x1a\n" + b"x" * 50, "PNG picture"),
        (b"\x80\x04\x95" + b"x" * 50, "a pickle, which is never opened here"),
    ],
)
def test_a_binary_file_called_csv(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "shown.csv"
    path.write_bytes(content)
    error = refusal(path)
    assert what in str(error)
    assert "Export the table as CSV" in str(error)


@pytest.mark.parametrize("filler", [0, 100_000])
def test_latin_1_in_a_utf_8_file(filler: int) -> None:
    good = "".join(f"{k},a,f,0.5,1\n" for k in range(2, filler + 2))
    text = (HEADER + good).encode() + "1,Ünï,f,0.5,1\n".encode()
    offset = len(text) + len("1,Andr")
    error = refusal(text + "1,André,m,0.4,0\n".encode("latin-1"))
    assert error.row == filler + 3
    for word in ("is not UTF-8", "byte 0xe9", f"offset {offset:,}", f"line {filler + 3:,}", "encoding='latin-1'"):
        assert word in str(error)
    assert "André" in str(error)


def test_an_unknown_encoding() -> None:
    assert "no encoding 'klingon'" in str(refusal((HEADER + GOOD).encode(), encoding="klingon"))
    assert "is not ascii: byte 0xc3" in str(refusal("qid,é\n".encode(), encoding="ascii"))


def test_a_repeated_column_name() -> None:
    error = refusal(b"qid,doc,group,score,score\n1,a,f,1,2\n")
    assert "several columns called 'score'" in str(error)


def test_broken_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"qid": [1], "doc": [1], "group": ["f"]}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    assert "t.parquet cannot be read as Parquet" in str(refusal(path))
    (tmp_path / "folder").mkdir()
    assert "folder without Parquet files" in str(refusal(tmp_path / "folder"))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(rows=1), ["2 rows", "limit of 1", "Limits(rows=...)"]),
        (Limits(list_length=1), ["Query 1 has 2 items", "Limits(list_length=...)"]),
        (Limits(file_bytes=20), ["more than 20 bytes", "Limits(file_bytes=...)"]),
    ],
)
def test_caps(limits: Limits, words: list[str]) -> None:
    for source in ((HEADER + GOOD).encode(), gzip.compress((HEADER + GOOD).encode())):
        error = refusal(source, limits=limits)
        for word in words:
            assert word in str(error)


def test_bad_features_positions_propensities() -> None:
    text = b"qid,doc,group,click,position,propensity,age\n1,a,f,0,1,0.5,\n1,b,m,1,2,0.5,3\n"
    error = refusal(text, features=["age"])
    assert (error.column, error.row) == ("age", 2)
    error = refusal(text.replace(b"1,2,0.5", b"1,0,0.5"))
    assert "whole numbers from 1" in str(error)
    error = refusal(text.replace(b"1,2,0.5", b"1,2,1.5"))
    assert "probability above 0 and at most 1" in str(error)


def test_settings_are_checked() -> None:
    source = (HEADER + GOOD).encode()
    with pytest.raises(ConfigError, match="'format' must be one of"):
        read_dataset(source, format="xls")
    with pytest.raises(ConfigError, match="group_quantiles needs to know the column"):
        read_dataset(source, group_quantiles=2)
    with pytest.raises(ConfigError, match="'features' must be a list"):
        read_dataset(source, features="age")
    with pytest.raises(ConfigError, match="missing"):
        read_dataset(source, group="group", missing="drop")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.Series([[1], [2]]), ["'doc'", "type list", "convert it"]),
        (pd.Series([10**30, 10**31], dtype=object), ["'doc'", "astype(str)"]),
    ],
)
def test_ids_of_a_type_that_names_nothing(column: pd.Series, words: list[str]) -> None:
    frame = pd.DataFrame({"qid": [1, 1], "doc": column, "group": ["f", "m"], "score": [1.0, 2.0]})
    error = refusal(frame)
    assert error.column == "doc"
    for word in words:
        assert word in str(error)


def test_unsigned_ids_beyond_int64_are_kept_as_text() -> None:
    ids = np.array([2**63, 2**63 + 1], dtype=np.uint64)
    frame = pd.DataFrame({"qid": [1, 1], "doc": ids, "group": ["f", "m"], "score": [1.0, 2.0]})
    assert read_dataset(frame).item_ids.tolist() == ["9223372036854775808", "9223372036854775809"]


def test_columns_may_be_numbers_but_nothing_else() -> None:
    frame = pd.DataFrame({0: [1, 1], 1: ["a", "b"], 2: ["f", "m"], 3: [1.0, 2.0]})
    data = read_dataset(frame, query=0, item=1, group=2, score=3)
    assert data.score is not None
    assert data.score.tolist() == [1.0, 2.0]
    with pytest.raises(ConfigError, match=r"'group' must be the name of a column, got 2\.5"):
        read_dataset(frame, query=0, group=2.5)
    assert "A float cannot be read" in str(refusal(3.5))


@pytest.mark.parametrize("settings", [{"decimal": ",,"}, {"delimiter": ";;"}, {"decimal": ""}])
def test_signs_are_one_character(settings: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="one character"):
        read_dataset((HEADER + GOOD).encode(), **settings)
