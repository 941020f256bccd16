"""Which runs a page of many models looks at: sweeps, and one setting of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dashboard.jobs.job_board import JobBoard
from dashboard.session.choices import choices, choose, follow
from dashboard.session.visible_runs import Sweep, results_of, state_of, sweep_of, sweep_title, sweeps
from dashboard.session.visitor import visitor
from spofr_core.experiments import home

_NAMES = {"dataset": "Data", "notion": "Notion", "groups": "Groups", "clicks": "Learned from"}


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


def picked(page: str) -> Picked | None:
    """Let the reader choose; None, and a sentence, where no run is done yet."""
    offered = {sweep.key: sweep for sweep in sweeps()}
    current = _current(list(offered.values()))
    follow(f"{page}-sweeps", current, of=tuple(offered))
    st.multiselect(
        "Sweeps",
        list(offered),
        format_func=lambda key: sweep_title(offered[key]),
        key=f"{page}-sweeps",
        on_change=lambda: choose(sweep=".".join(st.session_state[f"{page}-sweeps"])),
        help="Sets of trained models. Bundled ones come with the project; yours are added by the Train page.",
    )
    chosen = [offered[key] for key in current]
    runs = results_of(chosen)
    if runs.empty:
        st.info("None of these runs is done yet. They appear here one by one.", icon=":material/hourglass_empty:")
        return None
    where = _setting(page, runs)
    return Picked(chosen, runs, part_of(runs, where), where, f"{state_of(chosen)};{where}")


def _current(offered: list[Sweep]) -> list[str]:
    """The sweeps of the address; else that of the chosen model; else this visitor's latest; else the first bundled."""
    known = {sweep.key for sweep in offered}
    named = [key for key in choices().sweep.split(".") if key in known]
    if named:
        return named
    of_model = sweep_of(choices().model, offered) if choices().model else None
    if of_model is not None:
        return [of_model.key]
    for job in JobBoard(home()).jobs(visitor()):
        mine = next((sweep for sweep in offered if set(sweep.runs) == set(job.runs)), None)
        if mine is not None and not results_of([mine]).empty:
            return [mine.key]
    bundled = next((sweep.key for sweep in offered if sweep.origin == "bundled"), None)
    return [bundled] if bundled else [sweep.key for sweep in offered[:1]]


def _setting(page: str, runs: pd.DataFrame) -> dict[str, Any]:
    """One value of each column by which runs cannot be compared; asked for only where there is a choice."""
    open_questions: dict[str, Any] = {}
    left = runs
    several = [name for name in _NAMES if len(values_of(runs, name)) > 1]
    columns = st.columns(len(several)) if several else []
    for name, column in zip(several, columns, strict=True):
        values = values_of(left, name)
        key = f"{page}-{name}"
        if st.session_state.get(key) not in values:
            st.session_state.pop(key, None)
        chosen = column.selectbox(_NAMES[name], values, format_func=partial(said, name), key=key)
        open_questions[name] = chosen
        left = part_of(left, {name: chosen})
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
    return str(value)
