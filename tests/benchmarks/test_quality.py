"""The tables of the quality study against scipy and by hand."""

import json
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
    for name in [name for name in sys.modules if name.startswith("quality")]:
        del sys.modules[name]


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
    lines += [line(last, 1, 1.5, delta=0.05)]  # nothing to compare with
    (row,) = (row for _, row in end_to_end(frame(lines)).iterrows())
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


def test_differences_pair_the_seeds_of_the_cells_that_the_second_part_was():
    """`pto` with a loss among its settings is that cell; a cell of the third part is paired with it by seed."""
    from quality_answers import Results

    old = [
        {**line("pto", seed, 1.0 + seed, delta=0.0), "settings": {"scorer": "listnet", "weight_decay": 3.0}}
        for seed in (1, 2, 3)
    ]
    new = [{**line("pto/trees/logistic", seed, 1.25 + seed, delta=0.0), "settings": {"leaves": 7}} for seed in (2, 3)]
    results = Results(old + new)
    assert results.mean("toy", 0.0, "pto/network/listnet") == "3.000 (n=3)"
    assert results.minus("toy", 0.0, "pto/trees/logistic", "pto/network/listnet") == "+0.2500 ± 0.0000 (n=2)"
    assert results.minus("toy", 0.02, "pto/trees/logistic", "pto/network/listnet") == ""
    assert results.minus("toy", 0.0, "pto/network/listnet", "pto/network/listnet") == "0 (n=3)"


def test_the_best_loss_is_that_of_the_tuning_seeds_and_its_settings_go_to_spofr():
    from quality_plan import Piece, best_loss, study_of, tuning_of

    def tuned(method, seed, settings, objective):
        found = {"tuning": True, "dataset": "hiring", "method": method, "seed": seed, "settings": settings}
        return found | {"validation_objective": objective}

    lines = [
        tuned("pto/trees/listnet", 1000, {"leaves": 7}, 3.0),
        tuned("pto/trees/listnet", 1001, {"leaves": 7}, 0.0),
        tuned("pto/trees/logistic", 1000, {"leaves": 15}, 2.0),
        tuned("pto/trees/logistic", 1001, {"leaves": 15}, 1.5),
        tuned("pto/trees/logistic", 1000, {"leaves": 31}, 1.0),
    ]
    assert best_loss(lines, "hiring", "trees") == "logistic"
    piece = Piece("hiring", ("spo+/trees/best",), (0.0,), seeds=(60, 61))
    done = {"dataset": "hiring", "method": "spo+/trees/logistic", "seed": 60, "delta": 0.0, "penalty": None}
    assert list(study_of(piece, [*lines, done], (60, 61, 62))) == [
        ("hiring", 61, "spo+/trees/logistic", {"leaves": 15}, (0.0,))
    ]
    left = [(unit[1], unit[2], unit[3]["leaves"]) for unit in tuning_of(piece, lines)]
    assert len(left) == 12 - len(lines)
    assert (1001, "pto/trees/logistic", 31) in left


def test_a_number_in_a_sentence_is_the_one_of_the_tables_and_never_missing():
    from quality_answers import Results
    from quality_numbers import number

    plain, trees = "pto/network/listnet", "pto/trees/logistic"
    lines = [{**line(plain, seed, 2.0 + seed, delta=0.02), "settings": {}} for seed in (1, 2, 3)]
    lines += [{**line(trees, seed, 2.0 + 1.1 * seed, delta=0.02), "settings": {}} for seed in (2, 3)]
    ensemble = {**line(f"{plain}, five seeds", 2, 4.5, delta=0.02), "settings": {}, "members_dcg": [4.0, 4.2]}
    results = Results([*lines, ensemble])
    assert number(results, f"toy: {plain} @ 0.02") == "4.000 (n=3)"
    asked = f"toy: {trees} - {plain} @ 0.02"
    assert number(results, asked) == results.minus("toy", 0.02, trees, plain) == "+0.2500 ± 0.6353 (n=2)"
    assert number(results, f"{asked} in %") == "5.6 %"
    assert number(results, f"toy: {plain}, five seeds - one of five @ 0.02") == "+0.4000 (n=1)"
    assert number(results, f"{asked} in words") == "adds nothing that can be shown (+0.2500 ± 0.6353, n=2)"
    for wrong in (f"toy: {trees} - {plain} @ 0", f"toys: {trees} - {plain} @ 0.02", "what trees add"):
        with pytest.raises(KeyError):
            number(results, wrong)


def test_the_words_of_a_difference_hang_on_its_interval_alone():
    from quality_numbers import in_words

    assert in_words((0.01, 0.004, 12)) == "adds +0.0100 ± 0.0040 (n=12)"
    assert in_words((0.01, 0.02, 12)) == "adds nothing that can be shown (+0.0100 ± 0.0200, n=12)"
    assert in_words((0.01, float("nan"), 1)) == "adds nothing that can be shown (+0.0100, n=1)"
    assert in_words((0.0, 0.0, 12)) == "adds nothing that can be shown (0, n=12)"
    assert in_words((-0.01, 0.004, 12)) == "is behind (-0.0100 ± 0.0040, n=12)"


