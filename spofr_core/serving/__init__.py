"""From a lottery to what readers are shown: one list at a time, counted, logged, and audited afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spofr_core.lazy import lazy_names
from spofr_core.serving.counters import Counters, MemoryCounters, Served
from spofr_core.serving.reranker import Ranked, Reranker

if TYPE_CHECKING:
    from spofr_core.serving.counter_store import CounterStore
    from spofr_core.serving.service import make_app
    from spofr_core.serving.service_settings import ServiceSettings
    from spofr_core.serving.shown_audit import ShownAudit, audit_shown
    from spofr_core.serving.shown_log import ShownLog, read_shown

_HOME = {
    "counter_store": ("CounterStore",),
    "service": ("make_app",),
    "service_settings": ("ServiceSettings",),
    "shown_audit": ("ShownAudit", "audit_shown"),
    "shown_log": ("ShownLog", "read_shown"),
}

__all__ = [
    "CounterStore",
    "Counters",
    "MemoryCounters",
    "Ranked",
    "Reranker",
    "Served",
    "ServiceSettings",
    "ShownAudit",
    "ShownLog",
    "audit_shown",
    "make_app",
    "read_shown",
]


__getattr__ = lazy_names(__name__, _HOME)  # a reranker does not wait for FastAPI
