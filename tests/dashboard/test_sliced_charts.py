"""Charts of slices and of time carry the numbers of the summary, its gaps, and no markup from the data."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.charts.sliced_chart import MOST_MARKS, MOST_SLICES, slice_intervals, time_course
from spofr_core.evaluation import QueryValues, SlicedResult, Slicing, over_time, slices

HOSTILE = "<b onclick=x>&</b> %{y}"


def sliced(values, names, **about):
    found = QueryValues(name="x", label="x", values=np.asarray(values, dtype=float), attributes={"a": names}, **about)
    return Slicing((slices(found, "a"),)).summary["measures"][0]


def timed(values, days, window="day"):
    times = np.datetime64("2024-01-01", "us") + np.asarray(days) * np.timedelta64(1, "D")
    found = QueryValues(name="x", label="violation", values=np.asarray(values, dtype=float), times=times, unit="share")
    time = SlicedResult(courses=(over_time(found, window),)).summary["time"]
    return time, time["measures"][0]


def test_marks_are_the_means_lines_the_intervals_and_filled_is_what_differs():
    rng = np.random.default_rng(3)
    names = np.repeat([HOSTILE, "low", "few"], [40, 40, 3])
    values = np.concatenate([rng.normal(0.6, 0.05, 40), rng.normal(0.2, 0.05, 40), [0.3, 0.4, 0.5]])
    entry = sliced(values, names, unit="share")
    figure = slice_intervals(entry).checked()
    rows = [row for row in entry["slices"] if row["ci"]]
    assert len(figure.data) == len(rows) == 2  # three queries claim nothing
    for trace, row in zip(figure.data, rows, strict=True):
        assert list(trace.x) == pytest.approx([100 * end for end in (row["ci"][0], row["mean"], row["ci"][1])])
        assert trace.marker.symbol == "circle"
        assert row["differs"]
    said = [note.text for note in figure.layout.annotations]
    assert said[0].endswith(f"all queries: {100 * values.mean():.2g} %")
    assert figure.layout.shapes[0].x0 == pytest.approx(100 * values.mean())
    texts = [*said, *(text for trace in figure.data for text in trace.customdata)]
    assert any("&lt;b onclick=x&gt;&amp;&lt;/b&gt; %{y}" in text for text in texts)
    assert not any("<b onclick" in text for text in texts)
    assert {trace.hovertemplate for trace in figure.data} == {"%{customdata}<extra></extra>"}


def test_what_does_not_differ_is_hollow_and_many_slices_are_cut():
    values = np.tile([1.0, 2.0, 3.0], 100)
    entry = sliced(values, np.repeat(np.arange(20), 15).astype(str))
    figure = slice_intervals(entry).checked()
    assert len(figure.data) == MOST_SLICES < len(entry["slices"])
    assert {trace.marker.symbol for trace in figure.data} == {"circle-open"}


def test_without_a_slice_of_enough_queries_there_is_no_chart():
    assert slice_intervals(sliced([1.0, 2.0], ["a", "b"])) is None


def test_the_course_has_a_mean_per_window_and_leaves_a_gap_where_there_is_none():
    values = [*np.linspace(0.1, 0.3, 24), 0.2, *np.linspace(0.2, 0.4, 12)]
    time, entry = timed(values, [*[0] * 12, *[1] * 12, 2, *[4] * 12])
    figure = time_course(time, entry).checked()
    *bands, line = figure.data
    means = [None if row["mean"] is None else pytest.approx(100 * row["mean"]) for row in entry["windows"]]
    assert list(line.y) == means
    assert means[3] is None
    assert line.customdata[2].endswith("n = 1")
    # Two days with intervals follow each other; the third has one query, the fourth none, the fifth stands alone.
    assert [len(band.x) for band in bands] == [4, 2]
    lower, upper = entry["windows"][0]["ci"]
    assert (bands[0].y[0], bands[0].y[-1]) == (pytest.approx(100 * lower), pytest.approx(100 * upper))
    assert bands[1].fill is None
    assert figure.layout.yaxis.title.text == "violation, %"


def test_many_windows_are_a_line_and_no_window_with_a_value_is_no_chart():
    days = np.arange(MOST_MARKS + 5)
    time, entry = timed(np.ones(len(days)), days)
    assert time_course(time, entry).checked().data[-1].mode == "lines"
    time, entry = timed([np.nan, np.nan], [0, 1])
    assert time_course(time, entry) is None
