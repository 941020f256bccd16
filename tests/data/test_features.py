"""What can be learned from is taken by itself; what cannot is left out with the reason."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from spofr_core.data import read_dataset
from spofr_core.errors import DataError

N = 40


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    relevance = rng.integers(0, 3, N)
    return pd.DataFrame(
        {
            "qid": np.repeat(np.arange(5), 8),
            "doc": [f"d{k}" for k in range(N)],
            "sex": rng.choice(["f", "m"], N),
            "score": rng.normal(size=N),
            "label": relevance,
            "age": rng.integers(20, 60, N),
            "grade point": rng.normal(size=N),
            "city": rng.choice(["Bonn", "Kiel"], N),
            "country": 49,
            "empty": np.nan,
            "gaps": np.where(np.arange(N) % 7 == 0, np.nan, 1.5),
            "ratio": np.where(np.arange(N) == 3, np.inf, rng.random(N)),
            "row": np.arange(1000, 1000 + N),
            "customer nr": rng.permutation(10**6)[:N],
            "bonus": -relevance,
            "shown at": np.concatenate([rng.permutation(8) + 1 for _ in range(5)]),
            "income": rng.permutation(10**6)[:N],
            "member": rng.random(N) < 0.5,
        }
    )


REASONS = {
    "city": "text",
    "country": "always 49",
    "empty": "no value",
    "gaps": "6 missing values",
    "ratio": "1 infinite values",
    "row": "an id: no two rows share one",
    "customer nr": "an id: no two rows share one",
    "bonus": "a copy of 'label'",
    "shown at": "a rank: it counts 1, 2, 3, ... in each list",
}


def test_unfit_columns_are_left_out_with_their_reason() -> None:
    data = read_dataset(frame(), features="auto")
    assert data.feature_names == ("age", "grade point", "income", "member")
    np.testing.assert_array_equal(data.features, frame()[list(data.feature_names)].to_numpy(dtype=float))
    [note] = [note for note in data.notes if note.startswith("Not among the features")]
    for name, reason in REASONS.items():
        assert f"{name!r} ({reason})" in note
    assert note.count(" (") == len(REASONS)


def test_what_is_named_is_taken_or_refused_but_not_dropped() -> None:
    data = read_dataset(frame(), features=["age", "country", "row", "bonus"])
    assert data.feature_names == ("age", "country", "row", "bonus")
    with pytest.raises(DataError, match="Feature 'gaps'"):
        read_dataset(frame(), features=["age", "gaps"])
    assert not any("Not among" in note for note in data.notes)


def test_features_are_left_out_by_a_control() -> None:
    data = read_dataset(frame(), features="auto", leave_out_features=["age", "city"])
    assert data.feature_names == ("grade point", "income", "member")
    assert not any("'age'" in note or "'city'" in note for note in data.notes)
    assert read_dataset(frame(), features=["age", "income"], leave_out_features=["age"]).feature_names == ("income",)
    lines = b"2 qid:1 1:0.5 2:3 3:1\n0 qid:1 1:0.25 2:1 3:2\n"
    data = read_dataset(lines, group="3", group_quantiles=2, leave_out_features=["2"])
    assert data.feature_names == ("1", "3")
    np.testing.assert_array_equal(data.features, [[0.5, 1.0], [0.25, 2.0]])
    with pytest.raises(DataError, match="no column 'agee'"):
        read_dataset(frame(), features="auto", leave_out_features=["agee"])


def test_a_feature_that_tells_the_group_is_named() -> None:
    people = frame().assign(sex=["f", "m"] * 20)
    woman = (people["sex"] == "f").to_numpy()
    people["is_woman"] = woman.astype(int)
    people["cut apart"] = np.where(woman, 1, -1) * (1 + people["grade point"].abs())
    people["nearly"] = np.where(np.arange(N) == 7, ~woman, woman).astype(float)
    for features in ("auto", ["age", "is_woman", "cut apart", "nearly", "income"]):
        data = read_dataset(people, features=features)
        [note] = [note for note in data.notes if note.startswith("Among the features")]
        assert note == (
            "Among the features, 'is_woman', 'cut apart' tell the group: leave them out where a scorer is not to see "
            "it."
        )
    left = read_dataset(people, features="auto", leave_out_features=["is_woman", "cut apart"])
    few = read_dataset(people[:16], features="auto")  # eight of each: it may be an accident
    for data in (left, few, read_dataset(frame(), features="auto")):
        assert not any(note.startswith("Among the features") for note in data.notes)


def test_no_feature_is_left() -> None:
    data = read_dataset(frame()[["qid", "doc", "sex", "score", "city", "country"]], features="auto")
    assert data.features is None
    assert any("'city' (text), 'country' (always 49)" in note for note in data.notes)


def test_text_far_down_in_a_column_of_numbers() -> None:
    rows = "".join(f"{k // 10},{k},{'fm'[k % 2]},{k % 7 + 0.5},{k % 5}\n" for k in range(30_000))
    text = "qid,doc,sex,score,age\n" + rows + "3000,x,f,1,unknown\n3000,y,m,0.5,3\n"
    data = read_dataset(text.encode(), features="auto")
    assert data.feature_names == ()
    assert any("'age' (text at row 30002)" in note for note in data.notes)
    with pytest.raises(DataError, match="'unknown'"):
        read_dataset(text.encode(), features=["age"])
