"""Guarantees: which model to take when so many of the queries must hold delta."""

from __future__ import annotations

from typing import Literal

import pandas as pd
import streamlit as st

from dashboard.charts import run_charts as charts
from dashboard.escaping import markdown
from dashboard.session.visible_runs import Sweep, queries_of
from dashboard.widgets.elements import chart, explain_errors, show_table
from dashboard.widgets.run_picker import delta_in, picked
from spofr_core.errors import ConfigError
from spofr_core.evaluation import GUARANTEE_DELTAS, LEVELS, guarantees
from spofr_core.fairness import Unit, format_delta
from spofr_core.reporting import (
    empty_slots,
    in_order,
    is_baseline,
    is_guaranteed,
    listed,
    method_title,
    names_of_methods,
    percent,
    promised,
    run_table,
    unbroken,
)

TITLE = "How many queries hold delta"
"""Where there are no numbers to say it with."""
Chosen = Literal["validation", "test"]
CHOSEN_ON: tuple[Chosen, ...] = ("validation", "test")
SHOWN_LEVELS = (0.5, 0.9, 1.0)
OFFERED_DELTAS: dict[Unit, tuple[float, ...]] = {
    "absolute": (*GUARANTEE_DELTAS, 0.15, 0.4),
    "share": (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0),
}
SHOWN_DELTAS: dict[Unit, tuple[float, ...]] = {"absolute": (0.01, 0.03, 0.05, 0.1), "share": (0.05, 0.1, 0.2, 0.5)}
MOST_DELTAS = 8


@explain_errors
def page() -> None:
    """The page."""
    found = picked("guarantees", TITLE)
    if found is None:
        return
    rivals = found.setting[~found.setting["method"].map(is_baseline)]
    if rivals.empty:
        with found.top:
            st.title(TITLE, anchor=False)
            st.info("These runs are the two ends of a chart only; train a method to compare.", icon=":material/info:")
        return
    levels, deltas, select = _asked(found.unit, rivals)
    mine = delta_in(found.unit)
    frame = _taken(found.sweeps, rivals, found.key, tuple(sorted({*deltas, mine})), tuple(levels), select)
    with found.top:
        st.title(markdown(promised(frame, mine, max(levels))) + r"\.", anchor=False)
        st.markdown(_what(select))
    _bars(frame[frame["delta"].isin(deltas)])
    _table(frame)


@st.cache_resource(max_entries=32, show_spinner=False)
def _taken(
    _sweeps: list[Sweep],
    _rivals: pd.DataFrame,
    key: str,
    deltas: tuple[float, ...],
    levels: tuple[float, ...],
    select: Chosen,
) -> pd.DataFrame:
    """The model that each method, delta and share gets."""
    return guarantees(
        _rivals,
        queries_of(_sweeps, _rivals, "test"),
        queries_of(_sweeps, _rivals, "validation"),
        deltas=deltas,
        levels=levels,
        select=select,
    )


def _asked(unit: Unit, rivals: pd.DataFrame) -> tuple[list[float], list[float], Chosen]:
    levels = st.pills(
        "Share of the queries that must hold delta",
        LEVELS,
        format_func=lambda level: percent(level, 0),
        selection_mode="multi",
        default=SHOWN_LEVELS,
        key="guarantees-levels",
        wrap=True,
    )
    left, right = st.columns([2, 1], gap="large")
    with left:
        deltas = st.multiselect(
            "deltas",
            sorted({*OFFERED_DELTAS[unit], *rivals["delta"].dropna()}),
            default=SHOWN_DELTAS[unit],
            format_func=lambda delta: format_delta(delta, unit),
            max_selections=MOST_DELTAS,
            key=f"guarantees-deltas-{unit}",
            wrap=True,
        )
    with right:
        select = st.segmented_control(
            "Models are chosen on",
            CHOSEN_ON,
            default="validation",
            required=True,
            key="guarantees-select",
            help="Validation is honest: what is reported was not used to choose. The SPOFR paper chose on test.",
        )
    if not levels:
        raise ConfigError("Choose at least one share of the queries.")
    if not deltas:
        raise ConfigError("Choose at least one delta.")
    return sorted(levels), sorted(deltas), select


def _what(select: str) -> str:
    chosen = "validation queries" if select == "validation" else "same test queries"
    return unbroken(
        "For each method, delta and share: the model with the highest DCG among those that hold delta on at least that "
        f"share of the {chosen}. Bars show its mean DCG on test with the 95 % interval of that mean over the test "
        "queries, taken as independent though lists may share people. Bars whose intervals overlap may differ "
        "all the same: Tradeoffs compares methods seed by seed."
    )


def _bars(frame: pd.DataFrame) -> None:
    chart(
        charts.guarantee(frame),
        "DCG with a guarantee for each query",
        "Bars of mean test DCG by delta, share of queries that hold it, and method; a cross where there is no model.",
        table=lambda: run_table(frame),
        note="A cross: no model qualifies. Hatched: chosen on validation, missed on test. "
        f"{listed(names_of_methods(lambda method: method.guaranteed), start=True)} hold delta by construction; "
        "a penalty can only be tried out.",
    )
    missing = empty_slots(frame)
    if missing:
        st.markdown("**Empty slots**\n\n" + "\n".join(f"- {markdown(sentence)}" for sentence in missing))


def _table(frame: pd.DataFrame) -> None:
    st.header("Which model", anchor=False)
    order = {method: place for place, method in enumerate(in_order(frame["method"]))}
    frame = frame.sort_values(["delta", "level", "method"], key=lambda c: c.map(order) if c.name == "method" else c)
    shown = pd.DataFrame(
        {
            # What is read first stands first: a telephone shows no more than four columns.
            "method": [method_title(method) for method in frame["method"]],
            "delta": [format_delta(delta, unit) for delta, unit in zip(frame["delta"], frame["unit"], strict=True)],
            "asked": 100 * frame["level"],
            "DCG": frame["dcg"],
            "±": frame["dcg_upper"] - frame["dcg"],
            "held, %": 100 * frame["share"].astype("float64"),
            "qualify": [f"{some} of {all_}" for some, all_ in zip(frame["qualified"], frame["models"], strict=True)],
            "guarantee": ["by construction" if is_guaranteed(method) else "no guarantee" for method in frame["method"]],
            "run": frame["run"].fillna(""),
        }
    )
    looks = {
        "method": st.column_config.TextColumn(width=212),
        "delta": st.column_config.TextColumn(width=54),
        "asked": st.column_config.NumberColumn(
            width=60, format="%d %%", help="The share of the queries that must hold delta."
        ),
        "qualify": st.column_config.TextColumn(help="Models of the method that hold delta in that share, of all."),
        "DCG": st.column_config.NumberColumn(format="%.3f", width=60, help="Mean over the test queries."),
        "±": st.column_config.NumberColumn(
            format="%.3f", help="Half of the 95 % interval over the test queries, taken as independent."
        ),
        "run": st.column_config.TextColumn(width="medium"),
        "held, %": st.column_config.NumberColumn(format="%.1f", help="The share of the test queries that hold delta."),
    }
    show_table(shown, "For each delta, share and method: the model taken", columns=looks)
