"""Which slice of the queries every page is about: chosen in the sidebar, and left there."""

from __future__ import annotations

import streamlit as st

from dashboard.escaping import bold, markdown
from dashboard.session.choices import choose, follow
from dashboard.session.slicing.slice_text import slice_text
from dashboard.session.sources import Loaded, loaded_data
from spofr_core.reporting import name_text, slice_name

ALL = ""
_KEY = "sidebar-slice"


def chosen_slice(source: Loaded) -> None:
    """Which slice is looked at, and the way out; nothing where all queries are."""
    if not source.slice:
        return
    counts = f"{len(source.data):,} of {len(loaded_data().data):,} queries"
    st.caption(f"Looking at {bold(slice_name(source.chosen))} alone: {counts}.")
    st.button("Leave this slice", icon=":material/close:", key="leave-slice", on_click=lambda: choose(slice=""))


def slice_chooser(source: Loaded) -> None:
    """A box per attribute of the queries; nothing where the data has none."""
    if source.model is not None or not source.data.attributes:
        return
    boxes = st.expander("One slice of the queries", key=f"{_KEY}-open", on_change="rerun")
    if boxes.open:
        whole = loaded_data()
        with boxes:
            for place, name in enumerate(whole.data.attributes):
                _box(whole, source, place, name)


def _box(whole: Loaded, source: Loaded, place: int, name: str) -> None:
    key = f"{_KEY}-{place}"
    offered = [ALL, *sorted(set(whole.data.attributes[name].tolist()))]
    follow(key, source.chosen.get(name, ALL), of=(whole.data.fingerprint, name))

    def take() -> None:
        chosen = {**source.chosen, name: st.session_state[key]}
        choose(slice=slice_text({each: value for each, value in chosen.items() if value != ALL}))

    st.selectbox(
        markdown(name, 60),
        offered,
        format_func=lambda value: name_text(value, 60) if value != ALL else "all",
        key=key,
        on_change=take,
        filter_mode="contains",
    )
