"""Excel workbooks: the numbers of the same table as CSV, or one sentence that names the cell."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core import Fairness
from spofr_core.data import Limits, preview_table, read_dataset
from spofr_core.errors import DataError, SpofrError
from spofr_core.experiments.rival_audits import FirstRanking, audit_rivals, file_reader

NAMES = ["query", "item", "group", "score", "relevance"]
ROWS = [[q, f"{q}-{i}", "ab"[i % 2], 10 - i + q / 8, i % 3] for q in range(4) for i in range(6)]
CSV = pd.DataFrame(ROWS, columns=NAMES).to_csv(index=False).encode()
SHEET = "xl/worksheets/sheet1.xml"


def book(*sheets: Sequence[Sequence[Any]], change: Callable[[Any], object] | None = None) -> bytes:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for k, rows in enumerate(sheets, 1):
        sheet = made.create_sheet(f"S{k}")
        for row in rows:
            sheet.append(row)
    if change is not None:
        change(made)
    content = io.BytesIO()
    made.save(content)
    return content.getvalue()


def edited(content: bytes, *changes: tuple[str, str], part: str = SHEET, **others: str) -> bytes:
    """The workbook with other text in one of its parts, and with further parts."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name)
            for before, after in changes if name == part else ():
                assert before.encode() in text
                text = text.replace(before.encode(), after.encode(), 1)
            new.writestr(name, text)
        for name, text in others.items():
            new.writestr(name, text)
    return packed.getvalue()


def refusal(content: bytes, name: str = "shown.xlsx", **options: Any) -> DataError:
    stream = io.BytesIO(content)
    stream.name = name
    with pytest.raises(DataError) as caught:
        read_dataset(stream, **options)
    assert "\n" not in str(caught.value)
    return caught.value


TABLE = [NAMES, *ROWS]
WHOLE = book(TABLE)


def test_it_is_the_same_table() -> None:
    assert read_dataset(WHOLE).fingerprint == read_dataset(CSV).fingerprint
    assert preview_table(WHOLE).format == "excel"


def test_content_decides_before_the_ending_of_the_name(tmp_path) -> None:
    (tmp_path / "shown.csv").write_bytes(WHOLE)
    assert read_dataset(tmp_path / "shown.csv").n_items == 24
    (tmp_path / "shown.xlsx").write_bytes(CSV)
    assert "cannot be read as an Excel workbook" in str(refusal(CSV))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3) | st.sampled_from(["x", "007"]),
            st.sampled_from("abc"),
            st.floats(-1e9, 1e9).map(lambda score: float(f"{score:.15g}")) | st.integers(-(10**14), 10**14),
            st.booleans(),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_numbers_agree_with_the_same_table_as_csv(rows: list[tuple[Any, str, float, bool]]) -> None:
    table = [["query", "item", "group", "score", "label"]]
    table += [[q, k, g, s, label] for k, (q, g, s, label) in enumerate(rows)]
    options = {"query": "query", "item": "item", "group": "group", "score": "score", "relevance": "label"}
    written = "\n".join(",".join(map(str, row)) for row in table).encode()
    ours = read_dataset(book(table), insist=True, header=True, **options)
    theirs = read_dataset(written, insist=True, header=True, **options)
    assert ours.query_ids.astype(str).tolist() == theirs.query_ids.astype(str).tolist()
    assert np.array_equal(ours.score, theirs.score)
    assert np.array_equal(ours.relevance, theirs.relevance)
    assert ours.group_names == theirs.group_names
    assert np.array_equal(ours.groups, theirs.groups)


def test_titles_empty_rows_and_empty_columns_around_the_table() -> None:
    framed = [
        [],
        ["Report of May"],
        [],
        *([None, *row, None] for row in TABLE[:9]),
        [],
        *([None, *r] for r in TABLE[9:]),
    ]
    data = read_dataset(book(framed))
    assert data.fingerprint == read_dataset(CSV).fingerprint
    assert any("row 2" in note and "'Report of May'" in note and "row 4" in note for note in data.notes)
    framed[7][1] = None
    assert refusal(book(framed)).row == 8


