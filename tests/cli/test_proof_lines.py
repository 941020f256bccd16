"""The report of an audit says how to check it: its lines are run as they stand."""

from __future__ import annotations

import html
import re
import shlex
import sys

import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.cli.proof_commands import proof_lines
from tests.dashboard.test_uploads import GOOD


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("f.csv --group sex --html r.html --delta 10%", "f.csv --group sex --delta 10%"),
        ("--sample hiring --json - --seed 3 --quota-slack 1", "--sample hiring --seed 3 --quota-slack 1"),
        ("f.csv --fail-on-violation --group 'a b' --notes 'so --group it is'", "f.csv --group 'a b'"),
        ("f.csv --delta=5% --slice country --top-k 10 --each-item", "f.csv --delta=5% --each-item"),
    ],
)
def test_what_all_three_commands_take_is_carried_over(said, kept):
    repair, verify = proof_lines(shlex.split(said)).split("\n")
    assert repair == f"spofr repair {kept} --out policies.parquet"
    assert verify == f"spofr verify policies.parquet {kept}"


@pytest.mark.parametrize("said", ["f.csv --where country=DE", "--model runs/x"])
def test_nothing_is_said_where_other_data_would_be_read(said):
    assert proof_lines(shlex.split(said)) is None


@pytest.mark.parametrize("notion", [[], ["--notion", "merit", "--delta", "0", "--merit", "f=0", "--merit", "m=5"]])
def test_the_lines_of_a_report_repair_and_prove(tmp_path, monkeypatch, notion):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.csv").write_text(GOOD)
    words = ["audit", "f.csv", "--group", "sex", *notion, "--html", "report.html"]
    monkeypatch.setattr(sys, "argv", ["spofr", *words])
    assert CliRunner().invoke(app, words).exit_code == 0
    report = html.unescape((tmp_path / "report.html").read_text())
    lines = re.findall(r"spofr (?:repair|verify) .*--.*", re.sub(r"</?pre>", "\n", report))
    assert [line.split()[1] for line in lines] == ["repair", "verify"]
    for line in lines:
        said = CliRunner().invoke(app, shlex.split(line)[1:])
        assert said.exit_code == 0, said.output
    assert ("--relax" in lines[0]) is bool(notion)
