"""What the reader has chosen: one value per session, mirrored in the address so that a link opens the same view."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dashboard.session.slicing.slice_text import LONGEST as LONGEST_SLICE
from spofr_core.data import OPENING_SAMPLE, SAMPLES, Sample
from spofr_core.errors import ConfigError
from spofr_core.evaluation import parse_rival
from spofr_core.fairness import NOTIONS, PositionBias, Unit

_KEY = "choices"
_LONGEST = 200
"""Characters of one value in an address; what is longer is not ours."""
_OF_GROUPS: dict[str, Any] = dict.fromkeys(("query", "model", "sweep", "rival", "slice", "quota_min"), "")
"""What means nothing with other groups."""


@dataclass(frozen=True)
class Choices:
    """Everything that a link carries.

    `data` names a bundled sample, or is "upload"; `groups` how its groups are made ("" is the sample's own way);
    `query` the one shown on the Policy page ("" is the worst); `model` the run whose scores are looked at ("" are those
    of the data); `sweep` the runs that the charts of many models show; `rival` what the ranking is compared with,
    in the words of `spofr compare --with` ("" is the repair); `slice` the queries that every page is about, as
    ``country:DE`` ("" are all); `log` the visitor's log of impressions that the Data page shows; `quota` and
    `quota_min` what every list that is drawn has to hold, as ``1@10`` and ``women@10:2`` ("" is nothing). `delta` is an
    exposure, or a share (0.1 is 10 %) where `unit` says so; a link that names a delta and no unit means an exposure.
    """

    data: str = OPENING_SAMPLE
    groups: str = ""
    delta: float = 0.05
    unit: Unit = "absolute"
    notion: str = "exposure"
    power: float = 1.0
    shift: float = 1.0
    top: int = 0
    quota: str = ""
    quota_min: str = ""
    query: str = ""
    model: str = ""
    sweep: str = ""
    rival: str = ""
    slice: str = ""
    log: str = ""

    @property
    def position_bias(self) -> PositionBias:
        """The exposure model."""
        return PositionBias(power=self.power, shift=self.shift, cutoff=self.top or None)

    def to_address(self) -> dict[str, str]:
        """The values that differ from the defaults, as query parameters; data and delta are always named."""
        default = Choices()
        made = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            name: written(value) if isinstance(value, float) else str(value)
            for name, value in made.items()
            if name in ("data", "delta") or value != getattr(default, name)
        }

    @classmethod
    def from_address(cls, parameters: Mapping[str, str]) -> Choices:
        """Read query parameters; what is unknown or makes no sense is left at its default.

        Without a delta it is that of the data.
        """
        read = {}
        for field in fields(cls):
            text = parameters.get(field.name, "")
            longest = LONGEST_SLICE if field.name in ("slice", "quota_min") else _LONGEST
            value = _parsed(text, field.default) if 0 < len(text) <= longest else None
            if value is not None and _sensible(field.name, value):
                read[field.name] = value
        return replace(cls(), **({} if "delta" in read else opening_delta(read.get("data", cls.data))) | read)


def written(value: float) -> str:
    """The shortest text that is read as this number again."""
    return str(float(value)).removesuffix(".0")


def opening_delta(data: str) -> dict[str, Any]:
    """delta and unit that this data opens with: a sample's own, or those of data that is no sample."""
    said = SAMPLES[data] if data in SAMPLES else Sample  # noqa: SIM401 - a registry has no get
    return {"delta": said.delta, "unit": said.unit}


def _parsed(text: str, default: Any) -> Any:
    if isinstance(default, str):
        return text
    try:
        value = type(default)(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _sensible(name: str, value: Any) -> bool:
    limits = {"delta": (0.0, 1e6), "power": (0.01, 20.0), "shift": (0.0, 1000.0), "top": (1, 100_000)}
    if name == "notion":
        return value in NOTIONS
    if name == "unit":
        return value in get_args(Unit)
    if name == "rival":
        return _is_rival(value)
    if name == "log":
        return re.fullmatch(r"[0-9a-f]{16}", value) is not None
    if name in ("model", "sweep"):
        return re.fullmatch(r"[0-9a-f]+(\.[0-9a-f]+)*", value) is not None
    low, high = limits.get(name, (None, None))
    return low is None or low <= value <= high


def _is_rival(text: str) -> bool:
    try:
        parse_rival(text)
    except ConfigError:
        return False
    return True


def choices() -> Choices:
    """The choices of this session; at its start, those of the address it was opened with."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Choices.from_address(st.query_params.to_dict())
    made: Choices = st.session_state[_KEY]
    return made


def choose(**changes: Any) -> None:
    """Change some choices. Other data, groups or model forget the query and the slice that were looked at, another
    slice the query; other data or groups, the model, the runs and what was asked of groups by name.

    Other data is asked for delta in its own unit. Where that is the present one, delta stays as it is.
    """
    before = choices()
    if changes.get("data", before.data) != before.data:
        opening = opening_delta(changes["data"])
        changes = {"groups": "", "top": 0} | _OF_GROUPS | changes
        changes = (opening if opening["unit"] != before.unit else {}) | changes
    elif changes.get("groups", before.groups) != before.groups:
        changes = _OF_GROUPS | changes
    elif changes.get("model", before.model) != before.model:
        changes = {"query": "", "rival": "", "slice": ""} | changes
    elif changes.get("slice", before.slice) != before.slice:
        changes = {"query": ""} | changes
    st.session_state[_KEY] = replace(before, **changes)


def read_address() -> bool:
    """Take back the choices of an address that Back or Forward of the browser has brought.

    Returns
    -------
    bool
        False where the browser went through its history to an address without any choices: the menu leads to such
        addresses, and the page itself to one with choices right after that.
    """
    run = get_script_run_ctx()
    if run is None or not run.is_history_navigation:
        return True
    given = st.query_params.to_dict()
    if given:
        st.session_state[_KEY] = Choices.from_address(given)
    return bool(given)


def write_address() -> None:
    """Let the address say what is on the screen. Setting it costs a message to the browser, so only on a change."""
    wanted = choices().to_address()
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)


def follow(key: str, value: Any, of: Any = None) -> None:
    """Give the widget `key` this value before it is drawn.

    Only when it differs: a value set from here overrides what the reader may be doing to the widget right now. With
    other options or another range (`of`) it is another widget for the browser, which has to be told.
    """
    if st.session_state.get(key) != value or st.session_state.get(f"{key}-of") != of:
        st.session_state[key] = value
        st.session_state[f"{key}-of"] = of
