"""Select boxes for the columns of a file: which one is what, where the groups come from, how its text is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from dashboard.session.mapping import GroupWay, Mapping
from spofr_core.data import NegativeLabels, TablePreview

WAYS: dict[GroupWay, str] = {
    "column": "A column",
    "quantiles": "A number, cut into equal parts",
    "crossing": "Several columns, crossed",
    "each_item": "None: each item on its own",
}
MISSING = {
    "keep": "Keep their places, group unknown",
    "exclude": "Keep their places, no group",
    "own_group": "Make them a group of their own",
    "drop": "Drop their rows: those below move up",
    "error": "Refuse the file and say where",
}
NEGATIVE_LABELS: dict[NegativeLabels, str] = {
    "shift": "Shift: the lowest counts as 0",
    "clip": "Clip: they all count as 0",
}
NONE = "(none)"
ENCODINGS = {"": "Automatic", "latin-1": "Latin-1", "cp1252": "Windows-1252", "utf-16": "UTF-16"}


def column_box(
    label: str,
    names: list[str],
    value: str,
    shown: dict[str, str],
    *,
    required: bool = False,
    known: bool = False,
    change: Callable[[], None] | None = None,
) -> str:
    """The column that is chosen; empty for none, and for one that the format knows by itself and only shows."""
    options = names if required and value in names else [NONE, *names]
    seed(f"map-{label}", value if value in names else NONE, options)
    chosen = st.selectbox(
        f"{label} (required)" if required else label,
        options,
        format_func=lambda name: shown.get(name, name),
        disabled=known,
        key=f"map-{label}",
        filter_mode="contains",
        on_change=change,
    )
    return "" if known or chosen == NONE else chosen


def group_boxes(
    names: list[str], numbers: list[str], draft: Mapping, shown: dict[str, str], *, each_item: bool = True
) -> tuple[GroupWay, tuple[str, ...], int]:
    """Where the groups come from; a log of impressions has to have some, and takes no `each_item`."""
    left, right = st.columns([1, 2])
    with left:
        offered = [way for way in WAYS if each_item or way != "each_item"]
        seed("map-way", draft.way if draft.way in offered else offered[0], [*offered])
        way: GroupWay = st.radio("Groups come from", offered, format_func=WAYS.__getitem__, key="map-way")
    quantiles = draft.quantiles
    first = draft.group[0] if draft.group else ""
    with right:
        if way == "each_item":
            st.caption(
                "No groups: in each list, every single item is compared with the list's mean exposure. No group column "
                "is needed."
            )
            return way, (), quantiles
        if way == "crossing":
            seed("map-crossed", [name for name in draft.group if name in names])
            crossed = st.multiselect(
                "Columns to cross (required)",
                names,
                format_func=lambda name: shown.get(name, name),
                key="map-crossed",
                wrap=True,
            )
            return way, tuple(crossed), quantiles
        if way == "quantiles":
            column = column_box("Number to cut", numbers, first if draft.way == way else "", shown, required=True)
            seed("map-quantiles", quantiles)
            quantiles = st.slider("How many groups", 2, 10, key="map-quantiles")
        else:
            column = column_box("Group", names, first, shown, required=True)
    return way, (column,) if column else (), quantiles


def missing_box(draft: Mapping, *, drop: bool = True) -> Any:
    """What becomes of items without a group; positions of a log are as they were shown, so nothing moves up there."""
    offered = [way for way in MISSING if drop or way != "drop"]
    seed("map-missing", draft.missing if draft.missing in offered else "error", offered)
    return st.selectbox(
        "Items without a group",
        offered,
        format_func=MISSING.__getitem__,
        key="map-missing",
        help="An item that keeps its place counts in the list's exposure and has no bound. Where its group is unknown, "
        "an audit also says which verdicts hang on it.",
    )


def negative_labels_box(draft: Mapping) -> Any:
    """What becomes of relevance below 0."""
    seed("map-negative-labels", draft.negative_labels)
    return st.selectbox(
        "Relevance below 0",
        list(NEGATIVE_LABELS),
        format_func=NEGATIVE_LABELS.__getitem__,
        key="map-negative-labels",
        help="DCG takes any number. nDCG, merits and training need labels of 0 or more: shifted, the lowest label of "
        "the file counts as 0 there, and it is said beside the numbers that hang on it. Clipped, labels below 0 count "
        "as 0 everywhere.",
    )


def encoding_box(key: str, value: str, change: Callable[[str], None] | None = None) -> None:
    """Which encoding the text has; `change` is called with another one."""
    seed(key, value if value in ENCODINGS else "")
    st.selectbox(
        "Encoding of the text",
        list(ENCODINGS),
        format_func=ENCODINGS.__getitem__,
        key=key,
        on_change=None if change is None else lambda: change(st.session_state[key]),
    )


def column_texts(preview: TablePreview) -> dict[str, str]:
    """What the options say: columns without a name are told apart by their first values."""
    if preview.header and not preview.header_doubt:
        return {}
    return {
        str(name): f"{name}: {', '.join(str(value) for value in preview.head[name].drop_duplicates().head(3))}"
        for name in preview.head.columns
    }


def seed(key: str, value: Any, options: list[str] | None = None) -> None:
    """Give a widget its first value; from then on it has its own, unless that is none of its options."""
    if key not in st.session_state or (options is not None and st.session_state[key] not in options):
        st.session_state[key] = value
