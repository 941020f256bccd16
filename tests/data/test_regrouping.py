"""Groups renamed, merged and left out: when a table is read, and afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.data import NO_GROUP, GroupSpec, RankingDataset, partition_folder, read_dataset
from spofr_core.errors import ConfigError, DataError

TABLE = pd.DataFrame(
    {
        "qid": ["a", "a", "a", "b", "b", "c"],
        "doc": [1, 2, 3, 4, 5, 6],
        "sex": ["0", "1", "x", "1", "0", "x"],
        "score": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4],
        "age": [20, 30, 40, 50, 60, 70],
    }
)


def read(**options: object) -> RankingDataset:
    return read_dataset(TABLE, **({"query": "qid", "item": "doc", "group": "sex", "score": "score"} | options))


def same(one: RankingDataset, other: RankingDataset) -> None:
    assert one.fingerprint == other.fingerprint
    assert dict(one.excluded) == dict(other.excluded)
    assert one.group_spec == other.group_spec


def test_renamed_merged_and_left_out() -> None:
    data = read(group_names={"0": "men", "1": "women"}, leave_out_groups=["x"])
    assert data.group_names == ("men", "women")
    assert data.item_ids.tolist() == [1, 2, 3, 4, 5, 6]
    assert data.groups.tolist() == [0, 1, NO_GROUP, 1, 0, NO_GROUP]
    assert dict(data.excluded) == {"items of groups left out, which kept their places": 2}
    dropped = read(group_names={"0": "men", "1": "women"}, leave_out_groups=["x"], drop_rows=True)
    assert dropped.item_ids.tolist() == [1, 2, 4, 5]
    assert dropped.groups.tolist() == [0, 1, 1, 0]
    assert dropped.query_ids.tolist() == ["a", "b"]
    assert dropped.offsets.tolist() == [0, 2, 4]
    assert dict(dropped.excluded) == {
        "rows of groups left out (the items below moved up)": 2,
        "queries left without items": 1,
    }
    assert any("positions" in note or "moved up" in note for note in dropped.notes)
    assert "Group 'men' is called '0' in the data." in data.notes
    assert "Groups left out: 'x' (2 items)." in data.notes
    assert data.fingerprint != read().fingerprint
    merged = read(group_names={"1": "others", "x": "others"})
    assert merged.group_names == ("0", "others")
    assert merged.groups.tolist() == [0, 1, 1, 1, 0, 1]
    assert not merged.excluded
    assert "Group 'others' is called '1' and 'x' in the data." in merged.notes


def test_afterwards_is_the_same_as_at_reading() -> None:
    names, gone = {"0": "men", "1": "women"}, ["x"]
    same(read().regrouped(names, leave_out=gone), read(group_names=names, leave_out_groups=gone))
    same(read().regrouped({"1": "o", "x": "o"}), read(group_names={"1": "o", "x": "o"}))
    two_steps = read().regrouped({"0": "men"}).regrouped({"men": "m", "1": "w"}, leave_out=["x"])
    same(two_steps, read(group_names={"0": "m", "1": "w"}, leave_out_groups=gone))
    assert read().regrouped().fingerprint == read().fingerprint


def test_a_test_part_is_read_with_the_spec_of_the_training_part() -> None:
    train = read().regrouped({"0": "men", "1": "women"}, leave_out=["x"])
    assert train.group_spec is not None
    part = TABLE.iloc[3:]
    test = read_dataset(part, query="qid", item="doc", group=GroupSpec.from_dict(train.group_spec.to_dict()))
    assert test.group_names == ("men", "women")
    assert test.groups.tolist() == [1, 0, NO_GROUP]


@pytest.mark.parametrize(
    ("how", "names", "left"),
    [
        ({"group": "age", "group_quantiles": 3}, {"< 36.6667": "young"}, ">= 53.3333"),
        ({"group": ["sex", "doc"]}, {"0 & 1": "first"}, "x & 6"),
        ({"group_against_rest": "x"}, {"not x": "all others"}, None),
    ],
)
def test_any_way_to_make_groups(how: dict[str, object], names: dict[str, str], left: str | None) -> None:
    before = read(**how)
    old, new = next(iter(names.items()))
    gone = [left] if left else []
    data = read(**how, group_names=names, leave_out_groups=gone)
    assert data.group_sizes[new] == before.group_sizes[old]
    assert data.n_items == before.n_items
    assert (~data.grouped).sum() == sum(before.group_sizes[name] for name in gone)
    same(before.regrouped(names, leave_out=gone), data)


def test_items_without_a_group_are_counted_apart() -> None:
    frame = TABLE.assign(sex=["0", "1", "x", None, "0", "x"])
    options = {"query": "qid", "item": "doc", "group": "sex", "leave_out_groups": ["x"]}
    data = read_dataset(frame, **options, missing="exclude")
    assert dict(data.excluded) == {
        "items of groups left out, which kept their places": 2,
        "items without a group, which kept their places": 1,
    }
    own = read_dataset(frame, **options, missing="own_group", group_names={"(missing)": "not told"})
    assert own.group_names == ("0", "1", "not told")
    assert own.group_sizes == {"0": 2, "1": 1, "not told": 1}


@pytest.mark.parametrize(
    ("names", "gone", "words"),
    [
        ({"2": "men"}, [], ["no group '2'", "'0', '1', 'x'"]),
        ({}, ["y"], ["no group 'y'"]),
        ({"0": " "}, [], ["new name of group '0' is empty"]),
        ({"0": "all", "1": "all", "x": "all"}, [], ["Of the 3 groups only 'all' would be left"]),
        ({"0": "1"}, ["x"], ["only '1' would be left", "at least two"]),
        ({}, ["0", "1", "x"], ["none would be left"]),
    ],
)
def test_refusals(names: dict[str, str], gone: list[str], words: list[str]) -> None:
    with pytest.raises(DataError) as read_error:
        read(group_names=names, leave_out_groups=gone)
    with pytest.raises(DataError) as later_error:
        read().regrouped(names, leave_out=gone)
    assert str(read_error.value) == str(later_error.value)
    for word in words:
        assert word in str(read_error.value)
    assert read_error.value.fields


def test_a_spec_says_all_about_the_groups() -> None:
    with pytest.raises(ConfigError, match="put renamed into it"):
        read(group=GroupSpec(columns="sex"), group_names={"0": "men"})


def test_nothing_left() -> None:
    alone = read()[2:].replace(group_names=("0", "1", "x"))
    with pytest.raises(DataError, match="nothing is left"):
        alone.regrouped(leave_out=["x"])


def test_parts_of_a_folder(tmp_path: Path) -> None:
    folder, scratch = tmp_path / "folder", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    TABLE.to_parquet(folder / "part-0.parquet")
    mapping = {
        "query": "qid",
        "item": "doc",
        "group": "sex",
        "group_names": {"0": "men", "1": "women"},
        "leave_out_groups": ["x"],
    }
    data = [part.read() for part in partition_folder(folder, scratch, mapping)]
    assert [part.group_names for part in data] == [("men", "women")]
    assert dict(data[0].excluded) == {"items of groups left out, which kept their places": 2}
    parts = partition_folder(folder, scratch, mapping | {"drop_rows": True})
    assert dict(next(iter(parts)).read().excluded) == {
        "rows of groups left out (the items below moved up)": 2,
        "queries left without items": 1,
    }


@given(
    codes=st.lists(st.integers(0, 4), min_size=2, max_size=40),
    new=st.lists(st.sampled_from(["p", "q", "r", None]), min_size=5, max_size=5),
    seed=st.integers(0, 99),
)
@settings(max_examples=80)
def test_every_row_is_kept_under_its_new_name_or_counted(codes: list[int], new: list[str | None], seed: int) -> None:
    queries = np.random.default_rng(seed).integers(0, 4, len(codes))
    frame = pd.DataFrame({"q": queries, "i": range(len(codes)), "g": [f"g{code}" for code in codes]})
    present = sorted({f"g{code}" for code in codes})
    wanted = dict(zip([f"g{k}" for k in range(5)], new, strict=True))
    names = {old: wanted[old] for old in present if wanted[old] is not None}
    gone = [old for old in present if wanted[old] is None]
    data = read_dataset(frame, query="q", item="i", group="g")
    if len(set(names.values())) < 2 <= len(present) or not names:
        with pytest.raises(DataError):
            data.regrouped(names, leave_out=gone)
        return
    after = data.regrouped(names, leave_out=gone)
    called = {item: wanted[group] for item, group in zip(frame["i"], frame["g"], strict=True)}
    told = [after.group_names[code] if code >= 0 else None for code in after.groups]
    assert told == [called[item] for item in after.item_ids.tolist()]
    assert after.item_ids.tolist() == data.item_ids.tolist()
    assert sum(after.excluded.values()) == told.count(None)
    same(after, read_dataset(frame, query="q", item="i", group="g", group_names=names, leave_out_groups=gone))
