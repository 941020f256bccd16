"""One repair: Python, shell and page give the same numbers."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.data import load_hiring, sample_path
from spofr_core.evaluation import repair, repair_table
from spofr_core.fairness import Fairness, Quota
from spofr_core.reporting import number, percent
from tests.dashboard.apps import shown


@pytest.mark.parametrize("command", ["repair", "rerank"])
def test_python_and_shell_agree(command, tmp_path):
    found = repair(load_hiring(), Fairness(delta=0.05))
    words = [command, str(sample_path("hiring.csv")), "--delta", "0.05", "--out", str(tmp_path / "p.parquet")]
    summary = json.loads(CliRunner().invoke(app, [*words, "--json", "-"], catch_exceptions=False).stdout)
    assert summary == json.loads(json.dumps(found.summary))
    assert repair_table(summary).equals(found.table)


def test_the_page_agrees():
    rows = repair(load_hiring(), Fairness(delta=0.1, unit="share"), on_infeasible="relax").table
    tables = [table.value for table in shown("audit").dataframe if "repaired" in table.value.columns]
    texts = [
        percent(v) if unit == "share" else number(v, 4) for v, unit in zip(rows["after"], rows["unit"], strict=True)
    ]
    assert [table["repaired"].tolist() for table in tables] == [texts]


def test_scores_in_place_of_those_of_the_data():
    data = load_hiring()
    found = repair(data, Fairness(delta=0.05), scores=data.relevance)
    assert found.before.summary["utility"]["ndcg"] == pytest.approx(1.0)
    assert found.after.ok
    assert found.score_utility[0].mean() == pytest.approx(found.before.summary["utility"]["dcg"])


def test_utilities_below_zero_are_not_shown_and_nothing_is_a_share_of_them():
    data = load_hiring()[:20]
    asked = Fairness(delta=0.1, unit="share", every_ranking=Quota(slack=0, top=10))
    plain, shifted = repair(data, asked), repair(data.with_scores(data.score - data.score.max() - 1), asked)
    assert "score_utility" in set(repair_table(plain.summary)["name"])
    assert "score_utility" not in set(repair_table(shifted.summary)["name"])
    prices = [found.summary["quota"]["price"] for found in (plain, shifted)]
    assert prices[0]["share"] > 0
    assert prices[1]["share"] is None
    # What a quota loses does not depend on where scores begin.
    assert prices[1]["mean"] == pytest.approx(prices[0]["mean"])
