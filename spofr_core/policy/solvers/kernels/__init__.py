"""Compiled solvers of whole batches.

A compiled function is kept on the disk and made anew when its own file changes, but not when a function that it calls
in another file does. So whoever imports a kernel first throws away what was compiled before any file here changed.
"""

from __future__ import annotations

from pathlib import Path

from spofr_core.policy.solvers.kernels.compiled import drop_stale

drop_stale(Path(__file__).parent, Path(__file__).parents[3] / "splitmix.py")