def test_tasks_are_counted_by_where_their_intervals_lie():
    from quality_answers import TASKS, Results
    from quality_numbers import number

    plain, ours = "pto/network/listnet", "spofr/network/listnet"
    lines = []
    for task, (mean, spread) in zip(TASKS, [(0.5, 0.1), (-0.5, 0.1), (0.1, 1.0), (0.0, 0.0)], strict=False):
        for seed in (1, 2, 3):
            both = {plain: 1.0, ours: 1.0 + mean + spread * (seed - 2)}
            lines += [
                {**line(name, seed, dcg, delta=0.0), "dataset": task, "settings": {}} for name, dcg in both.items()
            ]
    told = number(Results(lines), f"every task: {ours} - {plain} @ 0 counted")
    assert told == "ahead on 1 and behind on 1 of 4, and on 2 no difference can be shown"


def test_a_number_beside_penalties_is_that_of_the_default_and_of_models_within_the_level():
    from quality_answers import Results
    from quality_numbers import number

    lines = [line("spo+/network/listnet", seed, 2.0, delta=0.0) for seed in (1, 2)]
    lines += [line("fy/network/listnet", seed, 9.0, delta=0.0) for seed in (1, 2)]  # the loss that is not the default
    lines += [line("fultr/network/its own", 1, 1.5, penalty=10.0, violation=0.01)]
    lines += [line("fultr", 2, 1.0, penalty=10.0, violation=0.02), line("deltr", 2, 3.0, penalty=1.0, violation=0.3)]
    lines += [{**line("unfair", seed, 3.0), "mean_violation": violation} for seed, violation in ((1, 0.02), (2, 0.04))]
    results = Results([{"settings": {}, "mean_violation": 0.0, **each} for each in lines])
    assert number(results, "toy: spofr - fultr within 0.01") == "shows no difference from FULTR (+0.5000, n=1)"
    assert "FULTR (+0.7500 ± 3.1766, n=2)" in number(results, "toy: spofr - fultr within 0.02")
    assert number(results, "toy: spofr - deltr within 0.05") == "gets there and DELTR does not"
    assert number(results, "toy: spofr - deltr within 0.3") == "shows no difference from DELTR (-1.0000, n=1)"
    assert number(results, "toy: unfair violation") == "0.030"
    with pytest.raises(KeyError, match="not run"):
        number(results, "toy: sorted violation")
    lines += [line("fultr/network/at its best", 1, 1.75, penalty=10.0, violation=0.01)]  # no older rival beside it
    lines += [line("fultr/network/at its best", seed, 1.0 + seed, penalty=0.0, violation=0.3) for seed in (1, 2)]
    lines += [line("spofr/network/listnet", seed, 2.0, delta=0.0) for seed in (1, 2)]
    results = Results([{"settings": {}, "mean_violation": 0.0, **each} for each in lines])
    assert number(results, "toy: spofr - fultr within 0.02") == "shows no difference from FULTR (+0.2500, n=1)"
    sort = "toy: fultr/network/at its best - unfair at penalty 0"
    assert number(results, sort).startswith("-0.5000 ± ")
    with pytest.raises(KeyError, match="not run"):
        number(results, sort.replace("unfair", "deltr"))


def test_the_report_of_the_readme_prints_every_table(capsys):
    from quality_answers import answers
    from quality_tables import print_tables

    lines = [json.loads(text) for text in (FOLDER / "results" / "quality.jsonl").read_text("utf-8").splitlines()]
    seeds = len({line["seed"] for line in lines if line["dataset"] == "german-credit" and not line.get("tuning")})
    assert len(answers(lines)) == 12
    print_tables(lines)
    printed = capsys.readouterr().out
    assert (
        printed.count(f"## german-credit: {seeds} seeds")
        == printed.count("## What training through the programme adds")
        == 1
    )


def test_a_cell_of_the_study_has_one_configuration_and_each_model_once():
    results = (FOLDER / "results" / "quality.jsonl").read_text("utf-8").splitlines()
    models = [found for found in map(json.loads, results) if not found.get("tuning")]
    settings, seen = {}, set()
    for model in models:
        chosen = settings.setdefault((model["dataset"], model["method"]), model["settings"])
        assert model["settings"] == chosen, (model["dataset"], model["method"], model["seed"])
        key = tuple(model[name] for name in ("dataset", "method", "seed", "delta", "penalty"))
        assert key not in seen, key
        seen.add(key)


def test_rivals_at_their_best_choose_from_as_many_configurations_as_spofr():
    from quality_cells import _THREE, METHODS, PLAIN_LOSSES

    ours = len(PLAIN_LOSSES) * len(_THREE["network"])
    for family in ("pto", "unfair", "deltr", "fultr"):
        choices = METHODS[f"{family}/network/at its best"].choices
        assert len({json.dumps(choice, sort_keys=True) for choice in choices}) == ours
    for older in ("fultr", "fultr/network/its own"):
        assert METHODS[older].settings == {"sharpen": False, "batch_size": 64, "weight_decay": 0.0}


def test_a_setting_that_was_chosen_goes_before_that_of_the_dataset():
    from quality_cells import METHODS
    from quality_fits import all_settings

    asked = all_settings(METHODS["deltr/network/at its best"], "adult by sex", {"learning_rate": 1e-4}, 3)
    assert asked == {"learning_rate": 1e-4, "seed": 3}
