"""A plug-in for tests: a measure that fails on whoever computes it, as the environment says."""

from __future__ import annotations

import os
import signal

from spofr_core.errors import DataError
from spofr_core.measures import MEASURES, Measure, RankingView, Values


def _per_query(view: RankingView) -> Values:
    how = os.environ["FAILING_MEASURE"]
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    raise {"input": DataError("The file is bad."), "defect": KeyError("architecture"), "value": ValueError("bad")}[how]


MEASURES.register(Measure(name="failing", label="Failing", in_audit=False, per_query=_per_query))
