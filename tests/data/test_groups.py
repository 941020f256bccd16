"""Groups: from columns, crossings, one value against the rest, quantiles; missing groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.data import NO_GROUP, GroupSpec, read_dataset
from spofr_core.data.group_spec import group_by_number
from spofr_core.errors import ConfigError, DataError


def frame(**columns: object) -> pd.DataFrame:
    n = len(next(iter(columns.values())))
    return pd.DataFrame({"qid": np.arange(n) // 2, "doc": np.arange(n), **columns})


def test_numbers_flags_and_text_as_groups() -> None:
    assert read_dataset(frame(g=[10, 9, 10]), group="g").group_names == ("9", "10")
    assert read_dataset(frame(g=[1.0, 2.5, 1.0]), group="g").group_names == ("1", "2.5")
    assert read_dataset(frame(g=[True, False, True]), group="g").group_names == ("False", "True")
    data = read_dataset(b"qid,doc,g\n1,a, f\n1,b,f\n1,c,m\n", group="g")
    assert data.group_names == ("f", "m")
    assert any("Blanks around ids and names were left out: 1 in column 'g'" in note for note in data.notes)


def test_crossing() -> None:
    data = read_dataset(frame(sex=["f", "m", "f", "m"], age=["old", "old", "young", "old"]), group=["sex", "age"])
    assert data.group_names == ("f & old", "f & young", "m & old")
    assert data.groups.tolist() == [0, 2, 1, 2]
    assert data.group_spec.columns == ("sex", "age")


def test_crossing_three_columns_is_that_of_pandas() -> None:
    rng = np.random.default_rng(1)
    table = frame(**{name: rng.integers(0, 3, 60).astype(str) for name in "abc"})
    data = read_dataset(table, group=["a", "b", "c"])
    expected = table["a"] + " & " + table["b"] + " & " + table["c"]
    assert [data.group_names[code] for code in data.groups] == expected.tolist()


def test_one_value_against_the_rest() -> None:
    data = read_dataset(frame(g=list("abca")), group="g", group_against_rest="b")
    assert data.group_names == ("b", "not b")
    assert data.groups.tolist() == [1, 0, 1, 1]
    with pytest.raises(DataError, match="no value 'z' to set against the rest; it has 'a', 'b', 'c'"):
        read_dataset(frame(g=list("abca")), group="g", group_against_rest="z")


@pytest.mark.parametrize("k", [2, 3, 5, 10, 17])
def test_quantiles_without_ties_are_even(k: int) -> None:
    values = np.random.default_rng(0).normal(size=17 * 60)
    data = read_dataset(frame(age=values), group="age", group_quantiles=k)
    assert data.n_groups == k
    sizes = np.array(list(data.group_sizes.values()))
    assert sizes.max() - sizes.min() <= 1
    expected = pd.qcut(values, k, labels=False)
    np.testing.assert_array_equal(data.groups, expected)


def test_a_test_part_uses_the_thresholds_of_the_training_part() -> None:
    train = read_dataset(frame(age=[10, 20, 30, 40]), group="age", group_quantiles=2)
    assert train.group_spec.thresholds == (25.0,)
    test = read_dataset(frame(age=[24.9, 25, 99]), group=train.group_spec)
    assert test.groups.tolist() == [0, 1, 1]
    assert test.group_names == train.group_names == ("< 25", ">= 25")


def test_ties_are_stated() -> None:
    data = read_dataset(frame(age=[1, 2, 2, 2, 3, 4]), group="age", group_quantiles=2)
    assert data.groups.tolist() == [0, 1, 1, 1, 1, 1]
    assert any("3 values equal a threshold; they belong to the group above it (>=)" in note for note in data.notes)
    assert any("'< 2' 1, '>= 2' 5 items" in note for note in data.notes)
    few = read_dataset(frame(age=[1, 1, 1, 1, 1, 9]), group="age", group_quantiles=4)
    assert few.n_groups == 1
    assert any("too many equal values for 4 quantile groups: 1 groups" in note for note in few.notes)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), st.integers(2, 8))
def test_quantile_groups_are_never_empty_and_ordered(values: list[float], k: int) -> None:
    array = np.array(values)
    grouping = group_by_number(array, GroupSpec(columns="x", quantiles=k))
    assert len(grouping.names) <= k
    assert grouping.codes[np.argmin(array)] == 0
    order = np.argsort(array, kind="stable")
    assert np.all(np.diff(grouping.codes[order]) >= 0)
    cuts = (-np.inf, *grouping.spec.thresholds, np.inf)
    for value, code in zip(array, grouping.codes, strict=True):
        assert cuts[code] <= value < cuts[code + 1]


def test_missing_groups() -> None:
    text = b"qid,doc,g\n1,a,f\n1,b,\n2,c,NA\n3,d,m\n3,e,f\n"
    with pytest.raises(DataError, match="2 of 5 items have no group"):
        read_dataset(text, group="g")
    own = read_dataset(text, group="g", missing="own_group")
    assert own.group_names == ("f", "m", "(missing)")
    assert own.groups.tolist() == [0, 2, 2, 1, 0]
    assert any("2 items without a group" in note for note in own.notes)
    with pytest.raises(DataError, match=r"missing='keep' keeps them .* missing='exclude'"):
        read_dataset(text, group="g")
    out = read_dataset(text, group="g", drop_rows=True)
    assert out.query_ids.tolist() == [1, 3]
    assert out.item_ids.tolist() == ["a", "d", "e"]
    assert dict(out.excluded) == {"rows without a group (the items below moved up)": 2, "queries left without items": 1}
    assert any("2 of 5 rows have no group" in note and "moved up" in note for note in out.notes)
    literal = read_dataset(text, group="g", missing="exclude", missing_values=[""])
    assert literal.group_names == ("NA", "f", "m")


def test_missing_numbers_and_missing_parts_of_a_crossing() -> None:
    numbers = frame(age=[1.0, np.nan, 3.0, 4.0])
    assert read_dataset(numbers, group="age", group_quantiles=2, missing="own_group").groups.tolist() == [0, 2, 1, 1]
    crossed = frame(a=["x", None, "y", "x"], b=["u", "u", None, "v"])
    data = read_dataset(crossed, group=["a", "b"], missing="exclude")
    assert data.group_names == ("x & u", "x & v")
    assert data.groups.tolist() == [0, NO_GROUP, NO_GROUP, 1]
    with pytest.raises(DataError, match="has a group in column 'g': there is nothing to compare"):
        read_dataset(frame(g=[None, None]).astype({"g": "str"}), group="g", missing="exclude")


def test_specs_refuse_contradictions() -> None:
    with pytest.raises(ConfigError, match="need exactly one column"):
        GroupSpec(columns=("a", "b"), quantiles=2)
    with pytest.raises(ConfigError, match="must increase"):
        GroupSpec(columns="a", thresholds=(2, 1))
    with pytest.raises(ConfigError, match="cannot go with"):
        GroupSpec(columns="a", thresholds=(1, 2), against_rest="x")
    with pytest.raises(ConfigError, match="greater than or equal to 2"):
        GroupSpec(columns="a", quantiles=1)
    spec = GroupSpec(columns="a", thresholds=(1, 2), names=("low", "mid", "high"))
    assert GroupSpec.from_dict(spec.to_dict()) == spec
    assert read_dataset(frame(a=[0, 1, 5]), group=spec).group_names == ("low", "mid", "high")


@settings(max_examples=200, deadline=None)
@given(values=st.lists(st.integers(0, 6), min_size=1, max_size=30), k=st.integers(2, 12))
def test_quantile_groups_are_never_empty(values: list[int], k: int) -> None:
    known = np.array(values, dtype=float)
    found = group_by_number(known, GroupSpec(columns="x", quantiles=k))
    assert np.bincount(found.codes, minlength=len(found.names)).min() > 0
    cuts = np.quantile(known, np.arange(1, k) / k)
    by_definition = np.unique(np.searchsorted(np.unique(cuts), known, side="right"), return_inverse=True)[1]
    assert found.codes.tolist() == by_definition.tolist()


@pytest.mark.parametrize("missing", ["keep", "exclude"])
def test_a_column_without_any_group_is_said_to_be_the_wrong_one(missing: str) -> None:
    with pytest.raises(DataError, match=r"No item of .* has a group in column 'g': .*Choose a column .*group='\.\.\.'"):
        read_dataset(b"qid,doc,g\n1,a,\n1,b,\n", group="g", missing=missing)
