"""What a report is made of: sections, each a title and a function from the report to words, numbers and charts.

Templates only place what these functions say: it is text unless it is marked as markup, and nothing may be missing.
A section of one's own is one call::

    SECTIONS.register(Section("contact", "Whom to ask", lambda report: Content(sentences=["Ask the ranking team."])))
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from spofr_core.registry import Registry
from spofr_core.reporting import palette
from spofr_core.reporting.chart_frames import Audited
from spofr_core.reporting.wording.phrases import unbroken


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where an audit came from and how to make it again; what is None is left out of the report.

    Parameters
    ----------
    source : str, optional
        What was read: a file name, or the name of a bundled sample.
    fingerprint : str, optional
        `RankingDataset.fingerprint`.
    command : str, optional
        Shell line that reproduces the audit.
    python : str, optional
        Python lines that reproduce it.
    proof : str, optional
        Shell lines that repair the same data and check the repair.
    date : date, optional
        Of the audit; today where it is left out.
    auditor, notes : str, optional
        Who answers for it, and what that person wants to say.
    """

    source: str | None = None
    fingerprint: str | None = None
    command: str | None = None
    python: str | None = None
    proof: str | None = None
    date: datetime.date | None = None
    auditor: str | None = None
    notes: str | None = None


@dataclass(frozen=True)
class Report:
    """What sections speak of: the result of an audit, where it came from, and the audit of its repair if there is one.

    `relaxed` counts the queries that no repair brings within delta; `comparison` is `Comparison.summary`, if this
    ranking was compared with others; `quota` and `ranks` are those of `Repair.summary`.
    """

    result: Audited
    provenance: Provenance
    repaired: Audited | None = None
    relaxed: int = 0
    comparison: Mapping[str, Any] | None = None
    quota: Mapping[str, Any] | None = None
    ranks: bool = False

    @property
    def summary(self) -> Mapping[str, Any]:
        """`AuditResult.summary`."""
        return self.result.summary


@dataclass(frozen=True)
class Fact:
    """A number on a card: what it is, its value, and a word about it."""

    label: str
    value: str
    more: str


@dataclass(frozen=True)
class GroupCell:
    """A group in a table, with the glyph that stands for it in every chart."""

    text: str
    glyph: str
    colour: str


@dataclass(frozen=True)
class Table:
    """Cells are text; all but the first `left` columns are numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str | GroupCell]]
    left: int = 1


@dataclass(frozen=True)
class Term:
    """A word and what it means; `code` stands before the text."""

    term: str
    text: str = ""
    code: str = ""


@dataclass(frozen=True)
class Code:
    """Lines to copy."""

    title: str
    lines: str


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a section says, in the order in which it is placed; all of it is text except `svg`.

    Parameters
    ----------
    facts : sequence of Fact
        Cards side by side.
    caption : str
        A paragraph above everything else.
    svg : str
        A chart, as markup in which names from the data are escaped (`svg_charts`).
    table : Table, optional
    sentences : sequence of str
        As a list with bullets.
    terms : sequence of Term
    code : sequence of Code
    parts : sequence of (title, Content)
        What stands under headings of its own, last.
    """

    facts: Sequence[Fact] = ()
    caption: str = ""
    svg: str = ""
    table: Table | None = None
    sentences: Sequence[str] = ()
    terms: Sequence[Term] = ()
    code: Sequence[Code] = ()
    parts: Sequence[tuple[str, Content]] = ()


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Parameters
    ----------
    name : str
        No two sections have the same.
    title : str
        Its heading; empty for none.
    content : callable
        From the report to what the section says; None leaves the section out.
    first_page : bool
        Whether it stands on the page that has to fit one sheet.
    """

    name: str
    title: str
    content: Callable[[Report], Content | None]
    first_page: bool = False


_OURS = (
    "about",
    "plain",
    "facts",
    "exposure",
    "share",
    "violations",
    "groups",
    "measures",
    "worst",
    "counted-apart",
    "infeasible",
    "limits",
    "definitions",
    "provenance",
)
SECTIONS: Registry[Section] = Registry(
    "section",
    {
        **dict.fromkeys(_OURS[:3], "spofr_core.reporting.audit_report"),
        "items": "spofr_core.reporting.items.item_section",
        **dict.fromkeys(_OURS[3:], "spofr_core.reporting.audit_report"),
        **dict.fromkeys(("slices", "time"), "spofr_core.reporting.slicing.slice_sections"),
        "comparison": "spofr_core.reporting.comparisons.comparison_report",
        "selection": "spofr_core.reporting.law.selection_appendix",
    },
)
"""The sections of every report, in their order; those of plug-ins come last."""


@cache
def _environment() -> Environment:
    """Where `templates/*` beside this file are found."""
    made = Environment(
        loader=PackageLoader("spofr_core.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["unbroken"] = unbroken
    made.globals["palette"] = palette
    return made


def page_from(template: str, **content: Any) -> str:
    """A page: the template of this name with its content."""
    return _environment().get_template(template).render(**content)
