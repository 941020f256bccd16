"""A measure is a value whose text parses back; what cannot be computed says why, per query."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spofr_core import ConfigError, DataError, load_sample, measure
from spofr_core.measures import MEASURES, parse_measure, parse_measures
from tests.measures.lists import dataset, one_ranking


def reasons(found, name):
    rows = found.undefined[found.undefined["measure"] == name]
    return dict(zip(rows["query"], rows["why"], strict=True))


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("NDKL", "NDKL"),
        ("ndkl@5", "NDKL@5"),
        (" Skew @ 10 ", "Skew@10"),
        ("skew", "Skew@10"),
        ("nDCG@5", "ndcg@5"),
        ("fa*ir", "FA*IR"),
        ("FAIR(alpha=0.05)", "FA*IR(alpha=0.05)"),
        ("ee-l(of=groups)", "EE-L(of=groups)"),
        ("EE_L(of=items)", "EE-L"),  # what is the default is not said
        ("AWRF x nDCG", "AWRFxnDCG"),
        ("exposure ratio", "exposure_ratio"),
        ("violation", "max_violation"),
        ('Skew@3(target=data, group="older, <b>than</b> 60")', 'Skew@3(group="older, <b>than</b> 60", target=data)'),
        ('AWRF(target={"women": 0.5, "men": 0.5})', 'AWRF(target={"women": 0.5, "men": 0.5})'),
    ],
)
def test_texts_parse_to_measures_and_back(text, spelled):
    found = parse_measure(text)
    assert str(found) == repr(found) == spelled
    assert parse_measure(spelled) == found
    assert hash(parse_measure(spelled)) == hash(found)


@given(st.text(min_size=1), st.integers(1, 10**6))
def test_any_group_name_survives_the_text(group, k):
    found = MEASURES["Skew"](k=k, group=group)
    assert parse_measure(str(found)).settings == {"k": k, "group": group}


@given(st.text(max_size=40))
def test_any_other_text_is_refused_or_parses_back(text):
    try:
        found = parse_measure(text)
    except ConfigError:
        return
    assert parse_measure(str(found)) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NDKLL", "'measure' must be one of"),
        ("Skew@0", "whole number of 1 or more, got '0'"),
        ("Skew@9223372036854775807", "whole number up to 2,147,483,647, got '9223372036854775807'"),
        ("Skew@ten", "got 'ten'"),
        ("Skew@2.5", "got '2.5'"),
        ("Gini@10", "has no setting 'k'; it has no settings at all"),
        ("AWRF(goal=uniform)", "has no setting 'goal'; it has target"),
        ("AWRF(target)", "write setting=value"),
        ("AWRF(target=)", "has no value"),
        ('AWRF(target={"a": )', "cannot be read as JSON"),
        ("AWRF(target=uniform", "is no measure"),
        (7, "named by a text"),
    ],
)
def test_what_is_wrong_with_a_text_is_said(text, said):
    with pytest.raises(ConfigError, match=r".*") as error:
        parse_measure(text)
    assert said in str(error.value)


def test_all_stands_for_every_measure_once():
    assert [m.name for m in parse_measures(["NDKL", "all"])] == ["NDKL", *(n for n in MEASURES if n != "NDKL")]


def test_where_a_measure_cannot_be_computed_it_says_why_query_by_query():
    data = dataset(
        {"groups": "AB", "scores": [2, 1], "relevance": [1, 1]},
        {"groups": "AA", "scores": [2, 1], "relevance": [1, 0]},
        {"groups": "AB", "scores": [2, 1], "relevance": [0, 0]},
        {"groups": "AAB", "scores": [3, 2, 1], "relevance": [1, 1, 1]},
    )
    found = measure(data, ["ndcg", "NDKL", "Skew@2(group=B)", "rND", "DTR"])
    assert reasons(found, "ndcg") == {"q2": "no relevant item in the list"}
    assert reasons(found, "NDKL") == {"q1": "only one group in the list"}
    assert reasons(found, "Skew@2(group=B)") == {
        "q1": "only one group in the list",
        "q3": "minus infinity: nobody of group 'B' among the first 2",
    }
    assert set(reasons(found, "rND").values()) == {"only one group in the list", "the list has no more than 10 items"}
    assert reasons(found, "DTR")["q2"] == "one of the two sides has nothing relevant in the list"
    for name, entry in found.summary["measures"].items():
        assert entry["n"] + sum(entry["undefined"].values()) == 4, name
        assert entry["n"] == int(np.isfinite(found.values[name]).sum())


def test_without_relevance_what_needs_it_says_so():
    found = measure(one_ranking("AB"), ["DTR", "Gini"])
    assert reasons(found, "DTR") == {"q0": "the data has no relevance"}
    assert np.isfinite(found.values["Gini"]).all()


def test_the_protected_group_is_named_or_told():
    data = one_ranking("AAB")
    told = measure(data, "Skew@2(target=uniform)")
    assert "of group 'B', the one with the fewest items" in told.notes[-1]
    assert told.summary["settings"]["protected"] == "B"
    named = measure(data, "Skew@2", protected="A")
    assert named.values["Skew@2"][0] == pytest.approx(np.log(1 / (2 / 3)))
    assert not named.notes
    with pytest.raises(ConfigError, match="no group 'C' to measure"):
        measure(data, "Skew@2", protected="C")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("all", "'target' must be one of"),
        ({"A": 1}, "does not name the group 'B'"),
        ({"A": 1, "B": 1, "C": 1}, "names 'C', which is no group"),
        ({"A": 1, "B": "x"}, "share of group 'B' in the target is 'x'"),
        ({"A": 0, "B": 0}, "sum to 0"),
        ("relevant", "the data has no relevance"),
    ],
)
def test_a_target_that_is_none_is_refused(target, said):
    with pytest.raises(ConfigError) as error:
        measure(one_ranking("AB"), "AWRF", target=target)
    assert said in str(error.value)


def test_nothing_to_measure_is_refused():
    with pytest.raises(ConfigError, match="Name a measure"):
        measure(one_ranking("AB"), [])
    with pytest.raises(DataError, match="must be a RankingDataset"):
        measure("file.csv", "NDKL")
    with pytest.raises(DataError, match="no score or rank column"):
        measure(one_ranking("AB").replace(score=None), "NDKL")


def test_the_summary_is_plain_and_its_means_are_of_the_queries(tmp_path):
    found = measure(load_sample("hiring").test, "all", seed=4)
    read = json.loads(found.to_json(tmp_path / "measures.json"))
    assert read == json.loads((tmp_path / "measures.json").read_text("utf-8"))
    for name, entry in read["measures"].items():
        assert entry["mean"] == pytest.approx(float(found.queries[name].mean())), name
        assert entry["ci"][0] <= entry["mean"] <= entry["ci"][1]


def test_queries_go_into_a_csv_file_that_no_spreadsheet_runs(tmp_path):
    data = one_ranking("AB").replace(query_ids=np.array(["=1+1"]))
    measure(data, "NDKL").to_csv(tmp_path / "m.csv")
    assert "'=1+1" in (tmp_path / "m.csv").read_text("utf-8")
