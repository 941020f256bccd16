"""A project on the Data page: saved to a small file, and opened again."""

from __future__ import annotations

import streamlit as st

from dashboard.escaping import markdown
from dashboard.navigation import page_named
from dashboard.session.choices import choices, choose, follow
from dashboard.session.project import Project, project_bytes, project_name, project_of
from dashboard.session.sources import Loaded, keep_upload, load_bundled
from dashboard.session.upload_store import Upload, UploadStore
from dashboard.session.uploads import accept_upload
from dashboard.widgets.upload_wizard import clear_wizard
from spofr_core.data import SAMPLES

_WANTED = "project-wanted"
_NOTES = "project-notes"


def project_panel(store: UploadStore, source: Loaded) -> None:
    """Notes of the auditor, and the button that saves all that was chosen."""
    upload = store.get(source.content) if source.content else None
    if source.key not in SAMPLES and upload is None:
        return
    with st.expander("Save this audit as a project", key="project-open"):
        st.caption("A small file: which data this is, how it is read, delta and what it means, your notes. No data.")
        notes = upload.notes if upload else _sample_notes().get(source.key, "")
        key = f"{_NOTES}-{source.content or source.key}"
        follow(key, notes)
        st.text_area(
            "Notes of the auditor",
            key=key,
            max_chars=10_000,
            on_change=lambda: _keep_notes(store, source, st.session_state[key]),
        )
        project = project_of(source, choices(), upload, notes)
        st.download_button(
            "Project (JSON)",
            project_bytes(project),
            project_name(project),
            "application/json",
            icon=":material/download:",
            on_click="ignore",
        )
        st.caption("The uploader of this page opens it again.")


def _sample_notes() -> dict[str, str]:
    """Those about bundled samples are kept in this session; those about a file, with it."""
    notes: dict[str, str] = st.session_state.setdefault(_NOTES, {})
    return notes


def _keep_notes(store: UploadStore, source: Loaded, notes: str) -> None:
    upload = store.get(source.content) if source.content else None
    if upload is not None:
        store.change(upload, notes=notes)
    else:
        _sample_notes()[source.key] = notes


def open_project(store: UploadStore, project: Project) -> None:
    """Show what a project is about, or ask for its file.

    Raises
    ------
    DataError
        When the file is here and cannot be read as the project says.
    """
    if project.file is None:
        groupings = SAMPLES[project.sample].groupings
        groups = project.groups if project.groups in groupings else next(iter(groupings))
        source = load_bundled(project.sample, groups)
        choose(data=project.sample, groups=project.groups)
    else:
        upload = store.get(project.file.sha256[:16])
        if upload is None:
            st.session_state[_WANTED] = project
            st.rerun()
        with st.spinner(f"Reading {markdown(upload.name)}"):
            source = accept_upload(store, upload, project.file.mapping)
        keep_upload(source)
    _keep_notes(store, source, project.notes)
    st.session_state.pop(_WANTED, None)
    choose(**project.asked)
    clear_wizard()
    if source.data.fingerprint != project.fingerprint:
        st.toast(
            "The data is read differently today than when the project was saved: its numbers may differ.",
            icon=":material/warning:",
            duration="infinite",
        )
    st.switch_page(page_named("audit"))


def wanted_project(upload: Upload) -> Project | None:
    """The project that waits for this very file."""
    project: Project | None = st.session_state.get(_WANTED)
    return project if project and project.file and project.file.sha256 == upload.sha256 else None


def ask_for_file() -> None:
    """Say which file a project waits for."""
    project: Project | None = st.session_state.get(_WANTED)
    if project is None or project.file is None:
        return
    st.info(
        f"The project is about {markdown(project.file.wanted)}, which is not here: upload it above. Another file is no "
        "part of the project.",
        icon=":material/folder_open:",
    )
    st.button("Leave the project", key="project-leave", on_click=lambda: st.session_state.pop(_WANTED, None))
