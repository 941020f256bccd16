"""A full disk and a read-only one: one sentence, and nothing lost."""

from __future__ import annotations

import json
import logging
import os
import re

import psutil
import pytest

from dashboard.jobs import job_process
from spofr_core import Fairness
from spofr_core.cli import main
from spofr_core.experiments import RunStore, run_sweep
from spofr_core.files import DiskFull, write_json
from spofr_core.serving.counter_store import CounterStore
from spofr_core.serving.service import Refused, Service
from spofr_core.serving.service_settings import ServiceSettings
from tests.dashboard.apps import shown
from tests.experiments.specs import tiny
from tests.faults.small_disks import change, mounted
from tests.serving.running import Reader, get, running, workers_of
from tests.waiting import wait_until

ITEMS = [{"id": i, "group": g, "score": s} for i, g, s in zip("wxyz", "aabb", (0.9, 0.8, 0.4, 0.1), strict=True)]


def ask(service: Service, query: str) -> dict:
    return service.answer(json.dumps({"query": query, "items": ITEMS}).encode())


@pytest.fixture
def settings(tmp_path):
    with mounted(tmp_path / "disk", "size=120k") as disk:
        yield ServiceSettings(fairness=Fairness(delta=0.05), state=disk / "counters.sqlite", log=disk / "log")


def test_a_service_answers_on_a_full_disk_and_counts_again_when_there_is_room(settings, caplog):
    service = Service(settings)
    answers = [ask(service, f"q{k}") for k in range(80)]
    counted = [answer for answer in answers if answer["how"] == "fair"]
    assert 0 < len(counted) < len(answers)
    assert {answer["reason"] for answer in answers if answer["how"] == "sorted"} == {"the counters cannot be written"}
    assert "Traceback" not in caplog.text
    assert "The counters cannot be written (database or disk is full)" in caplog.text
    assert service.health()["status"] == "degraded"
    change(settings.state.parent, "size=4m")
    assert ask(service, "q0")["impressions"] == 2
    service.flush()
    assert service.health()["status"] == "degraded"  # lists have failed since it was looked at last
    service.flush()
    assert service.health()["status"] == "ok"
    service.store.close()
    store = CounterStore(settings.state)
    assert sum(sum(counts) for counts in store.counters().values()) == len(counted) + 1
    assert store.waiting() == 0
    store.close()


def test_a_full_disk_is_told_with_every_answer_and_page_and_once_a_minute(tmp_path, monkeypatch):
    """The real service, with two workers: readers, health, metrics and the log all know, until there is room again.

    Workers that die meanwhile are replaced, although nothing can be written to the folder for temporary files either.
    """
    body = {"items": ITEMS}
    with mounted(tmp_path / "disk", "size=300k") as disk:
        monkeypatch.setenv("TMPDIR", str(disk))
        options = ["--workers", "2", "--state", str(disk / "counters.sqlite"), "--log", str(disk / "log")]
        with running(tmp_path, *options, "--delta", "5%") as (port, process):
            readers = [Reader(port), Reader(port)]
            failed = 0
            for k in range(300):
                reader = readers[k % 2]
                status, answer = reader.ask({**body, "query": f"{k} {'long ' * 100}"})
                assert (status, answer["guaranteed"]) == (200, answer["how"] == "fair")
                assert (reader.headers.get("spofr-guaranteed") == "false") == (not answer["guaranteed"])
                failed += not answer["guaranteed"]
                if not answer["guaranteed"] and k % 10 == 0:
                    status, told = get(port, "/health")
                    told = json.loads(told)
                    assert (status, told["ok"], told["status"]) == (503, False, "degraded")
            assert failed > 50
            assert f"spofr_failures_total {failed}.0" in get(port, "/metrics")[1]
            assert float(re.search(r"^spofr_degraded (.*)$", get(port, "/metrics")[1], re.MULTILINE)[1]) in (1.0, 2.0)
            lines = (tmp_path / "output").read_text("utf-8").splitlines()
            assert 1 <= sum("The counters cannot be written (database or disk is full)" in line for line in lines) <= 4
            assert not any("Traceback" in line for line in lines)
            gone = workers_of(process)
            for worker in gone:
                worker.kill()
            psutil.wait_procs(gone)
            assert readers[0].ask({**body, "query": "late"})[0] == 200
            change(disk, "size=16m")
            wait_until(lambda: get(port, "/health")[0] == 200)
            assert json.loads(get(port, "/health")[1])["status"] == "ok"
            assert readers[0].ask({**body, "query": "again"})[1]["guaranteed"]
            assert "spofr_degraded 0.0" in get(port, "/metrics")[1]
            for reader in readers:
                reader.close()


