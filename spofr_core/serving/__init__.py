"""From a lottery to what readers are shown: one list at a time, counted, and audited afterwards."""

from spofr_core.serving.counters import Counters, MemoryCounters, Served
from spofr_core.serving.reranker import Ranked, Reranker

__all__ = ["Counters", "MemoryCounters", "Ranked", "Reranker", "Served"]
