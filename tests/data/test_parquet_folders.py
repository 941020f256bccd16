"""Parts of a Parquet folder that do not agree on the types of their columns."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spofr_core import Fairness, audit, audit_folder, read_dataset, repair
from spofr_core.errors import DataError
from spofr_core.evaluation import repair_folder
from tests.cli.test_words import spofr

ROWS = {"qid": [1, 1, 1], "doc": [1, 2, 3], "group": ["f", "m", "m"], "score": [3, 2, 1]}


def written(folder: Path, **columns: tuple[pa.Array, pa.Array]) -> Path:
    """A folder of two parts, a list each, with these columns in place of the usual ones."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, name in enumerate(("a", "b")):
        usual = {**ROWS, "qid": [part + 1] * 3}
        pq.write_table(
            pa.table(usual | {column: kinds[part] for column, kinds in columns.items()}), folder / f"{name}.parquet"
        )
    return folder


def decimals(*texts: str) -> pa.Array:
    return pa.array([Decimal(text) for text in texts])


GOOD = {
    "whole numbers, then doubles": ("score", pa.array([3, 2, 1]), pa.array([0.5, 1.5, 2.5])),
    "doubles, then whole numbers": ("score", pa.array([0.5, 1.5, 2.5]), pa.array([3, 2, 1])),
    "short and long whole numbers": ("score", pa.array([3, 2, 1], pa.int32()), pa.array([2**40, 2**41, 2**42])),
    "floats, then doubles that they tie": ("score", pa.array([3, 2, 1], pa.float32()), pa.array([1 + 1e-12, 1, 0.5])),
    "decimals, then doubles": ("score", decimals("1.25", "0.5", "0.25"), pa.array([0.125, 1.75, 2.5])),
    "decimals of two scales": ("score", decimals("1.25", "0.5", "0.25"), decimals("1234.567", "1", "2.001")),
    "decimals, then whole numbers": ("score", decimals("1.25", "0.5", "0.25"), pa.array([3, 2**40, 1])),
    "words, then coded words": ("group", pa.array(["f", "m", "m"]), pa.array(["m", "m", "x"]).dictionary_encode()),
    "coded words, then words": ("group", pa.array(["f", "m", "m"]).dictionary_encode(), pa.array(["m", "m", "x"])),
    "numbers, then words": ("group", pa.array([1, 2, 2]), pa.array(["2", "2", "x"])),
    "nothing, then numbers": ("label", pa.nulls(3, pa.int64()).fill_null(0), pa.array([0.5, 1.0, 0.0])),
}


@pytest.mark.parametrize("name", GOOD)
def test_types_of_parts_are_made_one_with_a_note(name, tmp_path):
    column, first, second = GOOD[name]
    folder = written(tmp_path / "rows", **{column: (first, second)})
    data = read_dataset(folder)
    values = np.array([float(v) if column != "group" else str(v) for v in [*first.to_pylist(), *second.to_pylist()]])
    kept = {"score": data.score, "label": data.relevance}.get(column)
    if column == "group":
        assert [data.group_names[code] for code in data.groups] == values.tolist()
    else:
        np.testing.assert_array_equal(kept, values)
    notes = [note for note in data.notes if "do not have one type" in note]
    assert len(notes) == 1
    assert repr(column) in notes[0]
    assert "a.parquet" in notes[0]
    assert "b.parquet" in notes[0]
    streamed = audit_folder(folder, Fairness(delta=0.1), rows_per_part=3)
    assert streamed.summary["queries"] == audit(data, Fairness(delta=0.1)).summary["queries"]
    assert set(notes) <= set(streamed.summary["notes"])


BAD = {
    "a whole number that no double holds": (pa.array([0.5, 1.5, 2.5]), pa.array([3, 2, 2**53 + 1])),
    "words that are no numbers": (pa.array([0.5, 1.5, 2.5]), pa.array(["3", "2", "high"])),
    "lists": (pa.array([0.5, 1.5, 2.5]), pa.array([[1], [2], [3]])),
    "moments": (pa.array([0.5, 1.5, 2.5]), pa.array([1, 2, 3], pa.timestamp("s"))),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_made_one_is_a_sentence_that_names_the_part(name, tmp_path, monkeypatch, capsys):
    folder = written(tmp_path / "rows", score=BAD[name])
    with pytest.raises(DataError, match="'score'") as whole:
        read_dataset(folder)
    assert whole.value.column == "score"
    assert spofr(monkeypatch, "audit", folder) == 2
    said = capsys.readouterr().err
    assert "'score'" in said
    assert said.count("\n") == 1
    if name != "words that are no numbers":  # the reader names the row
        assert "b.parquet" in str(whole.value)
        assert "b.parquet" in said


def test_columns_that_nobody_reads_may_be_anything(tmp_path):
    folder = written(tmp_path / "rows", other=(pa.array([[1], [2], [3]]), pa.array([1, 2, 3])))
    assert not [note for note in read_dataset(folder).notes if "'other'" in note]
    assert audit_folder(folder, Fairness(delta=0.1)).summary["queries"]["total"] == 2


def test_names_of_folders_are_columns_in_one_piece_and_part_by_part(tmp_path):
    for country in ("de", "fr"):
        written(tmp_path / "rows" / f"country={country}", qid=(pa.array([country] * 3), pa.array([country + "2"] * 3)))
    (tmp_path / "rows" / "._junk.parquet").write_bytes(b"what some systems leave")
    data = read_dataset(tmp_path / "rows", slices="country")
    assert data.attributes["country"].tolist() == ["de", "de", "fr", "fr"]
    streamed = audit_folder(tmp_path / "rows", Fairness(delta=0.1), mapping={"slices": ["country"]})
    assert {*streamed.table.attributes["country"]} == {"de", "fr"}


LONG = {
    "whole numbers": (pa.array([2**60 + 1, 2**60, 2**60 + 2]), pa.array([3, 900, 1])),
    "decimals, then doubles": (decimals(f"{2**60 + 1}.5", f"{2**60}.5", f"{2**60 + 2}.5"), pa.array([3.5, 900, 1])),
    "text, then doubles": (pa.array([str(2**60 + k) for k in (1, 0, 2)]), pa.array([3.5, 900, 1])),
}


@pytest.mark.parametrize("name", LONG)
def test_numbers_beyond_doubles_in_one_part_make_places_of_all_in_one_piece_and_part_by_part(name, tmp_path):
    folder = written(tmp_path / "rows", score=LONG[name])
    data, fairness = read_dataset(folder), Fairness(delta="10%")
    assert data.score.tolist() == [-2, -3, -1, -2, -1, -3]
    whole, streamed = audit(data, fairness), audit_folder(folder, fairness, rows_per_part=3)
    assert streamed.summary["queries"] == whole.summary["queries"]
    assert set(streamed.summary["notes"]) == set(whole.summary["notes"])
    assert any("beyond 2^53" in note for note in streamed.summary["notes"])
    parts = repair_folder(folder, fairness, tmp_path / "policies.csv", rows_per_part=3)
    assert parts == repair(data, fairness).summary
    assert parts["ranks"]


def test_a_comma_is_not_told_by_doubles_of_another_part(tmp_path):
    folder = written(tmp_path / "rows", score=(pa.array(["4,752", "3,120", "1"]), pa.array([0.5, 1.5, 2.5])))
    for mapping in ({}, {"decimal": ","}):
        with pytest.raises(DataError, match="text such as '4,752'"):
            read_dataset(folder, **mapping)
        with pytest.raises(DataError, match="text such as '4,752'"):
            audit_folder(folder, Fairness(delta=0.1), mapping=mapping)
