"""Words, frames behind every chart, palette and templates: results as sentences, figures and self-contained pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spofr_core.lazy import lazy_names
from spofr_core.reporting.group_styles import GroupStyle, group_styles
from spofr_core.reporting.words import (
    caveats,
    counted,
    delta_text,
    exposure_sentence,
    interval,
    limits_of,
    listed,
    name_text,
    number,
    percent,
    repair_sentence,
    verdict,
)

if TYPE_CHECKING:
    from spofr_core.reporting import palette
    from spofr_core.reporting.audit_report import audit_html
    from spofr_core.reporting.chart_frames import (
        MOST_GROUPS,
        MOST_STEPS,
        Audited,
        GroupRow,
        Mark,
        bounds_counts,
        exposure_bars,
        group_rows,
        groups_left_out,
        mark_at,
        overall_exposure,
        share_steps,
        violations_by_group,
    )
    from spofr_core.reporting.page_templates import page_from
    from spofr_core.reporting.pictures import write_images
    from spofr_core.reporting.policy_frames import by_score, policy_bounds_rows, position_frame, sampled_frame
    from spofr_core.reporting.report_sections import SECTIONS, Content, Provenance, Report, Section, Table
    from spofr_core.reporting.run_figures import (
        Look,
        achieved_figure,
        achieved_traces,
        bar_traces,
        exact_figure,
        exact_traces,
        grid_figure,
        grid_traces,
        guarantee_figure,
        price_figure,
        price_traces,
        run_time_figure,
        tradeoff_figure,
        tradeoff_traces,
    )
    from spofr_core.reporting.run_words import empty_slots, matched, names_of_methods, promised
    from spofr_core.reporting.series import (
        Variant,
        Variants,
        baselines,
        in_order,
        is_guaranteed,
        method_style,
        method_title,
    )

_HOME = {
    "audit_report": ("audit_html",),
    "chart_frames": (
        "MOST_GROUPS",
        "MOST_STEPS",
        "Audited",
        "GroupRow",
        "Mark",
        "bounds_counts",
        "exposure_bars",
        "group_rows",
        "groups_left_out",
        "mark_at",
        "overall_exposure",
        "share_steps",
        "violations_by_group",
    ),
    "page_templates": ("page_from",),
    "pictures": ("write_images",),
    "policy_frames": ("by_score", "policy_bounds_rows", "position_frame", "sampled_frame"),
    "report_sections": ("SECTIONS", "Content", "Provenance", "Report", "Section", "Table"),
    "run_figures": (
        "Look",
        "achieved_figure",
        "achieved_traces",
        "bar_traces",
        "exact_figure",
        "exact_traces",
        "grid_figure",
        "grid_traces",
        "guarantee_figure",
        "price_figure",
        "price_traces",
        "run_time_figure",
        "tradeoff_figure",
        "tradeoff_traces",
    ),
    "run_words": ("empty_slots", "matched", "names_of_methods", "promised"),
    "series": ("Variant", "Variants", "baselines", "in_order", "is_guaranteed", "method_style", "method_title"),
}

__all__ = [
    "MOST_GROUPS",
    "MOST_STEPS",
    "SECTIONS",
    "Audited",
    "Content",
    "GroupRow",
    "GroupStyle",
    "Look",
    "Mark",
    "Provenance",
    "Report",
    "Section",
    "Table",
    "Variant",
    "Variants",
    "achieved_figure",
    "achieved_traces",
    "audit_html",
    "bar_traces",
    "baselines",
    "bounds_counts",
    "by_score",
    "caveats",
    "counted",
    "delta_text",
    "empty_slots",
    "exact_figure",
    "exact_traces",
    "exposure_bars",
    "exposure_sentence",
    "grid_figure",
    "grid_traces",
    "group_rows",
    "group_styles",
    "groups_left_out",
    "guarantee_figure",
    "in_order",
    "interval",
    "is_guaranteed",
    "limits_of",
    "listed",
    "mark_at",
    "matched",
    "method_style",
    "method_title",
    "name_text",
    "names_of_methods",
    "number",
    "overall_exposure",
    "page_from",
    "palette",
    "percent",
    "policy_bounds_rows",
    "position_frame",
    "price_figure",
    "price_traces",
    "promised",
    "repair_sentence",
    "run_time_figure",
    "sampled_frame",
    "share_steps",
    "tradeoff_figure",
    "tradeoff_traces",
    "verdict",
    "violations_by_group",
    "write_images",
]


__getattr__ = lazy_names(__name__, _HOME)  # an audit waits neither for Plotly nor for the methods that learn
