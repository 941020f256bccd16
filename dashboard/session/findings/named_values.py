"""Measures by their names, of what is on the screen."""

from __future__ import annotations

import json

import streamlit as st

from dashboard.session.comparing.rivals import Ranking, now_shown
from dashboard.session.remembered import data_key
from dashboard.session.sources import Loaded
from spofr_core.evaluation import Measured, measure
from spofr_core.fairness import Fairness

_KEPT = 24


def named_values(
    source: Loaded, fairness: Fairness, names: tuple[str, ...], *, target: str, protected: str | None
) -> Measured:
    """These measures of every query; no delta changes them, unless a model solves its policies for it."""
    return _measured(now_shown(source, fairness), shown_key(source, fairness), names, target, protected)


def shown_key(source: Loaded, fairness: Fairness, *, delta: bool = False) -> str:
    """What is shown of which data, and what is asked of it; `delta` where the answer depends on it."""
    asked = fairness.to_dict()
    model = source.model
    if not delta and (model is None or not model.guaranteed):
        del asked["delta"]
    return json.dumps([data_key(source.data), "" if model is None else model.run, asked], sort_keys=True)


@st.cache_resource(max_entries=_KEPT, show_spinner="Measuring every list")
def _measured(_shown: Ranking, key: str, names: tuple[str, ...], target: str, protected: str | None) -> Measured:
    return measure(
        _shown.data, names, policies=_shown.policies, fairness=_shown.fairness, target=target, protected=protected
    )
