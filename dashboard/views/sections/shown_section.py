"""A log of impressions: what readers were really shown, of each query and over time."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dashboard.charts.shown_chart import MOST_MARKS, shown_queries
from dashboard.charts.sliced_chart import time_course
from dashboard.escaping import markdown
from dashboard.session.choices import choices, choose
from dashboard.session.findings.shown_values import audited_log, chosen_log, log_command, log_of
from dashboard.session.upload_store import Upload, UploadStore
from dashboard.widgets.downloads import Download, downloads, part_of_name
from dashboard.widgets.elements import cards, chart, csv_bytes, explain_errors, show_table
from spofr_core.reporting import (
    counted,
    name_text,
    time_basis,
    time_cells,
    time_head,
    time_sentences,
    unbroken,
    violation_text,
)
from spofr_core.serving import ShownAudit, doubt_sentences, once_sentences, shown_groups, shown_verdict

WINDOWS = {
    "auto": "what suits the span",
    "day": "a day",
    "week": "a week",
    "month": "a month",
    "year": "a year",
    "6": "6 equal parts",
}

NO_QUOTA = (
    "What was shown is judged by delta alone. Whether every list that is drawn keeps the numbers beside delta is "
    "counted on the Audit page, of lists and of policies."
)


def shown_section(store: UploadStore) -> None:
    """The log that is looked at, if there is one."""
    if not choices().log:
        return
    upload = chosen_log(store)
    if upload is None:
        st.info("The link speaks of a log of impressions that is not among your files.", icon=":material/info:")
        return
    with st.container(border=True, key="shown"):
        st.header(f"What was shown: {markdown(upload.name, 80)}", anchor=False)
        explain_errors(lambda: _audit(store, upload))()
        if st.button("Close the log", key="shown-close", icon=":material/close:"):
            choose(log="")
            st.rerun()


def _audit(store: UploadStore, upload: Upload) -> None:
    log = log_of(store, upload)
    result = audited_log(upload, log, choices())
    summary, fairness = result.summary, result.fairness
    st.markdown(f"**{markdown(shown_verdict(summary, fairness), 1000)}**")
    if choices().quota or choices().quota_min:
        st.info(NO_QUOTA, icon=":material/info:")
    _cards(result)
    more = [*once_sentences(summary, fairness), *doubt_sentences(summary, fairness)]
    if more:
        st.markdown(markdown(" ".join(more), 2000))
    if len(result.judged):
        _queries(result)
    _groups("What each group was shown", summary["groups"], result)
    if 0 < summary["queries"]["once"] < summary["queries"]["shown"]:
        _groups("Queries seen once, taken together", summary["once"], result)
    if log.times is not None:
        _over_time(result)
    name = f"shown-{part_of_name(upload.name)}"
    downloads(
        Download("Queries and groups (CSV)", lambda: csv_bytes(result.table), f"{name}.csv", "text/csv"),
        Download("Summary (JSON)", result.to_json, f"{name}.json", "application/json"),
    )
    command = log_command(upload, choices())
    if command:
        st.code(command, language="shell", wrap_lines=True)
    if summary["notes"]:
        with st.expander(f"{counted(len(summary['notes']), 'note', 'notes')} from reading"):
            st.markdown("\n".join(f"- {markdown(note)}" for note in summary["notes"]))


def _cards(result: ShownAudit) -> None:
    summary, unit = result.summary, result.fairness.unit
    queries, worst = summary["queries"], summary["worst"]
    held, promised = queries["hold"], queries["promised"]
    within = f"{queries['within']:,} of {promised:,} within delta and bound" if promised else "shown twice or more"
    cards(
        [
            ("Impressions", f"{summary['impressions']:,}", f"of {counted(queries['shown'], 'query', 'queries')}"),
            ("Seen once", f"{queries['once']:,}", "queries, judged together"),
            ("Hold delta", f"{held:,} of {queries['judged']:,}", within),
            (
                "Furthest off",
                "-" if worst is None else violation_text(abs(worst["violation"]), unit),
                "no query was judged" if worst is None else f"over {worst['impressions']:,} impressions",
            ),
        ]
    )


def _queries(result: ShownAudit) -> None:
    judged = result.judged
    cut = f" The {MOST_MARKS:,} furthest off are drawn." if len(judged) > MOST_MARKS else ""
    chart(
        shown_queries(judged, result.fairness.unit),
        "How far off each query is, by how often it was shown",
        "A mark for each query that was shown twice or more: its largest realised violation against its impressions.",
        table=lambda: judged,
        note="A violation is the mean over all impressions of the query, of the group that is off most. Chance wears "
        f"off as a query is shown again: what stays above delta on the right is not chance.{cut}",
        name="shown-queries",
    )


def _groups(title: str, groups: dict[str, Any], result: ShownAudit) -> None:
    if not groups:
        return
    head, rows = shown_groups(groups, result.fairness)
    st.markdown(f"**{title}**")
    show_table(pd.DataFrame(rows, columns=list(head)), title)
    st.caption(unbroken("Means over queries, each counting once, with 95 % intervals."))


def _over_time(result: ShownAudit) -> None:
    st.subheader("Over time", anchor=False)
    left, right = st.columns([2, 1])
    window = right.selectbox("Windows of", list(WINDOWS), format_func=WINDOWS.__getitem__, key="shown-window")
    time = result.over_time(window).summary
    entries = {entry["measure"]: entry for entry in time["measures"]}
    chosen = left.selectbox(
        "What is drawn",
        list(entries),
        format_func=lambda name: name_text(entries[name]["label"]).capitalize(),
        key="shown-course",
    )
    entry = entries[chosen]
    st.markdown(markdown(" ".join(time_sentences(time, entry)), 2000))
    figure = time_course(time, entry)
    if figure is not None:
        chart(
            figure,
            f"{name_text(entry['label'])} over time",
            "Mean of each window of time with its interval.",
            table=lambda: pd.DataFrame(time_cells(time, entry), columns=list(time_head(time))),
            headed=False,
            name="shown-time",
            note=f"Band: intervals. {time_basis(time)}",
        )
