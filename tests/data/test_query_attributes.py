"""What is known of whole queries travels with them: through parts, splits, frames, pickles and fingerprints."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from spofr_core.data import RankingDataset, simulate_clicks
from spofr_core.errors import DataError

COUNTRIES = np.array(["DE", "FR", "DE", None], dtype=object)
TIMES = np.array(["2024-01-01", "2024-01-02T10:30", "NaT", "2024-02-01"], dtype="datetime64[ns]")


def make(**changes: object) -> RankingDataset:
    fields: dict[str, object] = {
        "query_ids": np.array(["a", "b", "c", "d"]),
        "offsets": np.array([0, 2, 3, 6, 8]),
        "item_ids": np.arange(8),
        "groups": np.array([0, 1, 0, 1, 1, 0, 0, 0]),
        "group_names": ("x", "y"),
        "relevance": np.ones(8),
        "score": np.arange(8.0),
        "features": np.arange(16.0).reshape(8, 2),
        "feature_names": ("query_time", "slice:country"),
        "attributes": {"country": COUNTRIES, "page": [1, 2, 10, 1]},
        "times": TIMES,
    }
    return RankingDataset(**(fields | changes))


def known(data: RankingDataset) -> tuple[dict[str, list[str]], list[str]]:
    return {name: values.tolist() for name, values in data.attributes.items()}, np.datetime_as_string(
        data.times, unit="m"
    ).tolist()


def test_attributes_are_text_and_what_is_missing_says_so():
    data = make(attributes={"country": COUNTRIES, "page": [1.0, 2.5, 10, np.nan], "flag": [True, False, True, True]})
    assert data.attributes["country"].tolist() == ["DE", "FR", "DE", "(missing)"]
    assert data.attributes["page"].tolist() == ["1", "2.5", "10", "(missing)"]
    assert data.attributes["flag"].tolist() == ["True", "False", "True", "True"]
    assert data.times.dtype == np.dtype("datetime64[us]")


def test_attributes_cannot_be_written():
    data = make()
    with pytest.raises(ValueError, match="read-only"):
        data.attributes["country"][0] = "IT"
    with pytest.raises(TypeError):
        data.attributes["city"] = COUNTRIES
    with pytest.raises(ValueError, match="read-only"):
        data.times[0] = np.datetime64("2020-01-01")
    COUNTRIES[0] = "DE"  # the caller's own array stays writable


def test_parts_keep_what_is_known_of_their_queries():
    data = make()
    for key in (1, slice(1, 3), slice(None, None, -1), [2, 0], np.array([True, False, False, True])):
        places = np.atleast_1d(np.arange(4)[key])
        part = data[key]
        assert known(part)[0]["country"] == data.attributes["country"][places].tolist()
        np.testing.assert_array_equal(part.times, data.times[places])
    assert [one.attributes["page"].tolist() for one in data] == [["1"], ["2"], ["10"], ["1"]]


def test_changes_of_other_fields_keep_it():
    data = make()
    for changed in (data.with_scores(np.zeros(8)), data.with_groups([0] * 8), data.with_notes("a note")):
        assert known(changed) == known(data)
    shorter = data.regrouped(leave_out=[]).regrouped({"x": "z"})
    assert known(shorter) == known(data)
    three = make(group_names=("x", "y", "z"), groups=np.array([0, 1, 2, 1, 1, 0, 0, 0])).regrouped(leave_out=["z"])
    assert known(three) == known(data)
    clicks = simulate_clicks(data, 20, seed=1, logging="score")
    of_query = dict(zip(data.query_ids.tolist(), data.attributes["page"].tolist(), strict=True))
    assert clicks.attributes["page"].tolist() == [of_query[name.split("/")[0]] for name in clicks.query_ids.tolist()]
    parts = data.split(train=0.5, validation=0.25, seed=3)
    for part in (parts.train, parts.validation, parts.test):
        assert known(part) == known(data[[data.query_ids.tolist().index(q) for q in part.query_ids.tolist()]])


def test_there_and_back():
    data = make()
    assert known(pickle.loads(pickle.dumps(data))) == known(data)  # noqa: S301  # our own
    again = RankingDataset.from_frame(data.to_frame())
    assert known(again) == known(data)
    assert again.feature_names == data.feature_names
    assert again.fingerprint == data.fingerprint


def test_a_frame_with_two_values_in_a_query_is_refused():
    frame = make().to_frame()
    frame.loc[1, "slice:country"] = "IT"
    with pytest.raises(DataError, match=r"'slice:country' has two values in query 'a'"):
        RankingDataset.from_frame(frame)


def test_the_fingerprint_of_data_without_attributes_is_that_of_before():
    bare = make(attributes={}, times=None, feature_names=("f", "g"))
    assert bare.fingerprint == "f741aaf7219876a0854bda52d1b50a05a8c8d3d919c689d0a5469c633c2dc6fd"


def test_the_fingerprint_tells_attributes_and_times_apart():
    found = {
        make().fingerprint,
        make(times=None).fingerprint,
        make(attributes={}).fingerprint,
        make(attributes={}, times=None).fingerprint,
        make(attributes={"country": COUNTRIES}).fingerprint,
        make(attributes={"land": COUNTRIES}).fingerprint,
        make(attributes={"country": COUNTRIES[::-1]}).fingerprint,
        make(times=TIMES[::-1]).fingerprint,
    }
    assert len(found) == 8
    wide = np.array(["DE", "FR", "DE", "(missing)"], dtype="U40")
    assert make(attributes={"country": wide}).fingerprint == make(attributes={"country": COUNTRIES}).fingerprint


def test_a_slice_is_chosen_by_its_values():
    data = make()
    assert data.where(country="DE").query_ids.tolist() == ["a", "c"]
    assert data.where({"country": ["FR", "(missing)"]}).query_ids.tolist() == ["b", "d"]
    assert data.where({"country": "DE"}, page=10).query_ids.tolist() == ["c"]
    assert data.where(country=None).query_ids.tolist() == ["d"]
    assert data.where() is data


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"city": "Bonn"}, r"no attribute 'city'; they have 'country', 'page'\. Name its column .* slices=\['city'\]"),
        ({"country": "IT"}, r"No query has country 'IT'; there is '\(missing\)', 'DE', 'FR'\."),
        ({"country": "FR", "page": 1}, r"No query has country 'FR' and page 1\."),
    ],
)
def test_a_slice_that_there_is_not_is_refused(wanted, sentence):
    with pytest.raises(DataError, match=sentence):
        make().where(wanted)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"attributes": {"country": ["DE"]}}, r"'country' has shape \(1,\) for 4 queries"),
        ({"times": ["2024-01-01"] * 4}, r"'times' has type <U10 and shape \(4,\)"),
        ({"times": TIMES[:2]}, r"shape \(2,\) for 4 queries"),
    ],
)
def test_what_does_not_fit_the_queries_is_refused(changes, sentence):
    with pytest.raises(DataError, match=sentence):
        make(**changes)


def test_times_read_from_a_frame_are_those_of_pandas():
    again = RankingDataset.from_frame(make().to_frame())
    expected = pd.Series(TIMES).astype("datetime64[us]").to_numpy()
    np.testing.assert_array_equal(again.times, expected)
