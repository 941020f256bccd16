"""From what somebody chose on a page to a checked sweep, and the store that it belongs into."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spofr_core.data import SAMPLES
from spofr_core.errors import ConfigError
from spofr_core.experiments.runs.home import shared_runs
from spofr_core.experiments.sweep_spec import RunConfig, SweepSpec

MOST_RUNS = 2000


@dataclass(frozen=True)
class Plan:
    """A sweep, and the store that its runs belong into."""

    spec: SweepSpec
    runs: tuple[RunConfig, ...]
    store: Path


def plan_sweep(dataset: dict[str, Any], store: Path, **grids: Any) -> Plan:
    """A checked plan.

    Raises
    ------
    ConfigError
        When a grid is empty or holds what it must not, or there would be too many runs.
    """
    spec = SweepSpec.from_dict({"dataset": dataset, **grids})
    runs = spec.runs()
    if len(runs) > MOST_RUNS:
        raise ConfigError(f"These grids make {len(runs):,} runs; here {MOST_RUNS:,} are the limit. The shell has none.")
    return Plan(spec, runs, store)


def parse_numbers(text: str, what: str, kind: type = float) -> list[Any]:
    """Numbers from 0 up, each once, from a text such as "0, 0.01, 0.05".

    Raises
    ------
    ConfigError
        When there is none, or something is not such a number.
    """
    words = [word for word in re.split(r"[,;\s]+", text) if word]
    if not words:
        raise ConfigError(f"{what}: give at least one number.")
    values = []
    for word in words:
        try:
            value = kind(word)
        except ValueError:
            example = "5000, 20000" if kind is int else "0, 0.01, 0.05"
            raise ConfigError(f"{what}: {word!r} is not a number of that kind; write them like {example}.") from None
        if not math.isfinite(value) or value < 0:
            raise ConfigError(f"{what}: {word!r} is not allowed; give numbers from 0 up.")
        values.append(value)
    return list(dict.fromkeys(values))


def offered_deltas(low: float, high: float) -> list[float]:
    """Deltas worth training at on data whose lists can all hold `low`, and where from `high` on nothing is forbidden.

    The two ends, rounded up to two digits, and between them the numbers 1, 2 and 5 times a power of ten from a sixtieth
    to a third of `high`: most of the utility is lost there.
    """
    if not 0 < high < math.inf:
        return [0.0]
    powers = range(math.floor(math.log10(high)) - 3, math.floor(math.log10(high)) + 1)
    ladder = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    first, last = _rounded_up(low), _rounded_up(high)
    return [first, *(delta for delta in ladder if max(first, high / 60) < delta <= high / 3), last]


def _rounded_up(value: float) -> float:
    """To two digits; what is below 1e-9 is what floating point left of 0."""
    if value < 1e-9:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / step - 1e-9) * step:.6g}")


def sample_groups(names: list[str], sample: str) -> list[Any]:
    """Groupings of a sample as a sweep takes them.

    Raises
    ------
    ConfigError
        When there is none, or two of them make as many groups: charts tell runs apart by the number of groups.
    """
    if not names:
        raise ConfigError("Groups: choose at least one grouping.")
    chosen = SAMPLES[sample]
    first: dict[int, str] = {}
    for name in names:
        count = chosen.group_count(name)
        if first.setdefault(count, name) != name:
            raise ConfigError(
                f"'{chosen.groupings[first[count]]}' and '{chosen.groupings[name]}' both make {count} groups and would "
                "be mixed up in the charts: train them one by one."
            )
    return [chosen.groups_of(name) for name in names]


def shared_sample(root: Path, sample: str, lists: int, features: str | None = None) -> tuple[dict[str, Any], Path]:
    """The dataset of a bundled sample, and the store that everybody shares."""
    given: dict[str, Any] = {name: lists for name in ("lists", "test_lists") if name in SAMPLES[sample].options}
    seen = {} if features is None else {"features": features}
    return {"sample": sample, **given, **seen}, shared_runs(root)
