"""`--each-item`: each item on its own, from audit to proof, as a shell sees it."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.cli.shell_words import in_shell_words
from spofr_core.errors import SpofrError


@pytest.fixture
def lists(tmp_path):
    """150 items in one list, more than a file may have groups, and odd names in another."""
    long = pd.DataFrame({"qid": "long", "doc": range(150), "score": [k * 37 % 150 for k in range(150)]})
    odd = pd.DataFrame({"qid": "odd", "doc": ["<b>x", "=1+1", "項目", "عنصر"], "score": [4.5, 3, 3, 1]})
    path = tmp_path / "lists.csv"
    pd.concat([long, odd]).to_csv(path, index=False)
    return str(path)


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_audit_repair_and_verify_one_after_the_other(lists, tmp_path):
    asked = ("--query", "qid", "--item", "doc", "--score", "score", "--each-item", "--delta", "50%")
    audited = run("audit", lists, *asked, "--json", str(tmp_path / "found.json"), "--html", str(tmp_path / "page.html"))
    assert audited.exit_code == 0, audited.output
    assert "In all 2 lists some item is more than 50 % away from its list's mean exposure." in audited.output
    assert "5 % of the items get at most" in audited.output
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert found["each_item"] is True
    assert found["items"]["total"] == 154
    assert "Exposure by item" in (tmp_path / "page.html").read_text("utf-8")
    repaired = run(
        "repair", lists, *asked, "--out", str(tmp_path / "p.parquet"), "--certificates", str(tmp_path / "c.jsonl")
    )
    assert "2 of 2 queries hold delta = 50 %" in repaired.output
    for claim in ("p.parquet", "c.jsonl"):
        checked = run("verify", str(tmp_path / claim), lists, *asked)
        assert checked.exit_code == 0, checked.output
        assert "Every query holds delta; largest violation 50 %" in checked.output
    assert run("verify", str(tmp_path / "c.jsonl"), lists, *asked[:-1], "20%").exit_code == 1


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--group", "doc"), "no groups to choose, to cut or to name: leave out --group, or --each-item"),
        (("--quota-slack", "1"), "A quota counts the items of groups, and with --each-item there are none"),
        (("--top-k", "5"), "compare groups, and with each item on its own there are none"),
        (("--notion", "gap"), "A gap is between two groups, and with each item on its own there are none"),
        (("--delta", "a=10%,b=5%"), "no groups to give a delta each"),
    ],
    ids=["group", "quota", "law", "gap", "delta by group"],
)
def test_what_speaks_of_groups_is_refused_in_one_sentence(lists, more, why):
    with pytest.raises(SpofrError) as refused:
        run("audit", lists, "--query", "qid", "--item", "doc", "--score", "score", "--each-item", *more)
    assert why in in_shell_words(str(refused.value))


def test_measures_and_comparisons(lists):
    where = ("--query", "qid", "--item", "doc", "--score", "score", "--each-item")
    measured = run("measure", lists, *where, "--measure", "Gini", "--measure", "NDKL")
    assert "it compares groups, and each item is on its own" in measured.output
    compared = run("compare", lists, *where, "--delta", "50%", "--with", "repair")
    assert compared.exit_code == 0, compared.output
    assert "item 1" not in compared.output
