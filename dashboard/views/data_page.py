"""Data: a bundled sample or a file of one's own, how its columns are read, and what is in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.charts.dataset_charts import group_counts, list_lengths
from dashboard.escaping import markdown
from dashboard.navigation import page_named
from dashboard.session.choices import choices, choose, follow
from dashboard.session.sources import UPLOAD, Loaded, keep_upload, loaded, sample_names
from dashboard.session.uploads import LIMITS, GroupWay, Mapping, read_upload
from dashboard.widgets.elements import cards, chart, explain_errors, show_table
from spofr_core.data import (
    SAMPLES,
    RankingDataset,
    TablePreview,
    format_labels,
    preview_table,
    sample_path,
    usual_suffixes,
)
from spofr_core.errors import SpofrError
from spofr_core.reporting import counted

WAYS: dict[GroupWay, str] = {"column": "A column", "quantiles": "Quantiles of a number", "crossing": "Columns crossed"}
MISSING = {
    "error": "Refuse the file and say where",
    "own_group": "Make them a group of their own",
    "exclude": "Leave them out, counted",
}
NONE = "(none)"
ENCODINGS = {"": "Find out", "latin-1": "Latin-1", "cp1252": "Windows-1252", "utf-16": "UTF-16"}


@explain_errors
def page() -> None:
    """The page."""
    st.title("Which rankings are looked at", anchor=False)
    left, right = st.columns(2, gap="large")
    with left:
        _samples()
    with right:
        file = _uploader()
    if file is not None:
        _wizard(file)
    _content(loaded())


def _samples() -> None:
    st.header("A bundled sample", anchor=False)
    here = choices().data
    names = sample_names()
    follow("data-sample", here if here in SAMPLES else None)
    st.radio(
        "Sample",
        names,
        format_func=lambda name: SAMPLES[name].title,
        captions=[SAMPLES[name].about for name in names],
        key="data-sample",
        label_visibility="collapsed",
        on_change=lambda: choose(data=st.session_state["data-sample"]),
    )
    if here in SAMPLES and len(SAMPLES[here].groupings) > 1:
        groups = SAMPLES[here].groupings
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


def _uploader() -> Any:
    st.header("Your own", anchor=False)
    file = st.file_uploader(
        "A table with a row per shown item: query, item, score or rank, group, and relevance if you have it",
        type=usual_suffixes(),
        key="data-upload",
        help=f"{format_labels()}, also gzipped. It stays in this session, on this machine.",
    )
    with st.container(horizontal=True):
        st.download_button(
            "Template (CSV)",
            sample_path("template.csv").read_bytes(),
            "spofr-template.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
    st.caption(
        f"Up to {LIMITS.rows:,} rows, {LIMITS.groups} groups and {LIMITS.list_length:,} items in a list here; "
        "the shell takes more."
    )
    return file


def _wizard(file: Any) -> None:
    """The guessed mapping, to be looked at and changed; nothing replaces the present data before it is read."""
    with st.container(border=True):
        st.header(f"Reading {markdown(file.name)}", anchor=False)
        encoding = st.session_state.get("map-encoding", "") or None
        try:
            preview = _preview(file, encoding)
        except SpofrError as error:
            _refused(error)
            _encoding()
            return
        st.caption("The first five rows:")
        show_table(preview.head.head(5), "First five rows of the file")
        mapping = _mapping(preview)
        pressed = st.button("Audit this data", type="primary", icon=":material/balance:")
        if preview.notes:
            st.caption("Guessed: " + " ".join(markdown(note) for note in preview.notes))
        if pressed:
            _accept(file, mapping, preview, encoding)


def _accept(file: Any, mapping: Mapping, preview: TablePreview, encoding: str | None) -> None:
    try:
        with st.spinner("Reading"):
            found = read_upload(file, mapping, encoding=encoding)
    except SpofrError as error:
        _refused(error)
        return
    keep_upload(found)
    st.switch_page(page_named("audit"))


def _refused(error: SpofrError) -> None:
    st.error(markdown(error, 1000), icon=":material/error:")
    st.caption(f"Nothing was changed: {markdown(loaded().title)} is still the data on the screen.")


def _preview(file: Any, encoding: str | None) -> TablePreview:
    """Remembered with the file in this session: every touch of a select box runs the page again."""
    key = (file.file_id, encoding)
    if st.session_state.get("preview-key") != key:
        for choice in [name for name in st.session_state if str(name).startswith("map-") and name != "map-encoding"]:
            del st.session_state[choice]  # what was chosen for another file means nothing for this one
        st.session_state["preview"] = preview_table(file, encoding=encoding, limits=LIMITS)
        st.session_state["preview-key"] = key
    preview: TablePreview = st.session_state["preview"]
    return preview


def _encoding() -> None:
    st.selectbox("Encoding of the text", list(ENCODINGS), format_func=ENCODINGS.__getitem__, key="map-encoding")


def _mapping(preview: TablePreview) -> Mapping:
    names = [str(name) for name in preview.head.columns]
    numbers = [name for name in names if preview.kinds.get(name) in ("number", "flag")]
    guess = preview.mapping
    known = preview.known
    first, second, third, fourth = st.columns(4)
    with first:
        query = _column("Query", names, guess.get("query"), needed=True, known="query" in known)
    with second:
        item = _column("Item", names, guess.get("item"), known="item" in known)
    with third:
        ranking = [name for name in numbers if name not in known.values()]
        ranked_by = _column("Ranked by", ranking, guess.get("score") or guess.get("rank"), needed=True)
        is_rank = st.toggle("1 is the top (a rank)", value="score" not in guess and "rank" in guess, key="map-is-rank")
    with fourth:
        relevance = _column("Relevance", numbers, guess.get("relevance"), known="relevance" in known)
    way, group, quantiles = _groups(names, numbers, guess.get("group"), cut=bool(preview.features))
    left, right = st.columns(2)
    with left:
        missing = st.selectbox(
            "Items without a group", list(MISSING), format_func=MISSING.__getitem__, key="map-missing"
        )
    with right:
        _encoding()
    return Mapping(query, item, ranked_by, is_rank, relevance, way, group, quantiles, missing)


def _column(label: str, names: list[str], guess: str | None, *, needed: bool = False, known: bool = False) -> str:
    """The column that is chosen; empty for none, and for one that the format knows by itself and only shows."""
    options = names if needed and guess in names else [NONE, *names]
    place = options.index(guess) if guess in options else 0
    chosen = st.selectbox(label, options, index=place, disabled=known, key=f"map-{label}", filter_mode="contains")
    return "" if known or chosen == NONE else chosen


def _groups(
    names: list[str], numbers: list[str], guess: str | None, *, cut: bool
) -> tuple[GroupWay, tuple[str, ...], int]:
    """Where the groups come from; `cut` begins with quantiles, for columns that are numbers by nature."""
    left, right = st.columns([1, 2])
    ways = list(WAYS)
    with left:
        way: GroupWay = st.radio(
            "Groups come from",
            ways,
            index=ways.index("quantiles" if cut else "column"),
            format_func=WAYS.__getitem__,
            key="map-way",
        )
    quantiles = 2
    with right:
        if way == "crossing":
            crossed = st.multiselect(
                "Columns to cross", names, default=[guess] if guess in names else [], key="map-crossed"
            )
            return way, tuple(crossed), quantiles
        if way == "quantiles":
            column = _column("Number to cut", numbers, None)
            quantiles = st.slider("How many groups", 2, 10, 2, key="map-quantiles")
        else:
            column = _column("Group", names, guess)
    return way, (column,) if column else (), quantiles


def _content(source: Loaded) -> None:
    data = source.data
    lengths = data.list_lengths
    st.header(f"What is in it: {markdown(source.title)}", anchor=False)
    shown = [
        ("Queries", f"{len(data):,}", f"{lengths.min()} to {lengths.max()} items each"),
        ("Items", f"{data.n_items:,}", "rows that were read"),
        ("Groups", f"{data.n_groups:,}", _sizes(data)),
        (
            "Relevance",
            _relevance(data),
            "of items are relevant" if data.relevance is not None else "no labels",
        ),
    ]
    cards(shown)
    left, right = st.columns(2, gap="large")
    with left:
        chart(group_counts(data), "Items by group", "Number of items of each group.", table=lambda: _group_frame(data))
    with right:
        chart(
            list_lengths(data),
            "How long the lists are",
            "Number of queries by list length.",
            table=lambda: _length_frame(data),
        )
    _left_out(source)
    with st.expander("The first rows, as they were understood"):
        show_table(data[:1].to_frame().head(30), "First list of the data")
    st.caption(f"Fingerprint: sha256 {data.fingerprint}")


def _left_out(source: Loaded) -> None:
    data = source.data
    if data.excluded:
        lines = [f"- {count:,} left out: {markdown(reason)}" for reason, count in data.excluded.items()]
        st.markdown("**Left out**\n\n" + "\n".join(lines))
    elif source.key == UPLOAD:
        st.caption("Nothing was left out.")
    if data.notes:
        with st.expander(f"{counted(len(data.notes), 'note', 'notes')} from reading", expanded=source.key == UPLOAD):
            st.markdown("\n".join(f"- {markdown(note)}" for note in data.notes))


def _sizes(data: RankingDataset) -> str:
    sizes = sorted(data.group_sizes.values())
    return f"of {sizes[0]:,} to {sizes[-1]:,} items" if sizes else "none"


def _relevance(data: RankingDataset) -> str:
    return "-" if data.relevance is None else f"{100 * float((data.relevance > 0).mean()):.1f} %"


def _length_frame(data: RankingDataset) -> pd.DataFrame:
    items, queries = np.unique(data.list_lengths, return_counts=True)
    return pd.DataFrame({"items": items, "queries": queries})


def _group_frame(data: RankingDataset) -> pd.DataFrame:
    sizes = np.array(list(data.group_sizes.values()))
    frame = pd.DataFrame(
        {"group": list(data.group_sizes), "items": sizes, "share, %": 100 * sizes / max(data.n_items, 1)}
    )
    if data.relevance is not None:
        totals = np.bincount(data.groups, weights=data.relevance, minlength=data.n_groups)
        frame["mean relevance"] = np.where(sizes > 0, totals / np.maximum(sizes, 1), np.nan)
    return frame
