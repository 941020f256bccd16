"""What the law asks: who is selected, and how the rates of groups compare under rules that have a name of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.choices import follow
from dashboard.session.findings.report_parts import (
    ReportParts,
    Selected,
    choose_parts,
    report_parts,
    selected_rates,
)
from dashboard.session.sources import Loaded
from dashboard.widgets.elements import show_table
from spofr_core.errors import SpofrError
from spofr_core.evaluation import AuditResult
from spofr_core.reporting import number, selected_sentence, selection_sentences, selection_tables

WAYS: dict[Selected, str] = {
    "": "No selection rates",
    "top": "The first k of each list",
    "score": "A score or more",
    "median": "Above the median score",
}


def selection_section(source: Loaded, result: AuditResult) -> ReportParts:
    """The choice, and under it the tables; what it returns is what the report holds."""
    if source.data.each_item:
        st.caption("Selection rates compare groups, and with each item on its own there are none.")
        return ReportParts(window=report_parts().window)
    parts = report_parts()
    section = st.expander("What the law asks: selection rates", key="selection-open", on_change="rerun")
    if section.open:
        with section:
            st.caption("Who counts as selected? The report then has an appendix under the names of the rules that ask.")
            _way(source)
            parts = report_parts()
    if not parts.selected:
        return parts
    try:
        rates = selected_rates(source, result, parts)
    except SpofrError as error:
        st.error(markdown(error.plain, 1000), icon=":material/error:")
        return ReportParts(window=parts.window)
    if section.open:
        with section:
            _tables(rates.summary)
    return parts


def selected_words(parts: ReportParts) -> str:
    """Who counts as selected, in a few words; empty where nobody is asked about."""
    words = {
        "top": f"the first {parts.top:,} of each list",
        "score": f"a score of {number(parts.least)} or more",
        "median": "a score above the median",
    }
    return words.get(parts.selected, "")


def _way(source: Loaded) -> None:
    current = report_parts()
    offered = [way for way in WAYS if way in ("", "top") or source.data.score is not None]
    follow("selection-way", current.selected, of=tuple(offered))
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    left.selectbox(
        "Selected are",
        offered,
        format_func=WAYS.__getitem__,
        key="selection-way",
        on_change=lambda: _take_way(source, st.session_state["selection-way"]),
    )
    if current.selected == "top":
        longest = int(source.data.list_lengths.max(initial=1))
        follow("selection-top", min(current.top, longest), of=longest)
        right.number_input(
            "k",
            1,
            longest,
            key="selection-top",
            on_change=lambda: choose_parts(top=int(st.session_state["selection-top"])),
        )
    if current.selected == "score":
        follow("selection-least", current.least)
        right.number_input(
            "Score",
            key="selection-least",
            format="%.6g",
            on_change=lambda: choose_parts(least=float(st.session_state["selection-least"])),
        )


def _take_way(source: Loaded, way: Selected) -> None:
    changes: dict[str, Any] = {"selected": way}
    if way == "top":
        changes["top"] = min(report_parts().top, int(source.data.list_lengths.max(initial=1)))
    if way == "score" and source.data.score is not None:
        changes["least"] = float(f"{np.median(source.data.score):.4g}")
    choose_parts(**changes)


def _tables(selection: Mapping[str, Any]) -> None:
    st.markdown(markdown(selected_sentence(selection), 1000))
    printed: list[Any] = []
    for rule in selection["rules"]:
        st.subheader(markdown(f"{rule['title']} ({rule['source']})", 300), anchor=False)
        st.caption(markdown(rule["text"], 2000))
        tables = selection_tables(rule)
        cells = [table.rows for _, table in tables]
        if cells in printed:
            st.markdown("The same numbers as above.")
        else:
            printed.append(cells)
            for (title, table), sentence in zip(tables, selection_sentences(rule, selection["kind"]), strict=True):
                st.markdown(markdown(sentence, 1000))
                show_table(_frame(table.head, table.rows), f"{rule['title']}: {title}")
        st.caption(" ".join(markdown(f"Not said: {sentence}", 1000) for sentence in rule["not_said"]))
    for note in selection["notes"]:
        st.caption(markdown(note, 1000))
    st.markdown("**What these numbers do not say**")
    st.markdown("\n".join(f"- {markdown(sentence, 1000)}" for sentence in selection["not_said"]))


def _frame(head: Any, rows: Any) -> pd.DataFrame:
    """Two columns are called "95 % CI": of the rate, and of the ratio."""
    names = list(head)
    for place in range(len(names)):
        if names[place] in names[:place] and place:
            names[place] = f"{names[place]} of it"
    return pd.DataFrame([list(row) for row in rows], columns=names)
