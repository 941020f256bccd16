"""Columns about the query, read from any format: slices that hold for the whole query, and times however written."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spofr_core.data import Limits, partition_folder, preview_table, read_dataset
from spofr_core.errors import ConfigError, DataError


def rows(n_queries: int = 4, **columns: list[object]) -> pd.DataFrame:
    """Three rows a query; each column is given by its values per query."""
    frame = pd.DataFrame(
        {
            "qid": np.repeat([f"q{k}" for k in range(n_queries)], 3),
            "doc": np.arange(3 * n_queries),
            "sex": ["f", "m", "f"] * n_queries,
            "score": np.arange(3 * n_queries) / 7,
        }
    )
    return frame.assign(**{name: pd.Series(values).repeat(3).to_numpy() for name, values in columns.items()})


def as_csv(frame: pd.DataFrame) -> io.BytesIO:
    file = io.BytesIO(frame.to_csv(index=False).encode())
    file.name = "shown.csv"
    return file


def as_parquet(frame: pd.DataFrame) -> io.BytesIO:
    file = io.BytesIO()
    frame.to_parquet(file)
    file.seek(0)
    file.name = "shown.parquet"
    return file


@pytest.mark.parametrize("form", [as_csv, as_parquet, pd.DataFrame])
def test_every_format_has_slices_and_times(form):
    frame = rows(
        country=["DE", "FR", " DE", ""], page=[1, 2, 10, 1], day=["2024-01-31", "2024-02-01", "", "2024-03-01"]
    )
    data = read_dataset(form(frame.sample(frac=1, random_state=3)), slices=["country", "page"], time="day")
    places = np.argsort(data.query_ids)
    assert data.attributes["country"][places].tolist() == ["DE", "FR", "DE", "(missing)"]
    assert data.attributes["page"][places].tolist() == ["1", "2", "10", "1"]
    expected = np.array(["2024-01-31", "2024-02-01", "NaT", "2024-03-01"], dtype="datetime64[us]")
    np.testing.assert_array_equal(data.times[places], expected)
    notes = " ".join(data.notes)
    assert "1 of 4 queries have no value in column 'country': they make up the slice '(missing)'." in notes
    assert "1 of 4 queries have no time" in notes


def test_letor_lines_are_sliced_by_a_feature_of_the_query():
    text = b"1 qid:a 1:0.5 2:3\n0 qid:a 1:0.1 2:3\n1 qid:b 1:0.3 2:4\n2 qid:b 1:0.9 2:4\n"
    data = read_dataset(text, group="1", group_quantiles=2, slices="2", format="letor")
    assert data.attributes["2"].tolist() == ["3", "4"]


def test_a_slice_that_changes_within_a_query_is_refused_with_both_values():
    frame = rows(country=["DE", "FR", "IT", "AT"])
    frame.loc[7, "country"] = "CH"
    with pytest.raises(DataError) as caught:
        read_dataset(as_csv(frame), slices="country")
    assert str(caught.value) == (
        "Column 'country' of shown.csv is 'IT' at row 8 and 'CH' at row 9, both of query 'q2': a query belongs to one "
        "slice. Make them the same, or slice by a column that is about the query and not about its items."
    )
    assert (caught.value.column, caught.value.row, caught.value.fields) == ("country", 9, ("slices",))


def test_a_gap_within_a_query_is_a_second_value():
    frame = rows(country=["DE", "FR", "IT", "AT"])
    frame.loc[4, "country"] = None
    with pytest.raises(DataError, match=r"is 'FR' at row 4 and '\(missing\)' at row 5, both of query 'q1'"):
        read_dataset(frame, slices="country")


def test_queries_that_are_left_out_take_their_slices_along():
    frame = rows(country=["DE", "FR", "IT", "AT"], day=["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"])
    frame.loc[frame["qid"] == "q1", "sex"] = None
    data = read_dataset(frame, slices="country", time="day", drop_rows=True)
    assert data.attributes["country"].tolist() == ["DE", "IT", "AT"]
    assert data.times.astype("datetime64[D]").astype(str).tolist() == ["2024-01-01", "2024-01-03", "2024-01-04"]


def test_columns_of_the_query_are_neither_features_nor_guessed():
    frame = rows(gender=["a", "b", "a", "b"], hour=[1.0, 2.0, 3.0, 4.0], date=[1.7e9, 1.7e9, 1.8e9, 1.8e9]).drop(
        columns="sex"
    )
    frame["kind"], frame["stars"] = ["x", "y", "x"] * 4, np.arange(12) % 5
    data = read_dataset(frame, group="kind", slices=["gender", "hour"], time="date", features="auto")
    assert data.feature_names == ("stars",)
    with pytest.raises(DataError, match="Which column of the DataFrame is the group"):
        read_dataset(frame, slices=["gender"])
    assert read_dataset(frame, group="kind").times is None


def test_a_column_without_a_value_and_one_with_too_many_are_told():
    data = read_dataset(rows(empty=[None] * 4, own=list("abcd")), slices=["empty", "own"])
    assert "Column 'empty' has no value in any query: there is nothing to slice by." in data.notes
    assert "Column 'own' has another value in every query: slices of one query say nothing." in data.notes
    with pytest.raises(
        DataError, match=r"'own' has 4 distinct values \('a', 'b', 'c', \.\.\.\), more than the limit of 3"
    ):
        read_dataset(rows(own=list("abcd")), slices="own", limits=Limits(slices=3))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"slices": ["land"]}, r"no column 'land' \(asked for as the slice\).* Did you mean 'lands'"),
        ({"time": "land"}, r"no column 'land' \(asked for as the time\)"),
    ],
)
def test_a_column_that_is_not_there_is_named(given, sentence):
    with pytest.raises(DataError, match=sentence):
        read_dataset(rows(lands=list("abab")), **given)


def test_a_column_is_named_by_text():
    with pytest.raises(ConfigError, match="'time' must be the name of a column, got 3"):
        read_dataset(rows(), time=3)


EXPECTED = np.datetime64("2024-01-31T18:30:00", "us")
WRITTEN = {
    "2024-01-31T18:30:00Z": EXPECTED,
    "2024-01-31 18:30": EXPECTED,
    "2024-01-31T20:30:00+02:00": EXPECTED,
    "2024-01-31T18:30:00.000000999": EXPECTED,
    "1706725800": EXPECTED,
    "1706725800.5": EXPECTED + np.timedelta64(500_000, "us"),
    "1706725800000": EXPECTED,
    "1706725800000000": EXPECTED,
    "1706725800000000000": EXPECTED,
    "20240131": np.datetime64("2024-01-31", "us"),
    "2024/01/31": np.datetime64("2024-01-31", "us"),
    "2024-01": np.datetime64("2024-01-01", "us"),
    "2019": np.datetime64("2019-01-01", "us"),
    "9999-12-31": np.datetime64("9999-12-31", "us"),
}


@pytest.mark.parametrize("form", [as_csv, as_parquet])
@pytest.mark.parametrize("written", WRITTEN)
def test_a_time_is_read_however_it_is_written(form, written):
    data = read_dataset(form(rows(when=[written, "2020-05-05", "NA", written])), time="when")
    assert data.times[0] == data.times[3] == WRITTEN[written]
    assert data.times[1] == np.datetime64("2020-05-05", "us")
    assert np.isnat(data.times[2])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_and_epochs_of_a_frame_are_read_alike(unit):
    moments = pd.Series(pd.date_range("1999-12-31 22:00", periods=4, freq="91D", tz="America/New_York"))
    typed = read_dataset(rows(when=list(moments)), time="when")
    epochs = moments.dt.tz_convert("UTC").dt.tz_localize(None).astype(f"datetime64[{unit}]").astype("int64")
    read = read_dataset(rows(when=list(epochs)), time="when")
    np.testing.assert_array_equal(typed.times, read.times)
    name = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}[unit]
    assert f"Column 'when' holds {name} since 1970." in read.notes


@given(st.datetimes(min_value=pd.Timestamp("1974-01-01"), max_value=pd.Timestamp("2200-01-01")))
def test_any_moment_survives_being_written(moment):
    stamp = np.datetime64(moment, "us")
    iso, epoch = moment.isoformat(), int(stamp.astype(np.int64))
    data = read_dataset(rows(2, when=[iso, str(epoch)]), time="when")
    assert data.times.tolist() == [moment, moment]


def test_the_earliest_time_of_a_query_is_taken_and_that_is_said():
    frame = rows(when=["2024-03-01"] * 4)
    frame.loc[4, "when"] = "2024-02-01"
    frame.loc[8, "when"] = None
    data = read_dataset(frame, time="when")
    assert data.times.astype("datetime64[D]").astype(str).tolist() == ["2024-03-01", "2024-02-01", *["2024-03-01"] * 2]
    assert "In some queries the rows have different times in column 'when': the earliest is taken." in data.notes


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("31.01.2024", "begins with the day or with the month"),
        ("01/02/2024 10:00", "begins with the day or with the month"),
        ("201", "no number of seconds or milliseconds since 1970"),
        ("-1", "no number of seconds or milliseconds since 1970"),
        ("20241301", "no number of seconds"),
        ("January 5th", "no ISO date or time"),
        ("2024-02-30", "no ISO date or time"),
        ("=1+1", "no ISO date or time"),
    ],
)
def test_what_is_no_time_is_refused_with_row_and_value(value, why):
    frame = rows(when=["2024-03-01"] * 4)
    frame.loc[5, "when"] = value
    with pytest.raises(DataError, match=why) as caught:
        read_dataset(as_csv(frame), time="when")
    assert f"Column 'when' of shown.csv holds {value!r} at row 7" in str(caught.value)
    assert (caught.value.row, caught.value.fields) == (7, ("time",))


def test_a_preview_proposes_what_it_does_not_use():
    frame = rows(5, country=list("aabbc"), page=[1, 2, 1, 2, 1], searched_on_date=["2024-01-01"] * 5)
    seen = preview_table(as_csv(frame))
    assert seen.time_like == ("searched_on_date",)
    assert seen.slice_like == ("country", "page")
    assert not {"time", "slice"} & {*seen.mapping}


def test_parts_of_a_folder_know_their_slices(tmp_path):
    frame = rows(40, country=["DE", "FR", None, "IT"] * 10, when=["2024-01-01", "1706725800"] * 20)
    (tmp_path / "folder").mkdir()
    (tmp_path / "scratch").mkdir()
    frame.sample(frac=1, random_state=0).to_parquet(tmp_path / "folder" / "rows.parquet")
    mapping = {"slices": ["country"], "time": "when"}
    parts = partition_folder(tmp_path / "folder", tmp_path / "scratch", mapping, rows_per_part=20)
    assert len(parts) > 2
    whole = read_dataset(frame, **mapping)
    of_query = dict(zip(whole.query_ids.tolist(), whole.attributes["country"].tolist(), strict=True))
    when = dict(zip(whole.query_ids.tolist(), whole.times.tolist(), strict=True))
    seen = 0
    for part in parts:
        data = part.read()
        seen += len(data)
        assert data.attributes["country"].tolist() == [of_query[query] for query in data.query_ids.tolist()]
        assert data.times.tolist() == [when[query] for query in data.query_ids.tolist()]
        assert set(part.about(data).time_notes) <= {"Column 'when' holds seconds since 1970."}
    assert seen == 40
