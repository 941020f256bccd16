"""The page of a reproduction: each figure beside what the paper claims and what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from spofr_core.experiments.paper.findings import Finding
from spofr_core.experiments.sweep import SweepOutcome

TITLES: Mapping[str, str] = {
    "tradeoff": "Fairness against utility (figure 2)",
    "grid": "Every trained model (figure 3)",
    "guarantee": "Query-level guarantees (figures 4 and 7)",
    "multigroup": "More than two groups (figure 5)",
    "sizes": "Training sizes (figure 6)",
    "runtime": "Run time (table 2)",
}
VERDICTS: Mapping[str, str] = {
    "same": "As in the paper",
    "different": "Not as in the paper",
    "partly": "In part",
    "open": "The numbers",
}
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-bottom: 1px solid #9aa3ad; }
.finding { border-left: 4px solid #7d8896; padding: .2rem 1rem; margin: 1rem 0; }
.same { border-color: #2f8f5b; } .different { border-color: #c8434b; } .partly { border-color: #d07c1f; }
.claim { font-style: italic; margin: .2rem 0; } .verdict { font-weight: 600; }
.chart { background: white; color: black; border-radius: 6px; margin: 1rem 0; }
ul { margin: .3rem 0; } li { font-size: .93rem; }
nav a { margin-right: 1rem; }
"""


def index_page(
    scale: str,
    sections: Mapping[str, tuple[Mapping[str, go.Figure], Sequence[Finding]]],
    outcome: SweepOutcome,
    notes: Sequence[str],
) -> str:
    """One HTML page; `figures/plotly.min.js` beside it draws the charts, offline too."""
    links = "".join(f'<a href="#{name}">{escape(TITLES[name])}</a>' for name in sections)
    parts = [
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>SPOFR: the paper's figures, redrawn ({escape(scale)})</title><style>{_STYLE}</style>",
        "<script src='figures/plotly.min.js'></script></head><body>",
        f"<h1>The paper's figures, redrawn</h1><p>Scale: {escape(scale)}. {escape(str(outcome))}</p>",
        "<p>All methods share the network, the data, the evaluator and one rule of early stopping on validation "
        "clicks. Policies are chosen without a look at the test labels. Bands and intervals are over seeds, 95 %.</p>",
        f"<nav>{links}</nav>",
        _list(notes, "Notes"),
    ]
    for name, (charts, found) in sections.items():
        parts.append(f"<h2 id='{name}'>{escape(TITLES[name])}</h2>")
        parts += [_finding(finding) for finding in found] or ["<p>No run behind this figure is done yet.</p>"]
        parts += [_chart(label, chart) for label, chart in charts.items()]
    return "\n".join([*parts, "</body></html>"])


def _finding(finding: Finding) -> str:
    numbers = "".join(f"<li>{escape(sentence)}</li>" for sentence in finding.numbers)
    return (
        f"<div class='finding {finding.verdict}'><p class='claim'>{escape(finding.claim)}</p>"
        f"<p class='verdict'>{VERDICTS[finding.verdict]}</p><ul>{numbers}</ul></div>"
    )


def _chart(label: str, chart: go.Figure) -> str:
    drawn = chart.to_html(include_plotlyjs=False, full_html=False, config={"displaylogo": False})
    return f"<div class='chart' id='chart-{escape(label)}'>{drawn}</div>"


def _list(sentences: Sequence[str], title: str) -> str:
    if not sentences:
        return ""
    return f"<h3>{escape(title)}</h3><ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"
