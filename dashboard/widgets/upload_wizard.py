"""How a file is read: guessed, shown, and changed by its owner until it is right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from dashboard.escaping import markdown
from dashboard.navigation import page_named
from dashboard.session.mapping import GroupWay, Mapping
from dashboard.session.sources import keep_upload, loaded
from dashboard.session.upload_store import Upload, UploadStore
from dashboard.session.uploads import LIMITS, accept_upload, check_complete
from dashboard.widgets.elements import show_table
from dashboard.widgets.group_editor import group_editor
from dashboard.widgets.slicing.about_queries import about_queries
from spofr_core.data import TablePreview, preview_table
from spofr_core.errors import DataError, SpofrError
from spofr_core.reporting import listed

WAYS: dict[GroupWay, str] = {"column": "A column", "quantiles": "Quantiles of a number", "crossing": "Columns crossed"}
MISSING = {
    "error": "Refuse the file and say where",
    "own_group": "Make them a group of their own",
    "exclude": "Leave them out, counted",
}
NONE = "(none)"
ENCODINGS = {"": "Find out", "latin-1": "Latin-1", "cp1252": "Windows-1252", "utf-16": "UTF-16"}
HEADER = {True: "Yes, column names", False: "No, it is data"}
_QUESTION = "wizard-question"
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
            encoding_box(
                "map-encoding", draft.encoding, lambda encoding: _begin_again(store, upload, encoding=encoding)
            )
            _leave(store, upload)
            return
        if not draft.chosen:
            draft = guessed(preview, draft)
        st.caption("The first five rows:")
        show_table(preview.head.head(5), "First five rows of the file")
        _header(store, upload, preview, draft)
        mapping = _mapping(store, upload, preview, draft)
        upload = store.change(upload, draft=mapping)
        with st.container(horizontal=True):
            pressed = st.button("Audit this data", type="primary", icon=":material/balance:")
            _leave(store, upload)
        if pressed or st.session_state.pop("wizard-go", False):
            _accept(store, upload, mapping, preview)
        _ask_about_rank(store, upload, mapping)
        if preview.notes:
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


def encoding_box(key: str, value: str, change: Callable[[str], None] | None = None) -> None:
    """Which encoding the text has; `change` is called with another one."""
    _seed(key, value if value in ENCODINGS else "")
    st.selectbox(
        "Encoding of the text",
        list(ENCODINGS),
        format_func=ENCODINGS.__getitem__,
        key=key,
        on_change=None if change is None else lambda: change(st.session_state[key]),
    )


def _preview(path: Path, content: str, draft: Mapping) -> TablePreview:
    """Remembered in this session: every touch of a select box runs the page again."""
    key = (content, draft.encoding, draft.header)
    if st.session_state.get("wizard-key") != key:
        with st.spinner("Looking at the first rows"):
            found = preview_table(path, encoding=draft.encoding or None, header=draft.header, limits=LIMITS)
        clear_wizard()
        st.session_state["wizard-preview"] = found
        st.session_state["wizard-key"] = key
    preview: TablePreview = st.session_state["wizard-preview"]
    return preview


def _begin_again(store: UploadStore, upload: Upload, **changes: Any) -> None:
    """Other text, or other names of columns: all that was chosen is guessed anew."""
    draft = upload.draft or Mapping()
    kept = {"encoding": draft.encoding, "header": draft.header}
    start_wizard(store, upload, Mapping(**(kept | changes)))


def _header(store: UploadStore, upload: Upload, preview: TablePreview, draft: Mapping) -> None:
    """Asked where the first row looks like data; the answer can be taken back."""
    if not preview.header_doubt and draft.header is None:
        return
    if preview.header_doubt:
        st.warning(markdown(preview.header_doubt, 1000), icon=":material/help:")
    _seed("map-header", draft.header)
    st.segmented_control(
        "Does the first row hold column names? (required)",
        list(HEADER),
        format_func=HEADER.__getitem__,
        key="map-header",
        on_change=lambda: _begin_again(store, upload, header=st.session_state["map-header"]),
    )


def _mapping(store: UploadStore, upload: Upload, preview: TablePreview, draft: Mapping) -> Mapping:
    names = [str(name) for name in preview.head.columns]
    numbers = [name for name in names if preview.kinds.get(name) in ("number", "flag")]
    known = preview.known
    shown = _column_texts(preview)
    first, second, third, fourth = st.columns(4)
    with first:
        query = _column("Query", names, draft.query, shown, required=True, known="query" in known)
    with second:
        item = _column("Item", names, draft.item, shown, known="item" in known)
    with third:
        ranking = [name for name in numbers if name not in known.values()]
        _seed("map-is-rank", draft.is_rank)
        ranked_by = _column(
            "Ranked by", ranking, draft.ranked_by, shown, required=True, change=lambda: _follow(preview)
        )
        is_rank = st.toggle("1 is the top (a rank)", key="map-is-rank")
    with fourth:
        relevance = _column("Relevance", numbers, draft.relevance, shown, known="relevance" in known)
    way, group, quantiles = _groups(names, numbers, draft, shown)
    left, right = st.columns(2)
    with left:
        _seed("map-missing", draft.missing)
        missing = st.selectbox(
            "Items without a group", list(MISSING), format_func=MISSING.__getitem__, key="map-missing"
        )
    with right:
        encoding_box("map-encoding", draft.encoding, lambda encoding: _begin_again(store, upload, encoding=encoding))
    chosen = {"query": query, "item": item, "ranked_by": ranked_by, "is_rank": is_rank, "relevance": relevance}
    chosen |= {"way": way, "group": group, "quantiles": quantiles, "missing": missing}
    if (way, group, quantiles) != (draft.way, draft.group, draft.quantiles):
        chosen |= {"group_names": {}, "leave_out": ()}
    if (ranked_by, is_rank) != (draft.ranked_by, draft.is_rank):
        chosen |= {"insist": False}
    mapping = draft.model_copy(update=chosen)
    _remark_twice(mapping)
    _remark_codes(preview, mapping)
    mapping = group_editor(store, upload, mapping, tuple(known))
    mapping = about_queries(preview, mapping, known, shown)
    return _unused(numbers, mapping, known)


def _follow(preview: TablePreview) -> None:
    """Another column is a rank if it looks like one."""
    st.session_state["map-is-rank"] = st.session_state["map-Ranked by"] in preview.rank_like


def _column_texts(preview: TablePreview) -> dict[str, str]:
    """What the options say: columns without a name are told apart by their first values."""
    if preview.header and not preview.header_doubt:
        return {}
    return {
        str(name): f"{name}: {', '.join(str(value) for value in preview.head[name].drop_duplicates().head(3))}"
        for name in preview.head.columns
    }


def _column(
    label: str,
    names: list[str],
    value: str,
    shown: dict[str, str],
    *,
    required: bool = False,
    known: bool = False,
    change: Callable[[], None] | None = None,
) -> str:
    """The column that is chosen; empty for none, and for one that the format knows by itself and only shows."""
    options = names if required and value in names else [NONE, *names]
    _seed(f"map-{label}", value if value in names else NONE, options)
    chosen = st.selectbox(
        f"{label} (required)" if required else label,
        options,
        format_func=lambda name: shown.get(name, name),
        disabled=known,
        key=f"map-{label}",
        filter_mode="contains",
        on_change=change,
    )
    return "" if known or chosen == NONE else chosen


def _groups(
    names: list[str], numbers: list[str], draft: Mapping, shown: dict[str, str]
) -> tuple[GroupWay, tuple[str, ...], int]:
    """Where the groups come from."""
    left, right = st.columns([1, 2])
    with left:
        _seed("map-way", draft.way)
        way: GroupWay = st.radio("Groups come from", list(WAYS), format_func=WAYS.__getitem__, key="map-way")
    quantiles = draft.quantiles
    first = draft.group[0] if draft.group else ""
    with right:
        if way == "crossing":
            _seed("map-crossed", [name for name in draft.group if name in names])
            crossed = st.multiselect(
                "Columns to cross (required)", names, format_func=lambda name: shown.get(name, name), key="map-crossed"
            )
            return way, tuple(crossed), quantiles
        if way == "quantiles":
            column = _column("Number to cut", numbers, first if draft.way == way else "", shown, required=True)
            _seed("map-quantiles", quantiles)
            quantiles = st.slider("How many groups", 2, 10, key="map-quantiles")
        else:
            column = _column("Group", names, first, shown, required=True)
    return way, (column,) if column else (), quantiles


def _seed(key: str, value: Any, options: list[str] | None = None) -> None:
    """Give a widget its first value; from then on it has its own, unless that is none of its options."""
    if key not in st.session_state or (options is not None and st.session_state[key] not in options):
        st.session_state[key] = value


def _remark_twice(mapping: Mapping) -> None:
    """One column in two roles may be meant so, but seldom is."""
    roles = [("Query", mapping.query), ("Item", mapping.item), ("Ranked by", mapping.ranked_by)]
    roles += [("Relevance", mapping.relevance), *(("Group", column) for column in mapping.group)]
    for column, times in Counter(column for _, column in roles if column).items():
        if times > 1:
            fields = listed([label for label, chosen in roles if chosen == column])
            st.caption(f":material/info: {markdown(column)} is chosen {times} times: {fields}. Is that meant?")


def _remark_codes(preview: TablePreview, mapping: Mapping) -> None:
    if mapping.way != "column" or not mapping.group or mapping.group_names:
        return
    values = sorted({str(value) for value in preview.head[mapping.group[0]].dropna()})
    if 0 < len(values) <= 12 and all(_CODE.fullmatch(value) for value in values):
        st.caption(
            f":material/info: The groups are called {markdown(listed(values))} in the file: names are easier to read."
        )


def _unused(numbers: list[str], mapping: Mapping, known: dict[str, str]) -> Mapping:
    """Columns that no scorer is to learn from."""
    roles = {mapping.query, mapping.item, mapping.ranked_by, mapping.relevance, *mapping.group, *known.values()}
    roles |= {*mapping.slices, mapping.time}
    offered = [name for name in numbers if name not in roles]
    if not offered:
        return mapping
    with st.expander("What a scorer may learn from (for training only)", key="map-features-open"):
        _seed("map-unused", [name for name in mapping.unused if name in offered])
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
    label = "Later" if upload.mapping is None else "Leave it as it was"
    if st.button(label, key="wizard-leave", icon=":material/undo:"):
        clear_wizard()
        store.change(upload, draft=None)
        st.rerun()


def _accept(store: UploadStore, upload: Upload, mapping: Mapping, preview: TablePreview) -> None:
    st.session_state.pop(_QUESTION, None)
    try:
        if preview.header_doubt:
            lacking = [*mapping.missing_fields(tuple(preview.known)), "the first row"]
            raise DataError(f"Please say what is in {listed(lacking)}: without that there is no audit.")
        check_complete(mapping, tuple(preview.known))
        with st.spinner(f"Reading {markdown(upload.name)}"):
            found = accept_upload(store, upload, mapping)
    except DataError as error:
        if error.question == "rank":
            st.session_state[_QUESTION] = error.plain
        else:
            refused(error)
        return
    except SpofrError as error:
        refused(error)
        return
    clear_wizard()
    keep_upload(found)
    st.switch_page(page_named("audit"))


def _ask_about_rank(store: UploadStore, upload: Upload, mapping: Mapping) -> None:
    """Which end of the numbers is the top? Either answer reads the file."""
    why = st.session_state.get(_QUESTION)
    if not why:
        return
    st.warning(markdown(why, 1000), icon=":material/help:")

    def answer(*, is_rank: bool) -> None:
        st.session_state.pop(_QUESTION, None)
        st.session_state["map-is-rank"] = is_rank
        said = {"is_rank": is_rank, "insist": is_rank == mapping.is_rank}
        store.change(upload, draft=mapping.model_copy(update=said))
        st.session_state["wizard-go"] = True

    with st.container(horizontal=True):
        st.button("These are ranks: 1 is the top", key="wizard-rank", on_click=lambda: answer(is_rank=True))
        st.button("No, higher is better", key="wizard-score", on_click=lambda: answer(is_rank=False))
