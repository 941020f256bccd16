"""The notes of the auditor on the data at hand: one text, for reports and projects alike."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.session.projects.desk import Desk, own_desk
from dashboard.session.sources import Loaded, loaded_data
from dashboard.session.upload_store import UploadStore
from dashboard.session.uploads import own_uploads

LONGEST = 600
"""Letters: they stand on the first page of a report, which has to fit one sheet."""


@dataclass(frozen=True)
class AuditorNotes:
    """Those on one file or sample, whichever slice or model of it is looked at.

    They are kept with the file, and go with it; those on a sample lie on the visitor's desk.
    """

    store: UploadStore
    desk: Desk
    about: str

    def read(self) -> str:
        """The text."""
        upload = self.store.get(self.about)
        return upload.notes if upload is not None else self.desk.papers().notes.get(self.about, "")

    def write(self, text: str) -> None:
        """Replace the text."""
        upload = self.store.get(self.about)
        if upload is not None:
            self.store.change(upload, notes=text)
        else:
            self.desk.put(notes=self.desk.papers().notes | {self.about: text})


def notes_on(source: Loaded | None = None) -> AuditorNotes:
    """The notes on some data, or on that of this session."""
    data = loaded_data() if source is None else source
    return AuditorNotes(own_uploads(), own_desk(), data.content or data.key)
