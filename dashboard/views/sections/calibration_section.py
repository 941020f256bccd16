"""What the scores are worth: whether a repair may take them at face value, and what it would gain if it did not."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dashboard.charts.calibration_chart import price_chart, reliability_chart
from dashboard.escaping import markdown
from dashboard.session.remembered import calibrated_gain, face_value_prices
from dashboard.session.sources import Loaded
from dashboard.widgets.elements import chart
from spofr_core.errors import SpofrError
from spofr_core.evaluation import AuditResult, reliability
from spofr_core.reporting import percent

FACE_VALUE = (
    "The repair takes the scores at face value: the same difference of scores counts as the same difference of "
    "relevance, wherever it lies. Without a column of relevance nobody can say whether that is so."
)
RANKS_AT_FACE_VALUE = (
    "The file has ranks and no scores. The repair counts places from the end of the list: every step from one place to "
    "the next counts the same. Without a column of relevance nobody can say whether that is so."
)


def calibration_section(source: Loaded, result: AuditResult) -> None:
    """Closed until somebody asks: it repairs every list once more, or five times."""
    if source.data.score is None or source.model is not None:
        return
    section = st.expander(f"What the {source.ranked_by}s are worth", key="calibration-open", on_change="rerun")
    if not section.open:
        return
    with section:
        try:
            _face_value(source, result) if source.data.relevance is None else _reliable(source, result)
        except SpofrError as error:
            st.info(markdown(error.plain, 1000), icon=":material/info:")


def _reliable(source: Loaded, result: AuditResult) -> None:
    by = source.ranked_by
    found = calibrated_gain(source.data, result.fairness)
    st.markdown(markdown(found.sentence, 500))
    st.caption(
        markdown(
            f"Calibrated: {found.scores.sentence}. In a shell: “spofr repair --calibrate”; in Python: "
            "“repair(data, fairness, calibrate=True)”.",
            500,
        )
    )
    table = reliability(source.data, found.scores)
    chart(
        reliability_chart(table, by=by),
        f"Reliability of the {by}",
        f"Mean relevance of items with about the same {by}, with 95 % intervals, and the calibrated one.",
        table=lambda: table.rename(columns=lambda name: name.replace("_", " ")),
        note=f"Marks: tenths of all items by {by}, with 95 % intervals. A repair at face value supposes a "
        "straight line through them.",
    )


def _face_value(source: Loaded, result: AuditResult) -> None:
    by = source.ranked_by
    prices = face_value_prices(source.data, result.fairness)
    low, high = prices["price"].min(), prices["price"].max()
    st.markdown(
        markdown(
            f"{RANKS_AT_FACE_VALUE if source.data.ranks else FACE_VALUE} If the same order meant other differences, "
            f"the repair would give up {percent(low)} to {percent(high)} of what sorting by {by} is worth, "
            f"instead of {percent(prices['price'].iloc[0])}.",
            500,
        )
    )
    chart(
        price_chart(prices),
        f"The price, if the {by}s meant something else",
        f"Share of the worth of sorting by {by} that the repair gives up, for five transformations of the {by}s.",
        table=lambda: _shown(prices),
        note=f"Each transformation keeps the order of all {by}s and changes their differences.",
    )


def _shown(prices: pd.DataFrame) -> pd.DataFrame:
    return prices.assign(price=[percent(price) for price in prices["price"]])
