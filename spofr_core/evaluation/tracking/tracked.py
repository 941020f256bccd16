"""What a tracker is told of a result: numbers by their paths, and the settings that they hold for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spofr_core.evaluation.tracking.metric_names import Path

Numbers = Iterator[tuple[Path, float | None]]


@dataclass(frozen=True)
class Tracked:
    """Finite numbers by their paths, and settings by their names."""

    metrics: dict[Path, float]
    params: dict[str, str]

    @classmethod
    def of(cls, numbers: Numbers, params: Mapping[str, Any]) -> Tracked:
        """Without numbers that do not exist."""
        known = {path: float(value) for path, value in numbers if value is not None and math.isfinite(value)}
        return cls(known, {name: _text(value) for name, value in params.items()})


def tracked_audit(summary: Mapping[str, Any]) -> Tracked:
    """From `AuditResult.summary`."""
    asked = ("delta", "unit", "notion", "position_bias", "discount")
    params = {name: summary[name] for name in asked}
    if summary["model"] is not None:
        params["model"] = summary["model"]["title"]
    selection = summary.get("selection")
    if selection is not None:
        chosen = {name: selection[name] for name in ("kind", "k", "threshold") if selection[name] is not None}
        params |= {f"selection_{name}": value for name, value in chosen.items()}
    return Tracked.of(_audit_numbers(summary), params)


def _audit_numbers(summary: Mapping[str, Any]) -> Numbers:
    queries, violation, ratio = summary["queries"], summary["violation"], summary["exposure_ratio"]
    for name in ("total", "judged", "fair"):
        yield (f"queries_{name}",), queries[name]
    yield from _with_interval(("share_within_delta",), queries["share"], queries["ci"])
    yield from _with_interval(("violation_mean",), violation["mean"], violation["mean_ci"])
    yield ("violation_max",), violation["max"]
    for level, value in violation["quantiles"].items():
        yield (f"violation_quantile_{level}",), value
    if ratio is not None:
        yield from _with_interval(("exposure_ratio",), ratio["value"], ratio["ci"])
    yield ("queries_infeasible",), summary["infeasible"]["count"]
    yield from _measure_numbers(summary["measures"])
    for name, group in summary["groups"].items():
        for count in ("items", "compared"):
            yield ("group", name, count), group[count]
        for number in ("exposure", "relative", "violation"):
            yield from _with_interval(("group", name, f"{number}_mean"), group[f"{number}_mean"], group[f"{number}_ci"])
    for rule in (summary.get("selection") or {"rules": ()})["rules"]:
        for table in rule["tables"]:
            for row in table["categories"]:
                path = ("selection", rule["name"], table["title"], row["category"])
                yield from _with_interval((*path, "rate"), row["rate"], row["rate_ci"])
                yield from _with_interval((*path, "impact_ratio"), row["impact_ratio"], row["ratio_ci"])


def tracked_measures(summary: Mapping[str, Any]) -> Tracked:
    """From `Measured.summary`."""
    settings = {name: value for name, value in summary["settings"].items() if value is not None}

    def numbers() -> Numbers:
        yield ("queries_total",), summary["queries"]
        yield from _measure_numbers(summary["measures"])
        for name, entry in summary["measures"].items():
            yield ("measure", name, "overall"), entry["overall"]

    return Tracked.of(numbers(), settings)


def _measure_numbers(measures: Mapping[str, Any]) -> Numbers:
    for name, entry in measures.items():
        yield from _with_interval(("measure", name, "mean"), entry["mean"], entry["ci"])
        yield ("measure", name, "queries"), entry["n"]


def tracked_comparison(summary: Mapping[str, Any]) -> Tracked:
    """From `Comparison.summary`."""
    asked = summary["first"]["asked"] or {}

    def numbers() -> Numbers:
        for rival, found in summary["rivals"].items():
            yield (rival, "queries_paired"), found["queries"]["both"]
            for row in found["rows"]:
                for name in ("before", "after", "difference", "p_holm"):
                    yield (rival, row["name"], name), row[name]
                yield (rival, row["name"], "difference_low"), row["lower"]
                yield (rival, row["name"], "difference_high"), row["upper"]

    params = {"baseline": summary["first"]["name"], "confidence": summary["confidence"], "tested": summary["tested"]}
    return Tracked.of(numbers(), params | asked)


def _with_interval(path: Path, value: float | None, interval: list[float] | None) -> Numbers:
    low, high = interval or (None, None)
    yield path, value
    yield (*path[:-1], f"{path[-1]}_low"), low
    yield (*path[:-1], f"{path[-1]}_high"), high


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_text(each)}" for name, each in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)
