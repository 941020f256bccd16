"""What a service counts about itself, for Prometheus; with several workers, over all of them."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5)


class ServiceMetrics:
    """Counters of one worker; `text` has those of all."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.shown = Counter(
            "spofr_impressions",
            "Rankings answered, by how: fair, relaxed (a larger delta) or sorted (by score, without fairness).",
            ["how"],
            registry=self._registry,
        )
        self.refused = Counter(
            "spofr_refused", "Requests refused, by HTTP status.", ["status"], registry=self._registry
        )
        self.failed = Counter(
            "spofr_failures", "Rankings sorted by score because something broke.", registry=self._registry
        )
        self.anew = Counter(
            "spofr_counters_anew", "Queries whose policy changed, so that counting began anew.", registry=self._registry
        )
        self.seconds = Histogram(
            "spofr_rank_seconds", "Seconds to rank and count a list.", buckets=_SECONDS, registry=self._registry
        )
        for how in ("fair", "relaxed", "sorted"):
            self.shown.labels(how)

    def text(self) -> bytes:
        """The page that Prometheus reads."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)
