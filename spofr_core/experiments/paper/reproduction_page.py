"""The page of a reproduction: each figure beside what the paper claims and what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from markupsafe import Markup

from spofr_core.data import SAMPLES
from spofr_core.experiments.paper.findings import Finding
from spofr_core.experiments.paper.findings_text import VERDICTS
from spofr_core.experiments.sweep import SweepOutcome
from spofr_core.reporting import page_from

TITLES: Mapping[str, str] = {
    "tradeoff": "Fairness against utility (figure 2)",
    "grid": "Every trained model (figure 3)",
    "guarantee": "Query-level guarantees (figures 4 and 7)",
    "multigroup": "More than two groups (figure 5)",
    "sizes": "Training sizes (figure 6)",
    "runtime": "Run time (table 2)",
}


def index_page(
    scale: str,
    sections: Sequence[tuple[str, str, Mapping[str, go.Figure], Sequence[Finding]]],
    outcome: SweepOutcome,
    notes: Sequence[str],
    sources: Mapping[str, str],
) -> str:
    """One HTML page; `figures/plotly.min.js` beside it draws the charts, offline too.

    A section is a figure, the dataset if the paper does not have it, the charts by name and the findings. Sources are
    what lists are drawn from, by dataset.
    """
    return page_from(
        "reproduction.html.j2",
        scale=scale,
        outcome=str(outcome),
        notes=notes,
        sections=[
            (
                f"{name}-{data}" if data else name,
                f"{TITLES[name]}: {SAMPLES[data].title}, which the paper does not have" if data else TITLES[name],
                findings,
                {label: _chart(chart) for label, chart in charts.items()},
            )
            for name, data, charts, findings in sections
        ],
        verdicts=VERDICTS,
        sources={SAMPLES[name].title: text for name, text in sources.items()},
    )


def _chart(chart: go.Figure) -> Markup:
    return Markup(chart.to_html(include_plotlyjs=False, full_html=False, config={"displaylogo": False}))
