"""What is exported stays what it was: rows are rows, text is text, and nothing in it runs."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest

from spofr_core import Fairness, fair_policies, read_dataset
from spofr_core.data import write_csv
from spofr_core.data.csv_export import neutralise, original
from spofr_core.data.ids import bare
from spofr_core.policy.proof.file_verification import verify_file

ODD = [
    *("=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", "\r=1+1", "\n=1+1", " =1+1", "\ufeff=1+1", "＝1+1", "'=1+1", "''"),
    *("q\r=1+1", "q\n=1+1", 'a"b', "a,b", "<b>x</b>", "שלום", "\u202etxt", "x\u2028y", "", " ", "NA", "007"),
]


@pytest.mark.parametrize("cell", ODD)
def test_no_cell_begins_like_a_formula_and_each_can_be_read_back(cell: str) -> None:
    safe = neutralise(cell)
    assert not safe.lstrip(" \t\r\n\0\ufeff").startswith(("=", "+", "-", "@", "＝"))
    assert original(safe) == cell


def test_rows_stay_rows(tmp_path: Path) -> None:
    write_csv(pd.DataFrame({"query": ODD, "=name\r": range(len(ODD))}), tmp_path / "out.csv")
    content = (tmp_path / "out.csv").read_bytes().decode()
    rows = list(csv.reader(io.StringIO(content, newline="")))
    assert rows[0] == ["query", "'=name\r"]
    assert [original(row[0]) for row in rows[1:]] == ODD
    # Who ends a row at every line break, quoted or not, is a worse reader than a spreadsheet: quotes are all there.
    unquoted = "".join(content.split('"')[::2])
    assert "\r" not in unquoted


def test_an_export_with_line_breaks_in_its_ids_can_be_verified(tmp_path: Path) -> None:
    ids = list(dict.fromkeys(filter(None, map(bare, ODD))))  # blanks around ids mean nothing
    assert any("\n" in cell or "\r" in cell for cell in ids)
    frame = pd.DataFrame({"qid": ["q\r=1+1"] * len(ids), "doc": ids, "score": [k / 7 for k in range(len(ids))]})
    frame["sex"] = ["f" if k % 2 else "m" for k in range(len(ids))]
    data, fairness = read_dataset(frame), Fairness(delta=0.05)
    fair_policies(data, fairness).write(tmp_path / "policies.csv")
    assert verify_file(tmp_path / "policies.csv", data, fairness).ok
