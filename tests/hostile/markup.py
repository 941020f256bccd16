"""Names that are markup, as a file of one's own, and how a page is looked through for what became of them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from google.protobuf.json_format import MessageToDict

from tests.dashboard.apps import charts

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
OWN_SCRIPT = re.compile(r"<script>[^<>]*(=>[^<>]*)*</script>", re.DOTALL)
"""What saves a file: its name stands within, and can neither end the script nor begin another element."""
IN_CHARTS = re.compile(r"<(?!/?(b|i|br|sub|sup|span|extra)\b)|href")
"""Plotly knows these few, and our own labels use them."""


def hostile_table() -> str:
    """A CSV whose columns, groups, queries, items and regions have such names."""
    written = io.StringIO()
    csv.writer(written).writerows([COLUMNS, *([HOSTILE.get(cell, cell) for cell in row] for row in ROWS)])
    return written.getvalue()


PLAIN = {
    "selectbox.options",
    "selectbox.rawValue",
    "multiselect.options",
    "multiselect.rawValues",
    "dataframe.alt",
    "code.codeText",
    "text_input.value",
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
                ours = node.type == "html" and (OWN_SCRIPT.fullmatch(text) or not re.search(r"evil|alert\(", text))
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


def misread(app: Any) -> list[tuple[str, str]]:
    """Texts of a page, and of its charts, in which a name would become markup or a link."""
    drawn = [("chart", text) for figure in charts(app) for _, text in strings(figure) if IN_CHARTS.search(text)]
    return unescaped(app) + drawn
