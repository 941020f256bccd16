"""A clock that is set while processes work."""

from __future__ import annotations

import time

import psutil
import pytest

from dashboard.jobs.job_board import JobBoard
from spofr_core.experiments import FileLock, Owner, RunStore, run_sweep
from spofr_core.files import write_json
from tests.experiments.specs import tiny

HOUR = 3600.0


@pytest.fixture(params=[-HOUR, HOUR], ids=["back", "forward"])
def clock(request, monkeypatch):
    """The clock is set by an hour: the time of day moves, and with it the time at which the machine was started."""

    def set_clock() -> None:
        now, boot = time.time, psutil.boot_time()
        monkeypatch.setattr(time, "time", lambda: now() + request.param)
        for module in (psutil, psutil._pslinux):
            monkeypatch.setattr(module, "boot_time", lambda: boot + request.param)

    return set_clock


def test_a_process_at_work_is_not_taken_for_dead(clock):
    me = Owner.me()
    clock()
    assert Owner.me().started != pytest.approx(me.started, abs=1.0)
    assert me.alive
    assert Owner.from_dict(me.to_dict()).alive


def test_a_later_process_of_the_same_number_is_not_taken_for_it():
    me = Owner.me().to_dict()
    assert not Owner.from_dict({**me, "after_boot": me["after_boot"] - 10}).alive
    assert not Owner.from_dict({**me, "boot": "of the day before"}).alive


def test_a_record_of_an_older_version_is_judged_by_the_clock():
    me = Owner.me()
    older = {"host": me.host, "pid": me.pid, "started": me.started}
    assert Owner.from_dict(older).alive
    assert not Owner.from_dict({**older, "started": me.started - 10}).alive


def test_a_run_at_work_is_left_alone(tmp_path, clock):
    store, config = RunStore(tmp_path / "runs"), tiny().runs()[0]
    claim = store.claim(config, "data")
    clock()
    assert store.get(config.run).status == "running"
    claim.release()
    assert run_sweep(tiny(), RunStore(tmp_path / "other")).ok


def test_a_job_whose_process_never_spoke_does_not_start_for_an_hour(tmp_path, clock):
    board = JobBoard(tmp_path)
    asked = {"job": "j", "visitor": "v", "title": "t", "spec": {}, "store": "s", "created": 0.0, "runs": []}
    write_json(tmp_path / "jobs" / "j" / "job.json", asked)
    write_json(tmp_path / "jobs" / "j" / "state.json", {"status": "queued", "launched": time.time()})
    clock()
    assert board.get("j", "v").status == "interrupted"


def test_a_lock_does_not_ask_the_clock(tmp_path, clock):
    lock = FileLock.acquire(tmp_path / "lock")
    clock()
    assert FileLock.acquire(tmp_path / "lock") is None
    lock.release()
