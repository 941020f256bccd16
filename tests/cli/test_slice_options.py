"""`spofr audit --slice ... --time ...` as a shell sees it."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.data import read_dataset
from spofr_core.errors import SpofrError
from spofr_core.evaluation import audit, measure
from spofr_core.fairness import Fairness


def run(*arguments: str, command: str = "audit"):
    return CliRunner().invoke(app, [command, *arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Ninety searches of six items: in DE the women are placed last."""
    rng = np.random.default_rng(6)
    queries = np.repeat(np.arange(90), 6)
    sex = np.tile(["f", "m"], 270)
    country = np.array(["DE", "FR", "IT"])[queries % 3]
    score = rng.random(540) + ((country == "DE") & (sex == "m"))
    when = pd.Timestamp("2024-01-05") + pd.to_timedelta(queries, unit="D")
    columns = {"qid": queries, "doc": np.arange(540), "sex": sex, "score": score, "country": country}
    return pd.DataFrame({**columns, "device": np.array(["a", "b"])[(queries // 3) % 2], "day": when.astype(str)})


@pytest.fixture(scope="module")
def file(frame, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("sliced") / "shown.csv"
    frame.to_csv(path, index=False)
    return str(path)


def test_slices_and_time_are_printed_in_words_and_tables(file):
    result = run(file, "--slice", "country", "--time", "day", "--window", "month", "--delta", "20%")
    assert result.exit_code == 0
    assert "== violation by country\nCountry DE differs most from the rest: violation " in result.stdout
    assert re.search(r"^  DE +30 +\d+ % \(\d+ % to \d+ %\) +\+\d+ \(\+\d+ to \+\d+\) +yes$", result.stdout, re.M)
    assert "== share of queries that hold delta over time" in result.stdout
    assert re.search(r"^  2024-02 +29 +", result.stdout, re.M)
    assert "no change that these queries can show" in result.stdout


def test_the_json_has_what_python_has(file):
    summary = json.loads(
        run(
            file, "--slice", "country", "--slice", "device", "--time", "day", "--slice-measure", "fair", "--json", "-"
        ).stdout
    )
    data = read_dataset(file, slices=["country", "device"], time="day")
    asked = audit(data, Fairness(delta=0.1, unit="share")).with_slices(
        ["country", "device"], window="auto", measures=["fair"]
    )
    assert summary["slices"] == json.loads(asked.to_json())["slices"]
    assert summary["time"] == json.loads(asked.to_json())["time"]
    assert [slicing["by"] for slicing in summary["slices"]] == [["country"], ["device"], ["country", "device"]]
    assert summary["time"]["window"] == "month"


def test_without_slices_the_summary_is_that_of_before(file):
    assert not {"slices", "time"} & {*json.loads(run(file, "--json", "-").stdout)}


def test_a_folder_says_the_same_and_so_does_its_report(frame, file, tmp_path):
    (tmp_path / "folder").mkdir()
    frame.iloc[:300].to_parquet(tmp_path / "folder" / "a.parquet")
    frame.iloc[300:].to_parquet(tmp_path / "folder" / "b.parquet")
    asked = ("--slice", "country", "--time", "day", "--window", "3")
    whole = json.loads(run(file, *asked, "--json", "-").stdout)
    page = tmp_path / "report.html"
    parts = json.loads(run(str(tmp_path / "folder"), *asked, "--json", "-", "--html", str(page)).stdout)
    assert parts["slices"] == whole["slices"]
    assert parts["time"] == whole["time"]
    assert "By country" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--slice", "land"], r"no column 'land' \(asked for as the slice\)"),
        (["--slice", "sex", "--group", "sex"], r"Column 'sex' .* is 'f' at row 2 and 'm' at row 3, both of query 0"),
        (["--slice", "doc"], r"both of query 0: a query belongs to one slice"),
        (["--time", "score"], r"Column 'score' .* holds '0\.\d+' at row 2, which is no number of seconds"),
        (["--window", "month"], "--window is 'month', but no time is named; give --time COLUMN too"),
        (["--slice-measure", "fair"], "nothing is sliced"),
        (["--time", "day", "--window", "fortnight"], "'window' must be one of"),
        (["--slice", "country", "--slice-measure", "beauty"], "no measure 'beauty' here"),
        (["--where", "country"], "--where is 'country'; write column=value, such as country=DE"),
        (["--where", "country=XX"], "No query has country 'XX'; there is 'DE', 'FR', 'IT'"),
        (["--where", "land=DE"], r"no column 'land' \(asked for as the slice\)"),
        (["--where", "country=DE", "--where", "country=FR"], "--where names country twice, 'DE' and 'FR'; name one"),
    ],
)
def test_refusals_say_what_to_mend(file, options, sentence):
    with pytest.raises(SpofrError, match=sentence):
        run(file, *options)


@pytest.mark.parametrize("command", ["audit", "measure", "compare"])
def test_a_slice_can_be_looked_at_alone(file, command):
    data = read_dataset(file, slices=["country", "device"]).where(country="DE")
    asked = ("--slice", "country", "--slice", "device", "--where", "country=DE", "--json", "-")
    more = {"measure": ("--measure", "NDKL"), "compare": ("--with", "repair")}.get(command, ())
    found = json.loads(run(file, *asked, *more, command=command).stdout)
    if command == "audit":
        result = audit(data, Fairness(delta=0.1, unit="share")).with_slices(["device"])  # all have the same country
        assert found == json.loads(result.to_json())
    else:
        queries = found["queries"] if command == "measure" else found["first"]["queries"]
        sliced = found if command == "measure" else found["rivals"]["repair"]
        assert queries == len(data) == 30
        assert [slicing["by"] for slicing in sliced["slices"]] == [["device"]]


def test_a_folder_is_not_narrowed_down(tmp_path):
    for command in ("audit", "measure"):
        with pytest.raises(SpofrError, match=r"--where picks queries of a file, but .* is a folder; name a FILE in it"):
            run(str(tmp_path), "--where", "country=DE", command=command)


def test_measures_are_sliced_by_the_same_options(file):
    asked = ("--measure", "NDKL", "--slice", "country", "--time", "day", "--window", "2")
    result = run(file, *asked, command="measure")
    assert "== NDKL by country\n" in result.stdout
    assert "== NDKL over time\n" in result.stdout
    summary = json.loads(run(file, *asked, "--json", "-", command="measure").stdout)
    found = measure(read_dataset(file, slices=["country"], time="day"), ["NDKL"])
    assert summary["slices"][0]["measures"][0] == json.loads(
        json.dumps(found.slices("country", measure="NDKL").summary)
    )
    assert summary["time"]["window"] == "2 equal parts"


def test_a_sample_has_no_columns_to_slice_by():
    with pytest.raises(
        SpofrError, match="--slice region names a column of a FILE, but sample hiring is read without one"
    ):
        run("--sample", "hiring", "--slice", "region")


def test_a_sample_is_sliced_by_what_it_knows_of_its_queries():
    summary = json.loads(run("--sample", "hiring", "--slice", "job_family", "--time", "date", "--json", "-").stdout)
    assert summary["slices"][0]["measures"][0]["slices"][0]["slice"] == "engineering"
    assert summary["time"]["window"] == "month"
