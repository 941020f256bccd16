"""What was shown, counted by hand and against the audit of the same rankings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.policy import fair_policy, shown_violations
from spofr_core.serving import Reranker, audit_shown, check_counters, read_shown, shown_sentences
from spofr_core.serving.counter_store import CounterStore
from spofr_core.serving.impression_log import record_of, shown_text, write_parts
from spofr_core.serving.shown.places import places_of
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


@pytest.mark.parametrize("asked", [{"delta": 0.03}, {"delta": 0.1, "unit": "share"}, {"delta": 0.1, "notion": "gap"}])
def test_one_impression_of_each_query_is_the_audit_of_those_rankings(asked):
    lists = ["aabb", "abab", "bbbaa", "ba", "aaa"]
    frame = pd.DataFrame([row for k, groups in enumerate(lists) for row in rows(k, 7, groups)])
    fairness = Fairness(**asked)
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
        record = lambda ranked, scores=scores: record_of("q", ranked, shown_text(ranked, ITEMS, GROUPS, scores))  # noqa: E731
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
    queries = result.summary["queries"]
    assert queries["within"] == queries["promise_kept"] == queries["promised"] == 1


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
    assert result.summary["queries"]["promised"] == 1
    assert result.summary["queries"]["within"] == result.summary["queries"]["promise_kept"] == 0


def test_lists_sorted_by_score_promise_nothing(tmp_path):
    fairness = Fairness(delta=0.0, notion="merit", merits={"a": 0.0, "b": 5.0})
    store = CounterStore(tmp_path / "counters")
    reranker = Reranker(fairness, counters=store, on_infeasible="sort")
    for _ in range(3):
        ranked = reranker.rank_and_record(
            SCORES, GROUPS, "q", ITEMS, lambda ranked: record_of("q", ranked, shown_text(ranked, ITEMS, GROUPS, SCORES))
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
    queries = found.summary["queries"]
    assert (queries["shown"], queries["once"], queries["judged"]) == (4, 4, 0)
    assert found.queries["query"].tolist()[:2] == ["p", "q"]
    assert "(no query, impression 1)" in set(found.queries["query"])
    assert found.summary["once"]["a"]["violation"] == pytest.approx((V[0] - V[1]) / 4)
    assert found.ok


def test_a_csv_of_other_names_and_odd_texts_is_read(tmp_path):
    frame = pd.DataFrame([*rows("=1+1", "s<1>", ["<b>x", "女"]), *rows("=1+1", "s2", ["女", "<b>x"])])
    names = {"query": "search", "impression": "session", "position": "place", "item": "ad", "group": "who"}
    frame.rename(columns=names).to_csv(tmp_path / "log.csv", index=False)
    found = audit_shown(read_shown(tmp_path / "log.csv", **names), Fairness(delta=0.0))
    assert found.group_names == ("<b>x", "女")
    assert found.violations[0] == pytest.approx([0.0, 0.0])
    found.to_csv(tmp_path / "table.csv")
    table = pd.read_csv(tmp_path / "table.csv")
    assert table["query"].tolist() == ["'=1+1"] * 2
    assert (table["impressions"].tolist(), table["exposure"].tolist()) == ([2, 2], [pytest.approx(V[:2].mean())] * 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="group"), "A log of impressions needs a column for the group"),
        (lambda f: f.iloc[:0], "has column names but no rows"),
        (lambda f: f.assign(group=["a", None, "b", "b"]), "1 of 4 shown items have no group"),
        (lambda f: f.assign(impression=["1", "1", None, "1"]), "The impression is missing in column 'impression'"),
        (lambda f: f.assign(item=["v", "w", None, "z"]), "The item is missing in column 'item'"),
        (lambda f: f.assign(position=[1, 2, None, 3]), "is missing (or not a number) at row 3"),
        (lambda f: f.assign(position=[1, 2, -1, 3]), "is -1 at row 3"),
        (lambda f: f.assign(position=[1, 2, 2.5, 3]), "is 2.5 at row 3"),
        (lambda f: f.assign(position=[1, 2, 3e9, 3]), "is 3e+09 at row 3"),
        (lambda f: f.assign(position=["1", "x", "3", "4"]), "holds the text 'x' at row 2"),
        (lambda f: f.assign(item="same"), "Item 'same' is shown twice in impression '1' of query 'q'"),
    ],
)
def test_what_is_no_log_is_refused_in_one_sentence(change, message):
    with pytest.raises(DataError) as refusal:
        read_shown(change(pd.DataFrame(rows("q", 1, "aabb"))))
    assert message in str(refusal.value)


def test_a_log_that_is_not_there_or_broken_is_refused(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing of the kind")
    for path in (tmp_path / "no", tmp_path / "bad.parquet"):
        with pytest.raises(DataError):
            read_shown(path)


def exposures(positions, groups="abcd") -> dict[str, float]:
    """Realised exposure of each group in one impression with these positions."""
    frame = pd.DataFrame(rows("q", 1, groups)).assign(position=positions)
    found = audit_shown(read_shown(frame), Fairness(delta=0.05))
    return dict(zip(found.group_names, found.exposure[0].tolist(), strict=True))


def v(position: int) -> float:
    return 1 / (1 + position)


def test_positions_are_taken_as_logged_from_0_with_gaps_and_on_later_pages():
    assert exposures([1, 2, 3, 4]) == pytest.approx({"a": v(1), "b": v(2), "c": v(3), "d": v(4)})
    assert exposures([0, 1, 2, 3]) == pytest.approx(exposures([1, 2, 3, 4]))
    assert exposures([1, 2, 5, 9]) == pytest.approx({"a": v(1), "b": v(2), "c": v(5), "d": v(9)})
    assert exposures([14, 11, 12, 13]) == pytest.approx({"a": v(14), "b": v(11), "c": v(12), "d": v(13)})


def test_items_on_one_position_share_those_that_they_take_up():
    pair, three = (v(2) + v(3)) / 2, (v(1) + v(2) + v(3)) / 3
    expected = {"a": v(1), "b": pair, "c": pair, "d": v(4)}
    assert exposures([1, 2, 2, 3]) == pytest.approx(expected)
    assert exposures([1, 2, 2, 4]) == pytest.approx(expected)
    assert exposures([1, 1, 1, 2]) == pytest.approx({"a": three, "b": three, "c": three, "d": v(4)})
    assert exposures([5, 5, 9, 9]) == pytest.approx(
        {"a": (v(5) + v(6)) / 2, "b": (v(5) + v(6)) / 2, "c": (v(9) + v(10)) / 2, "d": (v(9) + v(10)) / 2}
    )


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_places_are_those_of_a_plain_walk_down_each_list(data):
    lists = data.draw(st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=6), min_size=1, max_size=5))
    positions = np.concatenate([sorted(one) for one in lists])
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
    expected = []
    for one in lists:
        last = 0
        for position in sorted(one):
            last = max(position, last + 1)
            expected.append(last)
    assert places_of(positions, offsets).tolist() == expected


def test_violations_of_a_later_page_are_those_of_its_own_mean_exposure():
    frame = pd.DataFrame(rows("q", 1, "aabb")).assign(position=[11, 12, 13, 14])
    for unit, base in (("absolute", 1.0), ("share", np.mean([v(k) for k in range(11, 15)]))):
        found = audit_shown(read_shown(frame), Fairness(delta=0.05, unit=unit))
        mean = np.mean([v(k) for k in range(11, 15)])
        assert found.violations[0] == pytest.approx(
            [((v(11) + v(12)) / 2 - mean) / base, ((v(13) + v(14)) / 2 - mean) / base]
        )


def test_what_was_read_is_noted():
    frame = pd.DataFrame([*rows("q", 1, "ab"), *rows("q", 2, "ab"), *rows("q", 3, "ab"), *rows("q", 4, "ab")]).assign(
        position=[0, 1, 0, 0, 0, 4, 20, 21]
    )
    notes = " ".join(read_shown(frame).notes)
    for said in ("count from 0", "1 of 4 impressions have several items", "1 of 4 impressions leave positions out"):
        assert said in notes
    assert "1 of 4 impressions begin below position 1" in notes


def test_items_without_a_group_keep_their_places_or_are_a_group():
    frame = pd.DataFrame(rows("q", 1, ["a", None, "b", "b"]))
    with pytest.raises(DataError, match="missing='keep' keeps them in their places"):
        read_shown(frame)
    for missing, excluded in (("keep", 0), ("exclude", 1)):
        log = read_shown(frame, missing=missing)
        assert (log.excluded, log.group_sizes) == (excluded, {"a": 1, "b": 2})
        found = audit_shown(log, Fairness(delta=0.05))
        assert found.exposure[0] == pytest.approx([v(1), (v(3) + v(4)) / 2])
        mean = (v(1) + v(2) + v(3) + v(4)) / 4
        assert found.violations[0] == pytest.approx([v(1) - mean, (v(3) + v(4)) / 2 - mean])
        assert "1 of 4 items have no group, or one that is left out: they keep their places." in log.notes
    assert read_shown(frame, missing="own_group").group_names == ("a", "b", "(missing)")


def test_a_session_with_two_queries_is_two_lists():
    frame = pd.DataFrame([*rows("p", "s", "ab"), *rows("q", "s", "ba")]).rename(columns={"impression": "session_id"})
    log = read_shown(frame)
    assert (len(log), log.query_names) == (2, ("p", "q"))


def test_queries_seen_once_fail_together_where_the_interval_says_so():
    """A log with one impression per query, in which one group always stands at the bottom, is not fine."""
    stacked = pd.DataFrame([row for k in range(30) for row in rows(f"q{k}", k, "aaabb")])
    turns = pd.DataFrame([row for k in range(30) for row in rows(f"q{k}", k, ["ab", "ba"][k % 2] * 2)])
    few = stacked[stacked["query"].isin([f"q{k}" for k in range(5)])]
    for frame, ok in ((stacked, False), (turns, True), (few, True)):
        result = audit_shown(read_shown(frame), Fairness(delta=0.02))
        assert result.ok is ok
        assert result.summary["queries"]["once"] == result.summary["queries"]["shown"]
    words = " ".join(
        shown_sentences(audit_shown(read_shown(stacked), Fairness(delta=0.02)).summary, Fairness(delta=0.02))
    )
    assert "30 queries seen once are judged together only" in words
    assert "Together they exceed delta 0.02 for group a and group b." in words


def test_queries_that_could_not_exceed_delta_are_counted_apart():
    frame = pd.DataFrame([*rows("q", 1, "ab"), *rows("q", 2, "ab"), *rows("p", 1, "aa"), *rows("p", 2, "aa")])
    queries = audit_shown(read_shown(frame), Fairness(delta=0.5)).summary["queries"]
    assert (queries["judged"], queries["cannot_fail"], queries["hold"]) == (0, 2, 0)


def test_a_larger_delta_in_force_is_no_excuse(tmp_path):
    """What a request asked for is what the service kept, not what the auditor asks about."""
    served(tmp_path, Fairness(delta=0.5), 40)
    result = audit_shown(read_shown(tmp_path / "log"), Fairness(delta=0.01))
    assert result.summary["larger_delta"] == 40
    assert result.summary["queries"]["promise_kept"] == 1
    assert result.summary["queries"]["within"] == 0
    assert not result.ok


def test_impressions_that_are_missing_in_the_middle_are_noticed(tmp_path):
    fairness = Fairness(delta=0.02)
    served(tmp_path, fairness, 30)
    frame = pd.read_parquet(tmp_path / "log")
    result = audit_shown(read_shown(frame[~frame["number"].isin([4, 5, 9])]), fairness)
    assert result.summary["lacking"] == 3
    assert result.summary["queries"]["promised"] == 0
    assert np.isnan(result.queries["bound"].iloc[0])


def test_log_and_counters_are_compared(tmp_path):
    fairness = Fairness(delta=0.02)
    served(tmp_path, fairness, 30)
    log = read_shown(tmp_path / "log")
    assert check_counters(log, tmp_path / "counters") == (30, 30, 0, 0)
    frame = pd.read_parquet(tmp_path / "log")
    cut = check_counters(read_shown(frame[frame["number"] < 20]), tmp_path / "counters")
    assert (cut.counted, cut.logged, cut.ok) == (30, 19, False)
    assert "Log and counters differ" in cut.sentence()
    store = CounterStore(tmp_path / "counters")
    Reranker(fairness, counters=store).rank_and_record(
        SCORES, GROUPS, "q", ITEMS, lambda ranked: record_of("q", ranked, shown_text(ranked, ITEMS, GROUPS, SCORES))
    )
    later = check_counters(log, tmp_path / "counters")
    assert (later.counted, later.waiting, later.ok) == (31, 1, True)
    with pytest.raises(ConfigError, match="There are no counters at"):
        check_counters(log, tmp_path / "no")
    with pytest.raises(DataError, match="none of `spofr serve`"):
        check_counters(read_shown(pd.DataFrame(rows("q", 1, "ab"))), tmp_path / "counters")
