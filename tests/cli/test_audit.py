"""`spofr audit` and `spofr doctor` as a shell sees them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.data import load_hiring, read_dataset
from spofr_core.errors import SpofrError
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.reporting import verdict, verdict_details

HIRING = Path(__file__).resolve().parents[2] / "sample_data" / "hiring.csv"


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_json_on_stdout_is_the_summary_and_nothing_else():
    result = run("audit", str(HIRING), "--delta", "0.05", "--json", "-")
    summary = json.loads(result.stdout)
    expected = audit(load_hiring(), Fairness(delta=0.05)).summary
    assert summary["queries"] == json.loads(json.dumps(expected["queries"]))
    assert summary["violation"] == json.loads(json.dumps(expected["violation"]))
    assert result.exit_code == 0


def test_text_says_the_verdict_and_the_groups():
    result = run("audit", str(HIRING), "--delta", "0.05", "--group", "region")
    expected = audit(read_dataset(HIRING, group="region"), Fairness(delta=0.05)).summary
    assert result.stdout.splitlines()[0] == verdict(expected)
    assert result.stdout.splitlines()[1 : 1 + len(verdict_details(expected))] == verdict_details(expected)
    assert "of 500 judged queries hold delta = 0.05" in result.stdout
    assert {"north", "south", "east", "west"} <= set(result.stdout.split())


def test_files_are_written(tmp_path):
    html, csv, js = tmp_path / "a.html", tmp_path / "a.csv", tmp_path / "deep" / "a.json"
    result = run("audit", str(HIRING), "--html", str(html), "--csv", str(csv), "--json", str(js))
    assert result.exit_code == 0
    assert html.read_text("utf-8").startswith("<!")
    assert len(pd.read_csv(csv)) == 1000
    assert json.loads(js.read_text("utf-8"))["schema"] == 2


def test_exit_code_for_pipelines():
    assert run("audit", str(HIRING), "--delta", "0.05", "--fail-on-violation").exit_code == 1
    assert run("audit", str(HIRING), "--delta", "0.5", "--fail-on-violation").exit_code == 0
    assert run("audit", str(HIRING), "--delta", "0.05").exit_code == 0


def test_per_group_delta_and_merit_from_labels():
    summary = json.loads(run("audit", str(HIRING), "--delta", "female=0.02,male=0.1", "--json", "-").stdout)
    assert summary["delta"] == {"female": 0.02, "male": 0.1}
    summary = json.loads(run("audit", str(HIRING), "--notion", "merit", "--json", "-").stdout)
    assert set(summary["merits"]) == {"female", "male"}
    given = run("audit", str(HIRING), "--notion", "merit", "--merit", "female=1", "--merit", "male=2", "--json", "-")
    assert json.loads(given.stdout)["merits"] == {"female": 1.0, "male": 2.0}


def test_crossed_groups_and_samples():
    summary = json.loads(run("audit", str(HIRING), "--group", "gender", "--group", "region", "--json", "-").stdout)
    assert len(summary["groups"]) == 8
    assert json.loads(run("audit", "--sample", "hiring", "--json", "-").stdout)["queries"]["total"] == 500
    assert json.loads(run("audit", "--sample", "german-credit", "--json", "-").stdout)["queries"]["total"] == 500


def test_folder_is_audited_in_a_stream(tmp_path):
    table = pd.read_csv(HIRING)
    (tmp_path / "rows").mkdir()
    for k in range(3):
        table.iloc[k::3].to_parquet(tmp_path / "rows" / f"{k}.parquet")
    streamed = json.loads(run("audit", str(tmp_path / "rows"), "--json", "-").stdout)
    # Rows come in another order than in the file; the numbers of queries do not depend on it.
    assert streamed["queries"] == json.loads(run("audit", str(HIRING), "--json", "-").stdout)["queries"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name a FILE"),
        (["no-such-file.csv"], "no-such-file.csv"),
        ([str(HIRING), "--query", "search"], "search_id"),
        ([str(HIRING), "--delta", "-1"], "--delta is '-1'; give a number >= 0"),
        ([str(HIRING), "--delta", "little"], "--delta is 'little'; give a number"),
        ([str(HIRING), "--delta", "female="], "--delta is ''"),
        ([str(HIRING), "--notion", "parity"], "must be one of ['exposure', 'merit', 'gap'], got 'parity'"),
        ([str(HIRING), "--merit", "x", "--notion", "merit"], "write group=number"),
        ([str(HIRING), "--sample", "hiring"], "name one"),
        (["--sample", "movies"], "movies"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message):
    with pytest.raises(SpofrError) as caught:
        run("audit", *arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_process_exits_with_two_and_no_traceback(tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("qid,doc,group,score\n1,a,x,high\n")
    command = [sys.executable, "-c", "from spofr_core.cli import main; main()", "audit", str(bad)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("spofr: ")
    assert "'high'" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_plug_in_that_is_not_there_is_one_sentence():
    command = [sys.executable, "-c", "from spofr_core.cli import main; main()", "audit", str(HIRING)]
    environment = {**os.environ, "SPOFR_PLUGINS": "not_there.at_all"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("spofr: The plug-in 'not_there.at_all' that SPOFR_PLUGINS names cannot be imported")
    assert result.stderr.count("\n") == 1


def test_unwritable_output_is_told(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    command = [sys.executable, "-c", "from spofr_core.cli import main; main()", "audit", str(HIRING)]
    result = subprocess.run([*command, "--json", str(blocked / "x.json")], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert str(blocked) in result.stderr


def test_doctor_tells_versions(monkeypatch):
    found = json.loads(run("doctor", "--json", "-").stdout)
    assert found["packages"]["torch"]
    assert found["sample_data"]
    monkeypatch.setenv("PATH", "")
    result = run("doctor")
    assert result.exit_code == 1
    assert "playwright install chromium" in result.stdout


@pytest.mark.parametrize("scores", ["constant", "two", "ties", "huge"])
def test_scores_of_every_kind_are_audited_without_a_warning(tmp_path, scores):
    """In a process of its own, where warnings are errors from the first import of this package on."""
    rng, n = np.random.default_rng(2), 240
    few = {"constant": np.ones(n), "two": rng.integers(0, 2, n), "huge": rng.choice([1e308, -1e308], n)}
    tied = np.where(rng.random(n) < 0.4, 0.5, rng.normal(size=n))
    columns = {"q": np.arange(n) // 8, "sex": rng.choice(["f", "m"], n), "score": few.get(scores, tied)}
    about = {
        "country": np.repeat(rng.choice(["DE", "FR"], 30), 8),
        "day": np.repeat(pd.date_range("2024-01-01", periods=30).astype(str), 8),
    }
    pd.DataFrame({**columns, "rel": rng.integers(0, 3, n), **about}).to_csv(tmp_path / "a.csv", index=False)
    mapped = [f"--{role}={name}" for role, name in {"query": "q", "group": "sex", "relevance": "rel"}.items()]
    asked = ["--slice", "country", "--time", "day", "--top-k", "3", "--html", tmp_path / "a.html", "--json", "-"]
    command = [sys.executable, "-W", "error", "-c", "from spofr_core.cli import main; main()", "audit"]
    command += [tmp_path / "a.csv", *mapped, "--score", "score", "--delta", "10%", *asked]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert ("The report says nothing of a repair. The score of query" in told.stderr) == (scores == "huge")
    json.loads(told.stdout, parse_constant=pytest.fail)
    page = (tmp_path / "a.html").read_text("utf-8")
    assert not re.search(r"(?<![A-Za-z])(NaN|nan|-?inf|-?Infinity)(?![A-Za-z])", page)
