"""Each item on its own: how it is asked for, what it makes of the lists, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

from spofr_core import load_sample, read_dataset
from spofr_core.data import EACH_ITEM, SAMPLES, GroupSpec, Limits, RankingDataset, partition_folder
from spofr_core.errors import ConfigError, DataError

ROWS = pd.DataFrame(
    {
        "qid": ["b", "a", "b", "a", "b", "c"],
        "doc": [1, 1, 2, 2, 3, 9],
        "score": [0.3, 0.5, 0.1, 0.4, 0.2, 1.0],
        "sex": ["f", "f", "m", "m", "f", "m"],
    }
)


def read(**more) -> RankingDataset:
    return read_dataset(ROWS, **{"query": "qid", "item": "doc", "score": "score", "each_item": True, **more})


def test_the_code_of_an_item_is_its_place_in_its_list():
    data = read()
    assert data.query_ids.tolist() == ["b", "a", "c"]
    assert data.groups.tolist() == [0, 1, 2, 0, 1, 0]
    assert data.n_groups == 3
    assert data.each_item
    assert "each item on its own" in repr(data)
    assert not any("group" in note.lower() for note in data.notes)


def test_parts_of_the_data_stay_each_item_on_its_own():
    data = read()
    assert data[:1].each_item
    assert data[[2]].groups.tolist() == [0]
    assert data.with_scores(np.zeros(6)).each_item
    assert not data.with_groups(["x"] * 6).each_item


def test_any_data_can_be_taken_item_by_item():
    grouped = read(group="sex", each_item=False)
    alone = grouped.with_each_item()
    assert alone.groups.tolist() == read().groups.tolist()
    assert alone.with_each_item() is alone
    assert grouped.group_names == ("f", "m")


def test_no_column_has_to_be_named_for_the_groups_and_none_is_guessed():
    data = read_dataset(ROWS.rename(columns={"sex": "group"}), query="qid", each_item=True)
    assert data.group_spec == GroupSpec(each_item=True)
    assert not any("taken as the group" in note for note in data.notes)


def test_more_items_than_a_file_may_have_groups_are_no_trouble():
    rows = pd.DataFrame({"qid": 1, "doc": range(300), "score": np.linspace(0, 1, 300)})
    assert read_dataset(rows, query="qid", item="doc", score="score", each_item=True).n_groups == 300


def test_a_list_that_is_too_long_is_named_with_its_length_and_a_way_round():
    with pytest.raises(DataError, match=r"Query 'b' has 3 items; .* a list may have 2\. Keep the items that are shown"):
        read(limits=Limits(each_item=2))


def test_too_many_lists_beside_a_long_one_are_refused_before_they_fill_the_memory():
    with pytest.raises(DataError, match=r"3 lists of up to 3 items \(query 'b'\) are more than fit in memory"):
        read(limits=Limits(each_item_cells=8))


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"group": "sex"}, "group"),
        ({"group_quantiles": 2}, "group_quantiles"),
        ({"group_names": {"f": "women"}}, "group_names"),
        ({"leave_out_groups": ["f"]}, "leave_out_groups"),
    ],
)
def test_what_speaks_of_groups_does_not_go_with_it(more, named):
    with pytest.raises(ConfigError, match=f"leave out {named}, or each_item"):
        read(**more)


def test_a_spec_says_what_it_lacks_and_what_is_too_much():
    with pytest.raises(ConfigError, match="name a column in 'columns', or set each_item=True"):
        GroupSpec()
    with pytest.raises(ConfigError, match="leave out 'columns'"):
        GroupSpec(columns="sex", each_item=True)
    assert GroupSpec.from_dict(GroupSpec(each_item=True).to_dict()) == GroupSpec(each_item=True)


def test_items_cannot_be_renamed_or_left_out_as_groups_can():
    with pytest.raises(DataError, match="there are no groups to rename"):
        read().regrouped({"item 1": "first"})


def test_a_table_of_it_has_no_group_column():
    assert "group" not in read().to_frame().columns


def test_letor_lines_need_no_group(tmp_path):
    path = tmp_path / "lists.txt"
    path.write_text("2 qid:1 1:0.3 2:1\n0 qid:1 1:0.1 2:0\n1 qid:2 1:0.5 2:1\n")
    data = read_dataset(path, each_item=True, score="1")
    assert data.groups.tolist() == [0, 1, 0]


def test_a_folder_is_cut_without_a_group_column(tmp_path):
    (tmp_path / "in").mkdir()
    ROWS.drop(columns="sex").to_parquet(tmp_path / "in" / "a.parquet")
    (tmp_path / "parts").mkdir()
    parts = partition_folder(tmp_path / "in", tmp_path / "parts", {"each_item": True, "query": "qid"}, min_parts=2)
    assert sorted(int(part.read().n_items) for part in parts) in ([6], [1, 5], [2, 4], [3, 3])
    assert all(part.read().each_item for part in parts)


def test_samples_offer_it_and_say_how_to_get_it_without_the_dashboard():
    hiring = SAMPLES["hiring"]
    assert list(hiring.ways)[-1] == EACH_ITEM
    data = hiring.grouped_data(EACH_ITEM)
    assert data.each_item
    recipe = hiring.grouped_recipe(EACH_ITEM)
    assert recipe.python.endswith(".with_each_item()")
    assert "--group" not in recipe.arguments
    assert recipe.arguments[-1] == "--each-item"
    assert hiring.grouped_recipe("region") == hiring.recipe("region")
    assert load_sample("german-credit", lists=3).test.with_each_item().n_groups == 20
