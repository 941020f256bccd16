"""Files that are damaged, misread or made to harm: a dataset, or one sentence that can be read."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spofr_core.data import Limits, preview_table, read_dataset
from spofr_core.errors import ConfigError, DataError, SpofrError, shortened

HEADER = b"qid,doc,group,score\n"
GOOD = b"1,a,f,0.5\n1,b,m,0.4\n2,c,f,0.1\n2,d,m,0.7\n"


@pytest.fixture
def fuzzing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import fuzzing

    yield fuzzing
    sys.modules.pop("fuzzing")


@pytest.mark.filterwarnings("default")
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(400, 8_000, 400))]
)
def test_mutated_files_give_a_dataset_or_a_sentence(fuzzing, first: int) -> None:
    failures = [fuzzing.try_one(number) for number in range(first, first + 400)]
    assert [failure for failure in failures if failure is not None] == []


def test_the_fuzz_sees_what_is_wrong(fuzzing, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **options: object) -> None:
        raise KeyError("architecture")

    monkeypatch.setattr(fuzzing, "read_dataset", crash)
    assert "KeyError" in fuzzing.try_one(1).what


def parquet(table: pa.Table) -> bytes:
    written = io.BytesIO()
    pq.write_table(table, written)
    return written.getvalue()


def columns(**others: object) -> dict[str, object]:
    rows = pd.read_csv(io.BytesIO(HEADER + GOOD))
    return {name: pa.array(rows[name]) for name in rows.columns} | others


def not_utf8() -> pa.Array:
    binary = pa.array([b"\xff\xfe", b"ok", b"ok", b"ok"])
    return pa.Array.from_buffers(pa.string(), 4, binary.buffers())


def test_text_of_parquet_that_is_not_utf8() -> None:
    content = parquet(pa.table(columns(doc=not_utf8())))
    for look in (preview_table, read_dataset):
        with pytest.raises(DataError, match=r"damaged \(.*UTF8.*\)\. Write it again, with text in UTF-8"):
            look(content)


def test_what_pandas_left_in_a_parquet_file_is_not_trusted() -> None:
    content = parquet(pa.table(columns()).replace_schema_metadata({"pandas": "{no"}))
    assert list(preview_table(content).head.columns) == ["qid", "doc", "group", "score"]
    assert len(read_dataset(content, features="auto")) == 2


def test_an_index_that_pandas_wrote_is_a_column_like_others() -> None:
    written = io.BytesIO()
    pd.read_csv(io.BytesIO(HEADER + GOOD)).set_index("qid").to_parquet(written)
    assert preview_table(written.getvalue()).mapping["query"] == "qid"


def test_lists_in_a_parquet_column() -> None:
    content = parquet(pa.table(columns(tags=pa.array([["a"], ["b"], [], None]))))
    assert "tags" in preview_table(content).head
    with pytest.raises(DataError, match=r"Column 'tags' .* has the type list"):
        read_dataset(content, item="tags")


def test_two_parquet_columns_of_one_name() -> None:
    table = pa.table(list(columns().values()), ["qid", "doc", "score", "score"])
    looked = preview_table(parquet(table), header=False)
    assert list(looked.head.columns) == ["qid", "doc", "score"]
    assert any("score" in note for note in looked.notes)
    with pytest.raises(DataError, match="several columns called 'score'"):
        read_dataset(parquet(table), group="doc")


def test_a_quote_that_is_never_closed() -> None:
    rows = b"".join(b"%d,d%d,f,0.%d\n" % (k // 9, k, k) for k in range(20_000))
    with pytest.raises(DataError, match=r"begins on line 2 .* a quotation mark \(\"\) is opened there") as caught:
        read_dataset(HEADER + b'1,"a,f,0.5\n' + rows)
    assert caught.value.row == 2


def test_a_cell_longer_than_csv_readers_take() -> None:
    """Arrow reads it; only who looks at the first rows has to say that it cannot."""
    with pytest.raises(DataError, match=r"line 2 .* field larger than field limit"):
        read_dataset(HEADER + b"1," + b"x" * 140_000 + b",f,0.5\n" + GOOD)


def test_a_table_that_is_too_wide() -> None:
    names = ",".join(f"f{k}" for k in range(30_000)).encode()
    wide = HEADER.strip() + b"," + names + b"\n" + GOOD.splitlines()[0] + b",1" * 30_000 + b"\n"
    for look in (preview_table, read_dataset):
        with pytest.raises(DataError, match=r"30,004 columns, more than the limit of 10,000\. Keep only the columns"):
            look(wide)
    assert read_dataset(wide, limits=Limits(columns=40_000)).n_items == 1


def test_quoted_line_breaks_at_the_end_of_what_a_preview_sees() -> None:
    rows = b"".join(b'%d,"d%d\n%s",f,0.%d\n' % (k // 9, k, b"x" * 3_000, k) for k in range(300))
    assert preview_table(HEADER + rows).mapping["item"] == "doc"


@pytest.mark.parametrize("encoding", ["undefined", "ascii\0", "nope", "base64", "idna", "punycode", "rot13"])
def test_encodings_that_are_none_of_text(encoding: str) -> None:
    with pytest.raises(DataError, match=r"no encoding|cannot be read as|is not idna|is not punycode"):
        read_dataset(HEADER + GOOD + b"3,\xff,f,1\n", encoding=encoding)


@pytest.mark.parametrize("sign", ["é", '"', "\n", "a", "7", "", ";;"])
@pytest.mark.parametrize("option", ["decimal", "delimiter"])
def test_signs_that_are_none(option: str, sign: str) -> None:
    with pytest.raises(ConfigError, match="is one character, and no letter"):
        read_dataset(HEADER + GOOD, **{option: sign})


def test_a_decimal_sign_that_is_the_delimiter() -> None:
    with pytest.raises(ConfigError, match="are both ';'"):
        read_dataset(HEADER.replace(b",", b";") + GOOD.replace(b",", b";"), decimal=";")


@pytest.mark.parametrize("odd", ["\u2028", "\u0085", "\u00a0", "\x0b", "\x1c"])
def test_signs_that_end_no_line_and_part_no_field(odd: str) -> None:
    """An id may hold them; only Python's text takes them for the end of a line."""
    groups = b"item,group\n" + b"".join(f"d{odd if k == 1 else k}x,{k % 2}\n".encode() for k in range(4))
    run = "".join(f"q Q0 d{odd if k == 1 else k}x {k + 1} {9 - k} tag\n" for k in range(4)).encode()
    if odd == "\x0b":  # a blank to the standard as well
        with pytest.raises(DataError, match=r"Line 2 .* has 7 fields"):
            read_dataset(run, item_groups=groups)
    else:
        assert f"d{odd}x" in read_dataset(run, item_groups=groups).item_ids.tolist()
    letor = "".join(f"{k} qid:a{odd if k == 1 else ''}b 1:{k} # d{k}\n" for k in range(4)).encode()
    if odd != "\x0b":
        assert len(read_dataset(letor, group="1", group_quantiles=2)) == 2


