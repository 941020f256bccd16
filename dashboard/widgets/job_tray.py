"""The jobs of this visitor, in the sidebar of every page."""

from __future__ import annotations

import streamlit as st

from dashboard.escaping import markdown
from dashboard.jobs.job_board import Job, JobBoard, recent
from dashboard.navigation import page_named
from dashboard.session.visitor import visitor
from spofr_core.experiments import home

EVERY = 2.0
"""Seconds between two looks at a job."""
SHOWN = 3
_SEEN = "jobs-at-work"

WORDS = {
    "queued": "waiting for a free slot",
    "starting": "starting",
    "running": "at work",
    "stopping": "stopping",
    "done": "done",
    "failed": "failed",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
}
ICONS = {
    "queued": ":material/hourglass_empty:",
    "starting": ":material/hourglass_top:",
    "running": ":material/play_circle:",
    "stopping": ":material/stop_circle:",
    "done": ":material/check_circle:",
    "failed": ":material/error:",
    "cancelled": ":material/cancel:",
    "interrupted": ":material/pause_circle:",
}


def board() -> JobBoard:
    """The jobs of this machine."""
    return JobBoard(home())


def tray() -> None:
    """What is at work and what ended last. Nothing where this visitor never started a job."""
    jobs = board().jobs(visitor())
    st.session_state[_SEEN] = at_work(jobs)
    if not jobs:
        return
    # Nobody looks twice at jobs that have ended: only a job at work keeps the page looking.
    st.fragment(_tray, run_every=EVERY if st.session_state[_SEEN] else None)()


def at_work(jobs: list[Job]) -> list[str]:
    """Names of the active ones."""
    return [job.job for job in jobs if job.active]


def ended_meanwhile(jobs: list[Job]) -> bool:
    """Whether a job ended, or began, since the whole page was drawn."""
    return at_work(jobs) != st.session_state.get(_SEEN)


def _tray() -> None:
    jobs = board().jobs(visitor())
    if ended_meanwhile(jobs):
        st.rerun()
    with st.container(border=True, key="job-tray"):
        st.markdown("**Jobs**")
        for job in recent(jobs, SHOWN):
            _entry(job)
        st.page_link(page_named("train"), label="All jobs", icon=":material/model_training:")


def _entry(job: Job) -> None:
    st.markdown(f"{ICONS[job.status]} {markdown(job.title, 80)}")
    if job.active:
        st.progress(job.share)
    st.caption(markdown(state_sentence(job)))
    job_button(job, "tray")


def state_sentence(job: Job) -> str:
    """Where a job is, in words."""
    counts = f"{job.before + job.done} of {job.total} runs done"
    parts = [WORDS[job.status], counts]
    parts += [f"{job.failed} failed"] if job.failed else []
    if job.status == "running":
        # Every page imports this file; only one with a job at work needs the words for a time.
        from spofr_core.experiments import format_duration

        left = job.seconds_left
        parts.append("measuring the time" if left is None else f"about {format_duration(left)} left")
    return ", ".join(parts)


def job_button(job: Job, where: str) -> None:
    """Cancel what is at work, resume what stopped."""
    key = f"{where}-{job.job}"
    if job.active:
        stopping = job.status == "stopping"
        if st.button("Cancel", key=f"cancel-{key}", icon=":material/stop:", disabled=stopping):
            board().cancel(job)
            st.rerun()
    elif job.resumable:
        label = "Try the failed runs again" if job.status == "done" else "Resume"
        if st.button(label, key=f"resume-{key}", icon=":material/play_arrow:"):
            board().resume(job)
            st.rerun()
