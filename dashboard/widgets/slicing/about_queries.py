"""What a file knows of its queries: columns to slice by, and the column of the time."""

from __future__ import annotations

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.mapping import Mapping
from spofr_core.data import TablePreview
from spofr_core.reporting import listed

NONE = "(none)"


def about_queries(preview: TablePreview, mapping: Mapping, known: dict[str, str], texts: dict[str, str]) -> Mapping:
    """The mapping with what is chosen; columns that look as if they were about the query are offered first.

    None of them is chosen by itself: a column that turns out to be something else would make the file unreadable.
    """
    roles = {mapping.query, mapping.item, mapping.ranked_by, mapping.relevance, *mapping.group, *known.values()}
    names = [str(name) for name in preview.head.columns if str(name) not in {*roles, *preview.features}]
    if not names:
        return mapping
    slices = [name for name in preview.slice_like if name in names]
    times = [name for name in preview.time_like if name in names]
    wanted = bool(slices or times or mapping.slices or mapping.time)
    with st.expander("Slices and time: what is known of each query", key="map-about-open", expanded=wanted):
        left, right = st.columns(2)
        with left:
            chosen = _slices(names, slices, mapping, texts)
        with right:
            time = _time(names, times, mapping, texts)
        if slices or times:
            seen = [f"{markdown(listed(slices), 300)} for slices"] if slices else []
            seen += [f"{markdown(listed(times), 300)} for the time"] if times else []
            st.caption(f"The first rows suggest {' and '.join(seen)}.")
    return mapping.model_copy(update={"slices": chosen, "time": time})


def _slices(names: list[str], first: list[str], mapping: Mapping, texts: dict[str, str]) -> tuple[str, ...]:
    key = "map-slices"
    given = st.session_state.get(key, list(mapping.slices))
    _keep(key, [name for name in given if name in names])
    return tuple(
        st.multiselect(
            "Slice the queries by",
            [*first, *(name for name in names if name not in first)],
            format_func=lambda name: texts.get(name, name),
            key=key,
            placeholder="a country, a category, a device",
            help="Columns with the same value in all rows of a query. The audit then says which slices differ from the "
            "rest, and a slice can be looked at alone.",
        )
    )


def _time(names: list[str], first: list[str], mapping: Mapping, texts: dict[str, str]) -> str:
    key = "map-time"
    options = [NONE, *first, *(name for name in names if name not in first)]
    given = st.session_state.get(key, mapping.time or NONE)
    _keep(key, given if given in options else NONE)
    chosen = st.selectbox(
        "Time of the query",
        options,
        format_func=lambda name: texts.get(name, name),
        key=key,
        filter_mode="contains",
        help="ISO dates, or seconds since 1970, in UTC. The audit then says whether anything changed.",
    )
    return "" if chosen == NONE else chosen


def _keep(key: str, value: object) -> None:
    """Give a widget its first value, and another one where its own is no longer offered."""
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
