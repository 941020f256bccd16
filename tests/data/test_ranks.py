"""A rank is not taken for a score, whatever its column is called."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from spofr_core.data import partition_folder, preview_table, read_dataset
from spofr_core.data.reading.ranks import look_at
from spofr_core.errors import DataError

NAMES = ["position", "Platz", "pos", "ordering", "col7", "score"]


def searches(lengths: list[int], seed: int = 0, **columns: object) -> pd.DataFrame:
    """Searches in which nobody is ranked yet, the rows of each in any order."""
    rng = np.random.default_rng(seed)
    queries = np.repeat(np.arange(len(lengths)), lengths)
    frame = pd.DataFrame({"qid": queries, "doc": [f"d{k}" for k in range(len(queries))]})
    frame["sex"] = rng.choice(["f", "m"], len(frame))
    frame["quality"] = rng.normal(size=len(frame))
    return frame.assign(**columns)


def ranked(frame: pd.DataFrame, method: str = "ordinal") -> np.ndarray:
    """1 is the top, by quality."""
    ranks = frame.groupby("qid")["quality"].transform(lambda quality: rankdata(-quality, method=method))
    return ranks.to_numpy(dtype=float)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("first", [0, 1])
def test_a_column_that_counts_is_proposed_as_the_rank(name: str, first: int) -> None:
    frame = searches([8, 5, 12, 7])
    frame[name] = ranked(frame) - 1 + first
    text = frame.drop(columns="quality").to_csv(index=False).encode()  # floats: "1.0"
    preview = preview_table(text)
    assert preview.mapping["rank"] == name
    assert "score" not in preview.mapping
    assert preview.rank_like == {name: f"counts {first}, {first + 1}, {first + 2}, ... in each list"}
    with pytest.raises(DataError) as caught:
        read_dataset(text, score=name)
    error = caught.value
    assert (error.question, error.column, error.fields) == ("rank", name, ("score", "rank"))
    assert f"looks like a rank: it counts {first}, {first + 1}" in str(error)
    assert f"rank={name!r}" in str(error)
    assert "insist=True" in str(error)
    assert "=" not in error.plain
    assert "1 is the top" in error.plain
    as_rank = read_dataset(text, rank=name)
    insisted = read_dataset(text, score=name, insist=True)
    np.testing.assert_array_equal(as_rank.score, -insisted.score)
    assert any("looks like a rank" in note and "taken as the score" in note for note in insisted.notes)
    assert not any("looks like" in note for note in as_rank.notes)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "score"])
def test_the_guess_of_a_reader_is_the_rank(name: str) -> None:
    frame = searches([8, 5, 12, 7])
    frame[name] = ranked(frame)
    data = read_dataset(frame.drop(columns="quality"))
    np.testing.assert_array_equal(data.score, -frame[name])


def test_a_guess_by_name_that_the_column_contradicts_is_asked_about() -> None:
    frame = searches([8, 5, 12, 7])
    with pytest.raises(DataError, match="looks like a rank"):
        read_dataset(frame.assign(score=ranked(frame)))
    with pytest.raises(DataError, match=r"'ranking' of the DataFrame was to be read as a rank .* looks like a score"):
        read_dataset(frame.drop(columns="quality").assign(ranking=frame["quality"]))
    assert preview_table(frame.assign(ranking=frame["quality"])).mapping["score"] == "ranking"


@given(
    lengths=st.lists(st.integers(1, 15), min_size=1, max_size=12),
    seed=st.integers(0, 999),
    first=st.sampled_from([0, 1]),
    method=st.sampled_from(["ordinal", "min", "max", "dense", "average"]),
    tied=st.booleans(),
)
@settings(max_examples=120)
def test_any_way_of_counting_is_seen(lengths: list[int], seed: int, first: int, method: str, tied: bool) -> None:
    several = [length for length in lengths if length > 1]
    assume(sum(several) - len(several) >= 8 and sum(several) >= 3 * len(several))
    frame = searches(lengths, seed)
    if tied:  # the two best share their place
        best = frame.groupby("qid")["quality"].transform("max")
        second = frame.groupby("qid")["quality"].transform(lambda quality: quality.nlargest(2).min())
        frame["quality"] = np.where(frame["quality"] == second, best, frame["quality"])
    ranks = ranked(frame, method) - 1 + first
    whole = np.concatenate([ranks[frame["qid"] == q] for q in range(len(lengths)) if lengths[q] > 1])
    apart = sum(len(set(ranks[frame["qid"] == q])) for q in range(len(lengths)) if lengths[q] > 1) / len(whole)
    assume(apart >= 0.8)
    falling = all((np.diff(ranks[frame["qid"] == q]) <= 0).all() for q in range(len(lengths)))
    assume(not falling)  # points given to a list, best first, count down the file too
    look = look_at(frame["qid"].to_numpy(), ranks)
    assert (look.kind, look.counts) == ("rank", True)


@given(seed=st.integers(0, 999), kept=st.floats(0.7, 0.95))
@settings(max_examples=40)
def test_ranks_with_gaps_after_filtering(seed: int, kept: float) -> None:
    frame = searches([10] * 12, seed)
    frame["place"] = ranked(frame)
    frame = frame[np.random.default_rng(seed).random(len(frame)) < kept]
    assert look_at(frame["qid"].to_numpy(), frame["place"].to_numpy()).kind == "rank"


@given(
    lengths=st.lists(st.integers(2, 20), min_size=1, max_size=20),
    seed=st.integers(0, 999),
    kind=st.sampled_from(["normal", "grades", "points", "constant", "flag", "stars"]),
)
@settings(max_examples=150)
def test_scores_are_left_alone(lengths: list[int], seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    values = {
        "normal": rng.normal(size=n),
        "grades": rng.integers(0, 5, n).astype(float),
        "points": rng.integers(0, 101, n).astype(float),
        "constant": np.ones(n),
        "flag": rng.integers(0, 2, n).astype(float),
        "stars": rng.integers(1, 6, n).astype(float),
    }[kind]
    assume(n - len(lengths) >= 12)  # in fewer items five grades may come out as 0, 1, 2, 3, 4
    assert look_at(np.repeat(np.arange(len(lengths)), lengths), values).kind != "rank"


@pytest.mark.parametrize("lengths", [[2], [2] * 50, [3, 3], [1] * 30])
def test_short_lists_prove_nothing(lengths: list[int]) -> None:
    frame = searches(lengths)
    assert look_at(frame["qid"].to_numpy(), ranked(frame)).kind is None


def test_points_that_count_the_other_way() -> None:
    frame = searches([10] * 10)
    frame["points"] = frame.groupby("qid")["quality"].rank()
    assert look_at(frame["qid"].to_numpy(), frame["points"].to_numpy()).kind == "rank"  # nothing says otherwise
    relevance = (frame["quality"] > 0).astype(float)
    data = read_dataset(frame.assign(label=relevance), score="points")
    np.testing.assert_array_equal(data.score, frame["points"])
    best_first = frame.sort_values(["qid", "quality"], ascending=[True, False])
    assert read_dataset(best_first.drop(columns="quality"), score="points").score is not None


def test_a_column_that_falls_where_the_best_rise() -> None:
    frame = searches([10] * 10)
    frame["place in the world"] = np.round(1000 * np.exp(-frame["quality"]))
    frame["rel"] = (frame["quality"] > 0.5).astype(float)
    with pytest.raises(DataError, match="it falls where 'rel' rises"):
        read_dataset(frame, score="place in the world", group="sex")
    assert read_dataset(frame, rank="place in the world", group="sex").score is not None
    beside = frame.drop(columns="rel").rename(columns={"quality": "model_score"})
    with pytest.raises(DataError, match="it falls where 'model_score' rises"):
        read_dataset(beside, score="place in the world", group="sex")
    with pytest.raises(DataError, match="it rises where 'rel' rises"):
        read_dataset(frame.assign(points=np.round(100 + 10 * frame["quality"])), rank="points")


def test_a_poor_score_is_a_score() -> None:
    """Relevant items somewhat further down in four short lists are a poor ranking, not one upside down."""
    rows = [(q, f"{q}{k}", "ab"[k % 2], 10 - k, k % 3) for q in range(4) for k in range(6)]
    frame = pd.DataFrame(rows, columns=["query", "item", "group", "score", "relevance"])
    np.testing.assert_array_equal(read_dataset(frame).score, frame["score"])


def test_distances_may_be_ranks() -> None:
    frame = searches([10] * 10)
    away = frame.assign(away=np.exp(-frame["quality"])).drop(columns="quality")
    with pytest.raises(DataError, match="and ranks are whole numbers"):
        read_dataset(away, rank="away")
    data = read_dataset(away, rank="away", insist=True)
    np.testing.assert_array_equal(data.score, -away["away"])


def test_item_numbers_are_no_ranks() -> None:
    frame = searches([8, 5, 12, 7]).drop(columns=["doc", "quality"])
    for name in ("item_id", "candidate no.", "row"):
        numbered = frame.assign(**{name: frame.groupby("qid").cumcount() + 1})
        assert "rank" not in preview_table(numbered).mapping
        assert "score" not in preview_table(numbered).mapping
        assert read_dataset(numbered).score is None


def test_no_column_is_known_and_one_begins_anew() -> None:
    lines = "".join(f"S{q},c{q}-{k},{'fm'[k % 2]},{k + 1}\n" for q in range(6) for k in range(4 + q % 3)).encode()
    preview = preview_table(lines)
    assert preview.header_doubt
    assert preview.mapping["rank"] == "column 4"


def test_rows_of_a_query_need_not_be_together() -> None:
    frame = searches([9] * 40)
    frame["placing"] = ranked(frame)
    frame = frame.drop(columns="quality").sample(frac=1, random_state=1)
    with pytest.raises(DataError, match="counts 1, 2, 3"):
        read_dataset(frame, score="placing")
    assert preview_table(frame).mapping["rank"] == "placing"


def test_a_folder_is_read_by_the_same_rules(tmp_path: Path) -> None:
    frame = searches([9] * 40)
    frame["Rangplatz"] = ranked(frame)
    (tmp_path / "folder").mkdir()
    (tmp_path / "scratch").mkdir()
    frame.drop(columns="quality").to_parquet(tmp_path / "folder" / "part-0.parquet")
    parts = partition_folder(tmp_path / "folder", tmp_path / "scratch", {})
    assert parts.mapping["rank"] == "Rangplatz"
    assert any("'Rangplatz' was taken as the rank: it counts 1, 2, 3" in note for note in parts.notes)
    [data] = [part.read() for part in parts]
    np.testing.assert_array_equal(data.score, -frame["Rangplatz"])
    for file in (tmp_path / "scratch").iterdir():
        file.unlink()
    with pytest.raises(DataError, match="looks like a rank"):
        [part.read() for part in partition_folder(tmp_path / "folder", tmp_path / "scratch", {"score": "Rangplatz"})]
    frame[["doc", "Rangplatz"]].to_parquet(tmp_path / "folder" / "part-0.parquet")
    with pytest.raises(DataError, match="columns of the folder are the query and the group"):
        partition_folder(tmp_path / "folder", tmp_path / "scratch", {})


def test_the_largest_numbers_there_are_make_no_noise():
    frame = pd.DataFrame({"query": np.repeat(np.arange(30), 8), "item": np.arange(240), "group": ["a", "b"] * 120})
    frame["relevance"] = np.random.default_rng(0).integers(0, 2, 240)
    frame["score"] = 1.7e308 * np.where(frame.relevance == 1, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = read_dataset(frame)
    np.testing.assert_array_equal(data.score, frame["score"])
