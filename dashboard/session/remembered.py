"""Calls into spofr_core, remembered by the fingerprint of the data and what was asked of it."""

from __future__ import annotations

import json
from dataclasses import dataclass

import streamlit as st

from dashboard.session.choices import Choices
from spofr_core.data import RankingDataset
from spofr_core.evaluation import AuditResult, audit, audit_at_delta
from spofr_core.fairness import NOTIONS, Fairness, group_merits
from spofr_core.policy import Policies, fair_policies

_KEPT = 24
_MEASURED_AT = 0.05
"""Any delta will do: what is measured does not depend on it."""


@dataclass(frozen=True)
class Repaired:
    """The exact fair re-ranking of a dataset's scores, and its audit."""

    policies: Policies
    audit: AuditResult


def fairness_of(choices: Choices, data: RankingDataset) -> Fairness:
    """What is asked of every list; merits come from the labels of the data itself."""
    merits = group_merits(data) if NOTIONS[choices.notion].needs_merits else None
    return Fairness(delta=choices.delta, notion=choices.notion, merits=merits, position_bias=choices.position_bias)


def audited(data: RankingDataset, fairness: Fairness) -> AuditResult:
    """The audit of the ranking that the scores imply: measured once, and judged again at every delta."""
    return _audited(data, fairness, data.fingerprint, _key(fairness))


def repaired(data: RankingDataset, fairness: Fairness) -> Repaired:
    """The best policies within delta for the present scores; a list that cannot hold delta gets its smallest one."""
    return _repaired(data, fairness, data.fingerprint, _key(fairness))


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _audited(_data: RankingDataset, _fairness: Fairness, fingerprint: str, asked: str) -> AuditResult:
    first = _fairness.with_delta(_MEASURED_AT)
    return audit_at_delta(_measured(_data, first, fingerprint, _key(first)), _fairness.delta)  # type: ignore[arg-type]  # a page has one delta


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _measured(_data: RankingDataset, _fairness: Fairness, fingerprint: str, asked: str) -> AuditResult:
    return audit(_data, _fairness)


@st.cache_resource(max_entries=_KEPT, show_spinner="Re-ranking every query")
def _repaired(_data: RankingDataset, _fairness: Fairness, fingerprint: str, asked: str) -> Repaired:
    policies = fair_policies(_data, _fairness, on_infeasible="relax")
    return Repaired(policies, audit(_data, _fairness, policies=policies))


def _key(fairness: Fairness) -> str:
    return json.dumps(fairness.to_dict(), sort_keys=True)
