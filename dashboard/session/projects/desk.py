"""What a visitor has at hand besides files: a name, notes on bundled samples, a project that waits for its file.

One file, `<home>/visitors/<visitor>/desk.json`, written as a whole, so that a refresh, another tab and the next server
find it. It is deleted when there is nothing on it, and when nothing on it was changed for as long as uploads are kept.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import Field

from dashboard.session.projects.project import Project
from dashboard.session.visitor import VisitorFolder, visitor
from spofr_core.config import StrictModel
from spofr_core.errors import ConfigError
from spofr_core.experiments import home, upload_days
from spofr_core.files import explain_full_disk, read_json, write_json

_DAY = 24 * 3600


class Papers(StrictModel):
    """What lies on a desk.

    Parameters
    ----------
    auditor : str
        Who signs the reports.
    notes : dict
        On bundled samples, by their names; those on a file are kept with it.
    project : Project, optional
        The one whose file is not here yet.
    changed : float
        When any of it was changed last.
    """

    auditor: str = ""
    notes: dict[str, str] = Field(default_factory=dict)
    project: Project | None = None
    changed: float = 0.0

    @property
    def nothing(self) -> bool:
        """Whether nobody would miss it."""
        return not (self.auditor or any(self.notes.values()) or self.project)


class Desk(VisitorFolder):
    """The desk of one visitor."""

    @property
    def path(self) -> Path:
        """The file."""
        return self.own / "desk.json"

    def papers(self) -> Papers:
        """What lies on it; nothing if the file is damaged."""
        try:
            return Papers.from_dict(read_json(self.path) or {})
        except ConfigError:
            return Papers()

    def put(self, **changes: Any) -> None:
        """Replace some of it; nothing is written where nothing changes.

        Raises
        ------
        DiskFull
            When the disk is.
        """
        before = self.papers()
        papers = before.model_copy(update=changes)
        if papers == before:
            return
        if papers.nothing:
            self._clear()
            return
        with explain_full_disk(self.root):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            papers = papers.model_copy(update={"changed": time.time()})
            write_json(self.path, papers.to_dict(), mode=0o600)

    def clear_expired(self, now: float) -> None:
        """Leave nothing that has not been changed for longer than uploads are kept."""
        if self.path.exists() and self.papers().changed + upload_days() * _DAY < now:
            self._clear()

    def _clear(self) -> None:
        self.path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty: there are uploads, or runs
            self.path.parent.rmdir()


def own_desk() -> Desk:
    """That of this visitor."""
    return Desk(home(), visitor())
