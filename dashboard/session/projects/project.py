"""A project: which data was audited, how it was read and what was asked of it, in a small file to keep or to hand on.

It holds no data and no path: the file of data is known by its hash, and asked for where it is not at hand.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

from pydantic import Field

from dashboard.session.choices import Choices
from dashboard.session.every_list.quota_address import read_quota
from dashboard.session.mapping import Mapping
from dashboard.session.sources import Loaded
from dashboard.session.upload_store import Upload
from spofr_core.config import StrictModel
from spofr_core.data import SAMPLES
from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import NOTIONS, Unit
from spofr_core.files import format_size, parse_json

FORMAT = "spofr project"
MOST_BYTES = 1 << 20
_ASKED = ("delta", "unit", "notion", "power", "shift", "top", "quota", "quota_min", "slice")
_SHA256 = r"^[0-9a-f]{64}$"


class DataFile(StrictModel):
    """A file that was uploaded, by its content; its name is only for people."""

    name: str
    size: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=_SHA256)]
    mapping: Mapping

    @property
    def wanted(self) -> str:
        """Which file it is, for somebody who has to find it."""
        return f"{self.name!r} ({format_size(self.size)}, sha256 {self.sha256[:12]}…)"


class Project(StrictModel):
    """What a project file holds.

    Parameters
    ----------
    format, version
        What kind of file it is.
    sample, groups : str
        A bundled sample and how its groups are made; empty where the data was uploaded.
    file : DataFile, optional
        What was uploaded instead.
    fingerprint : str
        Of the data as it was read.
    delta, unit, notion, power, shift, top
        What was asked of every list, and the exposure model.
    quota, quota_min : str
        What was asked of every list that is drawn, as in an address; empty for nothing.
    slice : str
        The queries that were looked at, as in an address; empty for all.
    notes : str
        Of the auditor.
    """

    format: Literal["spofr project"] = "spofr project"
    version: Literal[1] = 1
    sample: str = ""
    groups: str = ""
    file: DataFile | None = None
    fingerprint: Annotated[str, Field(pattern=_SHA256)]
    delta: Annotated[float, Field(ge=0)]
    unit: Unit
    notion: str
    power: Annotated[float, Field(ge=0.01, le=20)] = 1.0
    shift: Annotated[float, Field(ge=0, le=1000)] = 1.0
    top: Annotated[int, Field(ge=0)] = 0
    quota: str = ""
    quota_min: str = ""
    slice: str = ""
    notes: str = ""

    @property
    def asked(self) -> dict[str, Any]:
        """The choices of a session that it sets, besides the data."""
        return {name: getattr(self, name) for name in _ASKED}


def project_of(source: Loaded, choices: Choices, upload: Upload | None, notes: str) -> Project:
    """The project that is on the screen.

    Raises
    ------
    ConfigError
        When the data is neither a sample nor a file that is kept.
    """
    if source.key not in SAMPLES and (upload is None or upload.mapping is None):
        raise ConfigError("Only a bundled sample, or a file of your own, can be saved in a project.")
    file = None
    if upload is not None and upload.mapping is not None:
        file = DataFile(name=upload.name, size=upload.size, sha256=upload.sha256, mapping=upload.mapping)
    return Project(
        sample="" if file else source.key,
        groups="" if file else choices.groups,
        file=file,
        fingerprint=source.data.fingerprint,
        notes=notes,
        **{name: getattr(choices, name) for name in _ASKED},
    )


def project_bytes(project: Project) -> bytes:
    """The file."""
    return (json.dumps(project.to_dict(), indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def project_name(project: Project) -> str:
    """A file name that says what it is."""
    data = project.sample if project.file is None else project.file.name.split(".")[0]
    plain = re.sub(r"[^\w-]+", "-", data).strip("-")[:60]
    return f"{plain or 'data'}-project.json"


def is_project(head: bytes) -> bool:
    """Whether a file that begins so means to be a project."""
    return head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") and FORMAT.encode() in head


def read_project(content: bytes) -> Project:
    """Read a project file.

    Raises
    ------
    DataError
        When it is none, or one that cannot be used here.
    """
    if len(content) > MOST_BYTES:
        raise DataError(f"A project file is small; this one holds {format_size(len(content))}.")
    try:
        found = parse_json(content.decode("utf-8-sig"))
    except ValueError as error:
        raise DataError("The project file is damaged: it is no JSON any more. Save the project again.") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise DataError("This is not a project file: one is saved at the foot of this page.")
    if found.get("version") != 1:
        raise DataError(f"The project file has version {found.get('version')!r}; this dashboard reads version 1.")
    try:
        project = Project.from_dict(found)
        read_quota(project.quota, project.quota_min)
    except ConfigError as error:
        raise DataError(f"The project file cannot be used: {error}") from error
    if project.notion not in NOTIONS:
        raise DataError(f"The project asks for the notion {project.notion!r}, which is not here.")
    if project.file is None and project.sample not in SAMPLES:
        raise DataError(f"The project is about the bundled sample {project.sample!r}, which is not here.")
    return project
