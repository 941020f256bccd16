"""What every list that is drawn has to hold: a switch beside delta, and what it opens."""

from __future__ import annotations

import streamlit as st

from dashboard.escaping import markdown
from dashboard.session.choices import choices, choose, follow
from dashboard.session.every_list.quota_address import Minima, minima_text, read_minima, read_quota, share_text
from dashboard.session.sources import Loaded
from spofr_core.errors import ConfigError
from spofr_core.fairness import Quota
from spofr_core.reporting import name_text

USUAL = Quota(slack=1, top=10)
"""What the switch turns on."""
_KEY = "sidebar-quota"
_HELP = (
    "Delta holds on average over the draws of a lottery; a single list may still put one group first. This limits "
    "every list that can be drawn: how many items of each group stand among the first 1, 2, 3 places and so on."
)


def settle_quota(source: Loaded) -> None:
    """Bring back what no list could hold, or what speaks of groups that the data does not have, and say so."""
    made = choices()
    try:
        quota = read_quota(made.quota, made.quota_min)
    except ConfigError as error:
        choose(quota="", quota_min="")
        _say(f"{error.plain} The link asks for it; here, nothing is asked of every list that is drawn.")
        return
    unknown = [name for name in (quota.minimum or {} if quota else {}) if name not in source.data.group_names]
    if unknown:
        known = {name: depths for name, depths in read_minima(made.quota_min).items() if name not in unknown}
        choose(quota_min=minima_text(known))
        _say(f"A minimum is asked for group {unknown[0]!r}, which this data does not have: it is left out.")


def _say(sentence: str) -> None:
    st.toast(markdown(sentence, 1000), icon=":material/info:", duration="infinite")


def quota_control(source: Loaded) -> None:
    """The switch; where it is on, how far a group may be from its share, down to where, and minima of groups."""
    quota = read_quota(choices().quota, choices().quota_min)
    follow(_KEY, quota is not None)
    st.toggle("Every list that is drawn", key=_KEY, help=_HELP, on_change=_switch)
    if quota is None:
        return
    if quota.slack is not None:
        _share(quota)
    st.caption(markdown(quota.definition, 1000))
    _minima(source, quota)


def _switch() -> None:
    on = st.session_state[_KEY]
    choose(quota=share_text(USUAL.slack, USUAL.top) if on else "", quota_min="")


def _share(quota: Quota) -> None:
    near, deep = st.columns(2)
    follow(f"{_KEY}-slack", quota.slack)
    near.number_input(
        "Give or take",
        min_value=0,
        step=1,
        key=f"{_KEY}-slack",
        help="Items by which a group may be off its share of the first places. 0: no more than rounding makes it.",
        on_change=_take_share,
    )
    follow(f"{_KEY}-top", quota.top or 0)
    deep.number_input(
        "In the top",
        min_value=0,
        step=1,
        key=f"{_KEY}-top",
        help="How many of the first places are looked at, one after the other. 0: all of the list.",
        on_change=_take_share,
    )


def _take_share() -> None:
    slack, top = int(st.session_state[f"{_KEY}-slack"]), int(st.session_state[f"{_KEY}-top"])
    choose(quota=share_text(slack, top or None))


def _minima(source: Loaded, quota: Quota) -> None:
    box = st.expander("At least so many of a group", key=f"{_KEY}-minima", on_change="rerun")
    if not box.open:
        return
    asked: Minima = quota.minimum or {}
    with box:
        rows = [(name, depth, count) for name, depths in asked.items() for depth, count in depths.items()]
        for place, (name, depth, count) in enumerate(rows):
            st.button(
                f"{count} of {markdown(name, 40)} in the first {depth}",
                icon=":material/close:",
                key=f"{_KEY}-drop-{place}",
                help="Ask for this no longer",
                on_click=_drop,
                args=(name, depth),
            )
        group = st.selectbox(
            "Group", source.data.group_names, format_func=lambda name: name_text(name, 60), key=f"{_KEY}-group"
        )
        least, first = st.columns(2)
        count = least.number_input("At least", min_value=1, step=1, value=2, key=f"{_KEY}-count")
        depth = first.number_input("of the first", min_value=1, step=1, value=10, key=f"{_KEY}-depth")
        if count > depth:
            st.caption(f"The first {depth} places have no room for {count}.")
        st.button(
            "Ask for this",
            icon=":material/add:",
            key=f"{_KEY}-add",
            disabled=count > depth or group is None,
            on_click=_add,
            args=(group, int(depth), int(count)),
        )
        if asked:
            alone = quota.slack is None
            follow(f"{_KEY}-alone", alone)
            st.checkbox("Only this, no limit by shares", key=f"{_KEY}-alone", on_change=_take_alone)


def _add(group: str, depth: int, count: int) -> None:
    asked = read_minima(choices().quota_min)
    asked.setdefault(group, {})[depth] = count
    choose(quota_min=minima_text(asked))


def _drop(group: str, depth: int) -> None:
    asked = read_minima(choices().quota_min)
    del asked[group][depth]
    choose(quota_min=minima_text(asked))


def _take_alone() -> None:
    alone = st.session_state[f"{_KEY}-alone"]
    choose(quota="" if alone else share_text(USUAL.slack, USUAL.top))
