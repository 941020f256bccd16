"""Which runs a page of many models looks at: those on the data of the session, unless the reader asks for others.

A bundled sample without runs comes with an example, which says that it is one; the data of a visitor does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard.escaping import markdown
from dashboard.jobs.job_board import JobBoard
from dashboard.navigation import page_named
from dashboard.session.choices import choices, choose, follow
from dashboard.session.remembered import fairness_of, measured
from dashboard.session.sources import loaded_data
from dashboard.session.visible_runs import (
    Sweep,
    about_runs,
    chosen_about,
    chosen_label,
    results_of,
    state_of,
    sweep_of,
    sweep_title,
    sweeps,
)
from dashboard.session.visitor import visitor
from dashboard.widgets.sidebar import UNITS
from spofr_core.data import SAMPLES
from spofr_core.evaluation import carried_delta
from spofr_core.experiments import home
from spofr_core.fairness import NOTIONS, Unit
from spofr_core.reporting import counted

_NAMES = {
    "dataset": "Data", "notion": "Notion", "unit": "delta is", "groups": "Groups", "clicks": "Learned from",
    "terms": "Exposure, and what else was asked for",
}  # fmt: skip
"""Columns by which runs cannot be compared, and how they are asked for."""


@dataclass(frozen=True)
class Picked:
    """The chosen sweeps, all their runs that are done, and the runs of one setting.

    `key` is the same as long as `setting` is: what is computed from it can be remembered by it.
    """

    sweeps: list[Sweep]
    runs: pd.DataFrame
    setting: pd.DataFrame
    where: dict[str, Any]
    key: str
    top: DeltaGenerator
    """Above the controls: what the page has to say first."""
    is_example: bool = False
    """Whether nobody asked for these runs: there are none on the data of the session."""

    @property
    def unit(self) -> Unit:
        """That of the deltas and violations of the setting."""
        unit: Unit = self.where["unit"]
        return unit

    @property
    def about(self) -> tuple[str, str]:
        """What the runs of the setting are about: data and grouping, as `chosen_about` says it."""
        return self.setting["data"].iloc[0], self.setting["grouping"].iloc[0]


def picked(page: str, title: str) -> Picked | None:
    """Say whose runs these are, and let the reader choose others; None, and a way on, where there is none to show.

    `title` is that of the page where it has no runs to speak of.
    """
    top = st.container()
    offered = {sweep.key: sweep for sweep in _this_data_first(sweeps())}
    current = _current(list(offered.values()))
    example = None if current else _shown_unasked(list(offered.values()))
    current = current or ([example.key] if example is not None else [])
    chosen = [offered[key] for key in current]
    runs = results_of(chosen)
    if runs.empty:
        with top:
            st.title(title, anchor=False)
            _nothing_yet(list(offered.values()), named=bool(current))
    follow(f"{page}-sweeps", current, of=tuple(offered))
    st.multiselect(
        "Sweeps" if current and example is None else "Or look at runs on other data",
        list(offered),
        format_func=lambda key: sweep_title(offered[key]),
        key=f"{page}-sweeps",
        on_change=lambda: choose(sweep=".".join(st.session_state[f"{page}-sweeps"])),
        help="Sets of trained models. Bundled ones come with the project; yours are added by the Train page.",
    )
    if runs.empty:
        return None
    where = _setting(page, runs)
    found = Picked(chosen, runs, part_of(runs, where), where, f"{state_of(chosen)};{where}", top, example is not None)
    with top:
        _whose(found)
    return found


def delta_in(unit: Unit) -> float:
    """The delta of the session; in another unit, the one that as many lists of the data hold."""
    current = choices()
    if current.unit == unit:
        return current.delta
    data = loaded_data().data
    before, after = (measured(data, fairness_of(each, data)) for each in (current, replace(current, unit=unit)))
    return carried_delta(before, current.delta, after)


def _this_data_first(offered: list[Sweep]) -> list[Sweep]:
    """The sweeps with runs on the data of the session, then the others; both in their own order."""
    return sorted(offered, key=lambda sweep: not _is_about(sweep, chosen_about()))


def _is_about(sweep: Sweep, about: tuple[str, str]) -> bool:
    """Whether a run of this sweep is done that is about this data, grouped this way."""
    runs = results_of([sweep])
    return bool(((runs["data"] == about[0]) & (runs["grouping"] == about[1])).any())


def _current(offered: list[Sweep]) -> list[str]:
    """The sweeps of the address; else that of the chosen model; else the latest on the data of the session, bundled
    ones last; else none."""
    known = {sweep.key for sweep in offered}
    named = [key for key in choices().sweep.split(".") if key in known]
    if named:
        return named
    of_model = sweep_of(choices().model, offered) if choices().model else None
    if of_model is not None:
        return [of_model.key]
    return [sweep.key for sweep in offered if _is_about(sweep, chosen_about())][:1]


def look_at(run: str, found: Picked) -> None:
    """Make a model of these runs the one that every page is about, with its data and its own notion, exposure model and
    delta."""
    row = found.runs[found.runs["run"] == run]
    data, grouping = (str(row[name].iloc[0]) for name in ("data", "grouping")) if len(row) else ("", "")
    elsewhere = data in SAMPLES and grouping in SAMPLES[data].groupings and (data, grouping) != chosen_about()
    asked = row[row["delta"].notna()]
    own: dict[str, Any] = {"data": data, "groups": grouping} if elsewhere else {}
    own |= {"delta": float(asked["delta"].iloc[0]), "unit": asked["unit"].iloc[0]} if len(asked) else {}
    sweep = sweep_of(run, found.sweeps)
    if sweep is not None:
        config = sweep.store.find(run).config
        bias = config.position_bias
        own |= {"notion": config.notion, "power": bias.power, "shift": bias.shift, "top": bias.cutoff or 0}
    choose(**own, model=run)


def _whose(found: Picked) -> None:
    """Whose runs the page shows: a line above everything, and a way back where it is not the data of the session."""
    label = markdown(found.where["dataset"], 120)
    seeds = counted(found.setting["seed"].nunique(), "seed", "seeds")
    models = counted(len(found.setting), "trained model", "trained models")
    groups = said("groups", found.where["groups"])
    left_out = found.runs.attrs.get("left_out", 0)
    st.caption(f"Runs on {label} · {groups} · {models} · {seeds}")
    if left_out:
        same = counted(left_out, "model is", "models are")
        st.caption(f"{same} left out: another one has the same data, method, settings, delta and seed.")
    if found.about == chosen_about():
        return
    mine = markdown(chosen_label(), 160)
    if found.is_example:
        st.info(f"No runs on this data yet: {mine}. As an example: runs on {label}.", icon=":material/info:")
    else:
        st.warning(
            f"These runs are on {label} ({groups}). The other pages look at {mine}.", icon=":material/swap_horiz:"
        )
    data, grouping = found.about
    with st.container(horizontal=True):
        if found.is_example:
            _train_button()
        if choices().sweep:
            st.button(
                "Runs on the data of the other pages",
                icon=":material/undo:",
                key="runs-back",
                on_click=lambda: choose(sweep="", model=""),
            )
        if data in SAMPLES and grouping in SAMPLES[data].groupings:
            st.button(
                "Use this data on every page",
                icon=":material/done_all:",
                key="runs-use",
                on_click=lambda: choose(data=data, groups=grouping),
            )


def _nothing_yet(offered: list[Sweep], *, named: bool) -> None:
    """Nothing to show: because nothing is done yet, or because nobody has trained on this data."""
    if named or _at_work():
        st.info("None of these runs is done yet. They appear here one by one.", icon=":material/hourglass_empty:")
        st.page_link(page_named("train"), label="See how far they are", icon=":material/model_training:")
        return
    st.info(f"No runs on this data yet: {markdown(chosen_label(), 160)}.", icon=":material/info:")
    with st.container(horizontal=True):
        _train_button()
        example = _example(offered)
        if example is not None:
            data = str(results_of([example])["data"].iloc[0])
            title = markdown(SAMPLES[data].title if data in SAMPLES else data, 60)
            show = partial(choose, sweep=example.key)
            st.button(f"See an example: {title}", icon=":material/visibility:", key="runs-example", on_click=show)


def _train_button() -> None:
    if st.button("Train on this data", type="primary", icon=":material/model_training:", key="train-on-this"):
        st.switch_page(page_named("train"))


def _shown_unasked(offered: list[Sweep]) -> Sweep | None:
    """What a bundled sample without runs shows; None for the data of a visitor, and while a job trains on this."""
    return _example(offered) if chosen_about()[0] in SAMPLES and not _at_work() else None


def _example(offered: list[Sweep]) -> Sweep | None:
    """The bundled runs that say most: those with the most seeds."""
    bundled = [sweep for sweep in offered if sweep.origin == "bundled"]
    return max(bundled, key=lambda sweep: results_of([sweep])["seed"].nunique(), default=None)


def _at_work() -> bool:
    """Whether a job of this visitor is training on the data of the session."""
    data, grouping = chosen_about()
    active = [job.spec for job in JobBoard(home()).jobs(visitor()) if job.active]
    return any(
        about_runs(spec["dataset"], groups) == (data, grouping)
        for spec in active
        for groups in spec.get("groups") or [None]
    )


def _setting(page: str, runs: pd.DataFrame) -> dict[str, Any]:
    """One value of each column by which runs cannot be compared; asked for only where there is a choice.

    The choices of the session come first: its data, grouping, notion and unit.
    """
    data, grouping = chosen_about()
    open_questions: dict[str, Any] = {}
    left = runs
    several = [name for name in _NAMES if len(values_of(runs, name)) > 1]
    columns = st.columns(len(several)) if several else []
    for name, column in zip(several, columns, strict=True):
        values = values_of(left, name)
        mine = part_of(left, {"data": data, "grouping": grouping})
        first = {"notion": choices().notion, "unit": choices().unit}.get(name)
        usual = first if first in values else (values_of(mine, name) or values)[0]
        key, of = f"{page}-{name}", (data, grouping, tuple(values))
        if st.session_state.get(key) not in values or st.session_state.get(f"{key}-of") != of:
            st.session_state.update({key: usual, f"{key}-of": of})
        open_questions[name] = column.selectbox(_NAMES[name], values, format_func=partial(said, name), key=key)
        left = part_of(left, {name: open_questions[name]})
    return {name: open_questions.get(name, values_of(left, name)[0]) for name in _NAMES}


def values_of(frame: pd.DataFrame, name: str) -> list[Any]:
    """The values of a column, sorted, plain, with None for a missing one."""
    plain = [None if pd.isna(value) else value for value in frame[name].unique().tolist()]
    return sorted(plain, key=lambda value: (value is None, value if value is not None else 0))


def part_of(frame: pd.DataFrame, where: dict[str, Any]) -> pd.DataFrame:
    """The rows with these values."""
    for name, value in where.items():
        frame = frame[frame[name].isna()] if value is None else frame[frame[name] == value]
    return frame


def said(name: str, value: Any) -> str:
    """A value of a setting in words."""
    if name == "clicks":
        return "true labels" if value is None else f"{int(value):,} clicks"
    if name == "groups":
        return "?" if value is None else f"{int(value)} groups"
    if name == "notion" and value in NOTIONS:
        return NOTIONS[value].label
    if name == "unit":
        return next((words for unit, words in UNITS.items() if unit == value), str(value))
    return str(value)
