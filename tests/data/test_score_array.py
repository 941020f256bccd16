"""Whole numbers beyond 2^53 are ranked as the numbers they are, whatever they come in."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spofr_core import Fairness, audit, fair_policy
from spofr_core.data import read_dataset
from spofr_core.errors import DataError

NAMES = {"query": "q", "item": "i", "group": "g"}


def lists(start: int, seed: int = 0, steps: int = 3) -> pd.DataFrame:
    """Forty lists of six whole numbers a step or so apart, some of them equal."""
    rng = np.random.default_rng(seed)
    scores = [start + int(step) for _ in range(40) for step in rng.integers(0, 6 * steps, 6)]
    return pd.DataFrame(
        {
            "q": np.repeat(np.arange(40), 6),
            "i": np.tile(np.arange(6), 40),
            "g": rng.choice(["a", "b"], 240),
            "s": scores,
        }
    )


def dense_ranks(frame: pd.DataFrame) -> list[int]:
    """By Python's own numbers: 1 for the largest of each list, equal ones together."""
    of_list = frame.groupby("q")["s"].agg(lambda scores: sorted(set(map(int, scores)), reverse=True)).to_dict()
    return [of_list[q].index(int(s)) + 1 for q, s in zip(frame["q"], frame["s"], strict=True)]


def sources(frame: pd.DataFrame, folder: Path) -> dict[str, object]:
    frame.to_csv(folder / "t.csv", index=False)
    frame.astype({"s": str}).to_parquet(folder / "text.parquet")
    ways: dict[str, object] = {"csv": folder / "t.csv", "text": folder / "text.parquet"}
    ways["shuffled"] = frame.sample(frac=1, random_state=1).reset_index(drop=True)
    if max(frame["s"]) < 2**64:
        frame.to_parquet(folder / "t.parquet")
        ways |= {"frame": frame, "parquet": folder / "t.parquet"}
    return ways


@pytest.mark.parametrize("start", [2**53, 2**62, -(2**62), 2**63 + 7, 10**30])
def test_no_ties_that_are_not_there(start: int, tmp_path: Path) -> None:
    frame = lists(start)
    if abs(start) >= 2**64:
        frame["s"] = frame["s"].astype(str)
        ways = {"frame": frame}
        frame.to_csv(tmp_path / "t.csv", index=False)
        ways["csv"] = tmp_path / "t.csv"
    else:
        ways = sources(frame, tmp_path)
    wanted = dict(zip(zip(frame["q"], frame["i"], strict=True), dense_ranks(frame), strict=True))
    for name, source in ways.items():
        data = read_dataset(source, **NAMES, score="s", insist=True)
        found = dict(zip(zip(data.query_ids[data.query_of_item], data.item_ids, strict=True), -data.score, strict=True))
        assert found == wanted, name
        assert data.ranks
        assert sum("2^53" in note for note in data.notes) == 1


def test_the_verdict_is_that_of_the_same_numbers_made_small() -> None:
    frame = lists(2**60, steps=40)
    small = read_dataset(frame.assign(s=frame["s"] - 2**60), **NAMES, score="s")
    large = read_dataset(frame, **NAMES, score="s")
    asked = Fairness(delta=0.1, unit="share")
    gaps = [audit(data, asked).queries["violation"].to_numpy() for data in (small, large)]
    assert np.array_equal(*gaps)


def test_ranks_beyond_doubles_keep_their_order() -> None:
    frame = lists(2**61)
    data = read_dataset(frame, **NAMES, rank="s", insist=True)
    backwards = read_dataset(frame.assign(s=[2**62 - s for s in frame["s"]]), **NAMES, score="s", insist=True)
    assert data.score.tolist() == backwards.score.tolist()


@pytest.mark.parametrize("step", [256, 1024])
def test_numbers_that_doubles_tell_apart_stay_as_they_are(step: int) -> None:
    frame = lists(0)
    frame["s"] = 2**60 + frame["s"] * step
    data = read_dataset(frame, **NAMES, score="s")
    assert data.score.tolist() == frame["s"].astype(float).tolist()
    assert not data.ranks
    assert not any("2^53" in note for note in data.notes)


def test_a_file_with_decimal_commas_and_blanks() -> None:
    text = "q;i;g;s;x\n1;1;a; 9007199254740993 ;0,5\n1;2;b;9007199254740992;0,5\n1;3;b;9007199254740993,0;0,5\n"
    data = read_dataset(io.StringIO(text), **NAMES, score="s")
    assert data.score.tolist() == [-1, -2, -1]


@pytest.mark.parametrize("scores", [np.array([2**53 + 1, 2**53]), [2**70 + 1, 2**70], np.array([2**63 + 1, 1], "u8")])
def test_an_array_without_a_dataset_is_refused_with_the_way_to_mend_it(scores: object) -> None:
    with pytest.raises(DataError, match=r"beyond 2\^53.*subtract"):
        fair_policy(scores, ["a", "b"], Fairness(delta=0.5))
    fair_policy(np.array([2**53, 2**54]), ["a", "b"], Fairness(delta=0.5))
