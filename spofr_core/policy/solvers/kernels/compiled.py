"""What numba keeps on the disk between processes, and when it is out of date."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def drop_stale(folder: Path, *others: Path) -> list[Path]:
    """Delete the indices of compiled functions in a folder that are older than any of its sources, or of the others.

    Without its index a compiled function is made anew. An index may be deleted by two processes at once, and where it
    cannot be deleted (an installation that nobody may write to) sources do not change either.

    Returns
    -------
    list of Path
        What was deleted.
    """
    newest = max(source.stat().st_mtime for source in (*folder.glob("*.py"), *others))
    stale = []
    for index in (folder / "__pycache__").glob("*.nbi"):
        with suppress(OSError):
            if index.stat().st_mtime < newest:
                index.unlink()
                stale.append(index)
    return stale
