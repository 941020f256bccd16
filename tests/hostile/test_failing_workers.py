"""What fails on a worker ends the command as it would here: bad input with 2, a defect or a dead worker with 70."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("how", "code", "told"),
    [
        ("input", 2, "spofr: The file is bad.\n"),
        ("defect", 70, " of the work failed. KeyError: 'architecture'"),
        ("value", 70, "This is a defect of spofr, not of your input: ValueError (bad)"),
        ("killed", 70, "Its worker died 3 times (signal 9)"),
    ],
)
def test_the_exit_code_tells_a_failing_worker_from_bad_input(how, code, told, tmp_path):
    rows = {"query": list("ppqq"), "item": range(4), "group": list("abab"), "score": [0.1, 0.2, 0.3, 0.4]}
    pd.DataFrame(rows).to_parquet(tmp_path / "0.parquet")
    words = ["audit", str(tmp_path), "--measure", "failing", "--workers", "2"]
    plugin = {"SPOFR_PLUGINS": "tests.hostile.failing_measure", "FAILING_MEASURE": how, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-c", "from spofr_core.cli import main; main()", *words],
        env={**os.environ, **plugin},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (code, "")
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr
