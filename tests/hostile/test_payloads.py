"""Names that are markup: on every page, in every chart, in reports, notebooks and exports they are text."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest
from google.protobuf.json_format import MessageToDict

from dashboard.navigation import PAGES
from spofr_core.data import RankingDataset, read_dataset
from spofr_core.evaluation import audit, compare, measure, repair
from spofr_core.fairness import Fairness
from spofr_core.policy import fair_policies
from tests.dashboard.apps import charts, rerun, shown
from tests.dashboard.test_uploads import kept, press, uploaded

ROWS = [
    (f"q{q}", f"d{q}{k}", "fm"[(q + k) % 2], f"{(7 * k + q) % 5 + 0.25}", str(k % 2), f"r{q % 2}")
    for q in range(12)
    for k in range(8)
]
HOSTILE = {
    "f": "<img src=x onerror=alert(1)> **bold** http://evil.example/ me@evil.example",
    "m": "=1+1\u202e [m](http://evil.example) $x$ :red[x] www.evil.example",
    "q0": "<script>alert(2)</script> http://evil.example/q",
    "q1": "+cmd|' /C calc'!A0",
    "q2": "\x07 `code` {{7*7}}",
    "d00": "@SUM(1) <svg onload=alert(3)>",
    "r0": "-2+3 <b>r</b> http://evil.example/r",
}
COLUMNS = ["qid", "doc", "sex <img src=x onerror=alert(4)>", "score", "rel", "region http://evil.example/c"]
MARKUP = re.compile(r"<(img|script|svg|b|a)\b|(?<!\\)\*\*bold|https?://evil|www\.evil|@evil\.|(?<!\\):red|(?<!\\)\$x")


@pytest.fixture(scope="module")
def table() -> str:
    written = io.StringIO()
    rows = [[HOSTILE.get(cell, cell) for cell in row] for row in ROWS]
    csv.writer(written).writerows([COLUMNS, *rows])
    return written.getvalue()


@pytest.fixture(scope="module")
def data(table: str) -> RankingDataset:
    frame = pd.read_csv(io.StringIO(table))
    frame["qid"] = frame["qid"].str.replace("\x07", "\x00\x07")  # which no text file may have, but a frame can
    return read_dataset(frame, query="qid", item="doc", group=COLUMNS[2], score="score", relevance="rel")


@pytest.fixture(scope="module")
def upload(table: str) -> Any:
    app = uploaded("<script>alert(0)<x> http:evil.example.csv", table)
    for box in app.selectbox:
        if box.label.startswith("Group ("):
            box.set_value(COLUMNS[2])
        elif box.label.startswith("Ranked by"):
            box.set_value("score")
    assert unescaped(rerun(app)) == []
    return kept(press(app))


PLAIN = {
    "selectbox.options",
    "selectbox.rawValue",
    "multiselect.options",
    "code.codeText",
    "plotly_chart.spec",
    "plotly_chart.alt",
}
"""Fields that browsers are given as text, or that are looked at elsewhere."""


def unescaped(app: Any) -> list[tuple[str, str]]:
    """Texts of a page in which a name would become markup or a link."""
    found = []
    for node in nodes(app._tree):
        if getattr(node, "proto", None) is not None:
            for field, text in strings(MessageToDict(node.proto)):
                name = f"{node.type}{field}"
                ours = node.type == "html" and not re.search(r"evil|alert\(", text)
                if name not in PLAIN and not ours and MARKUP.search(escapes_out(text)):
                    found.append((name, text))
    return found


def escapes_out(text: str) -> str:
    """What is left to Markdown: signs without the escaped ones, but addresses as they are found after the escapes."""
    return re.sub(r"\\[<>$:*]", " ", text).replace("\\", "")


def nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", {}).values():
        yield from nodes(child)


def strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from strings(part, f"{path}.{key}")
    elif isinstance(value, list):
        for part in value:
            yield from strings(part, path)


@pytest.mark.parametrize("name", list(PAGES))
def test_on_every_page(upload: Any, name: str) -> None:
    app = shown(name, state={"uploaded": upload}, data="upload", delta=0.02)
    assert unescaped(app) == []
    for figure in charts(app):
        for _, text in strings(figure):
            assert not re.search(r"<(?!/?(b|i|br|sub|sup|span|extra)\b)|href", text), text


def test_the_check_sees_what_is_not_escaped() -> None:
    for text in ("a http://evil.example/", "**bold**", "<img src=x>", "me\\@evil.example", ":red[x]"):
        assert MARKUP.search(escapes_out(text)), text


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