def test_numbers_as_text_are_numbers_where_numbers_are_due() -> None:
    rows = [list(row) for row in TABLE]
    rows[3][3] = str(rows[3][3])
    rows[5][3] = f" {rows[5][3]} "
    rows[4][0] = str(rows[4][0])
    data = read_dataset(book(rows))
    assert data.fingerprint == read_dataset(CSV).fingerprint
    assert any("'score' holds 22 numbers and 2 cells of text" in note for note in data.notes)
    rows[6][3] = "n.a."
    assert "'n.a.' at row 7" in str(refusal(book(rows)))


def test_a_moment_at_midnight_is_a_date_to_excel_and_a_moment_to_its_column() -> None:
    moments = [dt.datetime(2024, 5, 1 + row[0], 0 if row[0] else 6) for row in ROWS]
    rows = [[*row, moment] for row, moment in zip(ROWS, moments, strict=True)]
    data = read_dataset(book([[*NAMES, "moment"], *rows]), time="moment")
    assert data.times.astype("datetime64[h]").tolist() == [moments[6 * q] for q in range(4)]


def test_dates_times_and_booleans() -> None:
    days = [dt.datetime(2024, 5, 1 + row[0], 12, 30) for row in ROWS]
    rows = [[*NAMES, "when", "day", "at", "paid"]]
    rows += [[*row, day, day.date(), day.time(), row[0] > 1] for row, day in zip(ROWS, days, strict=True)]
    data = read_dataset(book(rows), time="when", slices=["day", "at", "paid"])
    assert str(data.times[1])[:16] == "2024-05-02T12:30"
    assert data.attributes["day"].tolist() == [f"2024-05-0{k}" for k in range(1, 5)]
    assert data.attributes["at"][0] == "12:30:00"
    assert data.attributes["paid"].tolist() == ["False", "False", "True", "True"]
    assert read_dataset(book(rows), relevance="paid").relevance.sum() == 12


@pytest.mark.parametrize("error", ["#DIV/0!", "#REF!", "#VALUE!", "#NAME?"])
def test_errors_of_formulas_are_refused_where_they_are_read(error: str) -> None:
    rows = [list(row) for row in TABLE]
    rows[4][3] = error
    assert f"in cell D5, the error {error}" in str(refusal(book(rows)))
    assert refusal(book(rows)).row == 5
    assert read_dataset(book(rows), score="relevance", relevance=None, guess=False, query="query", group="group",
                        insist=True).n_items == 24  # fmt: skip


def test_not_available_is_a_missing_value() -> None:
    rows = [list(row) for row in TABLE]
    rows[4][2] = "#N/A"
    assert "1 " in str(refusal(book(rows)))
    assert read_dataset(book(rows), missing="own_group").n_groups == 3


def test_a_formula_without_its_value_is_refused() -> None:
    rows = [list(row) for row in TABLE]
    rows[2][3] = "=1+2"
    assert "in cell D3, a formula whose value is not in the file" in str(refusal(book(rows)))
    kept = edited(book(rows), ("<f>1+2</f><v />", "<f>1+2</f><v>9.0</v>"))
    assert read_dataset(kept).fingerprint == read_dataset(CSV).fingerprint


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("A1:B1", "the names of the columns"),
        ("B1:B2", "the names"),
        ("A2:A7", "the table"),
        ("C9:D9", "the table"),
    ],
)
def test_merged_cells_are_asked_about(cells: str, words: str) -> None:
    merged = book(TABLE, change=lambda made: made["S1"].merge_cells(cells))
    assert f"The cells {cells} of shown.xlsx are merged, in {words}" in str(refusal(merged))


def test_a_title_may_be_merged_but_names_in_two_rows_not() -> None:
    titled = book([["Report"], *TABLE], change=lambda made: made["S1"].merge_cells("A1:E1"))
    assert read_dataset(titled).n_items == 24
    two = [["who", None, "what", None, None], *TABLE]
    grouped = book(two, change=lambda made: made["S1"].merge_cells("C1:E1"))
    assert "C1:E1 of shown.xlsx are merged, in the names of the columns" in str(refusal(grouped))


