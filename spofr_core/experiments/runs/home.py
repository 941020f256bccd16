"""Where jobs, runs and uploads are kept, how long and how much of them."""

from __future__ import annotations

import os
from pathlib import Path

from spofr_core.errors import ConfigError

RUNS_VARIABLE = "SPOFR_RUNS"
UPLOAD_DAYS_VARIABLE = "SPOFR_UPLOAD_DAYS"
UPLOAD_MB_VARIABLE = "SPOFR_UPLOAD_MB"
LOGIN_VARIABLE = "SPOFR_LOGIN"
"""Providers of the login that visitors of the dashboard have to pass, with commas between; empty for none."""


def home() -> Path:
    """The directory named in SPOFR_HOME, or .spofr in the user's own."""
    named = os.environ.get("SPOFR_HOME")
    return Path(named).expanduser().resolve() if named else Path.home() / ".spofr"


def shared_runs(root: Path) -> Path:
    """Runs on bundled samples: everybody's data, so everybody may see them."""
    return root / "runs"


def private_runs(root: Path, visitor: str) -> Path:
    """Runs on what one visitor uploaded."""
    return visitors(root) / visitor


def visitors(root: Path) -> Path:
    """What belongs to one visitor alone, a directory each."""
    return root / "visitors"


def upload_days() -> float:
    """Days for which an upload is kept after it was last opened: SPOFR_UPLOAD_DAYS, or 30."""
    return _positive(UPLOAD_DAYS_VARIABLE, 30)


def upload_bytes() -> int:
    """Bytes of uploads that are kept for one visitor: SPOFR_UPLOAD_MB, or 1,024 MB."""
    return int(_positive(UPLOAD_MB_VARIABLE, 1024) * 2**20)


def _positive(variable: str, usual: float) -> float:
    text = os.environ.get(variable, "")
    try:
        value = float(text) if text else usual
    except ValueError:
        value = -1.0
    if not 0 < value < 1e9:
        raise ConfigError(f"{variable} is {text!r}; give a number above 0, such as {usual:g}.")
    return value


def unpacked(root: Path) -> Path:
    """Bundled runs, unpacked."""
    return root / "bundled"


def pointed_runs() -> list[Path]:
    """Stores besides that of the home which the dashboard shows to everybody: those named in SPOFR_RUNS."""
    named = os.environ.get(RUNS_VARIABLE, "").split(os.pathsep)
    return [Path(name).expanduser().resolve() for name in named if name]
