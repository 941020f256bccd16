"""Calls into spofr_core, remembered by the fingerprint of the data and what was asked of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dashboard.session.choices import Choices
from dashboard.session.every_list.quota_address import quota_for
from dashboard.session.sources import Loaded
from spofr_core.data import RankingDataset
from spofr_core.evaluation import (
    AuditResult,
    CalibrationGain,
    Measurement,
    Repair,
    calibration_gain,
    measure_exposure,
    prices_at_face_value,
    repair,
)
from spofr_core.fairness import NOTIONS, Fairness, group_merits

if TYPE_CHECKING:
    from dashboard.session.chosen_model import Model
    from spofr_core.policy import Policy

_KEPT = 24


def fairness_of(choices: Choices, data: RankingDataset) -> Fairness:
    """What is asked of every list; merits come from the labels of the data itself, minima are of groups that it has."""
    merits = group_merits(data) if NOTIONS[choices.notion].needs_merits else None
    quota = None if data.each_item else quota_for(choices.quota, choices.quota_min, data.group_names)
    return Fairness(
        delta=choices.delta,
        unit=choices.unit,
        notion=choices.notion,
        merits=merits,
        position_bias=choices.position_bias,
        every_ranking=quota,
    )


def repaired_query(data: RankingDataset, fairness: Fairness, place: int) -> Policy:
    """The policy of one query; with each item on its own only that list is solved, since all of them take long."""
    if data.each_item:
        return repaired(data[place], fairness).policies[0]
    return repaired(data, fairness).policies[place]


def measured(data: RankingDataset, fairness: Fairness) -> Measurement:
    """What the ranking that the scores imply does to exposure: the same at every delta."""
    return _measured(data, fairness, data_key(data), _key(fairness, delta=False))


def audited(source: Loaded, fairness: Fairness) -> AuditResult:
    """The audit of what is shown: the ranking that the scores imply, or what a trained model makes of them.

    A ranking is measured once, and judged again at every delta. A guaranteed model is audited by the policies that it
    solves for this delta, with the plain sort as `AuditResult.model.contrast`.
    """
    data, model = source.data, source.model
    if model is None:
        return _audited(data, fairness, data_key(data), _key(fairness))
    if model.guaranteed:
        both = repaired(data, fairness)
        return both.after.of_model(model.method, guaranteed=True, contrast=both.before)
    shown = _put_out(model, fairness, model.run, _key(fairness, delta=False))
    return shown.judge(fairness).of_model(model.method, guaranteed=False)


def repaired(data: RankingDataset, fairness: Fairness) -> Repair:
    """The best policies within delta for the present scores; a list that cannot hold delta gets its smallest one."""
    return _repaired(data, fairness, data_key(data), _key(fairness))


def repaired_for_delta(data: RankingDataset, fairness: Fairness) -> AuditResult:
    """The best policies within delta alone, held against a quota that they were not asked to keep."""
    return _repaired_for_delta(data, fairness, data_key(data), _key(fairness))


def calibrated_gain(data: RankingDataset, fairness: Fairness) -> CalibrationGain:
    """What the repair would gain from calibrated scores."""
    return _gain(data, fairness, data_key(data), _key(fairness))


def face_value_prices(data: RankingDataset, fairness: Fairness) -> pd.DataFrame:
    """What the repair would cost if the scores meant other differences."""
    return _prices(data, fairness, data_key(data), _key(fairness))


@st.cache_resource(max_entries=_KEPT, show_spinner="Calibrating the scores")
def _gain(_data: RankingDataset, _fairness: Fairness, data: str, asked: str) -> CalibrationGain:
    return calibration_gain(_data, _fairness, plain=repaired(_data, _fairness))


@st.cache_resource(max_entries=_KEPT, show_spinner="Re-ranking every query")
def _prices(_data: RankingDataset, _fairness: Fairness, data: str, asked: str) -> pd.DataFrame:
    return prices_at_face_value(_data, _fairness)


@st.cache_resource(max_entries=_KEPT, show_spinner="Measuring every list")
def _measured(_data: RankingDataset, _fairness: Fairness, data: str, asked: str) -> Measurement:
    return measure_exposure(_data, _fairness)


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _put_out(_model: Model, _fairness: Fairness, run: str, asked: str) -> Measurement:
    return measure_exposure(_model.data, _fairness, policies=_model.policies)


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _audited(_data: RankingDataset, _fairness: Fairness, data: str, asked: str) -> AuditResult:
    return measured(_data, _fairness).judge(_fairness)


@st.cache_resource(max_entries=_KEPT, show_spinner="Re-ranking every query")
def _repaired(_data: RankingDataset, _fairness: Fairness, data: str, asked: str) -> Repair:
    return repair(_data, _fairness, on_infeasible="relax", measured=measured(_data, _fairness))


@st.cache_resource(max_entries=_KEPT, show_spinner="Re-ranking every query")
def _repaired_for_delta(_data: RankingDataset, _fairness: Fairness, data: str, asked: str) -> AuditResult:
    policies = repaired(_data, _fairness.with_quota(None)).policies
    return measure_exposure(_data, _fairness, policies=policies).judge(_fairness)


def data_key(data: RankingDataset) -> str:
    """What data is remembered by: its rows, and what reading them left to say, which another file may not."""
    return json.dumps([data.fingerprint, data.ranks, data.notes, dict(data.excluded)])


def _key(fairness: Fairness, *, delta: bool = True) -> str:
    settings = fairness.to_dict()
    if not delta:
        del settings["delta"]
    return json.dumps(settings, sort_keys=True)
