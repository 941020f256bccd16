"""`spofr measure` as a shell sees it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core import Fairness, cli, measure, read_dataset, repair
from spofr_core.cli import app
from spofr_core.measures import MEASURES

HIRING = Path(__file__).resolve().parents[2] / "sample_data" / "hiring.csv"


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def refusal(monkeypatch, capsys, *arguments: object) -> str:
    """What stderr says to arguments that end with exit code 2."""
    monkeypatch.setattr(sys, "argv", ["spofr", "measure", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    return capsys.readouterr().err


def test_json_is_what_python_finds():
    result = run("measure", HIRING, "--measure", "NDKL", "--measure", "skew@5", "--target", "data", "--json", "-")
    expected = measure(read_dataset(HIRING), ["NDKL", "Skew@5"], target="data").summary
    assert json.loads(result.stdout)["measures"] == json.loads(json.dumps(expected["measures"]))


def test_the_text_has_a_line_per_measure_with_interval_and_direction():
    found = run("measure", HIRING, "--measure", "impact_ratio@10", "--measure", "Skew", "--protected", "male")
    lines = found.stdout.splitlines()
    assert lines[0].split() == ["measure", "mean", "95", "%", "CI", "queries", "better"]
    entry = measure(read_dataset(HIRING), "impact_ratio@10").summary["measures"]["impact_ratio@10"]
    assert f"{entry['mean']:.3f}" in lines[1]
    assert "closer to 0" in lines[2]
    assert f"is below 0.8 in {entry['flagged']['queries']} of 500 queries, and in the data as a whole" in found.stdout
    assert f"impact_ratio@10 of the data as a whole: {entry['overall']:.3f}" in found.stdout


def test_policies_of_a_repair_are_measured_as_lotteries(tmp_path):
    policies = tmp_path / "policies.parquet"
    assert run("repair", HIRING, "--delta", "0.02", "--out", policies).exit_code == 0
    found = run("measure", HIRING, "--measure", "NDKL", "--policies", policies, "--json", "-")
    data = read_dataset(HIRING)
    expected = measure(data, "NDKL", policies=repair(data, Fairness(delta=0.02)).policies)
    mean = json.loads(found.stdout)["measures"]["NDKL"]["mean"]
    assert mean == pytest.approx(expected.summary["measures"]["NDKL"]["mean"], abs=1e-12)
    assert mean < measure(data, "NDKL").summary["measures"]["NDKL"]["mean"]


def test_queries_are_written_with_a_column_per_measure(tmp_path):
    run("measure", HIRING, "--measure", "Gini", "--csv", tmp_path / "m.csv")
    assert list(pd.read_csv(tmp_path / "m.csv").columns) == ["query", "Gini"]


def test_the_list_names_every_measure_with_its_formula():
    text = run("measure", "--list").stdout
    for entry in MEASURES.values():
        assert f"\n{entry.name}" in f"\n{text}"
        assert entry.formula in text


def test_without_a_measure_all_are_shown_and_what_cannot_be_is_told(tmp_path):
    path = tmp_path / "ranks.csv"
    path.write_text("job,rank,who,sex\nq1,1,a,f\nq1,2,b,m\nq2,1,c,m\nq2,2,d,m\nq3,1,e,x\nq3,2,f,f\n", "utf-8")
    text = run("measure", path, "--query", "job", "--rank", "rank", "--item", "who", "--group", "sex").stdout
    lacking = next(line for line in text.splitlines() if line.endswith(": the data has no relevance."))
    assert lacking.startswith("note: In 3 of 3 queries no value of dcg, ndcg, DTR, DIR, AWRFxnDCG, ")
    alone = next(line for line in text.splitlines() if line.endswith(": only one group in the list."))
    assert alone.startswith("note: In 1 of 3 queries no value of ")
    assert {"NDKL", "ARP", "exposure_ratio"} <= set(alone.replace(":", ",").replace("of ", ", ").split(", "))
    assert "of group 'x', the one with the fewest items; --protected '...' names another" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--measure", "NDKLL"), "'measure' must be one of"),
        (("--measure", "AWRF", "--target", "a=x"), "--target is 'a=x'; write a share for each group"),
        (("--measure", "AWRF", "--target", "female=0.5"), "does not name the group 'male'"),
        (("--measure", "Skew", "--protected", "cats"), "no group 'cats' to measure"),
        (("--measure", "NDKL", "--model", "x", "--policies", "y.csv"), "Both --model and --policies"),
    ],
)
def test_bad_input_is_one_sentence(monkeypatch, capsys, arguments, said):
    text = refusal(monkeypatch, capsys, HIRING, *arguments)
    assert said in text
    assert "Traceback" not in text
