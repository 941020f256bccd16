"""The groups of a file: what they are called, which of them are one, which are left out."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.mapping import Mapping
from dashboard.session.upload_store import Upload, UploadStore
from dashboard.session.uploads import LIMITS, check_complete, read_upload
from spofr_core.errors import SpofrError
from spofr_core.reporting import counted
from spofr_core.serving import read_shown

_LONGEST = 200


def group_editor(store: UploadStore, upload: Upload, mapping: Mapping, known: tuple[str, ...]) -> Mapping:
    """The mapping with the groups as they are to be; the file is read when the editor is opened."""
    editor = st.expander("Rename, merge or leave out groups", key="map-groups-open", on_change="rerun")
    if not editor.open:
        return mapping
    with editor:
        try:
            sizes = _sizes(store, upload, mapping, known)
        except SpofrError as error:
            st.info(markdown(error.plain, 1000), icon=":material/info:")
            return mapping
        st.caption("Groups with the same name become one. What is left out is counted.")
        names: dict[str, str] = {}
        left_out: list[str] = []
        for place, (group, items) in enumerate(sizes.items()):
            called, kept = _row(place, group, items, mapping)
            if called != group:
                names[group] = called
            if not kept:
                left_out.append(group)
    return mapping.model_copy(update={"group_names": names, "leave_out": tuple(left_out)})


def _row(place: int, group: str, items: int, mapping: Mapping) -> tuple[str, bool]:
    """A group: what it is called from now on, and whether it stays."""
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    name_key, kept_key = f"map-name-{place}", f"map-kept-{place}"
    if st.session_state.get(f"{name_key}-of") != group:
        st.session_state[f"{name_key}-of"] = group
        st.session_state[name_key] = mapping.group_names.get(group, group)
        st.session_state[kept_key] = group not in mapping.leave_out
    with left:
        called = st.text_input(f"{markdown(group, 80)} is called", key=name_key, max_chars=_LONGEST)
    with right:
        kept = st.checkbox(f"Keep its {counted(items, 'item', 'items')}", key=kept_key)
    return called.strip() or group, kept


def _sizes(store: UploadStore, upload: Upload, mapping: Mapping, known: tuple[str, ...]) -> dict[str, int]:
    """Items of each group as the file calls them; read once for each way of reading it."""
    plain = mapping.model_copy(update={"group_names": {}, "leave_out": (), "insist": True, "slices": (), "time": ""})
    plain = plain.model_copy(update={"join_alike": bool(mapping.join_alike)})  # asked when the file is read
    key = (upload.content, plain.key)
    if st.session_state.get("wizard-groups-key") != key:
        check_complete(plain, known)
        with st.spinner("Counting the items of each group"):
            st.session_state["wizard-groups"] = _counted(store.path(upload), plain, upload.name)
        st.session_state["wizard-groups-key"] = key
    sizes: dict[str, int] = st.session_state["wizard-groups"]
    return sizes


def _counted(path: Path, mapping: Mapping, title: str) -> dict[str, int]:
    if mapping.is_log:
        return read_shown(path, limits=LIMITS, **mapping.log_options()).group_sizes
    return dict(read_upload(path, mapping, title=title).data.group_sizes)
