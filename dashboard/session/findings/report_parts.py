"""What a report holds besides the audit itself: windows of time, and who counts as selected."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import streamlit as st

from dashboard.session.choices import choices
from dashboard.session.comparing.rivals import Ranking, now_shown
from dashboard.session.findings.named_values import shown_key
from dashboard.session.sources import Loaded
from spofr_core.data import RankingDataset
from spofr_core.errors import SpofrError
from spofr_core.evaluation import AuditResult, QueryValues, SelectionRates, over_time, selection_rates

Selected = Literal["", "top", "score", "median"]
_STATE = "report-parts"
_KEPT = 12


@dataclass(frozen=True)
class ReportParts:
    """What was chosen.

    Attributes
    ----------
    window : str
        Of time: "auto", "day", "week", "month" or a number of equal parts.
    selected : {"", "top", "score", "median"}
        Who counts as selected: nobody is asked about, the first `top` of each list, who has the score `least` or more,
        or who scores above the median.
    """

    window: str = "auto"
    selected: Selected = ""
    top: int = 10
    least: float = 0.0

    @property
    def selection(self) -> dict[str, Any]:
        """The arguments of `selection_rates`."""
        if self.selected == "top":
            return {"k": self.top}
        return {"threshold": self.least} if self.selected == "score" else {}

    @property
    def options(self) -> list[str]:
        """Those of `spofr audit` that select."""
        said = {
            "top": ["--top-k", str(self.top)],
            "score": ["--threshold", f"{self.least!r}"],
            "median": ["--threshold", "median"],
        }
        return said.get(self.selected, [])


NOTHING_MORE = ReportParts()
"""What is in a report where nobody has chosen anything."""


def report_parts() -> ReportParts:
    """What this session has chosen for the data on the screen."""
    about, parts = st.session_state.get(_STATE, ("", NOTHING_MORE))
    return parts if about == _about() else NOTHING_MORE


def choose_parts(**changes: Any) -> None:
    """Change some of it; a score means nothing in other data, so all is forgotten there."""
    st.session_state[_STATE] = (_about(), replace(report_parts(), **changes))


def _about() -> str:
    made = choices()
    return f"{made.data};{made.model}"


def selected_rates(source: Loaded, result: AuditResult, parts: ReportParts) -> SelectionRates:
    """Selection rates of what is on the screen.

    Raises
    ------
    SpofrError
        When nobody is selected, or there is nothing to select by.
    """
    shown = now_shown(source, result.fairness)
    return _rates(shown, shown_key(source, result.fairness), parts, repr(asdict(parts)))


@st.cache_resource(max_entries=_KEPT, show_spinner="Counting who is selected")
def _rates(_shown: Ranking, key: str, _parts: ReportParts, said: str) -> SelectionRates:
    # A score selects by itself; only the first places depend on what the policies show.
    policies = _shown.policies if _parts.selected == "top" else None
    return selection_rates(_shown.data, policies=policies, **_parts.selection)


def with_parts(source: Loaded, result: AuditResult, parts: ReportParts) -> AuditResult:
    """The audit with slices and time, where the data has them, and with who is selected, if that is asked for."""
    if source.by or source.data.times is not None:
        result = result.with_slices(source.by, window=usable_window(source.data, parts))
    return result.with_selection(selected_rates(source, result, parts)) if parts.selected else result


def usable_window(data: RankingDataset, parts: ReportParts) -> str | None:
    """The window that was chosen, or what suits the span where the times cannot be cut so; None without times."""
    return _usable(data.times, data.fingerprint, parts.window)


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _usable(_times: Any, fingerprint: str, window: str) -> str | None:
    for asked in dict.fromkeys((window, ReportParts.window)) if _times is not None else ():
        with suppress(SpofrError):
            over_time(QueryValues(name="", label="", values=np.zeros(len(_times)), times=_times), asked)
            return asked
    return None
