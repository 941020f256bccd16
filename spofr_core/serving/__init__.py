"""From a lottery to what readers are shown: one list at a time, counted, logged, and audited afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spofr_core.lazy import lazy_names

if TYPE_CHECKING:
    from spofr_core.serving.counter_store import CounterStore
    from spofr_core.serving.counters import Counters, MemoryCounters, Served
    from spofr_core.serving.own_hosts import OwnHosts
    from spofr_core.serving.reranker import Ranked, Reranker
    from spofr_core.serving.seldom import Seldom
    from spofr_core.serving.service import make_app
    from spofr_core.serving.service_settings import ServiceSettings
    from spofr_core.serving.shown.counter_check import CounterCheck, check_counters
    from spofr_core.serving.shown.log_columns import guess_log_columns, looks_like_a_log
    from spofr_core.serving.shown.shown_audit import ShownAudit, audit_shown
    from spofr_core.serving.shown.shown_log import ShownLog, read_shown
    from spofr_core.serving.shown.shown_words import (
        doubt_sentences,
        once_sentences,
        shown_groups,
        shown_sentences,
        shown_verdict,
    )

_HOME = {
    "counter_store": ("CounterStore",),
    "counters": ("Counters", "MemoryCounters", "Served"),
    "own_hosts": ("OwnHosts",),
    "reranker": ("Ranked", "Reranker"),
    "seldom": ("Seldom",),
    "service": ("make_app",),
    "service_settings": ("ServiceSettings",),
    "shown.counter_check": ("CounterCheck", "check_counters"),
    "shown.log_columns": ("guess_log_columns", "looks_like_a_log"),
    "shown.shown_audit": ("ShownAudit", "audit_shown"),
    "shown.shown_log": ("ShownLog", "read_shown"),
    "shown.shown_words": (
        "doubt_sentences",
        "once_sentences",
        "shown_groups",
        "shown_sentences",
        "shown_verdict",
    ),
}

__all__ = [
    "CounterCheck",
    "CounterStore",
    "Counters",
    "MemoryCounters",
    "OwnHosts",
    "Ranked",
    "Reranker",
    "Seldom",
    "Served",
    "ServiceSettings",
    "ShownAudit",
    "ShownLog",
    "audit_shown",
    "check_counters",
    "doubt_sentences",
    "guess_log_columns",
    "looks_like_a_log",
    "make_app",
    "once_sentences",
    "read_shown",
    "shown_groups",
    "shown_sentences",
    "shown_verdict",
]


__getattr__ = lazy_names(__name__, _HOME)  # a reranker does not wait for FastAPI, nor an audit for compiled code
