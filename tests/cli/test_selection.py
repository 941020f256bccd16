"""`spofr audit --top-k` and `--threshold` as a shell sees them."""

from __future__ import annotations

import json

import pytest

from spofr_core import selection_rates
from spofr_core.data import load_hiring
from spofr_core.errors import ConfigError, DataError
from tests.cli.test_audit import HIRING, run


def test_the_tables_stand_under_the_names_of_the_rules(tmp_path):
    html, js = tmp_path / "a.html", tmp_path / "a.json"
    done = run("audit", str(HIRING), "--top-k", "5", "--html", str(html), "--json", str(js))
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    start = lines.index("Four-fifths rule of the EEOC Uniform Guidelines (29 CFR 1607.4 D)")
    assert lines[start + 1].split()[4:8] == ["Items", "Lists", "Selected", "Rate"]
    assert lines[start + 2].split("  ")[1:3] == ["female", "below, and more than chance shows"]
    assert lines[start + 2].split()[7:12] == ["4,761", "500", "796", "16.7", "%"]
    assert lines[start + 3].split()[:3] == ["male", "highest", "rate"]
    assert any(line.startswith("New York City Local Law 144") for line in lines)
    assert "  The same numbers as above." in lines
    assert any(line.startswith("not said: It is no legal advice") for line in lines)
    assert json.loads(js.read_text("utf-8"))["selection"] == json.loads(
        json.dumps(selection_rates(load_hiring(), k=5).summary)
    )
    assert "Appendix: selection rates under named rules" in html.read_text("utf-8")


def test_without_the_options_nothing_is_said_about_selection():
    done = run("audit", str(HIRING), "--json", "-")
    assert "selection" not in json.loads(done.stdout)


@pytest.mark.parametrize(("given", "how"), [("4.25", {"threshold": 4.25}), ("median", {})])
def test_a_threshold_is_a_score_or_the_median(given, how):
    done = run("audit", str(HIRING), "--threshold", given, "--json", "-")
    expected = selection_rates(load_hiring(), **how).summary
    assert json.loads(done.stdout)["selection"] == json.loads(json.dumps(expected))


def test_crossed_columns_are_compared_one_by_one_too():
    done = run("audit", str(HIRING), "--group", "gender", "--group", "region", "--top-k", "5", "--json", "-")
    tables = json.loads(done.stdout)["selection"]["rules"][1]["tables"]
    assert [(table["title"], len(table["categories"])) for table in tables] == [
        ("gender", 2),
        ("region", 4),
        ("gender & region", 8),
    ]


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        (("--top-k", "0"), ConfigError, "'k' is 0"),
        (("--top-k", "3", "--threshold", "1"), ConfigError, "Both --top-k 3 and --threshold 1 are given"),
        (("--threshold", "high"), ConfigError, "--threshold is 'high'; give a score"),
        (("--threshold", "1000"), DataError, "Nobody is selected by a score of 1000 or more"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(options, error, says):
    with pytest.raises(error) as refused:
        run("audit", str(HIRING), *options)
    assert says in str(refused.value)


def test_a_folder_is_counted_part_by_part(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    frame = load_hiring()[:40].to_frame()[["query_id", "item_id", "group", "score"]]
    for part in range(2):
        frame[part::2].to_parquet(folder / f"{part}.parquet")
    done = run("audit", str(folder), "--top-k", "4", "--json", "-")
    assert json.loads(done.stdout)["selection"]["selected"] == 160.0
