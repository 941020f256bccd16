"""Measures over time: windows against pandas, the permutation test against brute force, changes only where shown."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation import audit, over_time
from spofr_core.evaluation.slicing import change_test
from spofr_core.evaluation.slicing.change_test import permutation_test
from spofr_core.evaluation.slicing.windows import windows_of
from spofr_core.fairness import Fairness
from tests.evaluation.slicing.sliced_lists import sliced_dataset, values

RULES = {"day": "D", "week": "W-MON", "month": "MS", "year": "YS"}


def moments(seed: int, n: int = 60, days: int = 150) -> np.ndarray:
    rng = np.random.default_rng(seed)
    start = np.datetime64("2023-11-15T00:00:00", "us") + np.timedelta64(int(rng.integers(0, 400)), "D")
    return start + rng.integers(0, days * 86_400, n).astype("timedelta64[s]").astype("timedelta64[us]")


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("seed", range(4))
def test_windows_are_those_of_pandas(kind, seed):
    times, numbers = moments(seed), np.random.default_rng(seed).normal(size=60)
    table = over_time(values(numbers, times), kind).table
    sampled = pd.Series(numbers, index=times).resample(RULES[kind], closed="left", label="left").agg(["count", "mean"])
    np.testing.assert_array_equal(table["start"].to_numpy(), sampled.index.to_numpy())
    assert table["n"].tolist() == sampled["count"].tolist()
    np.testing.assert_allclose(table["mean"], sampled["mean"])
    np.testing.assert_array_equal(table["end"].to_numpy()[:-1], table["start"].to_numpy()[1:])
    assert (table["n"] == 0).any() == table["mean"].isna().any()


@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=40), st.integers(2, 9))
def test_equal_parts_are_those_of_pandas(seconds, parts):
    times = np.datetime64("2024-01-01", "us") + np.array(seconds).astype("timedelta64[s]")
    if max(seconds) == min(seconds):
        with pytest.raises(ConfigError, match="about the same time"):
            windows_of(times, parts)
        return
    found = windows_of(times, parts)
    edges = np.array([found.starts[0], *found.ends]).astype(np.int64)
    assert np.ptp(np.diff(edges)) <= 1
    assert (edges[0], edges[-1]) == (times.min().astype(np.int64), times.max().astype(np.int64))
    cut = pd.cut(times.astype(np.int64), [*edges[:-1], edges[-1] + 1], right=False, labels=False)
    assert found.codes.tolist() == cut.tolist()


@pytest.mark.parametrize(
    ("days", "queries", "kind"),
    [
        (10, 200, "day"),
        (10, 20, "week"),
        (100, 2_000, "week"),
        (400, 2_000, "week"),
        (400, 200, "month"),
        (4_000, 20_000, "year"),
        (4_000, 12, "year"),
        (20, 4, "week"),
        (1, 2, "day"),
        (0, 3, "day"),
    ],
)
def test_windows_suit_the_span_and_the_number_of_queries(days, queries, kind):
    times = np.datetime64("2024-01-01", "us") + np.linspace(0, days, queries).astype(int).astype("timedelta64[D]")
    assert windows_of(times).kind == kind


def test_queries_without_a_time_are_in_no_window():
    times = np.array(["2024-01-01", "NaT", "2024-01-03"], dtype="datetime64[us]")
    found = over_time(values([1.0, 100.0, 3.0], times), "day")
    assert found.table["n"].tolist() == [1, 0, 1]
    assert found.table["mean"].tolist()[::2] == [1.0, 3.0]
    assert found.without_time == 1
    summary = found.summary
    assert summary["windows"][1] == {"start": "2024-01-02", "end": "2024-01-03", "n": 0, "mean": None, "ci": None}
    assert summary["change"]["difference"] == 2.0
    assert summary["change"]["ci"] is None
    assert not summary["change"]["changed"]
    json.dumps(summary, allow_nan=False)


def test_one_window_has_no_change():
    times = np.array(["2024-01-01T01", "2024-01-01T02"], dtype="datetime64[us]")
    assert over_time(values([1.0, 2.0], times), "day").change is None
    assert over_time(values([1.0, 2.0], times), "day").summary["change"] is None


@pytest.mark.parametrize(
    ("window", "times", "error", "sentence"),
    [
        ("hour", ["2024-01-01"], ConfigError, r"must be one of 'auto', 'day', 'week', 'month', 'year' or a number"),
        (1, ["2024-01-01"], ConfigError, "a number of equal parts from 2 to 1,000, got 1"),
        (True, ["2024-01-01"], ConfigError, "got True"),
        ("day", ["NaT"], DataError, r"No query has a time.* time='\.\.\.'"),
        (
            "day",
            ["2024-01-01", "9999-12-31"],
            ConfigError,
            r"windows of a day, more than 1,000.* Is a date out of place",
        ),
    ],
)
def test_refusals(window, times, error, sentence):
    with pytest.raises(error, match=sentence):
        windows_of(np.array(times, dtype="datetime64[us]"), window)


def test_a_window_may_be_asked_for_as_text():
    times = np.datetime64("2024-01-01", "us") + np.arange(10).astype("timedelta64[D]")
    assert windows_of(times, " Week ").kind == "week"
    assert windows_of(times, "3").kind == "3 equal parts"
    assert windows_of(times, 3).codes.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=5), st.lists(st.integers(-9, 9), min_size=1, max_size=5))
def test_the_exact_test_is_brute_force(first, last):
    both, n = [*first, *last], len(first)
    seen = abs(np.mean(first) - np.mean(last))
    hits = total = 0
    for chosen in combinations(range(len(both)), n):
        one = [both[k] for k in chosen]
        other = [both[k] for k in range(len(both)) if k not in chosen]
        total += 1
        hits += abs(np.mean(one) - np.mean(other)) >= seen - 1e-12
    p, how = permutation_test(np.array(first, float), np.array(last, float), seed=0)
    assert how == "exact"
    assert p == pytest.approx(hits / total)


def test_drawn_and_normal_tests_agree_with_the_exact_one(monkeypatch):
    rng = np.random.default_rng(8)
    first, last = rng.exponential(1.0, 8), rng.exponential(1.9, 7)
    exact, how = permutation_test(first, last, seed=1)
    assert how == "exact"
    monkeypatch.setattr(change_test, "MOST_ARRANGEMENTS", 0)
    drawn, how = permutation_test(first, last, seed=1)
    assert how == "drawn"
    assert drawn == permutation_test(first, last, seed=1)[0]
    assert drawn != permutation_test(first, last, seed=2)[0]
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact / 9999))
    first, last = rng.normal(0, 1, 300), rng.normal(0.15, 1, 400)
    drawn = permutation_test(first, last, seed=1)[0]
    monkeypatch.setattr(change_test, "MANY", 10)
    normal, how = permutation_test(first, last, seed=1)
    assert how == "normal"
    assert normal == pytest.approx(drawn, abs=0.01)


def test_the_drawn_test_holds_its_level(monkeypatch):
    """Of 200 comparisons of equal samples about 5 % have p <= 0.05; the chance of more than 20 is 0.1 %."""
    monkeypatch.setattr(change_test, "DRAWS", 199)
    rng = np.random.default_rng(9)
    found = [permutation_test(rng.exponential(size=12), rng.exponential(size=15), seed=k)[0] for k in range(200)]
    assert sum(p <= 0.05 for p in found) <= 20
    assert 0.4 < np.mean(found) < 0.6


def test_a_change_is_told_where_there_is_one_and_not_where_chance_will_do():
    rng = np.random.default_rng(2)
    times = np.datetime64("2024-01-10", "us") + (np.arange(400) // 2).astype("timedelta64[D]")
    still, rising = rng.exponential(size=400), rng.exponential(size=400) * np.linspace(0.5, 2.0, 400)
    assert not over_time(values(still, times), "month").change.changed
    change = over_time(values(rising, times), "month").change
    assert change.changed
    assert change.p < 0.05
    assert change.lower > 0
    assert change.difference == pytest.approx(rising[times >= np.datetime64("2024-07-01")].mean() - rising[:44].mean())


def test_shares_change_too():
    times = np.repeat(np.array(["2024-01-01", "2024-02-01"], dtype="datetime64[us]"), 40)
    change = over_time(values(np.repeat([1.0, 0.0], 40), times), "month").change
    assert (change.difference, change.changed) == (-1.0, True)
    assert change.upper < -0.8


def test_windows_of_an_audit_are_audits_of_windows():
    data = sliced_dataset(3)
    result = audit(data, Fairness(delta=0.1))
    table = result.over_time("month", measure="fair").table
    for row in table.to_dict("records"):
        inside = (data.times >= np.datetime64(row["start"])) & (data.times < np.datetime64(row["end"]))
        alone = audit(data[inside], Fairness(delta=0.1)).summary["queries"]
        assert (row["n"], row["mean"]) == (alone["judged"], pytest.approx(alone["share"]))
    summary = result.with_slices(window=4).summary["time"]
    assert summary["window"] == "4 equal parts"
    assert [entry["measure"] for entry in summary["measures"]] == ["violation", "fair"]
