"""One plain summary, rendered: sentences, group styles, and the self-contained HTML report."""

from spofr_core.reporting.groups import GroupStyle, group_styles
from spofr_core.reporting.page import Provenance, audit_html
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

__all__ = [
    "GroupStyle",
    "Provenance",
    "audit_html",
    "caveats",
    "counted",
    "delta_text",
    "exposure_sentence",
    "group_styles",
    "interval",
    "limits_of",
    "name_text",
    "number",
    "percent",
    "verdict",
]
