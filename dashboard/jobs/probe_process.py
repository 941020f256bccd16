"""Times a few steps of each method: `python -m dashboard.jobs.probe_process`, runs as JSON on its input."""

from __future__ import annotations

import json
import os
import sys

from spofr_core.errors import SpofrError


def main() -> int:
    """Print the estimate in words; 1 and a sentence on stderr where there is none."""
    from spofr_core.experiments import DataShelf, RunConfig, estimate, limit_threads

    if hasattr(os, "nice"):  # not on Windows
        os.nice(5)
    asked = json.load(sys.stdin)
    try:
        limit_threads(1)
        runs = tuple(RunConfig.from_dict(content) for content in asked["runs"])
        print(estimate(runs, DataShelf(runs), workers=asked["workers"]))
    except SpofrError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
