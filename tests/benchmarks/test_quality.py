"""The tables of the quality study against scipy and by hand, and the data that it needs from elsewhere."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in ("adult", "quality_tables"):
        sys.modules.pop(name, None)


def line(method, seed, dcg, *, delta=None, penalty=None, violation=0.0):
    return {
        "dataset": "toy",
        "method": method,
        "seed": seed,
        "delta": delta,
        "penalty": penalty,
        "test_dcg": dcg,
        "validation_dcg": dcg,
        "validation_violation": violation,
        "max_violation": violation,
        "queries": 7,
    }


def test_a_paired_difference_is_that_of_a_t_test():
    from quality_tables import paired

    a, b = pd.Series([1.0, 2.0, 4.0, np.nan], index=[1, 2, 3, 4]), pd.Series([0.5, 1.0, 2.0, 9.0], index=[1, 2, 3, 4])
    mean, half, n = paired(a, b)
    low, high = stats.ttest_rel(a[:3], b[:3]).confidence_interval(0.95)
    assert (mean - half, mean + half, n) == (pytest.approx(low), pytest.approx(high), 3)


def test_what_training_through_the_programme_adds_is_paired_by_seed():
    from quality_tables import END_TO_END, end_to_end, frame

    first, _, last = END_TO_END
    lines = [line(first, seed, 1.0 + seed, delta=0.02) for seed in (1, 2, 3)]
    lines += [line(last, seed, 1.5 + seed, delta=0.02, violation=0.019) for seed in (1, 2, 3)]
    row = end_to_end(frame(lines)).iloc[0]
    assert row[first] == 3.0
    assert row[f"{last} - {first}"] == "+0.5000 ± 0.0000 (n=3)"
    assert row["largest violation - delta"] == "-1.0e-03"


def test_matched_violation_takes_the_best_validation_dcg_within_the_level():
    from quality_tables import at_matched_violation, frame

    lines = [
        line("fultr", 1, 3.0, penalty=0.0, violation=0.5),
        line("fultr", 1, 2.0, penalty=1.0, violation=0.01),
        line("fultr", 1, 1.0, penalty=2.0, violation=0.005),
        line("spofr", 1, 2.5, delta=0.01, violation=0.01),
    ]
    table = at_matched_violation(frame(lines)).set_index("mean violation <=")
    assert table.fultr.to_dict() == {0.0: "none", 0.005: "1.0000"} | dict.fromkeys((0.01, 0.02, 0.03, 0.05), "2.0000")
    assert table.loc[0.01, "spofr - fultr"].startswith("+0.5000")


def write_people(folder, n=4000):
    rng = np.random.default_rng(0)
    rows = [
        f"{rng.integers(17, 90)}, Private, 1, HS-grad, {rng.integers(1, 17)}, {marital}, Sales, Husband, White, {sex}, "
        f"0, 0, 40, United-States, {income}"
        for marital, sex, income in zip(
            rng.choice(["Married-civ-spouse", "Never-married", "Widowed"], n),
            rng.choice(["Male", "Female"], n),
            rng.choice(["<=50K", ">50K"], n),
            strict=True,
        )
    ]
    (folder / "adult.data").write_text("\n".join(rows[: n // 2]) + "\n")
    (folder / "adult.test").write_text("|1x3 Cross validator\n" + ".\n".join(rows[n // 2 :]) + ".\n")


def test_adult_lists_are_of_different_people_balanced_and_blind_to_the_group(tmp_path, monkeypatch):
    import adult

    write_people(tmp_path)
    people = adult.read_people(tmp_path)
    assert len(people) == 4000
    assert set(people.rich) == {0.0, 1.0}
    monkeypatch.setattr(adult, "read_people", lambda: people)
    for name, task in adult.TASKS.items():
        parts = adult.adult_lists(name, seed=0, lists=(20, 10, 10))
        everyone = [set(part.item_ids) for part in parts]
        assert sum(map(len, everyone)) == len(set().union(*everyone))
        for part in parts:
            counts = part.groups.reshape(len(part), -1)
            assert all(np.bincount(row).tolist() == [20 // len(task.groups)] * len(task.groups) for row in counts)
            assert part.relevance.tolist() == people.rich[part.item_ids].tolist()
        hidden = "sex" if "Male" in task.groups else "marital_status"
        assert not any(feature.startswith(hidden) for feature in parts[0].feature_names)


def test_missing_data_says_where_it_comes_from(tmp_path):
    import adult

    with pytest.raises(SystemExit, match=r"'adult.data' is not in .*: the two commands that put it there"):
        adult.read_people(tmp_path)