def test_several_sheets_are_asked_about() -> None:
    half = [NAMES, *ROWS[:12]]
    several = book(half, TABLE, [["a note"]], TABLE, change=lambda made: setattr(made["S4"], "sheet_state", "hidden"))
    error = refusal(several)
    assert "several sheets with tables: 'S1' (13 rows), 'S2' (25 rows)." in str(error)
    assert error.fields == ("sheet",)
    assert read_dataset(several, sheet="S2").fingerprint == read_dataset(CSV).fingerprint
    assert any("hidden" in note for note in read_dataset(several, sheet="S4").notes)
    assert "has no sheet 'S9'; it has 'S1', 'S2', 'S3', 'S4'" in str(refusal(several, sheet="S9"))
    preview = preview_table(several)
    assert (preview.sheets, preview.sheet) == (("S1", "S2"), "S1")
    one = book([["a note"]], TABLE, [])
    assert read_dataset(one).n_items == 24
    assert preview_table(one).sheets == ()
    hidden = book(TABLE, [], change=lambda made: setattr(made["S1"], "sheet_state", "hidden"))
    assert "is in hidden sheets: 'S1'" in str(refusal(hidden))


def test_names_that_are_not_there() -> None:
    data = [list(row) for row in ROWS]
    assert "header=" in str(refusal(book(data)))
    options = {"query": "column 1", "item": "column 2", "group": "column 3", "score": "column 4"}
    assert read_dataset(book(data), header=False, guess=False, **options).n_items == 24
    nameless = [[*NAMES[:4], None], *ROWS]
    assert any("Column E of" in note for note in read_dataset(book(nameless)).notes)
    assert "several columns called 'score'" in str(refusal(book([[*NAMES[:4], "score"], *ROWS])))
    assert "no rows" in str(refusal(book([NAMES])))
    assert "is empty: there are no cells" in str(refusal(book([])))


def test_rows_that_a_filter_hides_are_read_and_noted() -> None:
    def hide(made: Any) -> None:
        made["S1"].row_dimensions[3].hidden = True

    data = read_dataset(book(TABLE, change=hide))
    assert data.n_items == 24
    assert any("rows hidden by a filter or by hand (1)" in note for note in data.notes)


def test_digits_that_excel_has_rounded_are_noted() -> None:
    rows = [NAMES, *([row[0], 10**15 + 4 * k, *row[2:]] for k, row in enumerate(ROWS))]
    data = read_dataset(book(rows))
    assert any("more than 15 digits" in note for note in data.notes)


def test_cells_far_apart_take_no_memory() -> None:
    def far(made: Any) -> None:
        made["S1"]["XFD1048576"] = 1

    assert "16,384 columns, more than the limit" in str(refusal(book(TABLE, change=far)))
    wide = Limits(columns=20_000)
    assert "reaches from its first cell to row 1,048,576 and column XFD" in str(
        refusal(book(TABLE, change=far), limits=wide)
    )
    declared = edited(WHOLE, ('ref="A1:E25"', 'ref="A1:XFD1048576"'))
    assert read_dataset(declared).n_items == 24


def test_a_text_in_a_million_cells_takes_no_memory() -> None:
    cells = "".join(f'<row r="{k}"><c r="A{k}" t="s"><v>0</v></c></row>' for k in range(26, 3_000))
    content = edited(
        WHOLE,
        ("</sheetData>", f"{cells}</sheetData>"),
        **{"xl/sharedStrings.xml": f"<sst><si><t>{'x' * 1_000_000}</t></si></sst>"},
    )
    assert "takes more than 1 GB" in str(refusal(content, limits=Limits(file_bytes=2**30)))


def test_a_zip_bomb_is_not_unpacked() -> None:
    bomb = edited(WHOLE, ("<sheetData>", "<sheetData>" + " " * 280_000_000))
    assert re.search("that unpack to more than .* export it as CSV", str(refusal(bomb)))
    assert "holds more than 20 MB" in str(refusal(bomb, limits=Limits(file_bytes=20 * 2**20)))


