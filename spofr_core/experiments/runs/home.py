"""Where jobs, runs and uploads for training are kept."""

from __future__ import annotations

import os
from pathlib import Path

RUNS_VARIABLE = "SPOFR_RUNS"


def home() -> Path:
    """The directory named in SPOFR_HOME, or .spofr in the user's own."""
    named = os.environ.get("SPOFR_HOME")
    return Path(named).expanduser().resolve() if named else Path.home() / ".spofr"


def shared_runs(root: Path) -> Path:
    """Runs on bundled samples: everybody's data, so everybody may see them."""
    return root / "runs"


def private_runs(root: Path, visitor: str) -> Path:
    """Runs on what one visitor uploaded."""
    return root / "visitors" / visitor


def unpacked(root: Path) -> Path:
    """Bundled runs, unpacked."""
    return root / "bundled"


def pointed_runs() -> list[Path]:
    """Stores besides that of the home which the dashboard shows to everybody: those named in SPOFR_RUNS."""
    named = os.environ.get(RUNS_VARIABLE, "").split(os.pathsep)
    return [Path(name).expanduser().resolve() for name in named if name]
