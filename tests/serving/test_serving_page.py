"""The commands of docs/serving.md, run as they are written, on another port."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pandas as pd
import psutil

from tests.browser.server import free_port

ROOT = Path(__file__).resolve().parents[2]


def test_the_commands_of_the_page_lead_from_a_file_to_an_audit_of_what_was_shown(tmp_path):
    page = (ROOT / "docs" / "serving.md").read_text("utf-8")
    commands = re.search(r"```sh\n(.*?)```", page, flags=re.DOTALL)[1].replace("8000", str(free_port()))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    script = f"set -e -m\ntrap 'kill %1 2>/dev/null || true' EXIT\n{commands}"
    done = subprocess.Popen(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        told, complaints = done.communicate(timeout=240)
    finally:
        _end_session(done.pid)
    assert done.returncode == 0, complaints
    lines = [line for line in commands.splitlines() if line and not line.startswith((" ", "import", "for", '"'))]
    assert len(lines) == 10
    assert 'spofr_impressions_total{how="fair"} 301.0' in told
    assert "301 impressions of 11 queries were shown." in told
    assert "10 of 10 are within delta and the bound of their schedule." in told
    assert "Log and counters agree: 301 impressions were counted, and each is in the log once." in told
    assert pd.read_csv(tmp_path / "queries.csv")["query"].nunique() == 11


def _end_session(session: int) -> None:
    """End whatever the script has left running, the service among it, and nothing else."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getsid(process.pid) == session:
                process.kill()
