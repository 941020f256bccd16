"""The report of a comparison: one HTML page that needs nothing but itself, and a section in that of an audit."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import pandas as pd
from markupsafe import Markup

from spofr_core.reporting.audit_report import file_words, versions
from spofr_core.reporting.comparisons.comparison_charts import (
    distribution_chart,
    distributions,
    exposure_change_chart,
)
from spofr_core.reporting.comparisons.comparison_words import (
    TABLE_HEAD,
    called,
    change_cells,
    comparison_basis,
    comparison_cells,
    comparison_details,
    comparison_headline,
    comparison_notes,
)
from spofr_core.reporting.report_sections import (
    SECTIONS,
    Code,
    Content,
    Provenance,
    Report,
    Section,
    Table,
    Term,
    page_from,
)
from spofr_core.reporting.slicing.slice_sections import slices_content, time_content
from spofr_core.reporting.wording.phrases import counted, delta_text, listed, name_text

MOST_CHARTS = 4
"""Distributions that the page shows of each rival: the largest violation, then measures in their order."""
_LIMITS = (
    "That two rankings differ says nothing about why; and a difference that these queries cannot show may be there.",
    "A group that gets more exposure takes it from the others: all exposure of a list is shared out in either ranking.",
    "The intervals and tests speak of queries like these, each of which counts the same; other traffic may differ.",
    "Exposure is modelled, not observed, and groups are taken as they are in the data.",
)


class ComparisonLike(Protocol):
    """What the page reads of a comparison."""

    @property
    def summary(self) -> dict[str, Any]:
        """Plain dict with its schema."""

    def differences(self, measure: str | None = None, *, rival: str | None = None) -> pd.DataFrame:
        """Values of every query, before and after."""


def comparison_html(comparison: ComparisonLike, *, provenance: Provenance | None = None) -> str:
    """A self-contained HTML report of a comparison; names that come from the data are escaped.

    Parameters
    ----------
    comparison : Comparison
    provenance : Provenance, optional
        Source, fingerprint, date, auditor, notes and the lines that reproduce it.
    """
    summary, given = comparison.summary, provenance or Provenance()
    rivals = list(summary["rivals"])
    headlines = [comparison_headline(summary, rival) for rival in rivals]
    several = f"{counted(len(rivals), 'ranking', 'rankings')} beside {called(summary['first']['name'])}"
    parts = [(Section("about", "What was compared", _no_content), _about(summary, given))]
    parts += [
        (Section(f"rival-{place}", _title(summary, rival), _no_content), _of_rival(comparison, rival))
        for place, rival in enumerate(rivals, 1)
    ]
    basis = Content(sentences=comparison_basis(summary))
    parts.append((Section("basis", "How it was compared", _no_content), basis))
    parts.append((Section("limits", "What this does not show", _no_content), Content(sentences=_LIMITS)))
    parts.append((Section("provenance", "Where this comes from", _no_content), _provenance(summary, given)))
    return page_from(
        "comparison_report.html.j2",
        headline=headlines[0] if len(headlines) == 1 else several,
        lines=[] if len(headlines) == 1 else headlines,
        sections=parts,
        markup=Markup,
    )


def comparison_name(provenance: Provenance) -> str:
    """A file name that says what is inside: "spofr-comparison-hiring-2026-11-16.html"."""
    day = provenance.date or datetime.date.today()
    return f"spofr-comparison-{file_words(provenance.source)}-{day.isoformat()}.html"


def _no_content(report: Report) -> None:
    """These sections are placed with their content."""


def _title(summary: Mapping[str, Any], rival: str) -> str:
    return f"{called(rival)} compared with {called(summary['first']['name'])}"


def _about(summary: Mapping[str, Any], given: Provenance) -> Content:
    first = summary["first"]
    terms = [
        Term("Data", name_text(given.source or "not named", 120)),
        Term("Date", (given.date or datetime.date.today()).isoformat()),
        Term("Auditor", name_text(given.auditor or "not named", 120)),
        Term("Rankings", listed([called(name) for name in (first["name"], *summary["rivals"])])),
        Term("Queries", f"{first['queries']:,} of {called(first['name'])}"),
    ]
    if first["asked"] is not None:
        asked = first["asked"]
        terms.append(Term("Question asked", f"notion {asked['notion']}, {delta_text(asked['delta'], asked['unit'])}"))
    if given.fingerprint:
        terms.insert(1, Term("Fingerprint", code=f"sha256:{given.fingerprint}"))
    if given.notes and given.notes.strip():
        terms.append(Term("Notes", name_text(given.notes.strip(), 2000)))
    return Content(terms=terms)


def _of_rival(comparison: ComparisonLike, rival: str) -> Content:
    summary = comparison.summary
    return Content(
        caption=comparison_headline(summary, rival) if len(summary["rivals"]) > 1 else "",
        table=Table(TABLE_HEAD, comparison_cells(summary, rival)),
        parts=[
            ("In words", Content(sentences=comparison_details(summary, rival))),
            *_charts(comparison, rival),
            *_changed(summary, rival),
            *_sliced(summary["rivals"][rival]),
            ("Counted apart", Content(sentences=comparison_notes(summary, rival))),
        ],
    )


def _charts(comparison: ComparisonLike, rival: str) -> Iterator[tuple[str, Content]]:
    summary = comparison.summary
    first, rows = summary["first"]["name"], summary["rivals"][rival]["rows"]
    groups = [row for row in rows if row["kind"] == "group" and not row["small"] and row["difference"] is not None]
    if groups:
        yield "Exposure of each group", Content(svg=exposure_change_chart(groups, first, rival))
    drawn = [row for row in rows if row["kind"] in ("violation", "measure") and row["difference"]]
    for row in drawn[:MOST_CHARTS]:
        values = comparison.differences(row["name"], rival=rival)
        found = distributions(values["before"].to_numpy(), values["after"].to_numpy())
        chart = distribution_chart(found, first, rival, label=row["label"], share=row["unit"] == "share")
        yield f"Queries by {name_text(row['label'])}", Content(svg=chart)


def _changed(summary: Mapping[str, Any], rival: str) -> Iterator[tuple[str, Content]]:
    changed = summary["rivals"][rival]["changed"]
    if changed is None or not changed["queries"]:
        return
    head = ("Query", called(summary["first"]["name"]), called(rival), "Difference")
    table = Table(head, change_cells(changed))
    yield "Queries that changed most", Content(caption=f"By {name_text(changed['label'])}.", table=table)


def _sliced(found: Mapping[str, Any]) -> Iterator[tuple[str, Content]]:
    """Differences by slices and over time, where they were asked for."""
    if "slices" in found:
        yield "Differences by slices of the queries", slices_content(found["slices"], found.get("not_crossed"))
    if "time" in found:
        yield "Differences over time", time_content(found["time"])


def _provenance(summary: Mapping[str, Any], given: Provenance) -> Content:
    terms = [
        Term("Versions", ", ".join(versions())),
        Term("Summary schema", str(summary["schema"])),
        Term("Seed", f"{summary['seed']}, of resampled queries and drawn signs"),
    ]
    code = [Code("In a shell", given.command or ""), Code("In Python", given.python or "")]
    return Content(terms=terms, code=[lines for lines in code if lines.lines])


def _in_audit(report: Report) -> Content | None:
    """What a comparison found, where the report of an audit is given one."""
    summary = report.comparison
    if summary is None:
        return None
    parts = [
        (
            _title(summary, rival),
            Content(
                caption=comparison_headline(summary, rival),
                table=Table(TABLE_HEAD, comparison_cells(summary, rival)),
                sentences=[*comparison_notes(summary, rival), comparison_basis(summary)[0]],
            ),
        )
        for rival in summary["rivals"]
    ]
    return Content(parts=parts)


SECTIONS.register(Section("comparison", "Compared with other rankings", _in_audit))
