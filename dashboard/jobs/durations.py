"""How long a sweep will take, from a few steps of each method, timed in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

from dashboard.jobs.job_board import ROOT
from spofr_core.errors import SpofrError
from spofr_core.experiments import RunConfig, format_duration

PATIENCE = 300


def from_a_probe(missing: tuple[RunConfig, ...], workers: int) -> str:
    """Time a few steps of each method in a process of its own; the estimate in words.

    Raises
    ------
    SpofrError
        When it could not be timed.
    """
    asked = json.dumps({"runs": [config.to_dict() for config in missing], "workers": workers})
    command = [sys.executable, "-m", "dashboard.jobs.probe_process"]
    try:
        done = subprocess.run(
            command, input=asked, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise SpofrError(
            f"A few steps take longer than {format_duration(PATIENCE)}: this sweep is a long one."
        ) from None
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:]
        raise SpofrError(f"The time could not be estimated: {''.join(last) or 'no reason was given.'}")
    return done.stdout.strip()
