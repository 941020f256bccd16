"""Report: what was found, to take away, and the lines that find it again."""

from __future__ import annotations

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.choices import choices
from dashboard.session.commands import command_lines, python_lines
from dashboard.session.remembered import audited, fairness_of
from dashboard.session.sources import loaded
from dashboard.widgets.elements import csv_bytes, explain_errors
from spofr_core.evaluation import AuditResult
from spofr_core.reporting import Provenance, audit_html, limits_of, verdict


@explain_errors
def page() -> None:
    """The page."""
    source = loaded()
    result = audited(source, fairness_of(choices(), source.data))
    command, python = command_lines(source, choices()), python_lines(source, choices())
    st.title("Take it with you", anchor=False)
    st.markdown(markdown(verdict(result.summary)))
    given = Provenance(source=source.title, fingerprint=source.data.fingerprint, command=command, python=python)
    _downloads(result, given)
    st.header("Find it again", anchor=False)
    if command:
        st.caption(f"In a shell, {source.where}" if source.where else "In a shell")
        st.code(command, language="bash", wrap_lines=True)
    st.caption("In Python")
    st.code(python, language="python", wrap_lines=True)
    st.header("What it does not show", anchor=False)
    st.markdown("\n".join(f"- {markdown(line)}" for line in limits_of(result.summary)))
    st.caption(f"Fingerprint of the data: sha256 {source.data.fingerprint}")


def _downloads(result: AuditResult, given: Provenance) -> None:
    with st.container(horizontal=True):
        st.download_button(
            "Report (HTML)",
            lambda: audit_html(result, provenance=given),
            "exposure-audit.html",
            "text/html",
            type="primary",
            icon=":material/description:",
            on_click="ignore",
        )
        st.download_button(
            "Summary (JSON)",
            lambda: result.to_json() + "\n",
            "exposure-audit.json",
            "application/json",
            icon=":material/data_object:",
            on_click="ignore",
        )
        st.download_button(
            "Every query (CSV)",
            lambda: csv_bytes(result.queries),
            "exposure-audit.csv",
            "text/csv",
            icon=":material/table:",
            on_click="ignore",
        )
    st.caption("The HTML report is one file: it opens without a network, follows light and dark, and prints on A4.")