def test_carriage_returns_amid_lines_of_letor() -> None:
    text = b"1 qid:1 1:2\r0 qid:1 1:3\n2 qid:1 1:4\r\n1 qid:1 1:x\n"
    with pytest.raises(DataError, match="Line 4") as caught:
        read_dataset(text, group="1", group_quantiles=2)
    assert caught.value.row == 4


def test_a_feature_number_of_thousands_of_digits() -> None:
    for text in (b"1 qid:1 %s:1\n", b"1 qid:1 1:1 %s:1\n0 qid:1 2:1\n"):
        with pytest.raises(DataError, match="is above 1,000,000"):
            read_dataset(text % (b"9" * 5_000), group="1", group_quantiles=2)


def test_messages_fit_a_screen() -> None:
    with pytest.raises(DataError) as caught:
        read_dataset(b"q Q0 d 1 0.5 tag\nq Q0 " + b"x" * 140_000 + b" 1 2 3 4 5\n")
    assert len(str(caught.value)) < 500
    assert str(caught.value).endswith("a run line reads: qid Q0 docno rank score tag.")
    long = DataError("x" * 5_000, mend="Do this.")
    assert len(str(long)) < 2_000
    assert str(long).endswith("Do this.")
    assert shortened("as it is") == "as it is"
    assert str(SpofrError("short")) == "short"
