"""How a file is read: guessed, shown, and changed by its owner until it is right."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import streamlit as st

from dashboard.escaping import markdown
from dashboard.navigation import page_named
from dashboard.session.findings.shown_values import accept_log
from dashboard.session.mapping import Mapping
from dashboard.session.sources import keep_upload, loaded
from dashboard.session.upload_store import Upload, UploadStore
from dashboard.session.uploads import LIMITS, accept_upload, check_complete
from dashboard.widgets.elements import show_table
from dashboard.widgets.slicing.about_queries import about_queries
from dashboard.widgets.uploading.column_boxes import (
    column_box,
    column_texts,
    encoding_box,
    group_boxes,
    missing_box,
    negative_labels_box,
    seed,
)
from dashboard.widgets.uploading.group_editor import group_editor
from dashboard.widgets.uploading.log_boxes import is_log_box, log_mapping
from spofr_core.data import TablePreview, preview_table
from spofr_core.errors import DataError, SpofrError
from spofr_core.reporting import listed

ALIKE = {True: "Yes, join them", False: "No, keep them apart"}
DECIMAL = {",": "4.752: the comma begins the fraction", ".": "4752: it groups thousands"}
HEADER = {True: "Yes, column names", False: "No, it is data"}
_QUESTION = "wizard-question"
_ANSWERS: dict[str, tuple[tuple[str, str, dict[str, Any]], ...]] = {
    "rank": (
        ("These are ranks: 1 is the top", "wizard-rank", {"is_rank": True}),
        ("No, higher is better", "wizard-score", {"is_rank": False}),
    ),
    "alike": (
        ("They are the same: join them", "wizard-join", {"join_alike": True}),
        ("They are different: keep them apart", "wizard-apart", {"join_alike": False}),
    ),
    "decimal": (
        ("The comma begins the fraction", "wizard-comma", {"decimal": ","}),
        ("The comma groups thousands", "wizard-thousands", {"decimal": "."}),
    ),
}
_CODE = re.compile(r"\d+(\.0)?|[A-Za-z]|true|false", re.IGNORECASE)
"""A value that tells nobody who is meant."""


def wizard(store: UploadStore, upload: Upload) -> None:
    """The mapping of one upload: kept with it at once, while the data on the screen stays until the file was read."""
    draft = upload.draft or upload.mapping or Mapping()
    with st.container(border=True, key="wizard"):
        st.header(f"Reading {markdown(upload.name)}", anchor=False)
        try:
            preview = _preview(store.path(upload), upload.content, draft)
        except SpofrError as error:
            refused(error)
            if draft.sheet:
                st.button(
                    "Choose another sheet",
                    key="wizard-other-sheet",
                    on_click=lambda: _begin_again(store, upload, header=None, sheet=""),
                )
            encoding_box(
                "map-encoding", draft.encoding, lambda encoding: _begin_again(store, upload, encoding=encoding)
            )
            _leave(store, upload)
            return
        if not draft.chosen:
            draft = guessed(preview, draft)
        draft = draft.model_copy(update={"sheet": preview.sheet})
        _sheet(store, upload, preview)
        st.caption("The first five rows:")
        show_table(preview.head.head(5), "First five rows of the file")
        _header(store, upload, preview, draft)
        draft = _answered(is_log_box(preview, draft))
        mapping = _mapping(store, upload, preview, draft)
        upload = store.change(upload, draft=mapping)
        label = "Audit what was shown" if mapping.is_log else "Audit this data"
        with st.container(horizontal=True):
            pressed = st.button(label, type="primary", icon=":material/balance:")
            _leave(store, upload)
        if pressed or st.session_state.pop("wizard-go", False):
            _accept(store, upload, mapping, preview)
        _ask(store, upload, mapping)
        if preview.notes and not mapping.is_log:
            st.caption("Guessed: " + " ".join(markdown(note) for note in preview.notes))


def start_wizard(store: UploadStore, upload: Upload, draft: Mapping) -> None:
    """Let the wizard open on an upload, and on no other."""
    clear_wizard()
    for other in store.uploads():
        if other.content != upload.content:
            store.change(other, draft=None)
    store.change(upload, draft=draft)


def clear_wizard() -> None:
    """Forget what was chosen: it means nothing for another file."""
    for name in [str(name) for name in st.session_state]:
        if name.startswith(("map-", "wizard-")):
            del st.session_state[name]


def guessed(preview: TablePreview, draft: Mapping) -> Mapping:
    """What the names and the content of the columns suggest."""
    guess = {role: column for role, column in preview.mapping.items() if role not in preview.known}
    return draft.model_copy(
        update={
            "query": guess.get("query", ""),
            "item": guess.get("item", ""),
            "ranked_by": guess.get("score") or guess.get("rank", ""),
            "is_rank": "score" not in guess and "rank" in guess,
            "relevance": guess.get("relevance", ""),
            "way": "quantiles" if preview.features else "column",
            "group": (guess["group"],) if "group" in guess and not preview.features else (),
        }
    )


def refused(error: SpofrError) -> None:
    """Why a file was not taken."""
    st.error(markdown(error.plain, 1000), icon=":material/error:")
    st.caption(f"Nothing was changed: {markdown(loaded().title)} is still the data on the screen.")


def _preview(path: Path, content: str, draft: Mapping) -> TablePreview:
    """Remembered in this session: every touch of a select box runs the page again."""
    key = (content, draft.encoding, draft.header, draft.sheet)
    if st.session_state.get("wizard-key") != key:
        with st.spinner("Looking at the first rows"):
            found = preview_table(
                path,
                encoding=draft.encoding or None,
                header=draft.header,
                sheet=draft.sheet or None,
                limits=LIMITS,
            )
        clear_wizard()
        st.session_state["wizard-preview"] = found
        st.session_state["wizard-key"] = key
    preview: TablePreview = st.session_state["wizard-preview"]
    return preview


def _begin_again(store: UploadStore, upload: Upload, **changes: Any) -> None:
    """Other text, or other names of columns: all that was chosen is guessed anew."""
    draft = upload.draft or Mapping()
    kept = {"encoding": draft.encoding, "header": draft.header, "sheet": draft.sheet}
    start_wizard(store, upload, Mapping(**(kept | changes)))


def _sheet(store: UploadStore, upload: Upload, preview: TablePreview) -> None:
    """Which table of the file, where it holds several."""
    if preview.sheets:
        seed("map-sheet", preview.sheet, [*preview.sheets])
        st.selectbox(
            "Sheet",
            preview.sheets,
            key="map-sheet",
            help="The file holds several tables; the one chosen here is read.",
            on_change=lambda: _begin_again(store, upload, header=None, sheet=st.session_state["map-sheet"]),
        )


def _header(store: UploadStore, upload: Upload, preview: TablePreview, draft: Mapping) -> None:
    """Asked where the first row looks like data; the answer can be taken back."""
    if not preview.header_doubt and draft.header is None:
        return
    if preview.header_doubt:
        st.warning(markdown(preview.header_doubt, 1000), icon=":material/help:")
    seed("map-header", draft.header)
    st.segmented_control(
        "Does the first row hold column names? (required)",
        list(HEADER),
        format_func=HEADER.__getitem__,
        key="map-header",
        on_change=lambda: _begin_again(store, upload, header=st.session_state["map-header"]),
    )


def _answered(draft: Mapping) -> Mapping:
    """Answers that were given can be changed."""
    changed: dict[str, Any] = {}
    if draft.join_alike is not None:
        seed("map-join-alike", draft.join_alike)
        changed["join_alike"] = st.segmented_control(
            "Are names the same that differ only by case, or as 1 and 1.0 do?",
            list(ALIKE),
            format_func=ALIKE.__getitem__,
            key="map-join-alike",
        )
    if draft.decimal:
        seed("map-decimal", draft.decimal)
        changed["decimal"] = (
            st.segmented_control("What is 4,752?", list(DECIMAL), format_func=DECIMAL.__getitem__, key="map-decimal")
            or ""
        )
    return draft.model_copy(update=changed)


def _mapping(store: UploadStore, upload: Upload, preview: TablePreview, draft: Mapping) -> Mapping:
    names = [str(name) for name in preview.head.columns]
    numbers = [name for name in names if preview.kinds.get(name) in ("number", "flag")]
    known = preview.known
    shown = column_texts(preview)
    if draft.is_log:
        mapping = log_mapping(preview, draft)
        encoding_box("map-encoding", draft.encoding, lambda encoding: _begin_again(store, upload, encoding=encoding))
        _remark_codes(preview, mapping)
        return group_editor(store, upload, mapping, tuple(known))
    first, second, third, fourth = st.columns(4)
    with first:
        query = column_box("Query", names, draft.query, shown, required=True, known="query" in known)
    with second:
        item = column_box("Item", names, draft.item, shown, known="item" in known)
    with third:
        ranking = [name for name in numbers if name not in known.values()]
        seed("map-is-rank", draft.is_rank)
        ranked_by = column_box(
            "Ranked by", ranking, draft.ranked_by, shown, required=True, change=lambda: _follow(preview)
        )
        is_rank = st.toggle("1 is the top (a rank)", key="map-is-rank")
    with fourth:
        relevance = column_box("Relevance", numbers, draft.relevance, shown, known="relevance" in known)
    way, group, quantiles = group_boxes(names, numbers, draft, shown)
    left, middle, right = st.columns(3)
    with left:
        missing = draft.missing if way == "each_item" else missing_box(draft)
    with middle:
        labelled = relevance or "relevance" in known
        negative_labels = negative_labels_box(draft) if labelled else draft.negative_labels
    with right:
        encoding_box("map-encoding", draft.encoding, lambda encoding: _begin_again(store, upload, encoding=encoding))
    chosen = {"query": query, "item": item, "ranked_by": ranked_by, "is_rank": is_rank, "relevance": relevance}
    chosen |= {"way": way, "group": group, "quantiles": quantiles, "missing": missing}
    chosen |= {"negative_labels": negative_labels}
    if (way, group, quantiles) != (draft.way, draft.group, draft.quantiles):
        chosen |= {"group_names": {}, "leave_out": ()}
    if (query, way, group) != (draft.query, draft.way, draft.group):
        chosen |= {"join_alike": None}
    if (ranked_by, is_rank) != (draft.ranked_by, draft.is_rank):
        chosen |= {"insist": False}
    mapping = draft.model_copy(update=chosen)
    _remark_twice(mapping)
    _remark_codes(preview, mapping)
    if not mapping.each_item:
        mapping = group_editor(store, upload, mapping, tuple(known))
    mapping = about_queries(preview, mapping, known, shown)
    return _unused(numbers, mapping, known)


def _follow(preview: TablePreview) -> None:
    """Another column is a rank if it looks like one."""
    st.session_state["map-is-rank"] = st.session_state["map-Ranked by"] in preview.rank_like


def _remark_twice(mapping: Mapping) -> None:
    """One column in two roles may be meant so, but seldom is."""
    roles = [("Query", mapping.query), ("Item", mapping.item), ("Ranked by", mapping.ranked_by)]
    roles += [("Relevance", mapping.relevance), *(("Group", column) for column in mapping.group)]
    for column, times in Counter(column for _, column in roles if column).items():
        if times > 1:
            fields = listed([label for label, chosen in roles if chosen == column])
            st.caption(f":material/info: {markdown(column)} is chosen {_times(times)}: {fields}. Is that meant?")


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _remark_codes(preview: TablePreview, mapping: Mapping) -> None:
    if mapping.way != "column" or not mapping.group or mapping.group_names:
        return
    values = sorted({str(value) for value in preview.head[mapping.group[0]].dropna()})
    if 0 < len(values) <= 12 and all(_CODE.fullmatch(value) for value in values):
        st.caption(
            f":material/info: The groups are called {markdown(listed(values))} in the file. Names are easier to read: "
            "give them below."
        )


def _unused(numbers: list[str], mapping: Mapping, known: dict[str, str]) -> Mapping:
    """Columns that no scorer is to learn from."""
    roles = {mapping.query, mapping.item, mapping.ranked_by, mapping.relevance, *mapping.group, *known.values()}
    roles |= {*mapping.slices, mapping.time}
    offered = [name for name in numbers if name not in roles]
    if not offered:
        return mapping
    with st.expander("What a scorer may learn from (for training only)", key="map-features-open"):
        seed("map-unused", [name for name in mapping.unused if name in offered])
        st.session_state["map-unused"] = [name for name in st.session_state["map-unused"] if name in offered]
        unused = st.multiselect(
            "Columns to leave out",
            offered,
            key="map-unused",
            help="Every other column with numbers is learned from. A column that cannot be learned from is left out by "
            "itself, and a note says so.",
        )
    return mapping.model_copy(update={"unused": tuple(unused)})


def _leave(store: UploadStore, upload: Upload) -> None:
    """The way out without reading anything."""
    label = "Do this later" if upload.mapping is None else "Leave it as it was"
    if st.button(label, key="wizard-leave", icon=":material/undo:"):
        clear_wizard()
        store.change(upload, draft=None)
        st.rerun()


def _accept(store: UploadStore, upload: Upload, mapping: Mapping, preview: TablePreview) -> None:
    st.session_state.pop(_QUESTION, None)
    try:
        if preview.header_doubt:
            lacking = mapping.missing_fields(tuple(preview.known))
            choose = f"choose a column for {listed(lacking)}, and " if lacking else ""
            raise DataError(
                f"Please {choose}say whether the first row holds column names: without that there is no audit."
            )
        check_complete(mapping, tuple(preview.known))
        with st.spinner(f"Reading {markdown(upload.name)}"):
            if mapping.is_log:
                accept_log(store, upload, mapping)
                clear_wizard()
                st.rerun()
            found = accept_upload(store, upload, mapping)
    except DataError as error:
        if error.question in _ANSWERS:
            st.session_state[_QUESTION] = error.question, error.plain
        else:
            refused(error)
        return
    except SpofrError as error:
        refused(error)
        return
    clear_wizard()
    keep_upload(found)
    st.switch_page(page_named("audit"))


def _ask(store: UploadStore, upload: Upload, mapping: Mapping) -> None:
    """What only the owner of the file can answer; either answer reads the file."""
    question, why = st.session_state.get(_QUESTION, ("", ""))
    if not why:
        return
    st.warning(markdown(why, 1000), icon=":material/help:")

    def answer(**said: Any) -> None:
        st.session_state.pop(_QUESTION, None)
        if "is_rank" in said:
            st.session_state["map-is-rank"] = said["is_rank"]
            said["insist"] = said["is_rank"] == mapping.is_rank
        store.change(upload, draft=mapping.model_copy(update=said))
        st.session_state["wizard-go"] = True

    with st.container(horizontal=True):
        for label, key, said in _ANSWERS[question]:
            st.button(label, key=key, on_click=answer, kwargs=said)
