"""Jobs: directories that any process finds again, processes that wait for a slot, stop when asked, and go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from dashboard.jobs import job_board as jobs_file
from dashboard.jobs import job_process
from dashboard.jobs.job_board import MOST_WAITING, Job, JobBoard, first_in_line, recent, slot_lock, slots
from dashboard.widgets.job_tray import state_sentence
from spofr_core.errors import ConfigError
from spofr_core.experiments import FileLock, Owner, RunStore, results
from spofr_core.experiments.plans import plan_sweep, shared_sample
from spofr_core.files import read_json, write_json
from tests.waiting import wait_until

PATIENCE = 200


@pytest.fixture
def board(own_home, monkeypatch):
    """A board whose jobs are not worked on."""
    monkeypatch.setattr(jobs_file, "spawn", lambda folder: None)
    return JobBoard(own_home)


def begin(board, visitor="a", **state):
    job = board.start(
        {"dataset": {"sample": "hiring"}}, title="t", visitor=visitor, store=board.home / "runs", runs=["1", "2"]
    )
    if state:
        write_json(board.folder / job.job / "state.json", state)
    return job.job


def test_a_job_belongs_to_its_visitor(board):
    mine, theirs = begin(board, "a"), begin(board, "b")
    assert [job.job for job in board.jobs("a")] == [mine]
    assert {job.job for job in board.jobs()} == {mine, theirs}
    with pytest.raises(ConfigError, match="no longer here"):
        board.get(theirs, "a")


def test_the_state_is_what_the_files_say(board):
    alive = Owner.me().to_dict()
    dead = {**alive, "after_boot": alive["after_boot"] - 1000}
    for state, cancelled, expected in [
        ({"status": "running", "owner": alive}, False, "running"),
        ({"status": "running", "owner": alive}, True, "stopping"),
        ({"status": "running", "owner": dead}, False, "interrupted"),
        ({"status": "running", "owner": dead}, True, "cancelled"),
        ({"status": "queued", "launched": time.time()}, False, "queued"),  # the first two have taken both slots
        ({"status": "queued", "launched": time.time() - 3600}, False, "interrupted"),
        ({"status": "done", "owner": dead}, False, "done"),
        ({"status": "failed", "owner": dead, "reason": "why"}, False, "failed"),
    ]:
        name = begin(board, **state)
        if cancelled:
            board.cancel(board.get(name, "a"))
        assert board.get(name, "a").status == expected, state


def test_a_process_that_ended_is_not_alive_even_if_nobody_asked_how():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        owner = Owner(Owner.me().host, child.pid, psutil.Process(child.pid).create_time())
        assert owner.alive
        child.stdin.close()
        wait_until(lambda: not owner.alive)
        assert psutil.pid_exists(child.pid)  # still in the table of processes
    finally:
        child.wait()


def test_progress_counts_runs_and_the_steps_of_those_at_work(board):
    alive = Owner.me().to_dict()
    name = begin(board, status="running", owner=alive, done=1, running={"2": 0.5}, seconds_left=12.0)
    job = board.get(name, "a")
    assert (job.total, job.ended, job.share, job.seconds_left) == (2, 1, 0.75, 12.0)
    assert job.active
    assert not job.resumable


def test_resuming_takes_the_mark_away_and_forgetting_the_directory(board):
    name = begin(board, status="cancelled", done=1)
    board.cancel(board.get(name, "a"))
    board.resume(board.get(name, "a"))
    assert board.get(name, "a").status == "starting"
    assert (board.get(name, "a").before, board.get(name, "a").share) == (1, 0.5)  # what is done stays done
    assert not (board.folder / name / "cancel").exists()
    board.forget(board.get(name, "a"))
    assert board.jobs("a") != []  # at work: not to be forgotten
    write_json(board.folder / name / "state.json", {"status": "done"})
    board.forget(board.get(name, "a"))
    assert board.jobs("a") == []


def test_too_many_waiting_jobs_are_refused(board):
    for _ in range(MOST_WAITING):
        begin(board)
    with pytest.raises(ConfigError, match="jobs are waiting already"):
        begin(board)


def test_slots_are_bounded_and_the_first_in_line_is_next(board, monkeypatch):
    monkeypatch.setenv("SPOFR_JOB_SLOTS", "1")
    assert slots() == 1
    held = slot_lock(board.home)
    assert held is not None
    assert slot_lock(board.home) is None
    held.release()
    again = slot_lock(board.home)
    assert again is not None
    again.release()
    first, second = begin(board), begin(board)
    assert first_in_line(board, first)
    assert not first_in_line(board, second)


def test_a_job_waits_for_a_slot_only_while_all_are_taken(board, monkeypatch):
    monkeypatch.setenv("SPOFR_JOB_SLOTS", "1")
    mine = begin(board, "a")
    assert state_sentence(board.get(mine, "a")).startswith("starting, ")
    theirs = begin(board, "b", status="running", owner=Owner.me().to_dict())
    assert state_sentence(board.get(mine, "a")).startswith("waiting for a free slot, ")
    assert first_in_line(board, mine)
    write_json(board.folder / theirs / "state.json", {"status": "done"})
    assert board.get(mine, "a").status == "starting"


def test_the_tray_shows_active_jobs_first(board):
    def job(name, created, status):
        return Job(name, "a", "t", {}, board.home, created, status)

    shown = recent([job("old", 1, "running"), job("new", 3, "done"), job("mid", 2, "failed")], 2)
    assert [each.job for each in shown] == ["old", "new"]


def ended(board, name):
    wait_until(lambda: not board.get(name, "a").active, otherwise=lambda: board.log_tail(board.get(name, "a")))
    return board.get(name, "a")


def sweep(home, **grids):
    dataset, store = shared_sample(home, "german-credit", 30)
    given = {"methods": ["pto"], "deltas": [0.05], "penalties": [0.0], "training": {"max_steps": 20}, **grids}
    return plan_sweep(dataset, store, **given)


def start(board, plan):
    runs = [config.run for config in plan.runs]
    return board.start(plan.spec.to_dict(), title="small", visitor="a", store=plan.store, runs=runs).job


def test_a_job_killed_at_work_is_interrupted_and_goes_on(own_home):
    """The whole life of a real process: at work, killed, resumed to the end, the runs there once."""
    board = JobBoard(own_home)
    plan = sweep(own_home, seeds=2, training={"max_steps": 20_000, "patience": 1000})
    name = start(board, plan)
    owner = _wait_for_work(board, name)
    os.kill(owner["pid"], signal.SIGKILL)
    assert ended(board, name).status == "interrupted"

    board.resume(board.get(name, "a"))
    _wait_for_work(board, name, besides=owner["pid"])
    board.cancel(board.get(name, "a"))
    job = ended(board, name)
    assert job.status == "cancelled"
    assert job.resumable

    small = sweep(own_home)
    job = ended(board, start(board, small))
    assert (job.status, job.done, job.failed) == ("done", 1, 0)
    assert "1 of 1 runs are done" in board.log_tail(job)
    frame = results(RunStore(small.store, create=False), [config.run for config in small.runs])
    assert frame["status"].tolist() == ["done"]


def test_a_job_goes_on_though_who_was_killed_takes_a_moment_to_let_go(board, monkeypatch):
    folder = board.folder / begin(board, status="interrupted")
    held = FileLock.acquire(folder / "lock")
    board.resume(board.get(folder.name, "a"))
    worked = []
    monkeypatch.setattr(
        time, "sleep", lambda seconds: held.release()
    )  # between the first look at the lock and the next
    monkeypatch.setattr(job_process, "_work", lambda folder, *_: worked.append(folder) or 0)
    monkeypatch.setattr(os, "nice", lambda level: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert job_process.main(folder) == 0
    assert worked == [folder]


def _wait_for_work(board, name, besides=0):
    """The process of a job, once it has a run at work."""

    def worker():
        state = read_json(board.folder / name / "state.json") or {}
        return state.get("running") and state["owner"]["pid"] != besides and state["owner"]

    return wait_until(worker, otherwise=lambda: board.log_tail(board.get(name, "a")))


def test_a_job_that_cannot_be_done_says_why_in_a_sentence(board):
    name = begin(board, status="queued", launched=time.time())
    folder = board.folder / name
    asked = read_json(folder / "job.json")
    write_json(folder / "job.json", {**asked, "spec": {"dataset": {"sample": "nowhere"}}})
    command = [sys.executable, "-m", "dashboard.jobs.job_process", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 1
    job = board.get(name, "a")
    assert job.status == "failed"
    assert "nowhere" in job.reason
    assert "Traceback" not in done.stdout + done.stderr
