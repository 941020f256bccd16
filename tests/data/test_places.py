"""Items without a named group keep their places: how they are read, kept, changed and counted."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest

from spofr_core import Fairness, audit, group_merits, read_dataset
from spofr_core.data import NO_GROUP, UNKNOWN, RankingDataset
from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import Composition

HEADED = pd.DataFrame(
    {
        "qid": np.repeat(np.arange(40), 5),
        "doc": np.tile(np.arange(5), 40),
        "group": [None, "a", "b", "b", "a"] * 40,
        "rel": [3.0, 1.0, 2.0, 0.0, 1.0] * 40,
        "score": [0.9, 0.8, 0.7, 0.6, 0.5] * 40,
    }
)
"""Forty lists whose first item has no group."""


def read(**options: object) -> RankingDataset:
    columns = {"query": "qid", "item": "doc", "group": "group", "relevance": "rel", "score": "score"}
    return read_dataset(HEADED, **(columns | options))


@pytest.mark.parametrize("missing", ["keep", "exclude"])
def test_forty_lists_whose_first_item_has_no_group(missing: str) -> None:
    """Second place counts as second: e_a = (1/3 + 1/6) / 2, not the (1/2 + 1/5) / 2 of closed ranks."""
    fairness = Fairness(delta="10%")
    result = audit(read(missing=missing), fairness)
    row = result.queries.iloc[0]
    assert row["exposure"] == pytest.approx((1 / 3 + 1 / 6) / 2)
    mean = sum(1 / k for k in range(2, 7)) / 5
    assert row["violation"] == pytest.approx((1 / 3 + 1 / 6) / 2 / mean - 1)
    assert result.summary["queries"]["fair"] == 0
    closed = audit(read(drop_rows=True), fairness)
    assert closed.queries.iloc[0]["exposure"] == pytest.approx((1 / 2 + 1 / 5) / 2)


def test_both_kinds_are_carried_by_everything_that_makes_datasets() -> None:
    data = read(missing="keep").regrouped({"a": "x"}).replace(group_spec=None)
    codes = np.array(data.groups)
    codes[1::5] = NO_GROUP
    data = data.with_groups(codes, data.group_names)
    assert set(data.groups.tolist()) == {UNKNOWN, NO_GROUP, 0, 1}
    assert data.unknown.sum() == 40
    assert data.grouped.sum() == 120
    assert data.group_sizes == {"x": 40, "b": 80} or data.group_sizes == {"b": 80, "x": 40}
    for same in (copy.copy(data), RankingDataset.from_frame(data.to_frame()), data[:]):
        assert same.fingerprint == data.fingerprint
        assert same.groups.tolist() == data.groups.tolist()
    assert data.with_groups(np.maximum(codes, UNKNOWN), data.group_names).fingerprint != data.fingerprint
    assert data[[3, 5]].groups.tolist() == data.groups[:5].tolist() * 2
    assert data.split(seed=1).train.unknown.any()
    assert (data.with_each_item().groups >= 0).all()
    assert data.regrouped(leave_out=[]).groups.tolist() == data.groups.tolist()


def test_labels_that_are_missing() -> None:
    data = read(missing="keep")
    with pytest.raises(DataError, match="missing='keep'"):
        data.with_groups(HEADED["group"])
    for nothing in (None, np.nan, pd.NA):
        labels = HEADED["group"].astype(object).where(HEADED["group"].notna(), nothing)
        assert data.with_groups(labels, missing="keep").fingerprint == data.fingerprint
    with pytest.raises(DataError, match="-3 to -1"):
        data.with_groups(data.groups - 2, data.group_names)


def test_they_count_in_lengths_and_in_nothing_else() -> None:
    data = read(missing="exclude")
    composition = Composition.of(data.groups, data.offsets, data.group_names)
    assert composition.sizes[0].tolist() == [2, 2]
    assert composition.lengths[0] == 5
    assert composition.group_totals(np.ones(200), data.groups, data.offsets)[0].tolist() == [2.0, 2.0]
    assert composition[np.array([0])].lengths.tolist() == [5]
    merits = group_merits(data)
    assert merits == {"a": 1.0, "b": 1.0}
    terms = Fairness(delta=0, notion="merit", merits={"a": 3, "b": 1}).terms(composition)
    assert terms.scale[0, 0] == 2.0
    with pytest.raises(ConfigError, match="list 0 has 5 items, 1 without a group"):
        Fairness(delta=0, notion="gap").terms(composition)


def test_contradictions_are_refused() -> None:
    with pytest.raises(ConfigError, match="leave one of them out"):
        read(missing="keep", drop_rows=True)
    with pytest.raises(DataError, match="there is nothing to compare"):
        read_dataset(HEADED.assign(group=None).astype({"group": "str"}), query="qid", group="group", missing="keep")
