"""A visitor's own files: uploaded, chosen again, read in another way, forgotten."""

from __future__ import annotations

import time
from typing import Any

import streamlit as st

from dashboard.escaping import bold, markdown
from dashboard.navigation import page_named
from dashboard.session.choices import choices, choose
from dashboard.session.mapping import Mapping
from dashboard.session.projects.project import is_project, read_project
from dashboard.session.sources import drop_upload, keep_upload, loaded_data
from dashboard.session.stored_uploads import forget_upload
from dashboard.session.upload_store import Upload, UploadStore
from dashboard.session.uploads import LIMITS, open_upload
from dashboard.widgets.downloads import Download, downloads
from dashboard.widgets.project_panel import ask_for_file, open_project, wanted_project
from dashboard.widgets.upload_wizard import clear_wizard, refused, start_wizard
from dashboard.widgets.uploading.column_boxes import encoding_box
from spofr_core.data import format_labels, preview_table, sample_path
from spofr_core.errors import SpofrError
from spofr_core.experiments import home, upload_days
from spofr_core.files import format_size

_TAKEN = "uploads-taken"
_ASKED = "forget-asked"


def own_files(store: UploadStore) -> None:
    """The uploader, and what was uploaded before."""
    st.header("Your own", anchor=False)
    taken = st.session_state.get(_TAKEN, 0)
    # Of any ending: what is no table is refused in a sentence that says what to do, and here it would be a badge.
    file = st.file_uploader(
        "A table with a row per item: query, item, score or rank, group, and relevance if you have it; a log of "
        "impressions; or a project that was saved here",
        key=f"data-upload-{taken}",  # another key empties it: the file is on the disk then, and needs no memory
        help=f"{format_labels()}, also gzipped.",
    )
    downloads(
        Download("Template (CSV)", sample_path("template.csv").read_bytes, "spofr-template.csv", "text/csv"),
    )
    st.caption(
        f"Up to {LIMITS.rows:,} rows, {LIMITS.groups} groups and {LIMITS.list_length:,} items in a list here "
        f"({LIMITS.each_item:,} with each item on its own); the shell takes more. Files are kept where this dashboard "
        f"runs, for you alone, until {upload_days():g} days after you last opened them."
    )
    if file is not None:
        _take(store, file)
    ask_for_file()
    _listed(store)


def _take(store: UploadStore, file: Any) -> None:
    """Keep a file that looks like a table, and let its owner say how it is read."""
    encoding = st.session_state.get("upload-encoding", "")
    try:
        file.seek(0)
        if is_project(file.read(4096)):
            _emptied()
            open_project(store, read_project(file.getvalue()))
            return
        with st.spinner(f"Taking in {markdown(file.name)}"):
            preview_table(file, encoding=encoding or None, limits=LIMITS)
            upload = store.add(file, file.name)
    except SpofrError as error:
        refused(error)
        encoding_box("upload-encoding", "")
        return
    _emptied()
    project = wanted_project(upload)
    if project is not None:
        open_project(store, project)
    start_wizard(store, upload, upload.mapping or Mapping(encoding=encoding))
    st.rerun()


def _emptied() -> None:
    st.session_state[_TAKEN] = st.session_state.get(_TAKEN, 0) + 1


def _listed(store: UploadStore) -> None:
    uploads, damaged = store.uploads(), store.damaged()
    if not uploads and not damaged:
        return
    st.header("Your files", anchor=False)
    here = (loaded_data().content, choices().log)
    for upload in uploads:
        with st.container(border=True, key=f"file-{upload.content}"):
            _entry(store, upload, on_screen=upload.content in here)
    for content in damaged:
        with st.container(border=True, key=f"file-{content}"):
            st.markdown("**A file that is damaged on this machine**: it cannot be opened. Upload it again.")
            _forget(store, content, "this file")


def _entry(store: UploadStore, upload: Upload, *, on_screen: bool) -> None:
    state = "on the screen" if on_screen else "" if upload.mapping else "not read yet"
    kind = ["a log of impressions"] if upload.mapping is not None and upload.mapping.is_log else []
    about = [*kind, format_size(upload.size), f"kept until {_day(upload.expires)}", *([state] if state else [])]
    st.markdown(f"{bold(upload.name, 80)}: {', '.join(about)}")
    with st.container(horizontal=True):
        key = upload.content
        if upload.mapping is not None and st.button(
            "Open", key=f"open-{key}", icon=":material/folder_open:", disabled=on_screen
        ):
            _open(store, upload)
        label = "Say how it is read" if upload.mapping is None else "Change how it is read"
        if upload.draft is None and st.button(label, key=f"change-{key}", icon=":material/edit:"):
            start_wizard(store, upload, upload.mapping or Mapping())
            st.rerun()
        _forget_button(key)
    _forget(store, key, markdown(upload.name, 80), button=False)


def _open(store: UploadStore, upload: Upload) -> None:
    if upload.mapping is not None and upload.mapping.is_log:
        choose(log=upload.content)
        st.rerun()
    try:
        with st.spinner(f"Reading {markdown(upload.name)}"):
            found = open_upload(store, upload)
    except SpofrError as error:
        refused(error)
        return
    keep_upload(found)
    st.switch_page(page_named("audit"))


def _forget_button(content: str) -> None:
    st.button(
        "Forget",
        key=f"forget-file-{content}",
        icon=":material/delete:",
        on_click=lambda: st.session_state.update({_ASKED: content}),
    )


def _forget(store: UploadStore, content: str, name: str, *, button: bool = True) -> None:
    """Ask first, then leave nothing."""
    if button:
        _forget_button(content)
    if st.session_state.get(_ASKED) != content:
        return
    st.warning(
        f"Forget {name}? The file is deleted from this machine, with how it is read, the jobs on it and all that was "
        "learned from it.",
        icon=":material/delete:",
    )
    with st.container(horizontal=True):
        sure = st.button("Yes, forget it", key=f"forget-sure-{content}", type="primary")
        st.button("Keep it", key=f"forget-not-{content}", on_click=lambda: st.session_state.pop(_ASKED, None))
    if not sure:
        return
    try:
        forget_upload(home(), store.visitor, content)
    except SpofrError as error:
        st.error(markdown(error.plain, 1000), icon=":material/error:")
        return
    st.session_state.pop(_ASKED, None)
    clear_wizard()
    drop_upload(content)
    st.rerun()


def _day(seconds: float) -> str:
    return time.strftime("%d %b %Y", time.localtime(seconds)).lstrip("0")
