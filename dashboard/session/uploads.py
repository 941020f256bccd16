"""From an uploaded file and a mapping of its columns to data on the screen, now and whenever its owner comes back."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from dashboard.session.mapping import Mapping
from dashboard.session.sources import UPLOAD, Loaded
from dashboard.session.upload_store import Upload, UploadStore
from dashboard.session.visitor import visitor
from spofr_core.data import Limits, RankingDataset, read_dataset
from spofr_core.errors import DataError
from spofr_core.experiments import home
from spofr_core.reporting import listed

LIMITS = Limits(file_bytes=2 * 2**30, rows=5_000_000, groups=50, list_length=20_000, each_item=200)
"""What a page takes; the shell and Python take more."""


def own_uploads() -> UploadStore:
    """The uploads of this visitor."""
    return UploadStore(home(), visitor())


def address_of(upload: Upload) -> str:
    """What the address of the page calls it."""
    return f"{UPLOAD}-{upload.key}"


def open_upload(store: UploadStore, upload: Upload) -> Loaded:
    """Read an upload as its owner said, and keep it for some more days.

    Raises
    ------
    DataError
        When it is not what it was, or was never read.
    """
    if upload.mapping is None:
        raise DataError(f"Nobody has said yet how {upload.name!r} is read: do so on the Data page.")
    loaded = _read(store, upload, upload.mapping)
    store.change(upload, opened=time.time())
    return loaded


def accept_upload(store: UploadStore, upload: Upload, mapping: Mapping) -> Loaded:
    """Read an upload in a new way; it is read so from then on if that works, and as before if not.

    Raises
    ------
    DataError
        When the file is not what the mapping says.
    """
    loaded = _read(store, upload, mapping)
    store.change(upload, mapping=mapping, draft=None, opened=time.time())
    return loaded


def _read(store: UploadStore, upload: Upload, mapping: Mapping) -> Loaded:
    read = upload.model_copy(update={"mapping": mapping})
    path = store.checked_path(upload)
    return read_upload(path, mapping, title=upload.name, address=address_of(read), content=upload.content)


def check_complete(mapping: Mapping, known: tuple[str, ...] = ()) -> None:
    """Refuse a mapping that lacks something, and name all that it lacks.

    Raises
    ------
    DataError
        In the words of the page.
    """
    lacking = mapping.missing_fields(known)
    if lacking:
        raise DataError(f"Please choose a column for {listed(lacking)}: without {_them(lacking)} there is no audit.")


def _them(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


def read_upload(path: Path, mapping: Mapping, *, title: str, address: str = UPLOAD, content: str = "") -> Loaded:
    """Read a file as mapped.

    Raises
    ------
    DataError
        When the file is not what the mapping says.
    """
    options = mapping.options()
    data = read_dataset(path, limits=LIMITS, **options)
    python = f"data = read_dataset({title!r}, {_keywords(options)})"
    columns = _of_features(mapping)
    said = shell_arguments(title, options)
    return Loaded(
        UPLOAD,
        title,
        data,
        python,
        None if said is None else tuple(said),
        learnable=lambda: _with_features(path, columns, data),
        columns=columns,
        address=address,
        content=content,
    )


def _of_features(mapping: Mapping) -> dict[str, Any]:
    """The options that read the same rows with what a scorer can learn from: every number that has no other role and
    was not left out. What is only known of the queries is not learned from."""
    options = {name: value for name, value in mapping.options().items() if name not in ("slices", "time")}
    known = [*mapping.unused, *mapping.slices, *([mapping.time] if mapping.time else [])]
    return options | {"features": "auto"} | ({"leave_out_features": known} if known else {})


def _with_features(path: Path, columns: dict[str, Any], data: RankingDataset) -> RankingDataset:
    if data.features is None or "leave_out_features" in columns:
        return read_dataset(path, limits=LIMITS, **columns)
    return data


def _keywords(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


_SHELL = {
    "group_quantiles": "quantiles",
    "group_names": "rename-group",
    "leave_out_groups": "leave-out-group",
    "slices": "slice",
    "position": "rank",
}
"""What options of `read_dataset` are called in the shell, where that is another name."""


def shell_arguments(title: str, options: dict[str, Any]) -> list[str] | None:
    """The file and the same options for the shell; None where no option can say a group's name."""
    if any("=" in name for name in options.get("group_names", {}).values()):
        return None
    given = [f"./{title}" if title.startswith("-") else title]
    for name, value in options.items():
        called = _SHELL.get(name, name.replace("_", "-"))
        if isinstance(value, bool):
            given += [f"--{called}" if value else f"--no-{called}"]
            continue
        several = [f"{old}={new}" for old, new in value.items()] if isinstance(value, dict) else value
        for each in several if isinstance(several, list) else [several]:
            given += [f"--{called}", str(each)]
    return given
