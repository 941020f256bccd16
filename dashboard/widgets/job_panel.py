"""The jobs of this visitor in full: progress, live curves, log, cancel, resume, forget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dashboard.charts.run_charts import training_curves
from dashboard.escaping import bold, markdown
from dashboard.jobs.job_board import Job
from dashboard.navigation import page_named
from dashboard.session.choices import choose
from dashboard.session.chosen_model import run_title
from dashboard.session.stored_uploads import forget_uploads
from dashboard.session.visible_runs import grouped_by, key_of_runs
from dashboard.session.visitor import visitor
from dashboard.widgets.elements import chart
from dashboard.widgets.job_tray import EVERY, ICONS, at_work, board, ended_meanwhile, job_button, state_sentence
from spofr_core.experiments import RunStore, home
from spofr_core.reporting import method_style

CURVES = 6
"""Runs in the live chart."""
HISTORY = 10
History = tuple[str, str, str, list[dict[str, Any]]]


def job_panel() -> None:
    """All jobs, the latest first; it keeps looking while one is at work."""
    jobs = board().jobs(visitor())
    st.fragment(_jobs, run_every=EVERY if at_work(jobs) else None)()


def _jobs() -> None:
    jobs = board().jobs(visitor())
    if ended_meanwhile(jobs):
        st.rerun()
    st.header("Jobs", anchor=False)
    if not jobs:
        st.caption(
            "No job yet. A job goes on when you close this page, and is here when you come back; "
            "so are the models that it trained."
        )
        return
    for place, job in enumerate(jobs[:HISTORY]):
        with st.container(border=True, key=f"job-{job.job}"):
            _job(job, detailed=job.active or place == 0)
    if len(jobs) > HISTORY:
        st.caption(f"The latest {HISTORY} of {len(jobs)} jobs.")


def _job(job: Job, *, detailed: bool) -> None:
    st.markdown(f"{ICONS[job.status]} {bold(job.title, 400)}")
    if job.active:
        st.progress(job.share)
    st.caption(markdown(state_sentence(job)))
    if job.reason:
        st.warning(markdown(job.reason, 1000), icon=":material/warning:")
    with st.container(horizontal=True, vertical_alignment="center"):
        job_button(job, "train")
        if job.before + job.done:
            _models_button(job)
        if not job.active and st.button("Forget", key=f"forget-{job.job}", icon=":material/delete:",
                                        help="Takes it off this list. Its copy of your file is deleted with all that "
                                        "was learned from it; the file and models on samples stay."):  # fmt: skip
            _forget(job)
    if detailed:
        _live(job)
        log = board().log_tail(job)
        if log:
            with st.expander("Log", key=f"log-{job.job}"):
                st.code(log, language=None, wrap_lines=True)


def _models_button(job: Job) -> None:
    """To the runs of this job, whichever data and runs the other pages look at."""
    if st.button("See its models", key=f"models-{job.job}", icon=":material/show_chart:", type="tertiary"):
        choose(sweep=key_of_runs(job.runs), model="")
        st.switch_page(page_named("tradeoffs"))


def _forget(job: Job) -> None:
    board().forget(job)
    forget_uploads(home(), visitor(), board().files(visitor()))
    st.rerun()


def _live(job: Job) -> None:
    """Validation curves of the runs at work, or else of those that ended last."""
    histories = _histories(job)
    if not histories:
        return
    shares = " as a share of the list's mean exposure" if job.spec.get("unit") == "share" else ""
    chart(
        training_curves(histories, job.spec.get("unit", "absolute")),
        "Validation, step by step",
        "DCG and mean violation on the validation lists, step by step, a line per run.",
        table=lambda: _history_frame(histories),
        headed=False,
        name=f"curves-{job.job}",
        note=f"Above: validation DCG. Below: mean validation violation{shares}.",
    )


def _histories(job: Job) -> list[History]:
    if not (job.store / "store.json").exists():
        return []
    store = RunStore(job.store, create=False)
    names = list(job.running) or _latest(job, store)
    found = []
    for record in filter(None, map(store.get, names[:CURVES])):
        rows = [row for row in store.metrics(record.run) if row.get("validation_dcg") is not None]
        if rows:
            found.append(({**record.settings, "method": record.method}, rows))
    several = len(job.spec.get("groups") or ()) > 1
    return [
        (
            ", ".join([run_title(settings), *([_grouping(settings)] if several else [])]),
            *method_style(settings["method"]),
            rows,
        )
        for settings, rows in found
    ]


def _grouping(settings: Mapping[str, Any]) -> str:
    """What sets a run apart from one with other groups, such as "by marital status" or "5 groups"."""
    groups = settings["groups"]
    return f"{groups} groups" if isinstance(groups, int) else f"by {grouped_by(settings['dataset'], groups)}"


def _latest(job: Job, store: RunStore) -> list[str]:
    """Runs of the job that are done, the last one first."""
    found = [record for record in map(store.get, job.runs) if record is not None]
    return [record.run for record in sorted(found, key=lambda record: -record.updated)]


def _history_frame(histories: list[History]) -> pd.DataFrame:
    columns = ["step", "stage", "loss", "validation_dcg", "violation", "max_violation", "fair_share"]
    frames = [pd.DataFrame(rows).reindex(columns=columns).assign(run=name) for name, _, _, rows in histories]
    return pd.concat(frames, ignore_index=True)[["run", *columns]]
