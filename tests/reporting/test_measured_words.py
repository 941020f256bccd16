"""What measures by their names found, in words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from spofr_core.data import read_dataset
from spofr_core.evaluation import measure
from spofr_core.reporting import MEASURED_HEAD, formula_texts, measured_cells, measured_notes


@pytest.fixture(scope="module")
def summary():
    """Three lists: one in which b comes last, one of a alone, one in which all tie."""
    rows = [("q1", "aabb", (4, 3, 2, 1)), ("q2", "aa", (2, 1)), ("q3", "ab", (1, 1))]
    frame = pd.DataFrame(
        [
            (q, f"{q}{i}", g, s)
            for q, groups, scores in rows
            for i, (g, s) in enumerate(zip(groups, scores, strict=True))
        ],
        columns=["query", "item", "group", "score"],
    )
    return measure(read_dataset(frame), ["exposure_ratio", "Skew@1", "impact_ratio@2"], protected="b").summary


def test_a_row_of_the_table_says_mean_interval_n_and_which_way_is_better(summary):
    assert MEASURED_HEAD == ("measure", "mean", "95 % CI", "queries", "better")
    ratio, skew, _ = measured_cells(summary)
    # q1: mean of 1/4 and 1/5 over that of 1/2 and 1/3 is 0.54; q3: all tie, 1. q2 has one group.
    assert ratio[:2] == ("Exposure ratio", "0.77")
    assert ratio[3:] == ("2", "higher")
    assert skew[0] == "Skew@1"
    assert skew[4] == "closer to 0"


def test_what_has_no_value_is_told_with_its_reason_once_for_all_that_it_concerns(summary):
    told = "Exposure ratio, Skew@1 and Impact ratio@2 have no value in 1 of 3 queries: only one group in the list."
    assert told in measured_notes(summary)
    alone = {**summary, "measures": {"exposure_ratio": summary["measures"]["exposure_ratio"]}}
    assert measured_notes(alone) == ["Exposure ratio has no value in 1 of 3 queries: only one group in the list."]


def test_the_data_as_a_whole_and_four_fifths_are_told_in_words(summary):
    said = measured_notes(summary)
    # Of a's five items the first two of q1 and of q2 and one of q3 are among the first two, of b's three one.
    assert "Impact ratio@2 of the data as a whole, not list by list: 0.333." in said
    assert "Impact ratio@2 is below four fifths in 1 of 2 queries, and in the data as a whole." in said


def test_drawn_ties_are_told():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"query": np.repeat(["a", "b"], 12), "item": range(24), "group": rng.choice(["x", "y"], 24)})
    found = measure(read_dataset(frame.assign(score=1.0)), ["NDKL"]).summary
    assert found["measures"]["NDKL"]["sampling_error"] > 0
    assert any(
        note.startswith("NDKL: drawn orders of ties add a standard error of 0.") for note in measured_notes(found)
    )


def test_each_measure_comes_with_its_formula_and_source(summary):
    label, described, formula, source = formula_texts(summary)[0]
    assert (label, formula, source) == ("Exposure ratio", "min_g e_g / max_g e_g", "Singh, Joachims 2018")
    assert described


def test_the_group_with_the_fewest_items_is_one_that_has_some():
    frame = pd.DataFrame(
        {"query": [1, 1, 1, 2, 2], "item": range(5), "group": list("aabcc"), "score": range(5), "land": list("xxxyy")}
    )
    found = measure(read_dataset(frame, slices=["land"]).where(land="x"), ["Skew@1"])
    assert found.summary["settings"]["protected"] == "b"
