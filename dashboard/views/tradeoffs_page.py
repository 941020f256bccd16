"""Tradeoffs: what delta costs, model by model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dashboard.charts import run_charts as charts
from dashboard.charts.drawing import Drawing
from dashboard.escaping import bold, markdown
from dashboard.navigation import page_named
from dashboard.session.choices import choices, follow
from dashboard.session.chosen_model import Model, exact_curve, model_named, run_title
from dashboard.session.solver_warmup import solver_ready
from dashboard.widgets.elements import chart, explain_errors, tabs
from dashboard.widgets.run_picker import Picked, delta_in, look_at, part_of, picked, said, values_of
from spofr_core.evaluation import (
    achieved_tradeoff,
    asked_and_achieved,
    best_at_violation,
    grid_search,
    lead_at_violation,
    price_of_fairness,
    tradeoff,
)
from spofr_core.fairness import format_delta
from spofr_core.learning import departures
from spofr_core.reporting import (
    counted,
    in_order,
    is_baseline,
    listed,
    matched,
    method_title,
    names_of_methods,
    number,
    run_table,
)

BAND = "Band: 95 % interval of the mean over seeds; a single seed has none."
BY = {
    "notion": ("By notion", "several notions"),
    "groups": ("By groups", "several numbers of groups made of one column"),
    "clicks": ("By training size", "several training sizes"),
}
"""What runs may differ in besides the method: the tab, and what a sweep needs to have one."""


@explain_errors
def page() -> None:
    """The page."""
    found = picked("tradeoffs", "What fairness costs")
    if found is None:
        return
    head, rest = _headline(found.setting, found.key, delta_in(found.unit))
    with found.top:
        st.title(markdown(head) + r"\.", anchor=False)
        st.markdown(markdown(rest, 1000))
    _models(found)
    _chosen_model(found)
    _curves(found)


@dataclass(frozen=True)
class Analyses:
    """What the charts of a setting show; none of it depends on the delta on the screen."""

    points: pd.DataFrame
    means: pd.DataFrame
    curve: pd.DataFrame
    asked: pd.DataFrame
    cost: pd.DataFrame


@st.cache_resource(max_entries=16, show_spinner=False)
def _analyses(_setting: pd.DataFrame, key: str) -> Analyses:
    points, means, curve = grid_search(_setting), achieved_tradeoff(_setting), tradeoff(_setting)
    if curve.empty:
        return Analyses(points, means, curve, curve, curve)
    return Analyses(points, means, curve, asked_and_achieved(_setting), price_of_fairness(_setting))


@st.cache_resource(max_entries=64, show_spinner=False)
def _headline(_setting: pd.DataFrame, key: str, delta: float) -> tuple[str, str]:
    rivals = _setting[~_setting["method"].map(is_baseline)]
    return matched(best_at_violation(rivals, (delta,)), lead_at_violation(rivals, delta), delta)


@st.cache_resource(max_entries=32, show_spinner=False)
def _grid(_analyses: Analyses, key: str, model: str) -> Drawing:
    return charts.grid(_analyses.points, _analyses.means, model)


@st.cache_resource(max_entries=16, show_spinner=False)
def _delta_figure(_curve: pd.DataFrame, key: str) -> Drawing:
    return charts.tradeoff(_curve)


def _models(found: Picked) -> None:
    analyses = _analyses(found.setting, found.key)
    points = analyses.points
    cut = f" Drawn with {charts.MOST_MARKS:,} of {len(points):,} models." if len(points) > charts.MOST_MARKS else ""
    front = int((~points["dominated"]).sum())
    chart(
        _grid(analyses, found.key, choices().model),
        "DCG against violation",
        "Mean DCG against mean violation on test: a line per method with its band over seeds, a mark per model.",
        table=lambda: run_table(points),
        note=f"Lines: means over seeds of each delta or penalty of a method. {BAND} Marks: "
        f"{counted(len(points), 'model', 'models')}, of which {front} are not dominated; muted: another model has no "
        f"more violation and no less DCG. Click a mark to look at that model on every page.{cut}",
        on_mark=lambda run: look_at(run, found),
    )


def _chosen_model(found: Picked) -> None:
    """The same choice for those who do not click, and what the chosen model can do."""
    points = _analyses(found.setting, found.key).points
    ordered = points.sort_values(["dominated", "violation_mean"], kind="stable")
    records: list[dict[str, Any]] = ordered.to_dict("records")  # type: ignore[assignment]  # columns are text
    titles = {row["run"]: run_title(row) for row in records}
    offered = ["", *titles]
    follow("tradeoffs-model", choices().model if choices().model in titles else "", of=tuple(titles))
    st.selectbox(
        "Look at one model",
        offered,
        format_func=lambda run: titles.get(run, "(none: the scores of the data)"),
        key="tradeoffs-model",
        on_change=lambda: look_at(st.session_state["tradeoffs-model"], found),
        filter_mode="contains",
    )
    if choices().model not in titles:
        return
    model = model_named(choices().model)
    if model is None:
        return
    row = points[points["run"] == model.run].iloc[0]
    with st.container(border=True):
        st.markdown(f"{bold(model.title)}")
        st.markdown(markdown(_measured(model, row), 1000))
        with st.container(horizontal=True):
            st.page_link(page_named("audit"), label="Audit its scores", icon=":material/balance:")
            st.page_link(page_named("policy"), label="See its policies", icon=":material/casino:")
        _without_training(model)


def _measured(model: Model, row: pd.Series) -> str:
    penalised = "is trained with a penalty and " if pd.notna(row["penalty"]) else ""
    promise = (
        "Its policies are solved for, so that every query holds the delta asked for."
        if model.guaranteed
        else f"It {penalised}promises nothing about a single query."
    )
    settings = departures(model.record.config.method, model.record.config.settings)
    unusual = [f"{name} {value} (by default {usual})" for name, (value, usual) in settings.items()]
    said = [f"Settings: {listed(unusual)}."] if unusual else []
    notes = "".join(f" {note}" for note in (*said, *model.record.notes))
    return (
        f"On test: DCG {number(row['dcg'], 4)} of at most {number(row['ideal_dcg'], 4)}, mean violation "
        f"{format_delta(row['violation_mean'], row['unit'], 3)}, largest "
        f"{format_delta(row['violation_max'], row['unit'], 3)}. {promise}{notes} Run {row['run']}."
    )


def _without_training(model: Model) -> None:
    if not solver_ready():
        return
    frame = exact_curve(model, model.run)
    chart(
        charts.exact(frame, delta_in(model.fairness.unit), model.title, model.fairness.unit),
        "The same scores at every delta, without training again",
        "DCG on test of the exact fair policies of this model's scores, for 41 values of delta.",
        table=lambda: frame,
        note="The solver alone, for 41 deltas. Band: 95 % bootstrap interval over queries, taken as independent. "
        "Every list holds every delta"
        + ("." if not frame["relaxed"].any() else ", except those that cannot: they hold the smallest that they can."),
    )


def _curves(found: Picked) -> None:
    """Curves over delta, one kind at a time."""
    analyses = _analyses(found.setting, found.key)
    by = _comparable(found, found.key)
    views: dict[str, Callable[[], None]] = {}
    if not analyses.curve.empty:
        views["DCG by delta"] = lambda: _by_delta(analyses, found.key)
        views["Achieved"] = lambda: _achieved(analyses)
        views["Price"] = lambda: _price(analyses)
    views |= {BY[name][0]: partial(_by_setting, name, runs) for name, runs in by.items()}
    if views:
        tabs("tradeoffs-curves", views)
    else:
        st.info(
            "None of these methods can be asked for a delta: there is no curve over delta to draw. "
            f"{listed(names_of_methods(lambda method: method.steered_by == 'delta'), start=True)} have one.",
            icon=":material/info:",
        )
    missing = [needed for name, (_, needed) in BY.items() if name not in by]
    if missing:
        st.caption(f"A sweep with {listed(missing, word='or')} shows a curve for each of them.")


def _by_delta(analyses: Analyses, key: str) -> None:
    frame = analyses.curve
    chart(
        _delta_figure(frame, key),
        "DCG against the delta asked for",
        "Mean test DCG against delta, a curve per method with its band over seeds.",
        table=lambda: run_table(frame),
        headed=False,
        note=f"{BAND} The ideal DCG of these lists, without any condition, is {number(frame['ideal_dcg'].mean())}.",
    )


def _achieved(analyses: Analyses) -> None:
    chart(
        charts.achieved(analyses.asked),
        "Asked for against achieved",
        "Largest and mean violation over the test queries against the delta asked for; the diagonal is delta.",
        table=lambda: run_table(analyses.asked),
        headed=False,
        note=_held(analyses.asked),
    )


def _price(analyses: Analyses) -> None:
    chart(
        charts.price(analyses.cost),
        "The price of a delta",
        "Share of DCG lost against the largest delta of the grid.",
        table=lambda: run_table(analyses.cost),
        headed=False,
        note="Against the same method and seed at delta = "
        f"{format_delta(analyses.curve['delta'].max(), analyses.curve['unit'].iloc[0])}. {BAND}",
    )


def _held(asked: pd.DataFrame) -> str:
    mine = asked[asked["asked"] == "delta"]
    held = int(mine["holds"].fillna(value=False).sum())
    return f"{held} of {len(mine)} settings hold delta on every test query of every seed."


@st.cache_resource(max_entries=16, show_spinner=False)
def _comparable(_found: Picked, key: str) -> dict[str, pd.DataFrame]:
    """For each thing that the runs differ in besides the method: the runs that are otherwise of one setting."""
    comparable = {}
    for by in BY:
        runs = part_of(_found.runs, {name: value for name, value in _found.where.items() if name != by})
        runs = runs[runs["delta"].notna()]
        if len(values_of(runs, by)) > 1:
            comparable[by] = runs
    return comparable


def _by_setting(by: str, runs: pd.DataFrame) -> None:
    """Curves of one method at a time."""
    methods = in_order(runs["method"])
    method = st.segmented_control(
        "Method",
        methods,
        default=methods[0],
        format_func=method_title,
        required=True,
        key=f"tradeoffs-by-{by}",
    )
    frame = tradeoff(runs[runs["method"] == method])
    spoken = ", ".join(said(by, value) for value in values_of(frame, by))
    chart(
        charts.tradeoff(frame, by),
        f"DCG against delta, {BY[by][0].lower()}",
        f"Mean test DCG against delta: {spoken}.",
        table=lambda: run_table(frame),
        note=BAND,
        headed=False,
    )
