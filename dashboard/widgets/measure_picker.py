"""Measures by their names, to be chosen or typed."""

from __future__ import annotations

import streamlit as st

from dashboard.escaping import markdown
from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError
from spofr_core.measures import MEASURES, parse_measure


def measure_picker(key: str, data: RankingDataset, *, usual: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The measures that the reader has chosen, by their texts; a name with settings may be typed, as Skew@5.

    Those that are `usual` are chosen at first, as far as the data has what they need.
    """
    offered = [str(m) for m in MEASURES.values() if m.applies(data) and not m.in_audit]
    first = [name for name in usual if parse_measure(name).applies(data)]
    chosen = st.multiselect(
        "Measures by name",
        list(dict.fromkeys([*offered, *first])),
        default=first,
        format_func=_titled,
        accept_new_options=True,
        key=key,
        placeholder="NDKL, AWRF, impact ratio ... or type Skew@5",
        help="Those of the literature, by their names. Type one to set its depth or its target: NDKL@5, "
        "AWRF(target=uniform), Skew@10(group=...).",
    )
    found = []
    for text in chosen:
        try:
            found.append(str(parse_measure(text)))
        except ConfigError as error:
            st.caption(markdown(error.plain, 600))
    return tuple(dict.fromkeys(found))


def _titled(text: str) -> str:
    try:
        return parse_measure(text).title()
    except ConfigError:
        return text
