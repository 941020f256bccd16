"""Quotas as a shell takes them: --quota-slack 1 --quota-top 10 --quota-min women@10=2."""

from __future__ import annotations

from collections.abc import Sequence

from spofr_core.errors import ConfigError
from spofr_core.fairness.quota import Quota


def parse_quota(slack: int | None, top: int | None, minima: Sequence[str] | None) -> Quota | None:
    """The quota of these options; None where none of them is given.

    Raises
    ------
    ConfigError
        For a minimum that is not written as group@depth=count, or a value that no quota can have.
    """
    if slack is None and top is None and not minima:
        return None
    minimum: dict[str, dict[int, int]] = {}
    for text in minima or ():
        name, depth, count = _minimum(text)
        if depth in minimum.setdefault(name, {}):
            raise ConfigError(f"--quota-min names {name}@{depth} twice; give one count.")
        minimum[name][depth] = count
    if slack is None and not minimum:
        raise ConfigError(f"--quota-top is {top}, which goes with --quota-slack; give that too, such as 1.")
    return Quota(slack=slack, top=top, minimum=minimum or None)


def quota_options(quota: Quota | None) -> list[str]:
    """The options that `parse_quota` reads back; none without a quota."""
    if quota is None:
        return []
    options = [] if quota.slack is None else ["--quota-slack", str(quota.slack)]
    options += [] if quota.top is None else ["--quota-top", str(quota.top)]
    for name, depths in (quota.minimum or {}).items():
        for depth, count in depths.items():
            options += ["--quota-min", f"{name}@{depth}={count}"]
    return options


def _minimum(text: str) -> tuple[str, int, int]:
    before, sign, count = text.rpartition("=")
    name, at, depth = before.rpartition("@")
    if not (sign and at and name.strip() and depth.strip().isdecimal() and count.strip().isdecimal()):
        raise ConfigError(f"--quota-min is {text!r}; write group@depth=count, such as women@10=2.")
    return name.strip(), int(depth), int(count)
