"""Data: a bundled sample or a file of one's own, how its columns are read, and what is in it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.charts.dataset_charts import group_counts, list_lengths
from dashboard.escaping import markdown
from dashboard.session.choices import choices, choose, follow
from dashboard.session.sources import UPLOAD, Loaded, loaded, loaded_data, sample_names
from dashboard.session.stored_uploads import learnable, sweep_uploads
from dashboard.session.uploads import own_uploads
from dashboard.views.sections.shown_section import shown_section
from dashboard.widgets.elements import cards, chart, explain_errors, show_table
from dashboard.widgets.own_files import own_files
from dashboard.widgets.project_panel import project_panel
from dashboard.widgets.upload_wizard import wizard
from spofr_core.data import SAMPLES, RankingDataset
from spofr_core.errors import SpofrError
from spofr_core.experiments import home
from spofr_core.reporting import counted, listed

_LISTED = 40
"""Features that are named."""


@explain_errors
def page() -> None:
    """The page."""
    st.title("Which rankings are looked at", anchor=False)
    sweep_uploads(home())
    store = own_uploads()
    unread = next((upload for upload in store.uploads() if upload.draft is not None), None)
    if unread is not None:
        wizard(store, unread)
    shown_section(store)
    left, right = st.columns(2, gap="large")
    with left:
        _samples()
    with right:
        own_files(store)
    source = loaded()
    _content(source)
    project_panel(store, loaded_data() if source.slice else source)  # a project names all data, and the slice


def _samples() -> None:
    st.header("A bundled sample", anchor=False)
    here = choices().data
    names = sample_names()
    follow("data-sample", here if here in SAMPLES else None)
    st.radio(
        "Sample",
        names,
        index=None,  # a file of one's own is none of them
        format_func=lambda name: SAMPLES[name].title,
        captions=[SAMPLES[name].about for name in names],
        key="data-sample",
        label_visibility="collapsed",
        on_change=lambda: choose(data=st.session_state["data-sample"]),
    )
    if here in SAMPLES:
        groups = SAMPLES[here].ways
        current = choices().groups if choices().groups in groups else next(iter(groups))
        follow("data-groups", current, of=here)
        st.selectbox(
            "Groups",
            list(groups),
            format_func=groups.__getitem__,
            key="data-groups",
            on_change=lambda: choose(groups=st.session_state["data-groups"]),
        )
    if here in SAMPLES and SAMPLES[here].credit:
        st.caption(SAMPLES[here].credit)


def _content(source: Loaded) -> None:
    data = source.data
    lengths = data.list_lengths
    st.header(f"What is in it: {markdown(source.title)}", anchor=False)
    shown = [
        ("Queries", f"{len(data):,}", f"{lengths.min()} to {lengths.max()} items each"),
        ("Items", f"{data.n_items:,}", "rows that were read"),
        ("Groups", "none", "each item on its own")
        if data.each_item
        else ("Groups", f"{data.n_groups:,}", _sizes(data)),
        (
            "Relevance",
            *_relevance(data),
        ),
    ]
    with st.container(key="data-cards"):
        places = st.columns(len(shown))
    left, right = st.columns(2, gap="large")
    if data.each_item:
        right = left  # there are no groups to count
    else:
        with left:
            sizes = "Number of items of each group."
            chart(group_counts(data), "Items by group", sizes, table=lambda: _group_frame(data))
    # They take a browser longer than the chart does; the style keeps their room free.
    cards(shown, places)
    with right:
        chart(
            list_lengths(data),
            "How long the lists are",
            "Number of queries by list length.",
            table=lambda: _length_frame(data),
        )
    _about_queries(data)
    _left_out(source)
    _features(source)
    with st.expander("The first rows, as they were understood"):
        show_table(data[:1].to_frame().head(30), "First list of the data")
    st.caption(f"Fingerprint: sha256 {data.fingerprint}")


def _about_queries(data: RankingDataset) -> None:
    """What is known of the queries: slices and time."""
    told = [
        f"{markdown(name, 60)} ({counted(len(set(values.tolist())), 'value', 'values')})"
        for name, values in data.attributes.items()
    ]
    sentences = [f"The queries can be sliced by {listed(told)}."] if told else []
    if data.times is not None and not np.isnat(data.times).all():
        first, last = (str(day) for day in (np.nanmin(data.times), np.nanmax(data.times)))
        sentences.append(f"They were asked from {first[:10]} to {last[:10]}.")
    if sentences:
        st.caption(" ".join(sentences))


def _left_out(source: Loaded) -> None:
    data = source.data
    if data.excluded:
        lines = [f"- {count:,} not compared: {markdown(reason)}" for reason, count in data.excluded.items()]
        st.markdown("**Left out**\n\n" + "\n".join(lines))
    elif source.key == UPLOAD:
        st.caption("Nothing was left out.")
    if data.notes:
        with st.expander(f"{counted(len(data.notes), 'note', 'notes')} from reading", expanded=source.key == UPLOAD):
            st.markdown("\n".join(f"- {markdown(note)}" for note in data.notes))


def _features(source: Loaded) -> None:
    """What a scorer would learn from: the file is read again for it, so only when somebody asks."""
    if source.learnable is None or source.data.relevance is None:
        return
    features = st.expander("What a scorer can learn from", key="features-open", on_change="rerun")
    if not features.open:
        return
    with features:
        try:
            with st.spinner("Reading the features"):
                data = learnable(source)
        except SpofrError as error:
            st.info(markdown(error.plain, 1000), icon=":material/info:")
            return
        names = list(data.feature_names)
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        st.markdown(f"{counted(len(names), 'column', 'columns')}: {markdown(', '.join(names[:_LISTED]), 2000)}{more}.")
        for note in data.notes:
            if note not in source.data.notes:
                st.caption(markdown(note, 2000))
        st.caption("'Change how it is read' above leaves out more.")


def _sizes(data: RankingDataset) -> str:
    sizes = sorted(data.group_sizes.values())
    return f"of {sizes[0]:,} to {sizes[-1]:,} items" if sizes else "none"


def _relevance(data: RankingDataset) -> tuple[str, str]:
    if data.relevance is None:
        return "-", "no labels"
    if data.label_shift:
        return f"{data.relevance.min():.3g} to {data.relevance.max():.3g}", "is what labels say"
    return f"{100 * float((data.relevance > 0).mean()):.1f} %", "of items are relevant"


def _length_frame(data: RankingDataset) -> pd.DataFrame:
    items, queries = np.unique(data.list_lengths, return_counts=True)
    return pd.DataFrame({"items": items, "queries": queries})


def _group_frame(data: RankingDataset) -> pd.DataFrame:
    sizes = np.array(list(data.group_sizes.values()))
    frame = pd.DataFrame(
        {"group": list(data.group_sizes), "items": sizes, "share, %": 100 * sizes / max(data.n_items, 1)}
    )
    if data.relevance is not None:
        totals = np.bincount(data.groups[data.grouped], weights=data.relevance[data.grouped], minlength=data.n_groups)
        frame["mean relevance"] = np.where(sizes > 0, totals / np.maximum(sizes, 1), np.nan)
    return frame
