"""delta as people write and read it: 0.05 is an exposure, 10 % a share of the list's mean exposure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from spofr_core.errors import ConfigError

Unit = Literal["absolute", "share"]
Delta = float | dict[str, float]


def parse_delta(text: str, what: str = "delta") -> tuple[Delta, Unit]:
    """Read "0.05" (absolute), "10%" (a share), or one for each group as "a=10%,b=5%". A plain 0 goes with both.

    Parameters
    ----------
    text : str
    what : str
        How a message calls it, such as "--delta".

    Raises
    ------
    ConfigError
        When it is no such number, below 0, or a share for one group and an absolute delta for another.
    """
    if "=" not in text:
        (only,), unit = parse_deltas([text], what)
        return only, unit
    named = [part.rpartition("=") for part in text.split(",")]
    for name, sign, value in named:
        if not sign or not name.strip():
            raise ConfigError(f"{what} is {name + sign + value!r}; write group=number, such as women=10%.")
    values, unit = parse_deltas([value for _, _, value in named], what)
    return dict(zip((name.strip() for name, _, _ in named), values, strict=True)), unit


def parse_deltas(given: Sequence[object], what: str = "deltas") -> tuple[tuple[float, ...], Unit]:
    """Read several at once, texts or numbers; all are shares, or none is."""
    read = [_value(one, what) for one in given]
    units = {unit: one for one, (_, unit) in zip(given, read, strict=True) if unit is not None}
    if len(units) > 1:
        raise ConfigError(
            f"{what} mixes the share {str(units['share']).strip()} with the absolute {str(units['absolute']).strip()}; "
            "write all of them with % or none."
        )
    return tuple(value for value, _ in read), next(iter(units), "absolute")


def share_settings(given: Any, *names: str) -> Any:
    """Settings from a file or a caller, with every delta that is written as a text, such as "10%", as a number.

    `names` are the settings that are deltas: one, a list, or one for each group. Where one of them is a share, `unit`
    says so.

    Raises
    ------
    ConfigError
        When they are of several units, or not of the `unit` that the settings name.
    """
    if not isinstance(given, Mapping):
        return given
    settings, found = dict(given), {}
    for name in names:
        value = settings.get(name)
        if isinstance(value, str):
            settings[name], found[name] = parse_delta(value, repr(name))
        elif isinstance(value, Mapping) and _texts(value.values()):
            values, found[name] = parse_deltas(list(value.values()), repr(name))
            settings[name] = dict(zip(value, values, strict=True))
        elif isinstance(value, list | tuple) and _texts(value):
            settings[name], found[name] = parse_deltas(value, repr(name))
    for name, unit in found.items():
        if settings.setdefault("unit", unit) != unit:
            raise ConfigError(f"{name!r} is {given[name]!r}, which is not of the unit {settings['unit']!r}.")
    return settings


def format_delta(delta: float | Mapping[str, float], unit: Unit = "absolute", digits: int = 6) -> str:
    """delta for people: "0.05", "10 %", "women 10 %, men 5 %"."""
    if isinstance(delta, Mapping):
        return ", ".join(f"{name} {format_delta(value, unit, digits)}" for name, value in delta.items())
    return f"{delta:.{digits}g}" if unit == "absolute" else f"{100 * delta:.{digits}g} %"


def written_delta(delta: float | Mapping[str, float], unit: Unit = "absolute") -> str:
    """delta as `parse_delta` reads it and a shell takes it: "0.05", "10%", "women=10%,men=5%"."""
    if isinstance(delta, Mapping):
        return ",".join(f"{name}={written_delta(value, unit)}" for name, value in delta.items())
    return f"{delta!r}" if unit == "absolute" else f"{Decimal(repr(float(delta))).scaleb(2).normalize():f}%"


def _texts(values: Any) -> bool:
    return any(isinstance(value, str) for value in values)


def _value(given: object, what: str) -> tuple[float, Unit | None]:
    """The number and its unit; a plain 0 has none."""
    text = str(given).strip()
    share = text.endswith("%")
    try:
        # In decimals, so that 7% is the same double as 0.07.
        value = float(Decimal(text[:-1].strip()).scaleb(-2) if share else Decimal(text))
    except (InvalidOperation, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"{what} is {text!r}; give a number such as 0.05, or a share such as 10%.")
    if value < 0:
        raise ConfigError(f"{what} is {text!r}; give a number >= 0 (0 asks for no gap at all).")
    return value, "share" if share else "absolute" if value else None
