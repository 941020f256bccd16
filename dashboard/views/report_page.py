"""Report: what was found, to take away, and the lines that find it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.choices import choices
from dashboard.session.commands import command_lines, python_lines
from dashboard.session.findings.report_parts import ReportParts, with_parts
from dashboard.session.remembered import audited, fairness_of, repaired
from dashboard.session.solver_warmup import solver_ready
from dashboard.session.sources import Loaded, loaded
from dashboard.views.sections.selection_section import selected_words, selection_section
from dashboard.widgets.elements import csv_bytes, explain_errors
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

LONGEST_NOTES = 600
"""Letters of the notes: they stand on the first page of the report, which has to fit one sheet."""


@explain_errors
def page() -> None:
    """The page."""
    source = loaded()
    result = audited(source, fairness_of(choices(), source.data))
    if source.slice:
        st.caption(markdown(source.title))
    st.title("Take it with you", anchor=False)
    st.markdown(markdown(verdict(result.summary)))
    auditor, notes = _signed(source.data.fingerprint)
    parts = selection_section(source, result)
    command, python = command_lines(source, choices(), parts), python_lines(source, choices(), parts)
    after = _after(source, result)
    given = Provenance(
        source=source.title,
        fingerprint=source.data.fingerprint,
        command=command,
        python=python,
        auditor=auditor,
        notes=notes,
    )
    _downloads(result, lambda: with_parts(source, result, parts), given, after)
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


def _signed(fingerprint: str) -> tuple[str, str]:
    """Who audits, and the notes on this data; both stay when the page is left."""
    auditor = _kept("auditor", lambda **how: st.text_input("Auditor", max_chars=120, placeholder="Your name", **how))
    notes = _kept(
        f"notes-{fingerprint}",
        lambda **how: st.text_area(
            "Notes", max_chars=LONGEST_NOTES, placeholder="What a reader should know about this audit", **how
        ),
    )
    st.caption("Both stand on the first page of the report.")
    return auditor, notes


def _kept(name: str, field: Any) -> str:
    """A field whose text outlives the page: Streamlit forgets those that are not drawn."""
    kept = f"report-{name}-kept"
    text: str = field(value=st.session_state.get(kept, ""), key=f"report-{name}")
    st.session_state[kept] = text
    return text


def _after(source: Loaded, result: AuditResult) -> dict[str, Any]:
    """What the report says about the repair; nothing where there are no scores, or the solver is not there yet."""
    if source.data.score is None or not solver_ready():
        return {}
    found = repaired(source.data, result.fairness)
    return {"repaired": found.after, "relaxed": len(found.policies.relaxed)}


def _downloads(result: AuditResult, whole: Callable[[], AuditResult], given: Provenance, after: dict[str, Any]) -> None:
    """`whole` makes the audit with its slices and what else was chosen, when somebody downloads it."""

    def named(ending: str) -> str:
        return report_name(result.summary, given, ending)

    with st.container(horizontal=True):
        st.download_button(
            "Report (HTML)",
            lambda: audit_html(whole(), provenance=given, **after),
            named("html"),
            "text/html",
            type="primary",
            icon=":material/description:",
            on_click="ignore",
        )
        st.download_button(
            "Summary (JSON)",
            lambda: whole().to_json() + "\n",
            named("json"),
            "application/json",
            icon=":material/data_object:",
            on_click="ignore",
        )
        st.download_button(
            "Every query (CSV)",
            lambda: csv_bytes(result.queries),
            named("csv"),
            "text/csv",
            icon=":material/table:",
            on_click="ignore",
        )
    st.caption("The HTML report is one file: it opens without a network, follows light and dark, and prints on A4.")
