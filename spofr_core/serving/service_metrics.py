"""What a service counts about itself, for Prometheus; with several workers, over all of them."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

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
            "spofr_failures", "Rankings sorted by score, or refused, because something broke.", registry=self._registry
        )
        self.anew = Counter(
            "spofr_counters_anew", "Queries whose policy changed, so that counting began anew.", registry=self._registry
        )
        self.seconds = Histogram(
            "spofr_rank_seconds", "Seconds to rank and count a list.", buckets=_SECONDS, registry=self._registry
        )
        self.degraded = Gauge(
            "spofr_degraded",
            "Workers that cannot keep their counters or their log, or could not a moment ago.",
            multiprocess_mode="livesum",
            registry=self._registry,
        )
        self.cache = Gauge(
            "spofr_cache_bytes",
            "Of what is remembered of lists that were asked for before, over all workers.",
            multiprocess_mode="livesum",
            registry=self._registry,
        )
        self.closed = Counter(
            "spofr_connections_closed",
            "Connections closed because they had waited too long, or longest: for a header, a body or a reading.",
            ["waited_for"],
            registry=self._registry,
        )
        for how in ("fair", "relaxed", "sorted"):
            self.shown.labels(how)

    def text(self) -> bytes:
        """The page that Prometheus reads."""
        return generate_latest(self._of_all())

    def degraded_workers(self) -> int:
        """How many workers cannot keep their counters or their log."""
        return int(self._of_all().get_sample_value("spofr_degraded") or 0)

    def _of_all(self) -> CollectorRegistry:
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return self._registry
        for file in Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).glob("gauge_live*_*.db"):
            pid = int(file.stem.rpartition("_")[2])
            if not psutil.pid_exists(pid):  # what it held is gone with it
                mark_process_dead(pid)  # type: ignore[no-untyped-call]
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return together
