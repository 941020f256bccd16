"""JSON in all the shapes that hold a table: the numbers of the same table as CSV, or one sentence."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core import Fairness, audit
from spofr_core.data import Limits, preview_table, read_dataset
from spofr_core.errors import DataError, SpofrError

ROWS = [
    {"query": q, "item": f"{q}-{i}", "group": "ab"[i % 2], "score": 10 - i + q / 8, "relevance": i % 3}
    for q in range(4)
    for i in range(6)
]
FRAME = pd.DataFrame(ROWS)
CSV = FRAME.to_csv(index=False).encode()
LINES = "\n".join(map(json.dumps, ROWS))
SHAPES = {
    "records": json.dumps(ROWS),
    "pretty records": json.dumps(ROWS, indent=2),
    "under a key": json.dumps({"count": 24, "data": ROWS, "next": None}),
    "lines": LINES,
    "lines with blank ones and CRLF": "\n\n" + LINES.replace("\n", "\r\n\r\n"),
    "columns": json.dumps(FRAME.to_dict("list")),
    **{f"pandas {orient}": FRAME.to_json(orient=orient) for orient in ("records", "columns", "split", "table")},
}


def named(content: str | bytes, name: str = "shown.json") -> io.BytesIO:
    stream = io.BytesIO(content if isinstance(content, bytes) else content.encode())
    stream.name = name
    return stream


def refusal(content: str | bytes, **options: object) -> DataError:
    with pytest.raises(DataError) as caught:
        read_dataset(named(content), **options)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("encoded", ["utf-8", "utf-8-sig", "utf-16", "gzip"])
def test_each_shape_is_the_same_table(shape: str, encoded: str) -> None:
    text = SHAPES[shape]
    content = gzip.compress(text.encode()) if encoded == "gzip" else text.encode(encoded)
    data = read_dataset(content)
    assert data.fingerprint == read_dataset(CSV).fingerprint
    assert preview_table(content).mapping["query"] == "query"


def test_a_record_in_a_line_of_its_own_is_a_table_by_its_ending() -> None:
    assert read_dataset(named(json.dumps(ROWS[0]), "one.ndjson")).n_items == 1
    assert "one object with the keys 'query', 'item', 'group'" in str(refusal(json.dumps(ROWS[0])))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.floats(-1e9, 1e9) | st.integers(-(2**60), 2**60)),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from(["records", "lines", "columns"]),
)
def test_numbers_agree_with_the_same_table_as_csv(rows: list[tuple[int, str, float]], shape: str) -> None:
    records = [{"query": q, "item": k, "group": g, "score": s} for k, (q, g, s) in enumerate(rows)]
    text = {
        "records": json.dumps(records),
        "lines": "\n".join(map(json.dumps, records)),
        "columns": json.dumps({key: [record[key] for record in records] for key in records[0]}),
    }[shape]
    written = "query,item,group,score\n" + "".join(f"{q},{k},{g},{s!r}\n" for k, (q, g, s) in enumerate(rows))
    options = {"query": "query", "item": "item", "group": "group", "score": "score", "insist": True}
    named_file = named(text, "x.jsonl" if shape == "lines" else "x.json")
    ours, theirs = read_dataset(named_file, **options), read_dataset(written.encode(), header=True, **options)
    assert ours.fingerprint == theirs.fingerprint


def test_ids_keep_their_type_and_whole_numbers_their_digits() -> None:
    rows = [{"query": "007", "item": 2**60 + k, "group": "ab"[k % 2], "score": 2**53 + k} for k in range(4)]
    for text in (json.dumps(rows), "\n".join(map(json.dumps, rows))):
        data = read_dataset(named(text), insist=True)
        assert data.query_ids.tolist() == ["007"]
        assert data.item_ids.tolist() == [2**60 + k for k in range(4)]
        assert np.argsort(-data.score).tolist() == [3, 2, 1, 0]
    huge = [{**row, "score": 10**30 + row["score"]} for row in rows]
    assert np.argsort(-read_dataset(named(json.dumps(huge)), insist=True).score).tolist() == [3, 2, 1, 0]
    mixed = [{**row, "score": row["score"] if k else 0.5} for k, row in enumerate(rows)]
    assert np.argsort(-read_dataset(named(json.dumps(mixed)), insist=True).score).tolist() == [3, 2, 1, 0]


def test_a_key_that_is_not_there_is_a_missing_value() -> None:
    rows = [dict(row) for row in ROWS]
    del rows[3]["group"]
    rows[5]["group"] = None
    rows[7]["group"] = float("nan")
    assert "3 " in str(refusal(json.dumps(rows)))
    assert read_dataset(named(json.dumps(rows)), missing="own_group").n_groups == 3
    del rows[9]["query"]
    assert refusal("\n" + "\n".join(map(json.dumps, rows)), missing="own_group").row == 11
    rows[9] |= {"query": 1, "score": float("inf")}
    assert "score" in str(refusal(json.dumps(rows), missing="own_group"))


def test_several_lists_of_records_are_asked_about() -> None:
    text = json.dumps({"old": ROWS[:6], "new": ROWS, "n": 3})
    error = refusal(text)
    assert "'old' (6 records), 'new' (24 records)" in str(error)
    assert error.fields == ("sheet",)
    assert read_dataset(named(text), sheet="new").n_items == 24
    preview = preview_table(named(text))
    assert (preview.sheets, preview.sheet) == (("old", "new"), "old")
    assert preview_table(named(text), sheet="new").sheet == "new"
    assert "no key 'rows'; it has 'old', 'new', 'n'" in str(refusal(text, sheet="rows"))
    assert "a number under the key 'n', which is no table" in str(refusal(text, sheet="n"))
    assert any("under the key 'data'" in note for note in read_dataset(SHAPES["under a key"].encode()).notes)


BAD = {
    '[{"query": 1, "tags": {"a": 1}, "group": "a", "score": 1}]': "Column 'tags' .* an object .* at row 1",
    '{"query":1,"tags":1}\n{"query":1,"tags":[2]}': r"Column 'tags' .* a list \(\[2\]\) at row 2",
    '[{"query": 1, "tags": 7}, {"tags": "7"}]': "begins with a number and holds text .* at row 2",
    '[{"query": 1, "tags": true}, {}, {"tags": 1}]': "begins with true or false and holds a number .* at row 3",
    '[{"query": 1, "tags": "\\ud800"}]': "half a character .* at row 1",
    '[{"query": 1, "\\ud800": 1}]': "A key of shown.json is no text",
    '{"a": 1}\n\n{"a": 1, "b": 2, "a": 3}': r"Line 3 of shown.json has the key 'a' twice",
    '[{"a": 1}, {"a": 1, "a": 2}]': "Record 2 of shown.json has the key 'a' twice",
    '{"a": [{"b": 1}], "a": []}': "has the key 'a' twice",
    '{"a": 1}\n{"a": 2,\n{"a": 3}': "Line 2, column 9 of shown.json is no JSON .the line ends",
    '{"a": 1}\n[1, 2]': "Line 2 of shown.json is a list, .1, 2., but a record",
    '[{"a": 1}, 7]': "Record 2 of shown.json is a number, 7",
    '[[1, 2], [3, 4]]': "Record 1 of shown.json is a list",
    '[{"a": 1},\n {"a": ': "ends in the middle of its JSON, on line 2: it is truncated",
    '[{"a": 1}\n {"a": 2}]': "no JSON from line 2, column 2 on .Expecting ',' delimiter",
    '[{"a": 1}] x': "Extra data",
    '{"a": [{"b": 1}]} 7': "Extra data",
    '{"a": [1, 2], "b": [1]}': "'a' has 2 values, 'b' 1",
    '{"columns": ["a", "b"], "data": [[1, 2], [1]]}': "Row 2 under the key 'data'",
    '{"columns": ["a", "a"], "data": [[1, 2]]}': "a name twice",
    '{"r1": {"query": 1}, "r2": {"query": 2}}': r"an object under each of the keys 'r1', 'r2', .* orient='records'",
    '{"status": "ok", "n": 3}': "one object with the keys 'status', 'n', which is no table",
    '{}': "an empty object, which is no table",
    '[]': "has no rows: its list is empty",
    '[{}, {}]': "there is no column in them",
    '{"data": []}': "has no rows: its list is empty",
    '"text"': "holds one value, 'text', which is no table",
    "null": "holds one value, null, which is no table",
    '  \n ': "nothing but white space",
    "[" * 100_000: "nested too deeply",
    '[{"a": ' + "9" * 5_000 + "}]": "cannot be read as JSON",
    '{"a": ' + '[' * 100_000: "nested too deeply",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:40])
def test_what_is_no_table_gets_one_sentence(text: str) -> None:
    with pytest.raises(DataError, match=BAD[text]):
        read_dataset(named(text), query="query", group="tags", guess=False)


def test_what_is_not_asked_for_may_be_nested() -> None:
    rows = [row | {"tags": ["x"]} for row in ROWS]
    assert read_dataset(json.dumps(rows).encode()).fingerprint == read_dataset(CSV).fingerprint
    assert "tags" in preview_table(json.dumps(rows).encode()).head


def test_caps_hold_while_it_is_read() -> None:
    for text in (SHAPES["records"], SHAPES["under a key"], LINES):
        with pytest.raises(DataError, match="more than the limit of 20"):
            read_dataset(named(text), limits=Limits(rows=20))
    with pytest.raises(DataError, match="columns, more than the limit"):
        read_dataset(named(json.dumps([{f"k{k}": 1} for k in range(300)])), limits=Limits(columns=200))
    with pytest.raises(DataError, match="no sheets"):
        read_dataset(CSV, sheet="x")
    with pytest.raises(DataError, match="has no key 'x'"):
        read_dataset(named(LINES), sheet="x")


def test_content_decides_before_the_ending_of_the_name() -> None:
    assert read_dataset(named(SHAPES["records"], "shown.csv")).n_items == 24
    assert read_dataset(named(b"[id],[doc],sex,score\n1,a,f,2\n1,b,m,1\n", "x.csv"), query="[id]").n_items == 2
    assert "is no JSON from line 1, column 1" in str(refusal(CSV))


@pytest.mark.parametrize("shape", ["records", "lines", "under a key", "pandas split"])
def test_damaged_files_give_a_dataset_or_a_sentence(shape: str) -> None:
    whole = SHAPES[shape].encode()
    draw = random.Random(7)
    longest = 0
    for _ in range(150):
        content = bytearray(whole[: draw.randrange(1, len(whole))] if draw.random() < 0.3 else whole)
        for _ in range(draw.randrange(4)):
            at = draw.randrange(len(content))
            content[at : at + draw.randrange(3)] = bytes(draw.choices(b'{}[]",:0e9a\\\xff\n\x00-', k=draw.randrange(3)))
        for look in (read_dataset, preview_table):
            try:
                look(named(bytes(content)))
            except SpofrError as error:
                longest = max(longest, len(str(error)))
    assert longest < 2_000


def test_an_audit_in_the_shell_is_that_of_the_csv(tmp_path) -> None:
    (tmp_path / "shown.jsonl").write_text(LINES)
    ours = audit(read_dataset(tmp_path / "shown.jsonl"), Fairness(delta=0.05)).summary
    assert ours["queries"] == audit(read_dataset(CSV), Fairness(delta=0.05)).summary["queries"]


def test_a_pipe_is_read_to_its_end(tmp_path) -> None:
    os.mkfifo(tmp_path / "rows")
    writer = threading.Thread(target=lambda: (tmp_path / "rows").write_text(LINES))
    writer.start()
    data = read_dataset(tmp_path / "rows")
    writer.join()
    assert data.fingerprint == read_dataset(CSV).fingerprint
