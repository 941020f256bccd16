"""delta and what it means: the one control that every page shares."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.choices import choices, choose, follow
from dashboard.session.remembered import fairness_of, measured
from dashboard.session.sources import MODEL, Loaded, loaded_data
from dashboard.widgets.every_list.quota_control import quota_control, settle_quota
from dashboard.widgets.slicing.slice_chooser import chosen_slice, slice_chooser
from spofr_core.evaluation import carried_delta
from spofr_core.fairness import NOTIONS, Unit, merit_notes
from spofr_core.reporting import meaning, unbroken, violation_text

UNITS: dict[Unit, str] = {"share": "a share of the list's mean exposure", "absolute": "absolute, as in the paper"}
"""Every unit of delta, in words."""
MODELS: dict[str, tuple[float, float]] = {
    "1 / (1 + j)": (1.0, 1.0),
    "1 / j": (1.0, 0.0),
    "1 / √(1 + j), slow": (0.5, 1.0),
    "1 / (1 + j)², steep": (2.0, 1.0),
}
"""Name of an exposure model: (power, shift)."""


def settle(loaded: Loaded) -> None:
    """Bring choices that this data does not allow back to ones that it does."""
    current = choices()
    if current.notion not in notions_for(loaded):
        choose(notion=notions_for(loaded)[0])
    longest = int(loaded.data.list_lengths.max(initial=1))
    if current.top > longest:
        choose(top=longest)
    if loaded.data.each_item and (current.quota or current.quota_min):
        choose(quota="", quota_min="")
    elif current.quota or current.quota_min:
        settle_quota(loaded)


def sidebar(loaded: Loaded) -> None:
    """delta with its definition and range, the notion, and the exposure model."""
    with st.sidebar:
        _source(loaded)
        chosen_slice(loaded)
        delta_control(loaded, "sidebar-delta")
        _unit(loaded)
        asked = fairness_of(choices(), loaded.data)
        told = asked.told(each_item=loaded.data.each_item)
        low, high = (violation_text(end, asked.unit) for end in delta_range(loaded))
        ends = unbroken(f"For this data, {low} asks for everything and from {high} on nothing is forbidden.")
        st.caption(f"{markdown(told.definition)}\n\n$${told.latex}$$" + (f"\n\n{ends}" if can_fail(loaded) else ""))
        for note in merit_notes(asked.merits, loaded.data.label_shift):
            st.caption(markdown(note))
        if not loaded.data.each_item:
            quota_control(loaded)
        _notion(loaded)
        _exposure_model(loaded)
        slice_chooser(loaded)


def _source(loaded: Loaded) -> None:
    if loaded.key != MODEL:
        st.caption(f"Data: {markdown((loaded_data() if loaded.slice else loaded).title)}")
        return
    st.caption(markdown(loaded.title))
    guaranteed = loaded.model is not None and loaded.model.guaranteed
    st.caption(
        "Audited by the policies that it shows; the plain sort by its scores is the contrast."
        if guaranteed
        else "Audited by what it puts out. The policies that hold delta are its repair, and on the Policy page."
    )
    st.button(
        "Leave this model", icon=":material/close:", key="leave-model", on_click=lambda: choose(model="", query="")
    )


@dataclass(frozen=True)
class DeltaScale:
    """delta as a control shows it: per cent where it is a share.

    Attributes
    ----------
    unit : "absolute" or "share"
        Of the delta.
    end, step : float
        Of a slider from 0 to the largest delta that matters for the data, as shown.
    places : int
        Decimal places of a step.
    """

    unit: Unit
    end: float
    step: float
    places: int

    @classmethod
    def reaching(cls, largest: float, unit: Unit) -> DeltaScale:
        """A scale whose end is `largest`, a delta, or a little more; a slider goes there in 100 to 1,000 steps."""
        shown = max(largest * _factor(unit), 1e-6)
        step = 10.0 ** (math.floor(math.log10(shown)) - 2)
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        return cls(unit, max(round(math.ceil(shown / step - 1e-9) * step, 12), step), step, places)

    def shown(self, delta: float) -> float:
        """A delta as the controls show it."""
        return round(delta * _factor(self.unit), 12)

    def delta(self, shown: float) -> float:
        """What is shown, as a delta."""
        return round(float(shown) / _factor(self.unit), 12)

    @property
    def format(self) -> str:
        """How a control writes it."""
        return f"%.{self.places}f" + (" %%" if self.unit == "share" else "")


def _factor(unit: Unit) -> float:
    return 100.0 if unit == "share" else 1.0


def delta_scale(loaded: Loaded) -> DeltaScale:
    """The scale of delta for this data and unit."""
    return DeltaScale.reaching(delta_range(loaded)[1], choices().unit)


def delta_control(loaded: Loaded, key: str) -> None:
    """delta, to be typed or slid. A delta beyond the end of the slider stays what it is."""
    if not can_fail(loaded):
        st.caption("For this data no delta forbids anything.")
        return
    scale = delta_scale(loaded)
    shown = scale.shown(choices().delta)
    follow(f"{key}-typed", shown, of=scale)
    st.number_input(
        "delta, in %" if scale.unit == "share" else "delta",
        min_value=0.0,
        step=scale.step,
        format=f"%.{max(scale.places, _places(shown))}f",
        key=f"{key}-typed",
        on_change=lambda: choose(delta=scale.delta(st.session_state[f"{key}-typed"])),
        help=f"{meaning('delta')} 0: no difference at all in any list. {meaning('violation')}",
    )
    follow(key, min(shown, scale.end), of=scale)
    st.slider(
        "delta, slid",
        min_value=0.0,
        max_value=scale.end,
        step=scale.step,
        format=scale.format,
        key=key,
        on_change=lambda: choose(delta=scale.delta(st.session_state[key])),
        label_visibility="collapsed",
    )


def _places(shown: float) -> int:
    """Decimal places that a number has: what was typed is not to be cut."""
    return len(f"{shown:.9f}".rstrip("0").partition(".")[2])


def _unit(loaded: Loaded) -> None:
    follow("sidebar-unit", choices().unit)
    st.radio(
        "delta is",
        list(UNITS),
        help=f"share: {meaning('share')}",
        format_func=lambda unit: UNITS[unit],
        key="sidebar-unit",
        on_change=lambda: _take_unit(loaded),
    )


def _take_unit(loaded: Loaded) -> None:
    """The other unit, with the delta that as many lists hold in it."""
    current, unit = choices(), st.session_state["sidebar-unit"]
    before = measured(loaded.data, fairness_of(current, loaded.data))
    after = measured(loaded.data, fairness_of(replace(current, unit=unit), loaded.data))
    choose(unit=unit, delta=carried_delta(before, current.delta, after))


def delta_range(loaded: Loaded) -> tuple[float, float]:
    """The smallest delta that all queries can satisfy, and the largest that still forbids something."""
    return measured(loaded.data, fairness_of(choices(), loaded.data)).delta_range


def can_fail(loaded: Loaded) -> bool:
    """Whether some delta forbids something."""
    return not measured(loaded.data, fairness_of(choices(), loaded.data)).fair_share().empty


def notions_for(loaded: Loaded) -> list[str]:
    """Notions that make sense for this data."""
    return [notion.name for notion in NOTIONS.values() if notion.unavailable(loaded.data) is None]


def notion_label(name: str) -> str:
    """What a button says for a notion."""
    return NOTIONS[name].label


def _notion(loaded: Loaded) -> None:
    offered = notions_for(loaded)
    follow("sidebar-notion", choices().notion, of=tuple(offered))
    st.segmented_control(
        "Notion of fairness",
        offered,
        format_func=notion_label,
        required=True,
        key="sidebar-notion",
        help=meaning("notion"),
        on_change=lambda: choose(notion=st.session_state["sidebar-notion"]),
    )
    reasons = [notion.unavailable(loaded.data) for notion in NOTIONS.values()]
    if any(reasons):
        st.caption(" ".join(filter(None, reasons)))


def _exposure_model(loaded: Loaded) -> None:
    current = choices()
    model = st.expander("Exposure model: how attention falls", key="sidebar-exposure", on_change="rerun")
    if not model.open:
        return
    with model:
        names = list(MODELS)
        given = next((name for name, pair in MODELS.items() if pair == (current.power, current.shift)), None)
        if given is None:
            given = current.position_bias.label
            names.append(given)
        follow("sidebar-model", given, of=tuple(names))
        st.selectbox("Exposure of position j", names, key="sidebar-model", on_change=_take_model)
        longest = int(loaded.data.list_lengths.max(initial=1))
        follow("sidebar-top", current.top, of=longest)
        st.number_input(
            "Only the top k are seen (0: all)",
            min_value=0,
            max_value=longest,
            step=1,
            key="sidebar-top",
            on_change=lambda: choose(top=int(st.session_state["sidebar-top"])),
        )


def _take_model() -> None:
    power, shift = MODELS.get(st.session_state["sidebar-model"], (choices().power, choices().shift))
    choose(power=power, shift=shift)
