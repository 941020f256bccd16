"""Report: what was found, to take away, and the lines that find it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.choices import choices, follow
from dashboard.session.commands import command_lines, proof_of, python_lines
from dashboard.session.findings.report_parts import ReportParts, with_parts
from dashboard.session.projects.auditor_notes import AuditorNotes, notes_on
from dashboard.session.projects.desk import Desk, own_desk
from dashboard.session.remembered import audited, fairness_of, repaired
from dashboard.session.solver_warmup import solver_ready
from dashboard.session.sources import Loaded, loaded
from dashboard.views.sections.selection_section import selected_words, selection_section
from dashboard.widgets.downloads import Download, downloads
from dashboard.widgets.elements import csv_bytes, explain_errors
from dashboard.widgets.project_panel import notes_field
from spofr_core.errors import DataError
from spofr_core.evaluation import AuditResult
from spofr_core.reporting import (
    Provenance,
    audit_html,
    by_text,
    limits_of,
    listed,
    plain_summary,
    report_name,
    verdict,
)


@explain_errors
def page() -> None:
    """The page."""
    source = loaded()
    result = audited(source, fairness_of(choices(), source.data))
    if source.slice:
        st.caption(markdown(source.title))
    st.title("Take it with you", anchor=False)
    st.markdown(markdown(verdict(result.summary)))
    notes = notes_on()
    _signed(notes)
    parts = selection_section(source, result)
    command, python = command_lines(source, choices(), parts), python_lines(source, choices(), parts)
    after = _after(source, result)
    proof = proof_of(command, repaired(source.data, result.fairness).yields) if command and after else None
    given = Provenance(
        source=source.title,
        fingerprint=source.data.fingerprint,
        command=command,
        python=python,
        proof=proof,
    )
    _downloads(result, lambda: with_parts(source, result, parts), given, _signer(given, own_desk(), notes), after)
    _told_parts(source, parts)
    st.header("In plain words", anchor=False)
    told = plain_summary(result.summary, after["repaired"].summary if after else None)
    st.markdown("\n".join(f"- {markdown(sentence)}" for sentence in told))
    st.header("Find it again", anchor=False)
    if command:
        st.caption(f"In a shell, {source.where}" if source.where else "In a shell")
        st.code(command, language="bash", wrap_lines=True)
    st.caption("In Python")
    st.code(python, language="python", wrap_lines=True)
    if proof:
        st.caption("The repair, and its check")
        st.code(proof, language="bash", wrap_lines=True)
    st.header("What it does not show", anchor=False)
    st.markdown("\n".join(f"- {markdown(line)}" for line in limits_of(result.summary)))
    st.caption(f"Fingerprint of the data: sha256 {source.data.fingerprint}")


def _told_parts(source: Loaded, parts: ReportParts) -> None:
    """What report and summary hold besides the audit."""
    held = [f"slices by {by_text(source.by)}"] if source.by else []
    held += ["the course over time"] if source.data.times is not None else []
    held += [f"selection rates ({selected_words(parts)})"] if parts.selected else []
    if held:
        st.caption(f"With {markdown(listed(held), 1000)}.")


def _signed(notes: AuditorNotes) -> None:
    """Who audits, and the notes on this data."""
    _auditor()
    notes_field(notes, "report")
    st.caption(
        "Both stand on the first page of the report. They are kept where this dashboard runs, for you alone, as long "
        "as a file of yours would be."
    )


def _auditor() -> None:
    """No fragment, for the reason that `notes_field` has."""
    desk = own_desk()
    follow("report-auditor", desk.papers().auditor)
    st.text_input(
        "Auditor",
        max_chars=120,
        placeholder="Your name",
        key="report-auditor",
        on_change=lambda: desk.put(auditor=st.session_state["report-auditor"]),
    )


def _signer(given: Provenance, desk: Desk, notes: AuditorNotes) -> Callable[[], Provenance]:
    """Signs a report when it is made: what was typed just before the click is in it."""
    return lambda: replace(given, notes=notes.read(), auditor=desk.papers().auditor)


def _after(source: Loaded, result: AuditResult) -> dict[str, Any]:
    """What the report says about the repair; nothing where there are no scores, or the solver is not there yet."""
    if source.data.score is None or not solver_ready():
        return {}
    try:
        found = repaired(source.data, result.fairness)
    except DataError as error:  # scores can be too large to add up, and still say an order that can be audited
        st.info(markdown(f"The report says nothing of a repair. {error.plain}", 1000), icon=":material/info:")
        return {}
    return {
        "repaired": found.after,
        "relaxed": len(found.policies.relaxed),
        "quota": found.summary["quota"],
        "ranks": found.ranks,
    }


def _downloads(
    result: AuditResult,
    whole: Callable[[], AuditResult],
    given: Provenance,
    signed: Callable[[], Provenance],
    after: dict[str, Any],
) -> None:
    """`whole` makes the audit with its slices and what else was chosen, `signed` the `given` with name and notes, when
    somebody downloads it."""

    def named(ending: str) -> str:
        return report_name(result.summary, given, ending)

    downloads(
        Download(
            "Report (HTML)",
            lambda: audit_html(whole(), provenance=signed(), **after),
            named("html"),
            "text/html",
            icon=":material/description:",
            main=True,
        ),
        Download(
            "Summary (JSON)",
            lambda: whole().to_json() + "\n",
            named("json"),
            "application/json",
            icon=":material/data_object:",
        ),
        Download(
            "Every query (CSV)",
            lambda: csv_bytes(result.queries),
            named("csv"),
            "text/csv",
            icon=":material/table:",
        ),
    )
    st.caption("The HTML report is one file: it opens without a network, follows light and dark, and prints on A4.")
