"""Crossed columns are compared one by one as well, as far as the names of the groups tell their values."""

from __future__ import annotations

import pandas as pd
import pytest

from spofr_core import read_dataset, selection_rates
from spofr_core.data import GroupSpec
from spofr_core.evaluation.selection.category_tables import category_tables

SEX_AND_RACE = GroupSpec(columns=("sex", "race"))


def crossed(rows, **options):
    frame = pd.DataFrame(rows, columns=["sex", "race", "score"]).assign(q=1)
    frame["item"] = range(len(frame))
    roles = {"query": "q", "item": "item", "group": ["sex", "race"], "score": "score"}
    return read_dataset(frame, **roles, **options)


def titles(names, spec):
    tables, notes = category_tables(names, spec)
    return {table.title: table.names for table in tables}, notes


def test_one_column_is_one_table():
    assert titles(("f", "m"), GroupSpec(columns="sex")) == ({"sex": ("f", "m")}, [])
    assert titles(("f", "m"), None) == ({"group": ("f", "m")}, [])


def test_a_crossing_is_a_table_for_each_column_and_one_for_both():
    found, notes = titles(("f & x", "f & y", "m & x"), SEX_AND_RACE)
    assert found == {"sex": ("f", "m"), "race": ("x", "y"), "sex & race": ("f & x", "f & y", "m & x")}
    assert notes == []
    tables, _ = category_tables(("f & x", "f & y", "m & x"), SEX_AND_RACE)
    assert [table.crossing for table in tables] == [False, False, True]
    assert tables[1].codes.tolist() == [0, 1, 0]


def test_values_with_the_sign_in_them_are_told_apart_where_others_show_how():
    names = ("F & Black & Hispanic", "F & White", "M & Black & Hispanic", "M & White")
    found, notes = titles(names, SEX_AND_RACE)
    assert found["sex"] == ("F", "M")
    assert found["race"] == ("Black & Hispanic", "White")
    assert notes == []


def test_names_that_can_be_read_in_two_ways_make_no_table_and_it_is_said():
    found, notes = titles(("a & b & c", "d & e & f"), SEX_AND_RACE)
    assert list(found) == ["sex & race"]
    assert notes == [
        "There is no table for each of 'sex' and 'race' alone: the names of the groups do not tell the values of the "
        "columns apart; keep “&” out of the values."
    ]


def test_renamed_groups_are_looked_up_under_the_names_that_they_had():
    data = crossed([("f", "x", 4), ("f", "y", 3), ("m", "x", 2), ("m", "y", 1)])
    renamed = data.regrouped({"f & x": "women of x"})
    rates = selection_rates(renamed, k=2, rules=["four-fifths"])
    tables = {table.title: {row.category: row.rate for row in table.rows} for table in rates.tables}
    assert tables["sex"] == {"f": 1.0, "m": 0.0}
    assert tables["race"] == {"x": 0.5, "y": 0.5}
    assert tables["sex & race"]["women of x"] == 1.0


def test_groups_merged_across_a_column_leave_that_column_out():
    data = crossed([("f", "x", 4), ("f", "y", 3), ("m", "x", 2), ("m", "y", 1)])
    merged = data.regrouped({"f & x": "women", "f & y": "women"})
    rates = selection_rates(merged, k=1, rules=["four-fifths"])
    assert [table.title for table in rates.tables] == ["sex", "sex & race"]
    assert "There is no table for 'race' alone: groups were merged across its values." in rates.notes


def test_an_item_with_half_a_crossing_is_unknown_everywhere():
    data = crossed([("f", "x", 4), (None, "y", 3), ("m", "x", 2), ("m", "y", 1)], missing="own_group")
    rates = selection_rates(data, k=2, rules=["local-law-144"])
    assert rates.unknown == 1
    sizes = {table.title: sum(row.items for row in table.rows) for table in rates.tables}
    assert sizes == {"sex": 3, "race": 3, "sex & race": 3}


def test_three_columns_cross_too():
    found, _ = titles(("f & x & old", "m & y & young"), GroupSpec(columns=("sex", "race", "age")))
    assert list(found) == ["sex", "race", "age", "sex & race & age"]
    assert found["age"] == ("old", "young")


@pytest.mark.parametrize("odd", ["<b>", "=1+1", "日本", '"', "a" * 300])
def test_odd_values_stay_as_they_are(odd):
    found, _ = titles((f"f & {odd}", "m & x"), SEX_AND_RACE)
    assert found["race"] == (odd, "x")
