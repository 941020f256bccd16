"""Labels below 0: DCG takes them as they are; what needs labels of 0 or more takes them shifted by one number."""

import copy

import numpy as np
import pandas as pd
import pytest

from spofr_core import Fairness, audit, compare, group_merits, measure, read_dataset, repair
from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation import audit_folder, calibrated_scores, measure_folder, reliability
from spofr_core.measures import MEASURES
from spofr_core.reporting import audit_html, verdict_details
from tests.cli.test_words import spofr

ROLES = {"query": "q", "item": "item", "group": "g", "score": "score", "relevance": "z"}
FAIRNESS = Fairness(delta=0.1)


def table(seed: int = 0, queries: int = 30, items: int = 5) -> pd.DataFrame:
    """Lists with z-scores as labels."""
    rng = np.random.default_rng(seed)
    rows = queries * items
    return pd.DataFrame(
        {
            "q": np.repeat(np.arange(queries), items),
            "item": np.tile(np.arange(items), queries),
            "g": rng.choice(["a", "b"], rows),
            "score": rng.normal(size=rows),
            "z": rng.normal(size=rows).round(3),
        }
    )


def read(frame: pd.DataFrame, **options: object) -> RankingDataset:
    return read_dataset(frame, **ROLES, **options)


def test_a_list_by_hand():
    """Shown are the labels 2, -1, 0.5: as gains 3, 0, 1.5, and in the best order 3, 1.5, 0."""
    frame = pd.DataFrame({"q": 1, "item": [1, 2, 3], "g": ["a", "b", "a"], "score": [3, 2, 1], "z": [2, -1, 0.5]})
    data = read(frame)
    assert (data.label_shift, data.gains.tolist(), data.relevance.tolist()) == (1.0, [3, 0, 1.5], [2, -1, 0.5])
    assert group_merits(data) == pytest.approx({"a": 1.5, "b": 0.0})  # means 2.25 and 0, over their mean 1.5
    second, third = 1 / np.log2(3), 0.5
    found = audit(data, FAIRNESS).summary
    assert found["utility"]["dcg"] == pytest.approx(2 - second + 0.5 * third)
    assert found["utility"]["ndcg"] == pytest.approx((3 + 1.5 * third) / (3 + 1.5 * second))
    assert found["label_shift"] == 1.0
    assert found["measures"]["ndcg"]["label"] == "nDCG@10 (labels + 1)"
    assert found["measures"]["dcg"]["label"] == "DCG"


@pytest.mark.parametrize("name", list(MEASURES))
@pytest.mark.parametrize("target", ["list", "relevant"])
def test_a_measure_is_that_of_the_shifted_labels_and_says_so_if_it_hangs_on_the_shift(name: str, target: str):
    data = read(table())
    shifted, more = (data.replace(relevance=data.gains + extra) for extra in (0.0, 1.0))
    found, same, other = (measure(each, name, target=target) for each in (data, shifted, more))
    mine, theirs, others = (next(iter(each.values.values())) for each in (found, same, other))
    (entry,), (plain,) = (each.summary["measures"].values() for each in (found, same))
    if name == "dcg":
        worth = 1 / np.log2(np.arange(2, 7))
        order = np.argsort(-data.score.reshape(30, 5), axis=1)
        assert mine == pytest.approx(np.take_along_axis(data.relevance.reshape(30, 5), order, axis=1) @ worth)
        assert entry["limits"] == [None, None]
        assert "labels +" not in entry["label"]
        return
    np.testing.assert_array_equal(mine, theirs)
    assert ("labels +" in entry["label"]) or np.array_equal(theirs, others, equal_nan=True)
    assert ("labels +" in entry["label"]) == MEASURES[name].hangs_on_shift(target)
    assert "labels +" not in plain["label"]


def test_every_part_has_the_shift_of_the_whole():
    data = read(table())
    splits = data.split(seed=1)
    parts = [data[:3], data[4], splits.train, splits.test, copy.deepcopy(data)[:2], data.with_each_item()]
    assert {part.label_shift for part in parts} == {data.label_shift} == {-data.relevance.min()}
    assert min(part.gains.min() for part in parts[:2]) > 0
    whole = audit(data, FAIRNESS).table.ndcg
    np.testing.assert_array_equal(audit(data[10:20], FAIRNESS).table.ndcg, whole[10:20])
    other = data.replace(relevance=np.abs(data.relevance))
    assert (other.label_shift, other.notes) == (0.0, ())
    assert data.replace(label_shift=9.0).fingerprint != data.fingerprint


def test_rows_without_a_group_count_in_the_shift():
    frame = table()
    lowest = int(frame["z"].argmin())
    frame.loc[lowest, "g"] = None
    assert read(frame, missing="exclude").label_shift == -frame["z"].min()


def test_labels_can_be_clipped():
    frame = table()
    data = read(frame, negative_labels="clip")
    below = int((frame["z"] < 0).sum())
    assert f"{below:,} of 150 labels are below 0 and count as 0." in data.notes
    assert data.label_shift == 0.0
    np.testing.assert_array_equal(data.relevance, np.maximum(frame["z"], 0))
    assert "label_shift" not in audit(data, FAIRNESS).summary
    with pytest.raises(ConfigError, match="'negative_labels' must be 'shift' or 'clip', got 'drop'"):
        read(frame, negative_labels="drop")


