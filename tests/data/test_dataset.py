"""The dataset itself: immutable, sliced and split by query, out to a frame and back."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spofr_core.data import RankingDataset, load_sample, share
from spofr_core.errors import ConfigError, DataError


def make(**changes: object) -> RankingDataset:
    fields: dict[str, object] = {
        "query_ids": np.array(["a", "b", "cc"]),
        "offsets": np.array([0, 2, 3, 6]),
        "item_ids": np.array(["i", "j", "i", "k", "l", "m"]),
        "groups": np.array([0, 1, 0, 1, 1, 0]),
        "group_names": ("x", "y"),
        "relevance": np.array([0.0, 1, 2, 0, 1, 0]),
        "score": np.array([0.5, 0.25, 1, -3, 2, 7]),
        "features": np.arange(12.0).reshape(6, 2),
        "feature_names": ("f", "score"),
    }
    return RankingDataset(**(fields | changes))


def test_sizes() -> None:
    data = make()
    assert len(data) == 3
    assert data.n_items == 6
    assert data.n_groups == 2
    assert data.list_lengths.tolist() == [2, 1, 3]
    assert data.query_of_item.tolist() == [0, 0, 1, 2, 2, 2]
    assert data.group_sizes == {"x": 3, "y": 3}


def test_arrays_cannot_be_written() -> None:
    scores = np.zeros(6)
    data = make(score=scores)
    with pytest.raises(ValueError, match="read-only"):
        data.score[0] = 1.0
    with pytest.raises(TypeError):
        data.excluded["x"] = 1
    with pytest.raises(AttributeError):
        data.score = scores
    scores[0] = 5.0  # the caller's own array stays writable


@pytest.mark.parametrize(
    ("key", "queries", "items"),
    [
        (1, ["b"], ["i"]),
        (-1, ["cc"], ["k", "l", "m"]),
        (slice(1, None), ["b", "cc"], ["i", "k", "l", "m"]),
        (slice(None, None, -2), ["cc", "a"], ["k", "l", "m", "i", "j"]),
        (slice(2, 1), [], []),
        ([2, 0, 2], ["cc", "a", "cc"], ["k", "l", "m", "i", "j", "k", "l", "m"]),
        (np.array([True, False, True]), ["a", "cc"], ["i", "j", "k", "l", "m"]),
        ([-2], ["b"], ["i"]),
        ([], [], []),
    ],
)
def test_slicing_by_query(key: object, queries: list[str], items: list[str]) -> None:
    part = make()[key]
    assert part.query_ids.tolist() == queries
    assert part.item_ids.tolist() == items
    assert part.offsets[-1] == len(items)
    whole = make().to_frame().set_index("item_id")["score"]
    assert len(part.score) == len(items)
    if queries and queries[0] == "cc":
        assert part.score[:3].tolist() == whole[["k", "l", "m"]].tolist()


def test_slices_refuse_what_is_not_there() -> None:
    data = make()
    with pytest.raises(IndexError):
        data[3]
    with pytest.raises(IndexError):
        data[[0, 5]]
    with pytest.raises(IndexError, match="mask"):
        data[np.array([True])]
    with pytest.raises(DataError, match="no query 'zz'; the first ids are 'a', 'b'"):
        data.query("zz")
    assert data.query("cc").item_ids.tolist() == ["k", "l", "m"]


@given(st.integers(3, 60), st.floats(0.2, 0.6), st.floats(0.1, 0.3), st.integers(0, 5))
def test_split_is_a_partition_of_the_queries(n: int, train: float, validation: float, seed: int) -> None:
    data = RankingDataset(
        query_ids=np.arange(n),
        offsets=np.arange(n + 1),
        item_ids=np.arange(n),
        groups=np.zeros(n, int),
        group_names=("g",),
    )
    sizes = np.diff([0, round(train * n), round((train + validation) * n), n])
    if not sizes.all():
        with pytest.raises(DataError, match="too few"):
            data.split(train=train, validation=validation, seed=seed)
        return
    parts = data.split(train=train, validation=validation, seed=seed)
    ids = [set(part.query_ids.tolist()) for part in (parts.train, parts.validation, parts.test)]
    assert set.union(*ids) == set(range(n))
    assert sum(map(len, ids)) == n
    assert [len(some) for some in ids] == sizes.tolist()
    again = data.split(train=train, validation=validation, seed=seed)
    assert again.test.fingerprint == parts.test.fingerprint


def test_split_depends_on_the_seed_and_refuses_bad_shares() -> None:
    data = make()[np.arange(60) % 3]
    assert data.split(seed=0).train.fingerprint != data.split(seed=1).train.fingerprint
    with pytest.raises(DataError, match=r"train=0\.9 and validation=0\.2"):
        data.split(train=0.9, validation=0.2)


def test_round_trip_through_a_frame() -> None:
    data = make(clicks=np.array([0.0, 1, 0, 0, 0, 1]), positions=np.array([1, 2, 1, 1, 2, 3]))
    frame = data.to_frame()
    assert list(frame.columns[:3]) == ["query_id", "item_id", "group"]
    assert "feature:score" in frame.columns  # "score" is taken
    back = RankingDataset.from_frame(frame)
    assert back.fingerprint == data.fingerprint
    assert back.feature_names == ("f", "score")


def test_a_frame_may_come_in_any_order_of_rows() -> None:
    data = make()
    shuffled = data.to_frame().sample(frac=1, random_state=3)
    back = RankingDataset.from_frame(shuffled).to_frame()
    pd.testing.assert_frame_equal(
        back.sort_values(["query_id", "item_id"], ignore_index=True),
        data.to_frame().sort_values(["query_id", "item_id"], ignore_index=True),
    )


def test_from_frame_names_the_missing_column() -> None:
    with pytest.raises(DataError, match="no column 'group'"):
        RankingDataset.from_frame(make().to_frame().drop(columns="group"))


def test_fingerprint_is_of_the_content() -> None:
    data = make()
    wide = make(item_ids=np.array(["i", "j", "i", "k", "l", "m"], dtype="U40"))
    assert wide.fingerprint == data.fingerprint
    assert data.with_notes("seen").fingerprint == data.fingerprint
    assert data.with_scores(-data.score).fingerprint != data.fingerprint
    assert make(group_names=("x", "z")).fingerprint != data.fingerprint
    assert make(query_ids=np.array(["a", "bc", "c"])).fingerprint != data.fingerprint


def test_pickling_keeps_everything_and_stays_read_only() -> None:
    data = make(excluded={"rows": 2}, notes=("n",))
    back = pickle.loads(pickle.dumps(data))  # noqa: S301  # our own bytes
    assert back.fingerprint == data.fingerprint
    assert back.excluded == {"rows": 2}
    assert not back.score.flags.writeable


def test_shared_features_are_copied_only_when_read() -> None:
    table = np.array([[1.0, 2.0], [3.0, 4.0]])
    rows = np.array([0, 1, 0, 1, 1, 0])
    shared, dense = make(features=share(table, rows)), make(features=table[rows])
    assert shared.fingerprint == dense.fingerprint
    part = shared[[2, 0]]
    assert part.shared_features is not None
    assert part.shared_features.table is shared.shared_features.table
    np.testing.assert_array_equal(part.features, dense[[2, 0]].features)
    np.testing.assert_array_equal(shared.with_scores(np.ones(6)).features, dense.features)
    with pytest.raises(ValueError, match="read-only"):
        part.features[0, 0] = 9
    with pytest.raises(DataError, match="not within a table of 2 rows"):
        share(table, [0, 2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"relevance": np.array([0, -np.inf, 0, 0, 0, 0])}, "'relevance' holds -inf at query 'a', item 'j'"),
        ({"score": np.array([0, 0, np.nan, 0, 0, 0])}, "'score' holds nan at query 'b', item 'i'"),
        ({"offsets": np.array([0, 2, 2, 6])}, "every query has at least one item"),
        ({"groups": np.array([0, 1, 0, 1, 2, 0])}, "Group codes run from 0 to 2"),
        ({"score": np.zeros(5)}, "'score' has shape"),
        ({"feature_names": ("one",)}, "1 feature names for 2 features"),
        ({"positions": np.array([1, 0, 1, 1, 2, 3])}, "'positions' is 0 at query 'a', item 'j'"),
        ({"propensities": np.array([1, 0.0, 1, 1, 1, 1])}, "'propensities' is 0.0"),
    ],
)
def test_validation_names_place_and_value(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError) as caught:
        make(**changes)
    assert message in str(caught.value)


def test_with_groups_takes_labels_or_codes() -> None:
    data = make()
    labels = data.with_groups(["n", "s", "n", "s", "e", "e"])
    assert labels.group_names == ("e", "n", "s")
    assert labels.groups.tolist() == [1, 2, 1, 2, 0, 0]
    codes = data.with_groups([1, 0, 1, 0, 0, 0], ["p", "q"])
    assert codes.group_sizes == {"p": 4, "q": 2}


def test_standardized_uses_the_training_part_only() -> None:
    data = make()[np.arange(30) % 3]
    splits = data.split(seed=1)
    scaled = splits.standardized()
    np.testing.assert_allclose(scaled.train.features.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.train.features.std(axis=0), 1)
    center, spread = splits.train.features.mean(axis=0), splits.train.features.std(axis=0)
    np.testing.assert_allclose(scaled.test.features, (splits.test.features - center) / spread)


@pytest.mark.parametrize("seed", [-1, 1.5, "x", True])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(ConfigError, match="'seed' is"):
        load_sample("hiring", seed=seed)


@pytest.mark.parametrize("scores", [None, "abc", ["a"] * 6, [1j] * 6, [None] * 6])
def test_scores_that_are_no_numbers_are_refused_in_a_sentence(scores: object) -> None:
    with pytest.raises(DataError, match=r"The scores are .* a number for each item is needed"):
        make().with_scores(scores)


@pytest.mark.parametrize("scores", [1.0, [], np.zeros(5), np.zeros((6, 1)), np.zeros((6, 2))])
def test_scores_that_are_not_one_an_item_are_refused_in_a_sentence(scores: object) -> None:
    shape = re.escape(str(np.shape(scores)))
    with pytest.raises(DataError, match=f"The scores have the shape {shape}, but one number for each of the 6 items"):
        make().with_scores(scores)


def test_scores_that_numpy_cannot_take_are_refused_in_a_sentence() -> None:
    torch = pytest.importorskip("torch")
    for scores in (torch.zeros(6, dtype=torch.bfloat16), [[1.0], [1.0, 2.0]], make()):
        with pytest.raises(DataError, match=r"The scores are no array of numbers \(.*\): give one number for each"):
            make().with_scores(scores)


def test_scores_behind_a_mask_are_missing() -> None:
    with pytest.raises(DataError, match="'score' holds nan at query"):
        make().with_scores(np.ma.masked_greater(np.arange(6.0), 4))


def test_scores_that_still_carry_a_gradient_are_refused_in_a_sentence() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(DataError, match=r"The scores are no array .*detach"):
        make().with_scores(torch.zeros(6, requires_grad=True))
    assert make().with_scores(torch.zeros(make().n_items)).score.dtype == np.float64
