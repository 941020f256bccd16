"""Compiled kernels are thrown away when any file that they were made from has changed."""

from __future__ import annotations

import os
from pathlib import Path

from spofr_core.policy.solvers.kernels.compiled import drop_stale


def _touched(path: Path, when: float) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.touch()
    os.utime(path, (when, when))
    return path


def test_an_index_older_than_any_source_is_deleted(tmp_path: Path) -> None:
    _touched(tmp_path / "caller.py", 100)
    callee = _touched(tmp_path / "callee.py", 100)
    index = _touched(tmp_path / "__pycache__" / "caller.solve-1.py311.nbi", 200)
    assert drop_stale(tmp_path) == []
    assert index.exists()
    _touched(callee, 300)
    assert drop_stale(tmp_path) == [index]
    assert not index.exists()


def test_a_source_elsewhere_counts_too(tmp_path: Path) -> None:
    _touched(tmp_path / "kernels" / "caller.py", 100)
    index = _touched(tmp_path / "kernels" / "__pycache__" / "caller.solve-1.py311.nbi", 200)
    assert drop_stale(tmp_path / "kernels", _touched(tmp_path / "shared.py", 250)) == [index]
