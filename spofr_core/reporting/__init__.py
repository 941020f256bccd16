"""Words, palette and templates: one plain summary as sentences, charts and the self-contained HTML report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spofr_core.lazy import lazy_names
from spofr_core.reporting.audit_report import Provenance, audit_html
from spofr_core.reporting.group_styles import GroupStyle, group_styles
from spofr_core.reporting.words import (
    caveats,
    counted,
    delta_text,
    exposure_sentence,
    interval,
    limits_of,
    name_text,
    number,
    percent,
    verdict,
)

if TYPE_CHECKING:
    from spofr_core.reporting.pictures import write_images
    from spofr_core.reporting.run_figures import (
        METHOD_COLORS,
        METHOD_NAMES,
        METHOD_SHAPES,
        achieved_figure,
        exact_figure,
        grid_figure,
        guarantee_figure,
        price_figure,
        run_time_figure,
        tradeoff_figure,
    )
    from spofr_core.reporting.run_words import BASELINES, empty_slots, matched, promised

_HOME = {
    "pictures": ("write_images",),
    "run_figures": (
        "METHOD_COLORS",
        "METHOD_NAMES",
        "METHOD_SHAPES",
        "achieved_figure",
        "exact_figure",
        "grid_figure",
        "guarantee_figure",
        "price_figure",
        "run_time_figure",
        "tradeoff_figure",
    ),
    "run_words": ("BASELINES", "empty_slots", "matched", "promised"),
}

__all__ = [
    "BASELINES",
    "METHOD_COLORS",
    "METHOD_NAMES",
    "METHOD_SHAPES",
    "GroupStyle",
    "Provenance",
    "achieved_figure",
    "audit_html",
    "caveats",
    "counted",
    "delta_text",
    "empty_slots",
    "exact_figure",
    "exposure_sentence",
    "grid_figure",
    "group_styles",
    "guarantee_figure",
    "interval",
    "limits_of",
    "matched",
    "name_text",
    "number",
    "percent",
    "price_figure",
    "promised",
    "run_time_figure",
    "tradeoff_figure",
    "verdict",
    "write_images",
]


__getattr__ = lazy_names(__name__, _HOME)  # an audit does not wait for Plotly
