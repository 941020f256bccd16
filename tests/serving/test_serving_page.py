"""The commands of docs/serving.md, run as they are written, on another port."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd

from tests.browser.server import free_port

ROOT = Path(__file__).resolve().parents[2]


def test_the_commands_of_the_page_lead_from_a_file_to_an_audit_of_what_was_shown(tmp_path):
    page = (ROOT / "docs" / "serving.md").read_text("utf-8")
    commands = re.search(r"```sh\n(.*?)```", page, flags=re.DOTALL)[1].replace("8000", str(free_port()))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    script = f"set -e -m\ntrap 'kill %1 2>/dev/null || true' EXIT\n{commands}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    assert 'spofr_impressions_total{how="fair"} 301.0' in done.stdout
    assert "301 impressions of 11 queries were shown." in done.stdout
    assert "10 of 10 are within delta and the bound of their schedule." in done.stdout
    assert len(pd.read_csv(tmp_path / "queries.csv")) == 11
