"""A measure that is registered once is in the summary, the tables, the report, the shell and on the Audit page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.data import load_hiring, sample_path
from spofr_core.errors import ConfigError
from spofr_core.evaluation import audit, repair
from spofr_core.fairness import Fairness
from spofr_core.measures import MEASURES, Measure
from tests.dashboard.apps import shown


@pytest.fixture
def least(plugged):
    plugged("measure", MEASURES, "least")


def test_it_is_found_wherever_an_audit_is_shown(least, tmp_path):
    data = load_hiring()
    result = audit(data, Fairness(delta=0.05))
    lengths = data.list_lengths
    expected = 1 / (1 + lengths)
    np.testing.assert_allclose(result.table.measures["least"], expected)
    entry = result.summary["measures"]["least"]
    assert entry["mean"] == pytest.approx(expected.mean())
    assert (entry["label"], entry["unit"], entry["better"], entry["n"]) == ("Least exposure", "exposure", "higher", 500)
    assert result.queries["least"].between(0, 1).all()
    result.to_csv(tmp_path / "a.csv")
    assert "least" in pd.read_csv(tmp_path / "a.csv").columns
    assert "Least exposure" in result.to_html()
    said = CliRunner().invoke(app, ["audit", str(sample_path("hiring.csv")), "--delta", "0.05"], catch_exceptions=False)
    assert "Least exposure" in said.stdout
    assert "mean least exposure" in set(repair(data, Fairness(delta=0.05)).table["label"])


def test_it_is_on_the_audit_page(least):
    page = shown("audit", state={"measure-spread": True, "measure": "least"})
    assert any("Least exposure" in set(table.value.get("measure", ())) for table in page.dataframe)
    assert "chart-measure" in {chart.key for chart in page.get("plotly_chart")}


def test_a_measure_that_cannot_be_shown_is_refused(least):
    with pytest.raises(ConfigError, match="the table of an audit has that column"):
        Measure(name="violation", label="x", per_query=lambda measured: np.zeros(1))
    short = Measure(name="short", label="x", per_query=lambda measured: np.zeros(1))
    MEASURES.register(short)
    try:
        with pytest.raises(ConfigError, match=r"shape \(1,\) for 500 queries"):
            audit(load_hiring(), Fairness(delta=0.05))
    finally:
        MEASURES.unregister("short")
