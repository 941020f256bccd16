"""Which row each item was read from, and scores that come in another order than the dataset's."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spofr_core import Fairness, audit, fair_policies, fair_policy, repair, verify
from spofr_core.data import RankingDataset, partition_folder, read_dataset
from spofr_core.errors import ConfigError, DataError
from spofr_core.experiments import with_estimates
from spofr_core.policy import fair_weights, utility_curve
from spofr_core.serving import Reranker

NAMES = {"query": "q", "item": "i", "group": "g"}
FAIRNESS = Fairness(delta="20%")


def table(lists: int = 30, length: int = 6, seed: int = 0) -> pd.DataFrame:
    """Lists whose rows are next to each other, item k of list q in row q * length + k."""
    rng = np.random.default_rng(seed)
    n = lists * length
    return pd.DataFrame(
        {
            "q": np.repeat([f"q{k}" for k in range(lists)], length),
            "i": [f"i{k}" for k in range(n)],
            "g": rng.choice(["a", "b"], n),
            "rel": rng.integers(0, 3, n),
            "score": rng.random(n),
        }
    )


def shuffled(frame: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    """The rows in another order, each with its own label."""
    return frame.sample(frac=1, random_state=seed)


def unscored(frame: pd.DataFrame, **settings: object) -> RankingDataset:
    return read_dataset(frame, **NAMES, **settings, guess=False)


def ids(data: RankingDataset) -> list[tuple[object, object]]:
    return list(zip(np.repeat(data.query_ids, data.list_lengths).tolist(), data.item_ids.tolist(), strict=True))


def ids_of_rows(frame: pd.DataFrame, rows: np.ndarray) -> list[tuple[object, object]]:
    return list(frame[["q", "i"]].iloc[rows].itertuples(index=False, name=None))


def order_notes(data: RankingDataset) -> list[str]:
    return [note for note in data.notes if note.startswith("The scores ")]


# -- rows ------------------------------------------------------------------------------------------------


def test_rows_say_where_each_item_was_read(tmp_path: Path) -> None:
    frame = shuffled(table())
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.csv", tmp_path / "t.parquet"):
        data = unscored(source)
        assert ids(data) == ids_of_rows(frame, data.rows)
        assert not data.rows.flags.writeable


def test_rows_stay_with_their_items() -> None:
    frame = shuffled(table()).assign(land=lambda f: np.where(f["q"] < "q2", "DE", "AT"))
    data = unscored(frame, slices=["land"])
    parts = data.split(seed=3)
    changed = (
        *(data[3:7], data[[5, 2]], data[4], data.where(land="DE"), parts.train, parts.test, copy.copy(data)),
        *(data.regrouped({"a": "x"}), data.with_each_item(), data.with_notes("n"), pickle.loads(pickle.dumps(data))),  # noqa: S301
    )
    for part in changed:
        assert ids(part) == ids_of_rows(frame, part.rows)


def test_rows_of_items_left_out_are_not_there() -> None:
    frame = shuffled(table())
    frame.loc[[3, 40, 41], "g"] = None
    data = unscored(frame, missing="exclude", drop_rows=True)
    assert data.n_items == len(frame) - 3
    assert ids(data) == ids_of_rows(frame, data.rows)
    kept = unscored(frame, missing="keep")
    assert ids(kept) == ids_of_rows(frame, kept.rows)
    assert sorted(kept.rows) == list(range(len(frame)))


def test_rows_of_the_parts_of_a_folder_are_rows_of_the_folder(tmp_path: Path) -> None:
    frame = shuffled(table())
    folder, scratch = tmp_path / "folder", tmp_path / "scratch"
    folder.mkdir(), scratch.mkdir()
    for k in range(3):
        frame.iloc[60 * k : 60 * k + 60].to_parquet(folder / f"{k}.parquet", index=False)
    parts = [part.read() for part in partition_folder(folder, scratch, {**NAMES, "score": "score"}, min_parts=4)]
    assert len(parts) > 1
    for data in parts:
        assert ids(data) == ids_of_rows(frame, data.rows)
    assert sorted(np.concatenate([data.rows for data in parts])) == list(range(len(frame)))


def test_what_was_not_read_has_no_rows() -> None:
    data = RankingDataset(
        query_ids=np.array(["q"]),
        offsets=np.array([0, 2]),
        item_ids=np.array(["i", "j"]),
        groups=np.array([0, 1]),
        group_names=("a", "b"),
    )
    assert data.rows is None
    with pytest.raises(DataError, match="not read from a table"):
        data.with_scores(pd.Series([1.0, 2.0]))
    named = pd.DataFrame({"item_id": ["j", "i"], "query_id": "q", "s": [2.0, 1.0]})
    assert data.with_scores(named).score.tolist() == [1.0, 2.0]


def test_where_rows_were_read_changes_no_fingerprint() -> None:
    frame = table()
    data = unscored(frame)
    assert data.fingerprint == unscored(frame.set_index(np.arange(len(frame))[::-1])).fingerprint
    assert data.fingerprint == data.replace(rows=None, origin=None).fingerprint
    # Of 1.9, before rows were kept: what is stored under it is found again.
    assert make().fingerprint == "63b4830b4a84d8bb4e934bd72ea2982fa9e4649abf1144a63e2dba7719b5da2c"


def make() -> RankingDataset:
    return read_dataset(
        pd.DataFrame({"q": [1, 2, 1], "i": ["a", "b", "c"], "g": ["x", "y", "y"], "s": [0.5, 0.25, 1]}),
        **NAMES,
        score="s",
    )


# -- scores by the index of the frame ----------------------------------------------------------------------


@given(st.data())
def test_scores_go_to_their_items_whatever_the_order(data: st.DataObject) -> None:
    n = 24
    frame = table(lists=4, seed=data.draw(st.integers(0, 9)))
    frame.index = pd.Index(data.draw(st.permutations(range(100, 100 + n))))
    frame = frame.iloc[data.draw(st.permutations(range(n)))]
    given_scores = frame["score"].iloc[data.draw(st.permutations(range(n)))]
    wanted = read_dataset(frame, **NAMES, score="score", guess=False)
    by_index = unscored(frame).with_scores(given_scores)
    by_ids = unscored(frame).with_scores(frame[["i", "score", "q"]].sample(frac=1, random_state=0))
    for found in (by_index, by_ids):
        assert found.fingerprint == wanted.fingerprint
        assert not order_notes(found)
        pd.testing.assert_frame_equal(audit(found, FAIRNESS).queries, audit(wanted, FAIRNESS).queries)


def test_the_shuffled_frame_has_the_verdict_of_the_frame() -> None:
    frame = table(lists=200)
    truth = audit(read_dataset(frame, **NAMES, score="score"), FAIRNESS).summary["queries"]["fair"]
    data = unscored(shuffled(frame))
    assert audit(data.with_scores(shuffled(frame)["score"]), FAIRNESS).summary["queries"]["fair"] == truth
    in_rows = shuffled(frame)["score"].to_numpy()
    assert audit(data.with_scores(in_rows[data.rows]), FAIRNESS).summary["queries"]["fair"] == truth
    assert audit(data.with_scores(in_rows), FAIRNESS).summary["queries"]["fair"] != truth  # hence the note


def test_verify_takes_scores_of_a_dataset_in_all_their_ways() -> None:
    frame = shuffled(table(lists=30))
    data = unscored(frame)
    policies = fair_policies(data, FAIRNESS, scores=frame["score"])
    whole = verify(policies, data.with_scores(frame["score"]), FAIRNESS)
    assert whole.ok
    for scores in (frame["score"].sort_index(), frame[["q", "i", "score"]], frame["score"].to_numpy()[data.rows]):
        pd.testing.assert_frame_equal(verify(policies, data, FAIRNESS, scores=scores).queries, whole.queries)
    assert not verify(policies, data, FAIRNESS, scores=frame["score"].to_numpy()).ok
    with pytest.raises(DataError, match="no score to rank by"):
        verify(policies, data, FAIRNESS)
    with pytest.raises(ConfigError, match=r"'verify' takes \(claim, data, fairness\), or .*got \(Policies, Rank"):
        verify(policies, data, FAIRNESS, missing="keep")  # type: ignore[call-overload]


def test_a_series_beside_a_file_has_the_rows_of_the_file(tmp_path: Path) -> None:
    frame = shuffled(table()).reset_index(drop=True)
    frame.to_csv(tmp_path / "t.csv", index=False)
    ranked = unscored(tmp_path / "t.csv").with_scores(frame["score"].sample(frac=1, random_state=2))
    assert ranked.fingerprint == read_dataset(frame, **NAMES, score="score", guess=False).fingerprint
    assert not order_notes(ranked)


def test_a_part_takes_its_own_from_the_scores_of_all_rows() -> None:
    frame = shuffled(table())
    part = unscored(frame)[[7, 3]]
    for scores in (frame["score"], frame["score"].iloc[part.rows], frame[["q", "i", "score"]]):
        assert part.with_scores(scores).score.tolist() == frame["score"].iloc[part.rows].tolist()


def test_what_a_model_says_goes_into_the_frame_by_the_rows() -> None:
    frame = shuffled(table())
    data = unscored(frame)[2:5]
    estimates = np.arange(data.n_items)
    frame["new"] = pd.Series(estimates, index=frame.index[data.rows])
    assert int(frame["new"].notna().sum()) == data.n_items
    assert data.with_scores(frame["new"].dropna()).score.tolist() == estimates.tolist()


def test_a_frame_of_the_dataset_has_the_index_that_was_read() -> None:
    data = read_dataset(shuffled(table()), **NAMES, score="score")
    frame = data.to_frame()
    assert data.with_scores(-frame["score"]).score.tolist() == (-data.score).tolist()
    again = RankingDataset.from_frame(shuffled(frame))
    assert again.with_scores(2 * frame["score"]).score.tolist() == (2 * again.score).tolist()


def test_an_index_of_several_levels() -> None:
    frame = shuffled(table()).set_index(["q", "i"], drop=False).rename_axis([None, None])
    data = unscored(frame)
    assert data.with_scores(frame["score"].sort_index()).score.tolist() == frame["score"].iloc[data.rows].tolist()
    deeper = frame["score"].set_axis(pd.MultiIndex.from_frame(frame[["q", "i", "g"]]))
    for other in (deeper, frame["score"].droplevel(0)):
        with pytest.raises(DataError, match="no label"):
            data.with_scores(other)


def test_whole_numbers_beyond_doubles_are_ranked_exactly() -> None:
    frame = shuffled(table())
    frame["score"] = 2**60 + np.random.default_rng(0).permutation(len(frame))
    wanted = read_dataset(frame, **NAMES, score="score", insist=True, guess=False)
    ranked = unscored(frame).with_scores(frame["score"])
    assert ranked.fingerprint == wanted.fingerprint
    assert ranked.ranks
    assert sum("2^53" in note for note in ranked.notes) == 1


def test_groups_go_to_their_items_by_the_index_too() -> None:
    frame = shuffled(table())
    data = unscored(frame)
    assert data.with_groups(frame["g"].sort_index()).groups.tolist() == data.groups.tolist()
    with pytest.raises(DataError, match="The index of the groups has no label"):
        data.with_groups(frame["g"].iloc[1:])


# -- what is refused ---------------------------------------------------------------------------------------


def test_labels_that_occur_twice_are_refused() -> None:
    frame = table()
    twice = frame.set_index(np.arange(len(frame)) // 2)
    with pytest.raises(DataError, match=r"has the label 0 twice.*reset_index"):
        unscored(twice).with_scores(twice["score"])
    with pytest.raises(DataError, match=r"scores has the label 5 twice.*keep one"):
        unscored(frame).with_scores(pd.concat([frame["score"], frame["score"].loc[[5]]]))


def test_labels_that_are_missing_are_refused() -> None:
    frame = shuffled(table())
    data = unscored(frame)
    with pytest.raises(DataError, match=r"no label 19, that of query .q3., item .i19. \(and no score for 2 more\)"):
        data.with_scores(frame["score"].drop([18, 19, 150]).sort_index())
    with pytest.raises(DataError, match="no label"):
        data.with_scores(frame["score"].set_axis([f"row {k}" for k in range(len(frame))]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.iloc[1:], r"no row for query 'q0', item 'i0'"),
        (lambda f: pd.concat([f, f.iloc[:1]]), r"query 'q0', item 'i0' twice"),
        (lambda f: f.drop(columns="i"), r"columns \['q', 'score'\].*'q', 'i'"),
        (lambda f: f.assign(other=1.0), r"columns \['q', 'i', 'score', 'other'\].*one more"),
        (lambda f: f.assign(score="high"), "a number for each item is needed"),
        (lambda f: f.assign(score=np.nan), "'score' holds nan at query 'q0', item 'i0'"),
    ],
)
def test_a_frame_of_scores_has_one_for_each_item(change: object, said: str) -> None:
    frame = table()
    with pytest.raises(DataError, match=said):
        unscored(frame).with_scores(change(frame[["q", "i", "score"]]))


def test_ids_are_the_same_whatever_type_they_come_in() -> None:
    frame = table().assign(q=np.repeat(np.arange(30), 6))
    data = unscored(frame)
    others = frame[["q", "i", "score"]].assign(q=" " + frame["q"].astype(str), i=frame["i"].astype("category"))
    floats = frame[["q", "i", "score"]].assign(q=frame["q"].astype(float))
    for given_scores in (others, floats):
        assert data.with_scores(given_scores.iloc[::-1]).score.tolist() == frame["score"].tolist()


# -- arrays ------------------------------------------------------------------------------------------------


def test_an_array_is_taken_in_the_order_of_the_dataset_and_a_note_says_so_where_that_matters() -> None:
    frame = table()
    for moved, data in ((False, unscored(frame)), (False, unscored(frame)[3:9]), (True, unscored(shuffled(frame)))):
        scores = np.arange(data.n_items)
        ranked = data.with_scores(scores)
        assert ranked.score.tolist() == scores.tolist()
        assert [("data.rows" in note or "scores[data.rows]" in note) for note in order_notes(ranked)] == [True] * moved
        assert len(order_notes(ranked.with_scores(scores.tolist()))) == moved
        assert not order_notes(ranked.with_scores(shuffled(frame)["score"] if moved else scores))


def test_a_series_that_may_be_either_is_taken_by_its_index_and_a_note_says_so() -> None:
    frame = shuffled(table()).reset_index(drop=True)
    data = unscored(frame)
    ranked = data.with_scores(frame["score"])
    assert ranked.score.tolist() == frame["score"].iloc[data.rows].tolist()
    assert len(order_notes(ranked)) == 1
    assert not order_notes(unscored(frame.sort_values("q")).with_scores(frame["score"]))


def test_an_array_of_all_rows_where_some_were_dropped_is_refused_with_the_way_to_choose() -> None:
    frame = table()
    frame.loc[3, "g"] = None
    data = unscored(frame, missing="exclude", drop_rows=True)
    with pytest.raises(DataError, match=r"shape \(180,\).*179 items.*scores\[data\.rows\]"):
        data.with_scores(frame["score"].to_numpy())
    assert data.with_scores(frame["score"]).score.tolist() == frame["score"].drop(3).tolist()
    with pytest.raises(DataError, match=r"shape \(5,\).*in their order\.$"):
        data.with_scores(np.zeros(5))


def test_what_is_computed_of_a_dataset_has_its_order_without_a_note() -> None:
    data = read_dataset(shuffled(table()), **NAMES, score="score", relevance="rel")
    model = SimpleNamespace(estimates=lambda lists: -lists.score)
    for ranked in (repair(data, FAIRNESS, calibrate=True).data, with_estimates(model, data)):
        assert not order_notes(ranked)


# -- wherever scores stand beside a dataset or beside groups -------------------------------------------------


def test_policies_and_repairs_take_scores_by_the_index_too() -> None:
    frame = shuffled(table())
    data = unscored(frame)
    wanted = fair_policies(data.with_scores(frame["score"]), FAIRNESS)
    for scores in (frame["score"], frame[["q", "i", "score"]], frame["score"].to_numpy()[data.rows]):
        assert np.array_equal(fair_policies(data, FAIRNESS, scores=scores).utility, wanted.utility)
        assert np.array_equal(repair(data, FAIRNESS, scores=scores).policies.utility, wanted.utility)
    with pytest.raises(DataError, match="no label"):
        fair_policies(data, FAIRNESS, scores=frame["score"].iloc[1:])


SCORES = pd.Series([0.9, 0.8, 0.4, 0.1], index=[5, 6, 7, 8])
GROUPS = pd.Series(["a", "a", "b", "b"], index=[8, 7, 6, 5])
HALVES = Fairness(delta=0.5)


@pytest.mark.parametrize(
    "call",
    [
        lambda scores, groups: fair_policy(scores, groups, HALVES),
        lambda scores, groups: fair_policies(scores, groups, [0, 2, 4], HALVES),
        lambda scores, groups: verify(fair_policy(SCORES.to_numpy(), list("aabb"), HALVES), scores, groups, HALVES),
        lambda scores, groups: utility_curve(scores, groups, [0, 4], HALVES, [0.1]),
        lambda scores, groups: fair_weights(scores, groups, [0, 4], HALVES),
        lambda scores, groups: Reranker(HALVES).rank(scores, groups),
    ],
)
def test_series_in_another_order_are_not_paired_by_position(call: object) -> None:
    for groups in (GROUPS, GROUPS.set_axis(list("wxyz")), GROUPS.iloc[:3]):
        with pytest.raises(DataError, match=r"'scores' and 'groups' .*different index.*reindex"):
            call(SCORES, groups)
    same = GROUPS.set_axis(SCORES.index)
    for groups in (same, same.set_axis(same.index.astype(object)), GROUPS.to_numpy(), GROUPS.tolist()):
        call(SCORES, groups)


def test_items_beside_scores_are_not_paired_by_position_either() -> None:
    items = pd.Series(["i", "j", "k", "l"])
    with pytest.raises(DataError, match="'scores' and 'items'"):
        Reranker(HALVES).rank(SCORES, None, items=items)
    with pytest.raises(DataError, match="'scores' and 'item_ids'"):
        fair_policies(SCORES, list("aabb"), [0, 4], HALVES, item_ids=items)
