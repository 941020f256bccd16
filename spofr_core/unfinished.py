"""What is still being written: hidden beside its place, locked by whoever writes it, swept away when nobody does.

A process that is killed leaves what it had begun. The system takes its lock back, so the next one who writes the same
file or folder can tell what is abandoned from what somebody else is writing just now.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SUFFIX = ".tmp"
_LONGEST = 48
"""Letters of the target's name in a hidden one: names have a limit, and the hidden one is longer."""


@contextmanager
def unfinished_file(target: Path) -> Iterator[tuple[int, Path]]:
    """A new hidden file beside its target: a handle to write to, and its path, until the end of the block.

    What is moved into place within the block stays; else it is deleted.
    """
    with _owned(target, folder=False) as (handle, path):
        try:
            yield handle, path
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def unfinished_folder(target: Path) -> Iterator[Path]:
    """A new hidden folder beside its target, until the end of the block; see `unfinished_file`."""
    with _owned(target, folder=True) as (_, path):
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _owned(target: Path, *, folder: bool) -> Iterator[tuple[int, Path]]:
    _sweep(target)
    prefix = f".{target.name[:_LONGEST]}."
    while True:
        if folder:
            name = tempfile.mkdtemp(dir=target.parent, prefix=prefix, suffix=_SUFFIX)
            handle = os.open(name, os.O_RDONLY)
        else:
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=_SUFFIX)
        path = Path(name)
        with suppress(OSError):  # a disk without locks: then nobody is able to sweep there either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if path.exists():
            break
        os.close(handle)  # swept away by another, in the moment before it had an owner
    try:
        yield handle, path
    finally:
        os.close(handle)


def _sweep(target: Path) -> None:
    """Delete what killed processes have left of earlier writes of the same target."""
    wanted = re.compile(rf"\.{re.escape(target.name[:_LONGEST])}\.[a-z0-9_]{{8}}{re.escape(_SUFFIX)}")
    found: list[Path] = []
    with suppress(OSError), os.scandir(target.parent) as entries:  # a folder may be open for writing alone
        found = [Path(entry.path) for entry in entries if wanted.fullmatch(entry.name)]
    for path in found:
        with suppress(OSError):  # somebody is writing it, or has just moved it, or it is not ours to delete
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            finally:
                os.close(handle)
