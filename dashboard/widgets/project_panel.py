"""A project on the Data page: saved to a small file, and opened again."""

from __future__ import annotations

import streamlit as st

from dashboard.escaping import markdown
from dashboard.navigation import page_named
from dashboard.session.choices import choices, choose, follow
from dashboard.session.projects.auditor_notes import LONGEST, AuditorNotes, notes_on
from dashboard.session.projects.desk import own_desk
from dashboard.session.projects.project import Project, project_bytes, project_name, project_of
from dashboard.session.sources import Loaded, keep_upload, load_bundled
from dashboard.session.upload_store import Upload, UploadStore
from dashboard.session.uploads import accept_upload
from dashboard.widgets.downloads import Download, downloads
from dashboard.widgets.upload_wizard import clear_wizard
from spofr_core.data import SAMPLES
from spofr_core.reporting import counted


def notes_field(notes: AuditorNotes, where: str) -> None:
    """The field for the notes; the same text on every page that has it, `where` tells the fields apart.

    No fragment: a browser tells of a text and of the click that ended it together, and a fragment with the text would
    be run for both, the button not.
    """
    key = f"notes-{where}-{notes.about}"
    follow(key, notes.read())
    text = st.text_area(
        "Notes of the auditor",
        key=key,
        max_chars=LONGEST,
        placeholder="What a reader should know about this audit",
        on_change=lambda: notes.write(st.session_state[key]),
    )
    # Also without a word: a line that comes would move the button away under the finger.
    said = counted(len(text.split()), "word", "words") if text.strip() else "No notes yet"
    st.caption(f"{said}; kept for reports and projects on this data.")


def project_panel(store: UploadStore, source: Loaded) -> None:
    """Notes of the auditor, and the button that saves all that was chosen."""
    upload = store.get(source.content) if source.content else None
    if source.key not in SAMPLES and upload is None:
        return
    seen, notes = choices(), notes_on(source)
    with st.expander("Save this audit as a project", key="project-open"):
        notes_field(notes, "project")
        downloads(
            Download(
                "Project (JSON)",
                lambda: project_bytes(project_of(source, seen, upload, notes.read())),
                project_name(project_of(source, seen, upload, notes.read())),
                "application/json",
            )
        )
        st.caption(
            "A small file: which data this is, how it is read, delta and what it means, your notes. No data. The "
            "uploader of this page opens it again."
        )


def open_project(store: UploadStore, project: Project) -> None:
    """Show what a project is about, or ask for its file.

    Raises
    ------
    DataError
        When the file is here and cannot be read as the project says.
    """
    if project.file is None:
        groupings = SAMPLES[project.sample].ways
        groups = project.groups if project.groups in groupings else next(iter(groupings))
        source = load_bundled(project.sample, groups)
        choose(data=project.sample, groups=project.groups)
    else:
        upload = store.get(project.file.sha256[:16])
        if upload is None:
            own_desk().put(project=project)
            st.rerun()
        with st.spinner(f"Reading {markdown(upload.name)}"):
            source = accept_upload(store, upload, project.file.mapping)
        keep_upload(source)
    notes_on(source).write(project.notes)
    own_desk().put(project=None)
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
    project = own_desk().papers().project
    return project if project and project.file and project.file.sha256 == upload.sha256 else None


def ask_for_file() -> None:
    """Say which file a project waits for."""
    desk = own_desk()
    project = desk.papers().project
    if project is None or project.file is None:
        return
    st.info(
        f"The project is about {markdown(project.file.wanted)}, which is not here: upload it above. "
        "Any other file is read on its own, and the project goes on waiting.",
        icon=":material/folder_open:",
    )
    st.button("Leave the project", key="project-leave", on_click=lambda: desk.put(project=None))
