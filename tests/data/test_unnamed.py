"""Columns without names: what they hold proposes what they are, and where two could be meant nothing is proposed."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd

from spofr_core.data import preview_table
from spofr_core.data.reading.unnamed import propose_roles

ROWS = 24


def table(**columns):
    base = {
        "column 1": np.repeat([7, 3, 9, 1], 6),
        "column 2": [f"i{k}" for k in range(ROWS)],
        "column 3": np.arange(ROWS) / 7,
        "column 4": ["x", "y", "y"] * 8,
        "column 5": [0, 1] * 12,
    }
    return pd.DataFrame(base | {name.replace("_", " "): values for name, values in columns.items()})


def test_blocks_ids_fractions_and_a_few_words():
    mapping, notes = propose_roles(table())
    assert mapping == {"query": "column 1", "item": "column 2", "score": "column 3", "group": "column 4"}
    assert notes[0] == "Column 1 was taken as the query: its values stand in blocks."
    assert len(notes) == 4


def test_two_that_could_be_meant_are_left_open():
    mapping, _ = propose_roles(table(column_6=np.arange(ROWS) / 3, column_7=["north", "south"] * 12))
    assert set(mapping) == {"query", "item"}


def test_a_value_that_comes_back_later_is_no_block():
    assert propose_roles(table(column_1=[1, 1, 2, 2, 1, 1] * 4)) == ({}, [])
    assert propose_roles(table(column_1=[5] * ROWS)) == ({}, [])
    assert propose_roles(table(column_1=np.arange(ROWS))) == ({}, [])


def test_an_item_may_come_back_in_another_query_but_not_in_the_same():
    again = propose_roles(table(column_2=[f"i{k % 6}" for k in range(ROWS)]))[0]
    assert again["item"] == "column 2"
    assert "item" not in propose_roles(table(column_2=[f"i{k % 5}" for k in range(ROWS)]))[0]


def test_columns_with_holes_and_short_tables_propose_nothing():
    holed = table()
    holed.loc[3, "column 4"] = None
    assert "group" not in propose_roles(holed)[0]
    assert propose_roles(table().head(5)) == ({}, [])


def test_a_file_without_names_is_previewed_with_these_and_one_with_names_without():
    text = table().to_csv(index=False, header=False).encode()
    assert preview_table(io.BytesIO(text), header=False).mapping["query"] == "column 1"
    named = table().set_axis(list("abcde"), axis=1).to_csv(index=False).encode()
    assert preview_table(io.BytesIO(named)).mapping == {}
