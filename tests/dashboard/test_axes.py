"""Every chart of every page says what its axes count, and has its numbers behind it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dashboard.apps import shown

SHARE = {"delta": 0.1, "unit": "share"}
VIEWS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "audit",
        {"data": "hiring", **SHARE},
        {"audit-slices-closer": True, "calibration-open": True, "measures-by-name": True, "measure-spread": True},
    ),
    ("audit", {"data": "hiring", "quota": "1@10", **SHARE}, {}),
    ("data", {"data": "hiring"}, {}),
    ("compare", {"data": "hiring", **SHARE}, {"compare-slices-closer": True}),
    ("policy", {"data": "hiring", "quota": "1@10", **SHARE}, {"policy-compare": True}),
    ("tradeoffs", {"data": "german-credit", "delta": 0.05}, {}),
    ("guarantees", {"data": "german-credit", "delta": 0.05}, {}),
]


@pytest.mark.parametrize(("name", "choices", "state"), VIEWS)
def test_axes_say_what_they_count(name, choices, state):
    app = shown(name, state=state, **choices)
    drawn = app.get("plotly_chart")
    assert drawn
    for chart in drawn:
        figure = json.loads(chart.proto.spec)
        assert chart.proto.alt
        assert unnamed_axes(figure) == [], chart.proto.alt
    behind = [part.label for part in app.get("expander") if part.label.startswith("The numbers: ")]
    assert len(behind) >= len(drawn)


def unnamed_axes(figure: dict[str, Any]) -> list[str]:
    """Axes with numbers or dates and no words, neither beside them nor in a corner of the chart."""
    layout = figure["layout"]
    axes = {name: axis for name, axis in layout.items() if name.startswith(("xaxis", "yaxis"))}
    corner = any(note.get("xref") == note.get("yref") == "paper" and note["x"] == 0 for note in layout["annotations"])
    return [
        name
        for name, axis in axes.items()
        if axis.get("visible") is not False
        and not axis.get("title", {}).get("text")
        and not axis.get("ticktext")
        and not _is_of_names(figure, name, axis)
        and not (name.startswith("yaxis") and corner)
    ]


def _is_of_names(figure: dict[str, Any], name: str, axis: dict[str, Any]) -> bool:
    letter, place = name[0], name.removeprefix(f"{name[0]}axis")
    along = [trace.get(letter) for trace in figure["data"] if trace.get(f"{letter}axis", letter) == f"{letter}{place}"]
    values = [value for part in along if isinstance(part, list) for value in part]
    return axis.get("type") != "date" and bool(values) and all(isinstance(value, str) for value in values)


def test_the_check_sees_an_axis_without_words():
    axis = {"title": {"text": ""}}
    figure = {"data": [{"x": ["a"], "y": [1.0]}], "layout": {"xaxis": axis, "yaxis": axis, "annotations": []}}
    assert unnamed_axes(figure) == ["yaxis"]
