"""Names that are markup: in reports, notebooks and exports they are text."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest

from spofr_core.data import RankingDataset, read_dataset
from spofr_core.evaluation import audit, compare, measure, repair
from spofr_core.fairness import Fairness
from spofr_core.policy import fair_policies
from tests.hostile.markup import COLUMNS, hostile_table


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    frame = pd.read_csv(io.StringIO(hostile_table()))
    frame["qid"] = frame["qid"].str.replace("\x07", "\x00\x07")  # which no text file may have, but a frame can
    return read_dataset(frame, query="qid", item="doc", group=COLUMNS[2], score="score", relevance="rel")


class Elements(HTMLParser):
    """What a browser would make of a page: its elements and their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def is_harmless(page: str) -> bool:
    """No element, link or handler was made of a name."""
    return (
        not any(
            tag in ("img", "b")
            or any(
                name.startswith("on") or (name in ("href", "src") and "evil" in str(value))
                for name, value in attributes.items()
            )
            for tag, attributes in Elements(page).found
        )
        and "<script>alert" not in page
    )


def test_in_reports_and_notebooks(data: RankingDataset, tmp_path: Any) -> None:
    fairness = Fairness(delta=0.02)
    now = audit(data, fairness)
    repaired = repair(data, fairness)
    policies = fair_policies(data, fairness)
    compared = compare({"now": now, "new": repaired.after})
    now.to_html(tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text()
    cards = [
        thing._repr_html_()
        for thing in (now, policies[0], compared, measure(data, ["AWRF", "Skew@10"]), repaired.after)
    ]
    for page in (report, *cards):
        assert "&lt;img" in page or "evil" not in page
        assert is_harmless(page)
    assert "&lt;script&gt;" in report
    assert "\x00" not in report


def test_no_cell_of_any_export_is_a_formula(data: RankingDataset, tmp_path: Any) -> None:
    fairness = Fairness(delta=0.02)
    now = audit(data, fairness)
    found = {
        "audit": now,
        "measures": measure(data, ["AWRF"]),
        "comparison": compare({"=now": now, "+new": repair(data, fairness).after}),
    }
    for name, result in found.items():
        result.to_csv(tmp_path / f"{name}.csv")
    fair_policies(data, fairness).write(tmp_path / "policies.csv")
    looked = 0
    for path in tmp_path.glob("*.csv"):
        for row in csv.reader(io.StringIO(path.read_bytes().decode(), newline="")):
            for cell in row:
                looked += cell.startswith("'")
                assert not cell.lstrip(" \t\r\n").startswith(("=", "+", "@")), (path.name, cell)
                assert not cell.startswith("-") or is_number(cell), (path.name, cell)
    assert looked > 20
    json.loads(json.dumps(now.summary))


def is_number(cell: str) -> bool:
    return pd.notna(pd.to_numeric(cell, errors="coerce"))