DAMAGED = {
    "an entity": edited(WHOLE, ("<worksheet", "<!DOCTYPE a [<!ENTITY b 'c'>]><worksheet")),
    "a place that is none": edited(WHOLE, ('r="B2"', 'r="2B"')),
    "a text that is not there": edited(WHOLE, ('<c r="A2" t="n"><v>0</v>', '<c r="A2" t="s"><v>7</v>')),
    "no end": edited(WHOLE, ("</sheetData>", "")),
    "half of it": WHOLE[: len(WHOLE) // 2],
    "four bytes": b"PK\x03\x04",
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damaged_workbooks_get_a_sentence(what: str) -> None:
    assert "cannot be read as an Excel workbook" in str(refusal(DAMAGED[what]))


def archive(*names: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        for name in names:
            made.writestr(name, "x")
    return packed.getvalue()


OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 1_000
OTHERS = {
    "links": (edited(WHOLE, **{"xl/externalLinks/externalLink1.xml": "<a/>"}), "takes values from other workbooks"),
    "zip": (archive("a.csv"), "a zip archive without a workbook"),
    "xlsb": (archive("xl/workbook.bin"), "a binary workbook"),
    "ods": (archive("mimetype", "content.xml"), "an OpenDocument file"),
    "xls": (OLD, r"\(.xls\)"),
    "encrypted": (OLD + "EncryptedPackage".encode("utf-16-le"), "protected by a password"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_not_read_says_what_to_do(what: str) -> None:
    content, words = OTHERS[what]
    assert re.search(words, str(refusal(content)))


@pytest.mark.parametrize("inside", [False, True])
def test_mutated_workbooks_give_a_dataset_or_a_sentence(inside: bool) -> None:
    """Bytes of the archive changed, and bytes of its parts before they are packed."""
    draw = np.random.default_rng(3)
    names = zipfile.ZipFile(io.BytesIO(WHOLE)).namelist()
    longest = 0
    for _ in range(150):
        if inside:
            packed, victim = io.BytesIO(), names[draw.integers(len(names))]
            with zipfile.ZipFile(io.BytesIO(WHOLE)) as old, zipfile.ZipFile(packed, "w") as new:
                for name in names:
                    new.writestr(name, damaged(old.read(name), draw) if name in (victim, SHEET) else old.read(name))
            content = packed.getvalue()
        else:
            content = damaged(WHOLE, draw)
        for look in (read_dataset, preview_table):
            try:
                look(content)
            except SpofrError as error:
                longest = max(longest, len(str(error)))
    assert longest < 2_000


def damaged(content: bytes, draw: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.integers(1, 4)):
        at = draw.integers(len(changed))
        some = b'<>/"=0123456789ABZ&;: \0\xff-e#'
        changed[at : at + draw.integers(3)] = bytes(draw.choice(list(some), draw.integers(1, 3)).tolist())
    return bytes(changed)


def test_two_sheets_of_a_workbook_are_compared(tmp_path: Path) -> None:
    turned = [NAMES, *([*row[:3], -row[3], row[4]] for row in ROWS)]
    (tmp_path / "two.xlsx").write_bytes(book(TABLE, turned))
    (tmp_path / "one.csv").write_text("\n".join(",".join(map(str, row)) for row in turned))
    first = read_dataset(tmp_path / "two.xlsx", sheet="S1")
    reader = file_reader(tmp_path / "two.xlsx", {"sheet": "S1"})
    ranking = FirstRanking(data=first, fairness=Fairness(delta=0.05), read_again=reader)
    rivals = ["sheet=S2", f"file={tmp_path / 'one.csv'}", f"file={tmp_path / 'two.xlsx'},sheet=S2,name=both"]
    audits = audit_rivals(ranking, rivals)
    summaries = [found.summary["groups"] for found in audits.values()]
    assert summaries[1] == summaries[2] == summaries[3] != summaries[0]
