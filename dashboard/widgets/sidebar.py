"""delta and what it means: the one control that every page shares."""

from __future__ import annotations

import math

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.choices import choices, choose, follow
from dashboard.session.remembered import fairness_of, measured
from dashboard.session.sources import MODEL, Loaded
from spofr_core.fairness import NOTIONS
from spofr_core.reporting import number

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


def sidebar(loaded: Loaded) -> None:
    """delta with its definition and range, the notion, and the exposure model."""
    with st.sidebar:
        _source(loaded)
        delta_slider(loaded, "sidebar-delta")
        asked = fairness_of(choices(), loaded.data)
        low, high = delta_range(loaded)
        st.caption(
            f"{markdown(asked.definition)}\n\n$${asked.latex}$$\n\n"
            f"For this data, {number(low)} asks for everything and above {number(high)} nothing is forbidden."
        )
        _notion(loaded)
        _exposure_model(loaded)


def _source(loaded: Loaded) -> None:
    if loaded.key != MODEL:
        st.caption(f"Data: {markdown(loaded.title)}")
        return
    st.caption(markdown(loaded.title))
    st.caption("An audit of the plain sort. The policies that hold delta are its repair, and on the Policy page.")
    st.button(
        "Leave this model", icon=":material/close:", key="leave-model", on_click=lambda: choose(model="", query="")
    )


def delta_steps(loaded: Loaded) -> tuple[float, float, int]:
    """End, step and decimal places of a slider from 0 to the largest delta that matters for this data."""
    _, largest = delta_range(loaded)
    step = 10.0 ** (math.floor(math.log10(max(largest, 1e-6))) - 2)
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return max(round(math.ceil(largest / step - 1e-9) * step, 12), step), step, places


def delta_slider(loaded: Loaded, key: str) -> None:
    """The slider of delta."""
    end, step, places = delta_steps(loaded)
    value = min(max(choices().delta, 0.0), end)
    if value != choices().delta:
        choose(delta=value)
    follow(key, value, of=(end, step))
    st.slider(
        "delta",
        min_value=0.0,
        max_value=end,
        step=step,
        format=f"%.{places}f",
        key=key,
        on_change=lambda: choose(delta=float(st.session_state[key])),
        help="The largest violation allowed. 0: no difference at all in any list; larger: more difference is allowed.",
    )


def delta_range(loaded: Loaded) -> tuple[float, float]:
    """The smallest delta that all queries can satisfy, and the largest that still forbids something."""
    return measured(loaded.data, fairness_of(choices(), loaded.data)).delta_range


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