def test_a_strict_service_answers_nothing_that_it_cannot_guarantee(settings):
    service = Service(settings.model_copy(update={"strict": True}))
    with pytest.raises(Refused) as refused:
        [ask(service, f"q{k}") for k in range(80)]
    assert refused.value.status == 503
    (told,) = refused.value.detail
    assert told["message"] == "Nothing is guaranteed of this list: the counters cannot be written."
    assert service.health()["status"] == "degraded"
    service.store.close()


def test_a_service_that_shall_refuse_says_why_it_cannot_count(settings):
    service = Service(settings.model_copy(update={"otherwise": "refuse"}))
    with pytest.raises(Refused) as refused:
        [ask(service, f"q{k}") for k in range(80)]
    assert refused.value.status == 503
    assert "cannot be written" in refused.value.detail[0]["message"]
    service.store.close()


def test_a_validation_that_fits_in_part_is_taken_back(tmp_path, monkeypatch):
    store = RunStore(tmp_path / "runs")
    claim = store.claim(tiny().runs()[0], "data")
    claim.metric({"epoch": 1})
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, line: write(handle, line[:5]))
        with pytest.raises(DiskFull):
            claim.metric({"epoch": 2})
    claim.metric({"epoch": 3})
    assert store.metrics(claim.config.run) == [{"epoch": 1}, {"epoch": 3}]
    claim.release()


def test_a_job_on_a_full_disk_says_so_and_goes_on_when_there_is_room(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "nice", lambda by: 0)
    spec = tiny(methods=["pto"], deltas=[0.1])
    with mounted(tmp_path / "disk", "size=24k") as disk:
        folder = disk / "jobs" / "job1"
        asked = {"job": "job1", "visitor": "v", "title": "t", "spec": spec.to_dict(), "created": 0.0}
        write_json(folder / "job.json", {**asked, "runs": [spec.runs()[0].run], "store": str(disk / "runs")})
        assert job_process.main(folder) == 1
        change(disk, "size=4m")
        assert job_process.main(folder) == 0
        assert json.loads((folder / "state.json").read_text())["status"] == "done"
        assert [record.status for record in RunStore(disk / "runs").records()] == ["done"]


def test_a_sweep_on_a_full_disk_goes_on_when_there_is_room(tmp_path):
    spec = tiny()
    with mounted(tmp_path / "disk", "size=60k") as disk:
        with pytest.raises(DiskFull, match="give the same command again"):
            run_sweep(spec, RunStore(disk / "runs"))
        change(disk, "size=4m")
        assert run_sweep(spec, RunStore(disk / "runs")).ok


def test_a_read_only_disk_is_named_with_the_file(tmp_path, monkeypatch, capsys):
    with mounted(tmp_path / "disk", "size=1m,ro") as disk:
        monkeypatch.setattr("sys.argv", ["spofr", "repair", "--sample", "hiring", "--out", str(disk / "out.csv")])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert told[-1] == (
        f"spofr: The disk is read-only: {disk}/out.csv could not be written. Make it writable, or name another place."
    )


@pytest.mark.parametrize("page", ["train", "tradeoffs", "guarantees"])
def test_a_page_that_keeps_something_says_that_it_cannot(tmp_path, monkeypatch, page, caplog):
    with mounted(tmp_path / "disk", "size=1m,ro") as disk, caplog.at_level(logging.ERROR):
        monkeypatch.setenv("SPOFR_HOME", str(disk))
        app = shown(page)
        assert [error.value for error in app.error] == [
            "The disk of this server is read-only, so nothing new can be kept there. What was kept is safe. "
            "Who runs the server has to mend it."
        ]
        assert str(disk) not in app.error[0].value
        assert str(disk) in caplog.text
