"""By slice and over time: which slices of the queries differ from the rest, and whether anything changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dashboard.charts.sliced_chart import MOST_SLICES, drawn_slices, slice_intervals, time_course
from dashboard.escaping import bold, markdown
from dashboard.session.choices import choose, follow
from dashboard.session.findings.named_values import shown_key
from dashboard.session.findings.report_parts import choose_parts, report_parts
from dashboard.session.findings.sliced_values import Sliceable, course_of, slicing_of
from dashboard.session.slicing.slice_text import slice_text
from dashboard.session.sources import Loaded
from dashboard.widgets.elements import chart, chosen_row, explain_errors, show_table
from spofr_core.errors import SpofrError
from spofr_core.evaluation import AuditResult, Measured
from spofr_core.reporting import (
    by_text,
    change_sentence,
    counted,
    name_text,
    slice_basis,
    slice_cells,
    slice_head,
    slice_sentences,
    time_basis,
    time_cells,
    time_head,
    time_sentences,
    value_text,
)

Plain = Mapping[str, Any]

MOST_CROSSED = 2
OFFERED = 8
"""Slices that can be chosen from a list; the sidebar has them all."""
MOST_TOLD = 3
"""Attributes with a sentence before anybody looks closer."""
WINDOWS = {
    "auto": "what suits the span",
    "day": "a day",
    "week": "a week",
    "month": "a month",
    "year": "a year",
    "parts": "equal parts",
}
_PARTS = 4


def audit_values(source: Loaded, result: AuditResult, found: Measured | None) -> list[Sliceable]:
    """What an audit can be sliced in: violation, delta held, exposure of each group, and its measures."""
    fixed, moving = shown_key(source, result.fairness), shown_key(source, result.fairness, delta=True)
    groups = {name: f"Exposure of {name}" for name, group in result.summary["groups"].items() if group["items"]}
    values = [
        Sliceable("violation", "Violation", fixed, lambda: result),
        Sliceable("fair", "Share that holds delta", moving, lambda: result),
        *(Sliceable(f"exposure:{name}", label, fixed, lambda: result) for name, label in groups.items()),
        *(
            Sliceable(name, entry["label"], fixed, lambda: result)
            for name, entry in result.summary["measures"].items()
            if name != "max_violation"
        ),
    ]
    if found is not None:
        key = f"{fixed};{found.settings}"
        values += [
            Sliceable(name, entry["label"], key, lambda: found) for name, entry in found.summary["measures"].items()
        ]
    return values


def slices_section(source: Loaded, values: Sequence[Sliceable], key: str) -> None:
    """The section; nothing where nothing is known of the queries. The first of the values is what is told at once."""
    timed = source.data.times is not None
    if not values or (not source.by and not timed):
        return
    parts = [*(["By slice"] if source.by else []), *(["over time"] if timed else [])]
    title = " and ".join(parts)
    st.header(title[:1].upper() + title[1:], anchor=False)
    told = st.container()
    # What nobody asked for would be drawn again at every move of delta.
    if st.toggle("Look closer: every slice, other measures, other windows", key=f"{key}-closer"):
        _closer(source, values, key, timed=timed)
    else:
        sentences = _told(source, values[0], timed=timed)
        told.markdown("\n".join(f"- {markdown(sentence, 1000)}" for sentence in sentences))


def _told(source: Loaded, values: Sliceable, *, timed: bool) -> list[str]:
    """A sentence per attribute, and one on time."""
    told = []
    for name in source.by[:MOST_TOLD]:
        try:
            slicing = slicing_of(values, (name,))
            told.append(slice_sentences(slicing, slicing["measures"][0])[0])
        except SpofrError as error:
            told.append(error.plain)
    if len(source.by) > MOST_TOLD:
        told.append(f"{counted(len(source.by) - MOST_TOLD, 'more column', 'more columns')} to slice by, below.")
    if timed:
        try:
            time = course_of(values, window())
            told.append(change_sentence(time, time["measures"][0]))
        except SpofrError as error:
            told.append(error.plain)
    return told


def window() -> str | int:
    """The window of time that was chosen."""
    asked = report_parts().window
    return int(asked) if asked.isdecimal() else asked


@st.fragment
def _closer(source: Loaded, values: Sequence[Sliceable], key: str, *, timed: bool) -> None:
    """Another measure or window draws nothing else of the page again."""
    labels = [name_text(each.label, 80) for each in values]
    first, second, third = st.columns(3)
    with first:
        place = st.selectbox(
            "What", range(len(values)), format_func=lambda k: labels[k], key=f"{key}-measure", filter_mode="contains"
        )
    chosen = values[place]
    by: tuple[str, ...] = ()
    if source.by:
        with second:
            by = _sliced_by(source, key)
    if timed:
        with third:
            _window_box(key)
    left, right = st.columns(2, gap="large") if by and timed else (st.container(), st.container())
    if by:
        with left:
            explain_errors(lambda: _slices(chosen, by, key))()
    if timed:
        with right:
            explain_errors(lambda: _course(chosen, key))()
    if by:
        _offered(source, chosen, by, key)


def _sliced_by(source: Loaded, key: str) -> tuple[str, ...]:
    """One attribute, or two to cross."""
    named = f"{key}-by"
    current = [name for name in st.session_state.get(named, []) if name in source.by]
    follow(named, current or source.by[:1], of=tuple(source.by))
    chosen = st.multiselect(
        "Slice by",
        source.by,
        format_func=lambda name: name_text(name, 60),
        max_selections=MOST_CROSSED,
        key=named,
        help="Two columns are crossed.",
    )
    return tuple(chosen)


def _window_box(key: str) -> None:
    asked = report_parts().window
    kind = "parts" if asked.isdecimal() else asked

    def take() -> None:
        named = st.session_state[f"{key}-window"]
        choose_parts(window=str(_PARTS) if named == "parts" else named)

    follow(f"{key}-window", kind)
    st.selectbox("Window of time", list(WINDOWS), format_func=WINDOWS.__getitem__, key=f"{key}-window", on_change=take)
    if kind == "parts":
        follow(f"{key}-parts", int(asked))
        # Nothing to type into: a browser tells of a number and of the click that ended it together, and a fragment with
        # the number would be run for both, what was clicked not.
        st.slider(
            "How many",
            2,
            100,
            key=f"{key}-parts",
            on_change=lambda: choose_parts(window=str(st.session_state[f"{key}-parts"])),
        )


def _slices(values: Sliceable, by: tuple[str, ...], key: str) -> None:
    slicing = slicing_of(values, by)
    entry = slicing["measures"][0]
    headline, *more = slice_sentences(slicing, entry)
    st.markdown(markdown(" ".join([headline, *more]), 2000), help=markdown(slice_basis(slicing), 1000))
    figure = slice_intervals(entry)
    title = f"{name_text(entry['label'])} by {by_text(by)}"
    if figure is None:
        show_table(_frame(slice_head(slicing, entry), slice_cells(entry)), title)
    else:
        cut = f" The first {MOST_SLICES} are drawn." if len(entry["slices"]) > len(drawn_slices(entry)) else ""
        chart(
            figure,
            title,
            f"Mean of each slice with its interval, the most evidence first. {headline}",
            table=lambda: _frame(slice_head(slicing, entry), slice_cells(entry)),
            headed=False,
            name=f"{key}-slices",
            note=f"Filled: differs from the rest. The most evidence first; the intervals hold for all at once.{cut}",
        )


def _offered(source: Loaded, values: Sliceable, by: tuple[str, ...], key: str) -> None:
    """Slices to look at: every page is about the chosen one then."""
    try:
        entry = slicing_of(values, by)["measures"][0]
    except SpofrError:  # which is told where the slices would stand
        return
    rows = entry["slices"][:OFFERED]
    st.caption("Choose a slice, and every page is about it until you leave it in the sidebar.")
    chosen = chosen_row([_row(row, entry["unit"]) for row in rows], f"{key}-rows")
    if chosen is not None:
        choose(slice=slice_text({**source.chosen, **rows[chosen]["values"]}))
        st.rerun()


def _row(row: Plain, unit: str) -> str:
    against = "" if row["rest"] is None else f" against {value_text(row['rest'], unit)} in the rest"
    said = "" if row["difference"] is None else ", differs" if row["differs"] else ", no difference shown"
    what = f"{value_text(row['mean'], unit)}{against}{said} ({counted(row['n'], 'query', 'queries')})"
    return f"{bold(row['slice'], 60)}: {markdown(what)}"


def _course(values: Sliceable, key: str) -> None:
    time = course_of(values, window())
    entry = time["measures"][0]
    headline, *more = time_sentences(time, entry)
    st.markdown(markdown(" ".join([headline, *more]), 2000))
    figure = time_course(time, entry)
    if figure is None:
        return
    chart(
        figure,
        f"{name_text(entry['label'])} over time",
        f"Mean of each window of time with its interval. {headline}",
        table=lambda: _frame(time_head(time), time_cells(time, entry)),
        headed=False,
        name=f"{key}-time",
        note=f"Band: intervals. {time_basis(time)}",
    )


def _frame(head: Sequence[str], rows: Sequence[Sequence[str]]) -> pd.DataFrame:
    """A table whose columns have names of their own: an attribute may be called as another column is."""
    names: list[str] = []
    for name in head:
        own = name
        while own in names:
            own = f"{own} "
        names.append(own)
    return pd.DataFrame(rows, columns=names)
