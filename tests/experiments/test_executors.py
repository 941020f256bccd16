"""All executors do the same: outcomes, messages, shared data, failures, lost workers, cancelling."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from spofr_core.errors import ConfigError, DataError, WorkFailed
from spofr_core.experiments.executors import InlineExecutor, PoolExecutor, Task, make_executor
from tests.experiments import works
from tests.waiting import wait_until


@pytest.fixture(params=["inline", "pool", "dask"])
def executor(request):
    return InlineExecutor() if request.param == "inline" else request.getfixturevalue(request.param)


@pytest.fixture(params=["pool", "dask"])
def processes(request):
    return request.getfixturevalue(request.param)


def test_map_keeps_the_order(executor):
    assert list(executor.map(works.square, range(7))) == [0, 1, 4, 9, 16, 25, 36]


def test_map_raises_the_error_of_the_function(executor):
    with pytest.raises(DataError, match="Three is not allowed") as caught:
        list(executor.map(works.fail_at_three, range(5)))
    assert (caught.value.column, caught.value.row) == ("number", 4)


def test_map_names_the_item_whose_error_cannot_be_raised_here(executor):
    with pytest.raises(WorkFailed, match=r"^Part 2 of the work failed\. TypeError: "):
        list(executor.map(works.square, [1, "x", 3]))


def test_much_data_travels_without_a_warning(executor):
    assert list(executor.map(len, [bytes(11 * 2**20)])) == [11 * 2**20]


def test_outcomes_messages_and_failures(executor):
    heard: list[tuple[str, object]] = []
    asked: list[str] = []

    def share(name: str) -> dict[str, int]:
        asked.append(name)
        return {"factor": int(name)}

    tasks = [Task(f"t{n}", n, data="10") for n in (1, 2, -1, 4)]
    outcomes = {
        o.key: o for o in executor.outcomes(works.scaled, tasks, share=share, on_message=lambda *m: heard.append(m))
    }
    assert {key: o.value for key, o in outcomes.items()} == {"t1": 10, "t2": 20, "t-1": None, "t4": 40}
    failure = outcomes["t-1"].failure
    assert failure.reason == "ValueError: -1 is below 0"
    assert "in scaled" in failure.details
    for n in (1, 2, 4):
        assert outcomes[f"t{n}"].failure is None
    assert sorted((key, content["item"]) for key, content in heard) == [("t-1", -1), ("t1", 1), ("t2", 2), ("t4", 4)]


@pytest.mark.parametrize("kind", ["pool", "dask"])
def test_data_is_sent_once_to_each_worker(kind, request):
    executor = request.getfixturevalue(kind)
    asked: list[str] = []

    def share(name: str) -> dict[str, int]:
        asked.append(name)
        return {"factor": 3}

    tasks = [Task(f"{kind}{n}", n, data=f"once-{kind}") for n in range(10)]
    values = sorted(o.value for o in executor.outcomes(works.scaled, tasks, share=share))
    assert values == [3 * n for n in range(10)]
    assert len(asked) <= executor.workers


def test_tasks_are_read_when_a_worker_is_free(executor):
    read: list[int] = []

    def tasks():
        for n in range(20):
            read.append(n)
            yield Task(f"lazy{n}", n, data="1")

    outcomes = executor.outcomes(works.scaled, tasks(), share=lambda name: {"factor": 1})
    next(outcomes)
    assert len(read) <= 2 * executor.workers
    outcomes.close()


def test_a_task_whose_worker_was_killed_is_done_again(processes, tmp_path):
    tasks = [Task(str(n), {"number": n, "mark": str(tmp_path / "mark")}) for n in range(6)]
    outcomes = list(processes.outcomes(works.die_once, tasks))
    assert sorted(o.value[0] for o in outcomes) == list(range(6))
    assert (tmp_path / "mark").exists()


def test_a_task_that_keeps_killing_its_worker_is_given_up(pool):
    outcomes = {o.key: o for o in pool.outcomes(works.always_die, [Task(str(n), n) for n in range(4)])}
    assert {key: o.value for key, o in outcomes.items() if key != "1"} == {"0": 0, "2": 2, "3": 3}
    assert "died 3 times (signal 9)" in outcomes["1"].failure.reason


def test_workers_have_one_numeric_thread(processes):
    assert [o.value for o in processes.outcomes(works.threads, [Task("t", 0)])] == [(1, 1)]


def test_a_process_that_has_loaded_torch_already_has_one_too(one_thread):
    assert works.threads(0, None, None) == (1, 1)


def test_a_result_that_cannot_be_sent_is_a_failure(pool):
    (outcome,) = pool.outcomes(works.unpicklable, [Task("t", 0)])
    assert "cannot be sent back" in outcome.failure.reason


def test_work_that_cannot_be_sent_is_refused_in_a_sentence(pool):
    with pytest.raises(ConfigError, match=r"cannot be sent to other processes .* define its functions with def"):
        list(pool.map(lambda n: n, [1]))
    assert list(pool.map(works.square, [3])) == [9]


def test_stop_cancels_what_is_under_way(executor, tmp_path):
    # Longer than a test may take: what is not cancelled is not waited for either.
    tasks = [Task(str(n), {"name": f"n{n}", "folder": str(tmp_path), "seconds": 3600}) for n in range(4)]
    assert list(executor.outcomes(works.slow, tasks, stop=lambda: any(tmp_path.iterdir()))) == []
    # The next call finds free workers.
    assert list(executor.map(works.square, [3])) == [9]


def test_closing_the_iterator_ends_the_processes_at_work(tmp_path):
    with PoolExecutor(1) as executor:
        tasks = [Task("quick", {"name": "a", "folder": str(tmp_path), "seconds": 0})]
        tasks += [Task("long", {"name": "b", "folder": str(tmp_path), "seconds": 60})]
        outcomes = executor.outcomes(works.slow, tasks, on_message=lambda key, content: None)
        assert next(outcomes).key == "quick"
        outcomes.close()
    assert _pids(tmp_path)
    for pid in _pids(tmp_path):
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(pid).wait(timeout=10)
        assert not psutil.pid_exists(pid)


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = (
        "from pathlib import Path\n"
        "from spofr_core.experiments.executors import PoolExecutor, Task\n"
        "from tests.experiments import works\n"
        "if __name__ == '__main__':\n"
        f"    tasks = [Task('t', {{'name': 'a', 'folder': {str(tmp_path)!r}, 'seconds': 120}})]\n"
        "    list(PoolExecutor(1).outcomes(works.slow, tasks))\n"
    )
    path = tmp_path / "parent.py"
    path.write_text(script)
    root = Path(__file__).resolve().parents[2]
    parent = subprocess.Popen([sys.executable, str(path)], cwd=root, env={**os.environ, "PYTHONPATH": str(root)})
    try:
        (worker,) = wait_until(lambda: _pids(tmp_path))
        child = psutil.Process(worker)
    finally:
        parent.kill()
        parent.wait()
    child.wait(timeout=20)


def _pids(folder: Path) -> list[int]:
    return [int(path.suffix[1:]) for path in folder.iterdir() if path.suffix[1:].isdigit()]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "foo", "", "tcp://127.0.0.1:abc", "ucx://x:1", "http://x:1"])
def test_an_address_without_a_scheduler_is_told_within_ten_seconds(address):
    from spofr_core.experiments.executors import dask_cluster

    assert dask_cluster.CONNECT_SECONDS + dask_cluster.WORKER_SECONDS < 10
    with pytest.raises(ConfigError, match=rf"No Dask scheduler answers at '{re.escape(address)}'"):
        make_executor(scheduler=address)


def test_a_scheduler_with_tls_and_no_certificates_is_told():
    with pytest.raises(ConfigError, match=r"The scheduler at 'tls://127.0.0.1:9' wants TLS, .* distributed.comm.tls"):
        make_executor(scheduler="tls://127.0.0.1:9")


def test_a_scheduler_without_workers_is_told():
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", processes=True) as cluster,
        pytest.raises(ConfigError, match="has no workers"),
    ):
        make_executor(scheduler=cluster.scheduler_address)


@pytest.mark.parametrize("workers", [0, -1])
def test_a_number_of_workers_that_cannot_be(workers):
    with pytest.raises(ConfigError, match="workers is"):
        make_executor(workers=workers)
