"""LETOR lines: checked against scikit-learn, with ids from comments and line numbers in errors."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.data import Limits, preview_table, read_dataset, sample_path
from spofr_core.data.formats import letor_lines
from spofr_core.data.formats.letor import LetorTable
from spofr_core.data.formats.source import open_raw
from spofr_core.data.formats.tables import to_float
from spofr_core.data.ids import factorize, to_ids
from spofr_core.errors import DataError
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness


class Lines:
    """The columns of a LETOR table as arrays."""

    def __init__(self, source: bytes | Path) -> None:
        table = LetorTable(open_raw(source, Limits()), Limits())
        self.feature_names = table.feature_names
        self.features = table.matrix(table.feature_names)
        columns = table.read({"label": "number", "qid": "coded"})
        self.labels = to_float(columns["label"])
        codes, queries = factorize(columns["qid"])
        self.query_ids = to_ids(pa.chunked_array([queries]))[codes]
        self.item_ids = to_ids(table.read({"comment": "plain"})["comment"]) if "item" in table.roles else None


def parse(text: bytes) -> Lines:
    return Lines(text)


def test_the_bundled_chunk_is_what_scikit_learn_reads() -> None:
    path = sample_path("mslr/msn1.fold1.train.5k.txt.gz")
    lines = Lines(path)
    with gzip.open(path) as stream:
        features, labels, queries = load_svmlight_file(stream, query_id=True)
    np.testing.assert_array_equal(lines.features, features.toarray())
    np.testing.assert_array_equal(lines.labels, labels)
    np.testing.assert_array_equal(lines.query_ids, queries)
    assert lines.feature_names == tuple(map(str, range(1, 137)))
    assert lines.item_ids is None


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.integers(1, 5),
            st.lists(st.one_of(st.just(0.0), st.floats(-1e6, 1e6)), min_size=4, max_size=4),
        ),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=60, deadline=None)
def test_sparse_lines_are_what_scikit_learn_wrote(rows: list[tuple[int, int, list[float]]]) -> None:
    labels, queries, features = (np.array(part) for part in zip(*rows, strict=True))
    out = io.BytesIO()
    dump_svmlight_file(features, labels, out, query_id=queries, zero_based=False)
    lines = parse(out.getvalue())
    out.seek(0)
    read, *_ = load_svmlight_file(out, query_id=True, zero_based=False)
    width = lines.features.shape[1]  # features that never occur at the end are not in the file
    np.testing.assert_array_equal(lines.features[:, : read.shape[1]], read.toarray()[:, :width])
    np.testing.assert_allclose(lines.features, features[:, :width], rtol=1e-15)
    assert not features[:, width:].any()
    np.testing.assert_array_equal(lines.labels, labels)
    np.testing.assert_array_equal(lines.query_ids, queries)


@pytest.mark.parametrize("end", ["\n", "\r\n", " \r\n", "\t \n"])
@pytest.mark.parametrize("sparse", [False, True])
def test_comments_and_line_ends(end: str, sparse: bool) -> None:
    second = "2:1" if sparse else "1:0 2:1"
    lines = [
        f"2 qid:10 1:0.5 2:3 # GX01{end}",
        f"0 qid:10 {second} #docid = GX02 inc = 1{end}",
        f"# a remark{end}",
        end,
    ]
    parsed = parse("".join(lines).encode())
    assert parsed.item_ids.tolist() == ["GX01", "GX02"]
    assert parsed.features.tolist() == [[0.5, 3], [0, 1]]
    assert parsed.query_ids.tolist() == [10, 10]


def test_features_without_gaps_whichever_reader() -> None:
    regular = parse(b"1 qid:1 2:5 4:6\n0 qid:1 2:7 4:8\n")
    sparse = parse(b"1 qid:1 2:5 4:6\n0 qid:1 2:7 3:0 4:8\n")
    assert regular.feature_names == sparse.feature_names == ("1", "2", "3", "4")
    np.testing.assert_array_equal(regular.features, sparse.features)
    zero = parse(b"1 qid:1 0:5 1:6\n")
    assert zero.feature_names == ("0", "1")


def test_query_ids_may_be_text() -> None:
    assert parse(b"1 qid:MB01 1:5\n0 qid:MB02 1:6\n").query_ids.tolist() == ["MB01", "MB02"]
    assert parse(b"1 qid:MB01 1:5\n0 qid:7 3:6\n").query_ids.tolist() == ["MB01", "7"]
    assert parse(b"1 qid:007 1:5\n0 qid:7 1:6\n").query_ids.tolist() == ["007", "7"]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("x qid:1 1:2", "the label 'x' is not a number"),
        ("2 1:0.5 2:1", "'qid:...' is due behind the label, got '1:0.5'"),
        ("2", "'qid:...' is due behind the label, got 'nothing'"),
        ("2 qid: 1:3", "'qid:...' is due behind the label, got 'qid:'"),
        ("2 qid:1 1:abc", "the value 'abc' of feature 1 is not a number"),
        ("2 qid:1 1:0.5 junk", "'junk' is not feature:value"),
        ("2 qid:1 -1:0.5", "'-1:0.5' is not feature:value"),
        ("2 qid:1 1:0.5 1:2", "feature 1 occurs twice"),
        ("2 qid:1 99999999:1", "above 1,000,000"),
    ],
)
@pytest.mark.parametrize("regular", [True, False])
def test_a_line_that_does_not_parse(line: str, what: str, regular: bool) -> None:
    before = "1 qid:1 1:1 2:2\n" + ("0 qid:1 1:3 2:4\n" if regular else "0 qid:1 2:4\n")
    with pytest.raises(DataError) as caught:
        read_dataset(f"{before}\n# remark\n{line}\n".encode(), group="1")
    assert caught.value.row == 5
    for word in ("Line 5", what, line, "label qid:ID feature:value"):
        assert word in str(caught.value)


def test_values_that_are_not_finite_name_the_line() -> None:
    with pytest.raises(DataError, match="Feature '2' of the data is nan at row 3") as caught:
        read_dataset(b"\n1 qid:1 1:1 2:2\n0 qid:1 1:3 2:nan\n", group="1")
    assert caught.value.row == 3
    with pytest.raises(DataError, match=r"is -inf in .* at row 3"):
        read_dataset(b"\n1 qid:1 1:1 2:2\n-inf qid:1 1:3 2:1\n", group="1")


def test_groups_of_lines(tmp_path: Path) -> None:
    text = b"1 qid:1 1:1 2:5 # a\n0 qid:1 1:2 2:6 # b\n0 qid:2 1:1 2:9 # a\n0 qid:2 1:1 2:7 # c\n"
    path = tmp_path / "train.txt.gz"
    path.write_bytes(gzip.compress(text))
    cut = read_dataset(path, group="2", group_quantiles=2)
    assert cut.groups.tolist() == [0, 0, 1, 1]
    assert cut.item_ids.tolist() == ["a", "b", "a", "c"]
    assert cut.relevance.tolist() == [1, 0, 0, 0]
    assert read_dataset(path, group="1").group_names == ("1", "2")
    table = tmp_path / "groups.csv"
    table.write_text("docid,side\na,left\nb,right\nc,right\n")
    assert read_dataset(path, item_groups=table).groups.tolist() == [0, 1, 0, 1]
    with pytest.raises(DataError, match="LETOR text, which has no group column"):
        read_dataset(path)
    with pytest.raises(DataError, match="no column '3'"):
        read_dataset(path, group="3")


def test_blocks_join_where_lines_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"".join(b"%d qid:%d 1:%d 2:0.5 # d%d\n" % (k % 3, k // 7, k, k) for k in range(100))
    whole = parse(text)
    monkeypatch.setattr(letor_lines, "_BLOCK", 50)
    pieces = parse(text)
    np.testing.assert_array_equal(pieces.features, whole.features)
    assert pieces.item_ids.tolist() == whole.item_ids.tolist()
    assert pieces.query_ids.tolist() == whole.query_ids.tolist()


TEXT = b"2 qid:a 1:1 3:5 # d1\n0 qid:a 1:2 3:6 # d2\n1 qid:b 1:1 3:9 # d1\n0 qid:b 1:3 3:7 # d3\n"


def test_ranked_by_a_feature_in_python() -> None:
    data = read_dataset(TEXT, score="3", group="1", group_quantiles=2)
    assert data.score.tolist() == [5, 6, 9, 7]
    assert data.relevance.tolist() == [2, 0, 1, 0]
    assert data.feature_names == ("1", "2", "3")  # ranking by a feature does not take it from the others
    assert read_dataset(TEXT, rank=3, group=1).score.tolist() == [-5, -6, -9, -7]
    with pytest.raises(DataError, match=r"no column '4' \(asked for as the score\)"):
        read_dataset(TEXT, score="4", group="1")


def test_ranked_by_a_feature_in_the_shell(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(gzip.compress(TEXT))
    given = ["audit", str(path), "--score", "3", "--group", "1", "--quantiles", "2", "--delta", "0.05", "--json", "-"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    direct = audit(read_dataset(path, score="3", group="1", group_quantiles=2), Fairness(delta=0.05)).summary
    assert summary["queries"] == direct["queries"]
    assert summary["groups"] == direct["groups"]


def test_columns_of_lines_are_columns_like_any_other() -> None:
    assert read_dataset(TEXT, group=["1", "label"]).group_names == ("1 & 1", "1 & 2", "2 & 0", "3 & 0")
    assert read_dataset(TEXT, group="1", relevance="3").relevance.tolist() == [5, 6, 9, 7]
    assert read_dataset(TEXT, group="1", features=["3", "1"]).features[0].tolist() == [5, 1]
    assert read_dataset(TEXT, group="1", features=["3", "label"]).features[0].tolist() == [5, 2]
    assert read_dataset(TEXT, group="1", guess=False).item_ids.tolist() == ["d1", "d2", "d1", "d3"]


def test_the_matrix_of_the_features_is_not_copied() -> None:
    table = LetorTable(open_raw(TEXT, Limits()), Limits())
    assert table.matrix(table.feature_names) is table.matrix(table.feature_names)
    assert table.matrix(["1", "label"]) is None


def test_item_groups_need_an_id_in_every_line() -> None:
    with pytest.raises(DataError, match="not every line ends with one"):
        read_dataset(b"1 qid:1 1:5 # a\n0 qid:1 1:6\n", item_groups=b"docid,side\na,left\n")


def test_a_preview_has_no_column_for_every_number() -> None:
    text = b"1 qid:1 5:1 999999:2 # z\n0 qid:1 7:3 # y\n"
    preview = preview_table(text)
    assert list(preview.head.columns) == ["label", "qid", "5", "7", "999999", "comment"]
    assert "Feature numbers go beyond 1,000" in preview.notes[0]
    assert preview.known == {"query": "qid", "relevance": "label", "item": "comment"}
    assert read_dataset(text, score="999999", group="6").score.tolist() == [2, 0]


def test_a_preview_reads_the_first_lines_only() -> None:
    text = b"1 qid:x 1:5\n" * 3 + b"broken\n"
    assert len(preview_table(text, rows=2).head) == 2
    with pytest.raises(DataError, match="Line 4"):
        preview_table(text)


@pytest.mark.parametrize("sparse", ["", " 3:1"])
def test_a_feature_of_whole_numbers_beyond_doubles_ranks_exactly(sparse):
    lines = f"1 qid:1 1:1 2:{2**60} # a\n0 qid:1 1:2 2:{2**60 + 2}{sparse} # b\n2 qid:1 1:1 2:{2**60 + 1} # c\n"
    data = read_dataset(lines.encode(), group="1", score="2")
    assert data.score.tolist() == [-3, -1, -2]
    assert any("beyond 2^53" in note for note in data.notes)
