"""What was shown, counted by hand and against the audit of the same rankings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from spofr_core.errors import DataError
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.policy import fair_policy, shown_violations
from spofr_core.serving import Reranker, audit_shown, read_shown
from spofr_core.serving.counter_store import CounterStore
from spofr_core.serving.impression_log import record_of, write_parts
from tests.evaluation.lists import dataset

SCORES, GROUPS, ITEMS = [0.9, 0.8, 0.7, 0.2, 0.1], list("aaabb"), list("vwxyz")
V = 1 / np.arange(2, 7)  # exposure of the five positions


def rows(query, impression, groups, items=None) -> list[dict]:
    """One impression, from the top down."""
    names = items or [f"i{k}" for k in range(len(groups))]
    return [
        {"query": query, "impression": impression, "position": k + 1, "item": names[k], "group": group}
        for k, group in enumerate(groups)
    ]


def test_realised_exposure_is_the_mean_over_impressions():
    frame = pd.DataFrame([*rows("q", 1, "aabb"), *rows("q", 2, "bbaa"), *rows("q", 3, "aabb")])
    found = audit_shown(read_shown(frame.sample(frac=1, random_state=0)), Fairness(delta=0.05))
    top, low = (V[0] + V[1]) / 2, (V[2] + V[3]) / 2
    assert found.exposure[0] == pytest.approx([(2 * top + low) / 3, (2 * low + top) / 3])
    mean = (top + low) / 2
    assert found.violations[0] == pytest.approx([(2 * top + low) / 3 - mean, (2 * low + top) / 3 - mean])
    row = found.queries.iloc[0]
    assert (row["query"], row["impressions"], row["group"], row["holds"]) == ("q", 3, "a", True)
    assert np.isnan(row["bound"])
    assert not audit_shown(read_shown(frame), Fairness(delta=0.01)).ok


@pytest.mark.parametrize(
    "settings", [{"delta": 0.03}, {"delta": 0.1, "unit": "share"}, {"delta": 0.1, "notion": "gap"}]
)
def test_one_impression_of_each_query_is_the_audit_of_those_rankings(settings):
    lists = ["aabb", "abab", "bbbaa", "ba", "aaa"]
    frame = pd.DataFrame([row for k, groups in enumerate(lists) for row in rows(k, 7, groups)])
    fairness = Fairness(**settings)
    found = audit_shown(read_shown(frame), fairness)
    table = audit(dataset([list(range(len(groups), 0, -1)) for groups in lists], lists), fairness).table
    expected = np.where(table.applicable[:, None], table.violation, np.nan)
    assert found.violations == pytest.approx(expected, nan_ok=True)
    assert found.summary["queries"]["once"] == 5
    assert found.summary["once"]["a"]["violation"] == pytest.approx(np.nanmean(expected[:, 0]))
    assert found.summary["once"]["a"]["n"] == 4


def test_a_group_that_some_impressions_do_not_show_is_judged_by_those_that_do():
    frame = pd.DataFrame([*rows("q", 1, "aabb"), *rows("q", 2, "aa")])
    found = audit_shown(read_shown(frame), Fairness(delta=0.05))
    assert found.violations[0, 1] == pytest.approx((V[2] + V[3]) / 2 - V[:4].mean())


def served(tmp_path, fairness, times, *, later=None):
    """The log of so many impressions of one query, and which ranking each of them was."""
    store = CounterStore(tmp_path / "counters")
    reranker = Reranker(fairness, counters=store)
    found = []
    for t in range(times):
        scores = SCORES if later is None or t < times // 2 else later
        record = lambda ranked, scores=scores: record_of("q", ranked, ITEMS, GROUPS, scores)  # noqa: E731
        found.append(reranker.rank_and_record(scores, GROUPS, "q", ITEMS, record))
    write_parts(store, tmp_path / "log")
    return found


def test_a_schedule_keeps_its_promise_and_the_audit_says_which(tmp_path):
    fairness = Fairness(delta=0.02)
    found = served(tmp_path, fairness, 30)
    result = audit_shown(read_shown(tmp_path / "log"), fairness)
    policy = fair_policy(SCORES, GROUPS, fairness)
    row = result.queries.iloc[0]
    assert abs(row["violation"]) == pytest.approx(
        shown_violations(policy, fairness, np.array([ranked.index for ranked in found]))[-1]
    )
    assert row["bound"] == pytest.approx(found[-1].bound)
    assert row["within"]
    assert result.summary["queries"]["within_promise"] == result.summary["queries"]["promised"] == 1


def test_two_policies_of_a_query_add_up(tmp_path):
    fairness = Fairness(delta=0.02)
    found = served(tmp_path, fairness, 30, later=[0.9, 0.1, 0.7, 0.5, 0.3])
    assert [ranked.anew for ranked in found].index(True) == 15
    row = audit_shown(read_shown(tmp_path / "log"), fairness).queries.iloc[0]
    assert row["bound"] == pytest.approx((found[14].bound * 15 + found[29].bound * 15) / 30)
    assert row["within"]


def test_a_log_that_begins_later_is_promised_half_as_much(tmp_path):
    fairness = Fairness(delta=0.02)
    found = served(tmp_path, fairness, 30)
    frame = pd.read_parquet(tmp_path / "log")
    row = audit_shown(read_shown(frame[frame["number"] > 10]), fairness).queries.iloc[0]
    assert row["bound"] == pytest.approx(2 * found[-1].bound * 30 / 20)


def test_a_ranker_that_never_varies_breaks_what_a_schedule_would_have_kept(tmp_path):
    fairness = Fairness(delta=0.02)
    served(tmp_path, fairness, 60)
    frame = pd.read_parquet(tmp_path / "log")
    first = frame[frame["number"] == 1]
    stuck = pd.concat([first.assign(number=k, impression=k) for k in range(1, 61)], ignore_index=True)
    result = audit_shown(read_shown(stuck), fairness)
    assert not result.ok
    assert result.summary["queries"]["within_promise"] == 0


def test_lists_sorted_by_score_promise_nothing(tmp_path):
    fairness = Fairness(delta=0.0, notion="merit", merits={"a": 0.0, "b": 5.0})
    store = CounterStore(tmp_path / "counters")
    reranker = Reranker(fairness, counters=store, on_infeasible="sort")
    for _ in range(3):
        ranked = reranker.rank_and_record(
            SCORES, GROUPS, "q", ITEMS, lambda ranked: record_of("q", ranked, ITEMS, GROUPS, SCORES)
        )
    assert ranked.bound == float("inf")
    write_parts(store, tmp_path / "log")
    result = audit_shown(read_shown(tmp_path / "log"), fairness)
    assert result.summary["sorted_by_score"] == 3
    assert result.summary["queries"]["promised"] == 0
    assert not result.ok


def test_impressions_without_a_query_are_pooled_and_numbers_may_repeat_between_queries():
    frame = pd.DataFrame([*rows(None, 1, "ab"), *rows(None, 2, "ba"), *rows("p", 1, "ab"), *rows("q", 1, "ab")])
    found = audit_shown(read_shown(frame), Fairness(delta=0.05))
    assert found.summary["queries"] == {
        "shown": 4,
        "once": 4,
        "judged": 0,
        "hold": 0,
        "promised": 0,
        "within_promise": 0,
        "least_impressions": None,
    }
    assert found.summary["once"]["a"]["violation"] == pytest.approx((V[0] - V[1]) / 4)
    assert found.ok


def test_a_csv_of_other_names_and_odd_texts_is_read(tmp_path):
    frame = pd.DataFrame([*rows("=1+1", "s<1>", ["NA", "女"]), *rows("=1+1", "s2", ["女", "NA"])])
    names = {"query": "search", "impression": "session", "position": "place", "item": "ad", "group": "who"}
    frame.rename(columns=names).to_csv(tmp_path / "log.csv", index=False)
    found = audit_shown(read_shown(tmp_path / "log.csv", **names), Fairness(delta=0.0))
    assert found.group_names == ("NA", "女")
    assert found.violations[0] == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="group"), "The log has no column 'group' for the group"),
        (lambda f: f.iloc[:0], "The log has no rows"),
        (lambda f: f.assign(group=["a", None, "b", "b"]), "The group is missing in row 2"),
        (lambda f: f.assign(position=[0, 1, 2, 3]), "The position in row 1 of the log is"),
        (lambda f: f.assign(position=[1, 2, 2, 3]), "has position 2 where 3 is due"),
        (lambda f: f.assign(position=["1", "x", "3", "4"]), "The position in row 2 of the log is 'x'"),
        (lambda f: f.assign(position=[1, 2, 4, 5]), "has position 4 where 3 is due"),
        (lambda f: f.assign(item="same"), "Item 'same' is shown twice in impression '1' of query 'q'"),
    ],
)
def test_what_is_no_log_is_refused_in_one_sentence(change, message):
    with pytest.raises(DataError) as refusal:
        read_shown(change(pd.DataFrame(rows("q", 1, "aabb"))))
    assert message in str(refusal.value)


def test_a_log_that_is_not_there_or_empty_is_refused(tmp_path):
    for path, message in ((tmp_path / "no", "There is no log at"), (tmp_path, "has no Parquet part")):
        with pytest.raises(DataError, match=message):
            read_shown(path)
    (tmp_path / "bad.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match="cannot be read"):
        read_shown(tmp_path / "bad.parquet")
