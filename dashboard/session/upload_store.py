"""Files that visitors uploaded, on the disk of this machine, and how each of them is read.

Each is a directory below `<home>/visitors/<visitor>/uploads`, named after its content::

    upload.json   what it is called, its size and hash, how it is read; written last, and replaced as a whole
    file/<name>   the bytes as they came

A page holds nothing of it: it reads these files, and so does the next page, another tab, or the next server. The name
of the visitor is a hash of their cookie, so nobody finds the files of somebody else. Only the user who runs the server
may read them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from pydantic import Field

from dashboard.session.mapping import Mapping
from dashboard.session.visitor import VisitorFolder
from spofr_core.config import StrictModel
from spofr_core.errors import ConfigError, DataError
from spofr_core.experiments import upload_bytes, upload_days, visitors
from spofr_core.files import explain_full_disk, format_size, is_full, read_json, size_of, write_json, write_whole

_RECORD = "upload.json"
_PIECE = 1 << 20
_DAY = 24 * 3600
_CONTENT = re.compile(r"[0-9a-f]{16}")


class Upload(StrictModel):
    """A file of a visitor.

    Parameters
    ----------
    name : str
        What its owner calls it.
    size : int
        Bytes.
    sha256 : str
        Of its bytes.
    opened : float
        When it was last opened; it is kept for some days from then on.
    mapping : Mapping, optional
        How it is read; None until it was read once.
    draft : Mapping, optional
        How its owner is about to read it, while they are at it.
    notes : str
        Of the auditor.
    """

    name: str
    size: int
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    opened: float
    mapping: Mapping | None = None
    draft: Mapping | None = None
    notes: str = ""

    @property
    def content(self) -> str:
        """Name of its directory."""
        return self.sha256[:16]

    @property
    def key(self) -> str:
        """Its name in an address: that of its content and of how it is read."""
        return f"{self.content}-{self.mapping.key if self.mapping else '0'}"

    @property
    def expires(self) -> float:
        """When it will be deleted, unless it is opened before."""
        return self.opened + upload_days() * _DAY


class UploadStore(VisitorFolder):
    """The uploads of one visitor."""

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self.own / "uploads"

    def uploads(self) -> list[Upload]:
        """Those that are whole, the last opened first."""
        found = [upload for upload in map(self._read, self._names()) if upload is not None]
        return sorted(found, key=lambda upload: -upload.opened)

    def damaged(self) -> list[str]:
        """Names of directories that hold no whole file."""
        return [name for name in self._names() if self._read(name) is None]

    def get(self, content: str) -> Upload | None:
        """The upload with this content, or None if this visitor has none, or none that is whole."""
        return self._read(content) if _CONTENT.fullmatch(content) else None

    def path(self, upload: Upload) -> Path:
        """Its bytes."""
        return self.folder / upload.content / "file" / _safe_name(upload.name)

    def checked_path(self, upload: Upload) -> Path:
        """Its bytes, after a look whether they are still those that were uploaded.

        Raises
        ------
        DataError
            When they are not.
        """
        path = self.path(upload)
        with path.open("rb") as file:
            if _digest(file) != upload.sha256:
                raise DataError(f"{upload.name!r} was changed on the disk since it was uploaded. Upload it again.")
        return path

    def add(self, file: IO[bytes], name: str) -> Upload:
        """Keep a file; one with the same content is replaced, and read as before.

        Raises
        ------
        DataError
            When it is too large for what one visitor may keep.
        DiskFull
            When the disk is.
        """
        sha256 = _digest(file)
        before = self.get(sha256[:16])
        size = file.seek(0, os.SEEK_END)
        self._check_room(name, size, without=before)
        upload = Upload(name=name, size=size, sha256=sha256, opened=time.time())
        if before is not None:
            upload = upload.model_copy(update={"mapping": before.mapping, "notes": before.notes})
        path = self.path(upload)
        with explain_full_disk(self.root), _explain_refusal(name):
            for folder in (self.folder.parent, self.folder, path.parent.parent, path.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                folder.chmod(0o700)
            write_whole(path, _pieces(file), mode=0o600)
            self._write(upload)
        for other in path.parent.iterdir():
            if other != path:  # the same bytes under the name that they had before
                other.unlink(missing_ok=True)
        return upload

    def change(self, upload: Upload, **changes: Any) -> Upload:
        """Replace what is known of an upload; nothing is written where nothing changes, or where it is gone."""
        changed = upload.model_copy(update=changes)
        if changed != upload and self.get(upload.content) is not None:
            with explain_full_disk(self.root):
                self._write(changed)
        return changed

    def remove(self, content: str) -> None:
        """Delete one."""
        if not _CONTENT.fullmatch(content):
            return
        with suppress(FileNotFoundError):
            (self.folder / content / _RECORD).unlink()  # what is half deleted is no upload any more
        shutil.rmtree(self.folder / content, ignore_errors=True)
        for folder in (self.folder, self.folder.parent):
            with suppress(OSError):  # not empty
                folder.rmdir()

    def expired(self, now: float) -> list[str]:
        """Contents that nobody has opened for longer than they are kept."""
        return [name for name in self._names() if self._opened(name) + upload_days() * _DAY < now]

    def _opened(self, name: str) -> float:
        upload = self._read(name)
        if upload is not None:
            return upload.opened
        try:
            return (self.folder / name).stat().st_mtime
        except OSError:
            return 0.0

    def _names(self) -> list[str]:
        try:
            return [name for name in os.listdir(self.folder) if _CONTENT.fullmatch(name)]  # noqa: PTH208
        except OSError:
            return []

    def _read(self, name: str) -> Upload | None:
        found = read_json(self.folder / name / _RECORD)
        if found is None:
            return None
        try:
            upload = Upload.from_dict(found)
            whole = upload.content == name and self.path(upload).stat().st_size == upload.size
        except (ConfigError, OSError):
            return None
        return upload if whole else None

    def _write(self, upload: Upload) -> None:
        write_json(self.folder / upload.content / _RECORD, upload.to_dict(), mode=0o600)

    def _check_room(self, name: str, size: int, *, without: Upload | None) -> None:
        most = upload_bytes()
        taken = size_of(self.folder) - (size_of(self.folder / without.content) if without else 0)
        if size > most:
            raise DataError(
                f"{name} holds {format_size(size)}, more than the {format_size(most)} of uploads that are kept here "
                "for one visitor. Keep only the columns that are needed, or ask who runs this server for more."
            )
        if taken + size > most:
            raise DataError(
                f"{name} holds {format_size(size)}, and your other files take {format_size(taken)} of the "
                f"{format_size(most)} that are kept here for one visitor. Forget one of them first."
            )


def stores(root: Path) -> list[UploadStore]:
    """Those of all visitors."""
    try:
        names = os.listdir(visitors(root))  # noqa: PTH208 - names are all that is needed
    except OSError:
        return []
    return [UploadStore(root, name) for name in names]


def _safe_name(name: str) -> str:
    """A name that no file system minds; its endings tell the format."""
    plain = re.sub(r"[^\w.()+ -]+", "_", name).strip(". ") or "upload"
    suffixes = "".join(Path(plain).suffixes[-2:])[-12:]
    return plain.removesuffix(suffixes)[:60] + suffixes


@contextmanager
def _explain_refusal(name: str) -> Iterator[None]:
    """One sentence where the disk takes nothing; a full one has its own."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise
        raise DataError(f"{name} cannot be kept on this machine: {error.strerror}.") from error


def _digest(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(file):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """A large file is never in memory twice."""
    file.seek(0)
    while piece := file.read(_PIECE):
        yield piece