def test_labels_too_far_apart_are_refused():
    with pytest.raises(DataError, match=r"largest relevance of query .* is 1e\+308 in size"):
        read(table().assign(z=[1e308, -1e308] * 75))


@pytest.mark.parametrize("options", [{}, {"negative_labels": "clip"}])
def test_a_folder_in_parts_has_the_labels_of_the_whole(tmp_path, options):
    frame = table()
    for part in range(3):
        frame[frame["q"] % 3 == part].to_parquet(tmp_path / f"{part}.parquet")
    data = read(pd.read_parquet(tmp_path), **options)
    mapping = {**ROLES, **options}
    parts, whole = audit_folder(tmp_path, FAIRNESS, mapping=mapping, rows_per_part=40), audit(data, FAIRNESS)
    assert parts.summary == whole.summary
    assert any("labels" in note.lower() for note in parts.summary["notes"])
    folder = measure_folder(tmp_path, ["ndcg@3", "IAA"], mapping=mapping, rows_per_part=40)
    assert folder.summary["measures"]["ndcg@3"] == measure(data, ["ndcg@3"]).summary["measures"]["ndcg@3"]


def test_two_readings_with_other_lowest_labels_are_compared_in_dcg_and_not_in_ndcg():
    frame = table()
    lower = frame.assign(z=frame["z"] - 1)
    now, new = (audit(read(each), FAIRNESS) for each in (frame, lower))
    found = compare({"now": now, "new": new})
    assert {"dcg", "exposure_ratio"} <= set(found.table["name"])
    assert "ndcg" not in set(found.table["name"])
    why = {entry["name"]: entry["why"] for entry in found.summary["rivals"]["new"]["not_compared"]}
    assert "its shift of labels below 0 differs" in why["ndcg"]
    same = audit(read(lower).with_scores(-read(lower).score), FAIRNESS)
    labels = {row["name"]: row["label"] for _, row in compare({"now": new, "other": same}).table.iterrows()}
    assert "(labels + " in labels["ndcg"]


def test_report_and_verdict_say_it():
    data = read(table())
    found = audit(data, Fairness(delta=0.1, notion="merit", merits=group_merits(data)))
    added = f"labels + {data.label_shift:.4g}"
    assert any(added in sentence for sentence in verdict_details(found.summary))
    page = audit_html(found)
    assert page.count(added) >= 3  # the card of nDCG, the verdict and the definition of merit


def test_estimates_are_in_the_unit_of_the_labels():
    data = read(table(queries=60))
    shifted = data.replace(relevance=data.gains)
    mine, theirs = calibrated_scores(data), calibrated_scores(shifted)
    np.testing.assert_allclose(mine.estimates, theirs.estimates - data.label_shift)
    assert mine.error == theirs.error
    curve, other = reliability(data, mine), reliability(shifted, theirs)
    for name in ("relevance", "lower", "estimate"):
        np.testing.assert_allclose(curve[name], other[name] - data.label_shift)


def test_judgments_below_zero_are_shifted_by_the_lowest_of_their_file():
    run = "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 c 3 1 t\n"
    groups = pd.DataFrame({"docno": ["a", "b", "c"], "side": ["l", "r", "l"]})
    qrels = b"1 0 a 1\n1 0 b -1\n2 0 x -2\n"
    data = read_dataset(run.encode(), qrels=qrels, item_groups=groups, group="side")
    assert (data.relevance.tolist(), data.label_shift) == ([1, -1, 0], 2)
    clipped = read_dataset(run.encode(), qrels=qrels, item_groups=groups, group="side", negative_labels="clip")
    assert (clipped.relevance.tolist(), clipped.label_shift) == ([1, 0, 0], 0)


def test_letor_labels_may_be_below_zero():
    data = read_dataset(b"1 qid:1 1:1 2:2\n-1.5 qid:1 1:3 2:1\n", group="1")
    assert data.gains.tolist() == [2.5, 0]


def test_a_repair_and_its_check_say_it_too(tmp_path, monkeypatch, capsys):
    data = read(table())
    told = f"Merits that come from the labels are those of labels + {data.label_shift:.4g}."
    merit = Fairness(delta=0.1, notion="merit", merits=group_merits(data))
    assert told in repair(data, merit).summary["notes"]
    assert told not in repair(data, FAIRNESS).summary["notes"]
    table().to_csv(tmp_path / "z.csv", index=False)
    roles = [f"--{role}={column}" for role, column in ROLES.items()]
    asked = [*roles, "--delta", "0.1", "--notion", "merit"]
    for words in (["repair", tmp_path / "z.csv", "--out", "p.csv"], ["verify", "p.csv", tmp_path / "z.csv"]):
        monkeypatch.chdir(tmp_path)
        assert spofr(monkeypatch, *words, *asked) == 0
        assert told in capsys.readouterr().out
