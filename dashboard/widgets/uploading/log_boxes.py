"""The boxes for a log of impressions: which column is the impression, which the position."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard.session.mapping import Mapping
from dashboard.widgets.uploading.column_boxes import NONE, column_box, column_texts, group_boxes, missing_box, seed
from spofr_core.data import TablePreview
from spofr_core.serving import guess_log_columns, looks_like_a_log

KINDS = {False: "An item of a ranked list", True: "An item that was shown: a log of impressions"}


def is_log_box(preview: TablePreview, draft: Mapping) -> Mapping:
    """Whether a row is an item of a list or of an impression; a log is proposed where the columns look like one."""
    if preview.known:  # a format of its own is no log
        return draft
    names = [str(name) for name in preview.head.columns]
    seed("map-is-log", draft.is_log or (not draft.impression and draft.chosen and looks_like_a_log(names)))
    is_log = bool(
        st.segmented_control(
            "What a row is",
            list(KINDS),
            format_func=KINDS.__getitem__,
            key="map-is-log",
            help="A log has a row for every item that a reader was shown: the query, the impression or session, the "
            "position, the item and its group. It says what readers really saw over time.",
        )
    )
    return draft.model_copy(update={"is_log": is_log})


def log_mapping(preview: TablePreview, draft: Mapping) -> Mapping:
    """The columns of a log; those that nobody has chosen yet go by their usual names."""
    names = [str(name) for name in preview.head.columns]
    numbers = [name for name in names if preview.kinds.get(name) in ("number", "flag")]
    shown = column_texts(preview)
    guess = guess_log_columns(names)
    if not draft.impression:
        draft = draft.model_copy(
            update={
                "query": guess.get("query", draft.query),
                "impression": guess.get("impression", ""),
                "ranked_by": guess.get("position", draft.ranked_by),
                "item": guess.get("item", draft.item),
                "group": draft.group or ((guess["group"],) if "group" in guess else ()),
                "time": draft.time or next(iter(preview.time_like), ""),
            }
        )
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    with first:
        query = column_box("Query", names, draft.query, shown, required=True)
    with second:
        impression = column_box("Impression or session", names, draft.impression, shown, required=True)
    with third:
        position = column_box("Position", numbers, draft.ranked_by, shown, required=True)
    with fourth:
        item = column_box("Item", names, draft.item, shown)
    way, group, quantiles = group_boxes(names, numbers, draft, shown, each_item=False)
    left, right = st.columns(2)
    with left:
        missing = missing_box(draft, drop=False)
    with right:
        time = column_box("Time of the impression", names, draft.time or NONE, shown)
    st.caption("A query and an impression together name one list. Positions may count from 1 or from 0.")
    chosen: dict[str, Any] = {
        "query": query,
        "impression": impression,
        "ranked_by": position,
        "item": item,
        "time": time,
    }
    chosen |= {"way": way, "group": group, "quantiles": quantiles, "missing": missing}
    if (query, way, group) != (draft.query, draft.way, draft.group):
        chosen |= {"join_alike": None}
    if (way, group, quantiles) != (draft.way, draft.group, draft.quantiles):
        chosen |= {"group_names": {}, "leave_out": ()}
    return draft.model_copy(update={**chosen, "is_rank": True, "relevance": "", "slices": ()})
