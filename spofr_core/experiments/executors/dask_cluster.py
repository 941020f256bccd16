"""Work done on a Dask cluster: an existing one by its scheduler's address, or one of processes of this machine."""

# mypy: disallow-untyped-calls=False
# distributed says that it is typed, and is not yet.

from __future__ import annotations

import logging
import queue
import threading
import time
import uuid
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import dask.config
from cachetools import LRUCache
from distributed import Client, Event, KilledWorker, LocalCluster, get_worker
from distributed.comm.addressing import get_address_host_port
from distributed.security import Security

from spofr_core.errors import ConfigError, WorkFailed
from spofr_core.experiments.executors.protocol import (
    ATTEMPTS,
    Cancelled,
    Executor,
    Order,
    Outcome,
    Task,
    Work,
    attempt,
    failure_of,
    lost,
)
from spofr_core.experiments.executors.thread_limits import limit_threads

CONNECT_SECONDS = 6.0
WORKER_SECONDS = 3.0
"""Together they stay below ten seconds: so long somebody waits in front of a wrong address."""
PATIENCE = 0.25
GONE_SECONDS = 5.0
"""After so long without its scheduler a batch ends; what was done is kept by whoever asked for it."""
ALONE_SECONDS = 60.0
"""After so long without any worker, too: workers may be replaced, but somebody should know that there are none."""
KEPT = 3
"""Shared data sets kept on the cluster; the one that was used least recently is released first."""


class DaskExecutor(Executor):
    """Tasks on a Dask cluster.

    Data is sent once, and fetched by the workers that need it. A task whose worker is lost is done again on another
    one; what all workers have lost is sent again. Results and messages come back to this process, which alone writes
    files.

    Parameters
    ----------
    address : str, optional
        Of a scheduler, such as "tcp://host:8786". Without it a cluster of `workers` processes is started here.
    workers : int, default 2
        Processes of the cluster that is started here.
    """

    def __init__(self, address: str | None = None, *, workers: int = 2) -> None:
        self._cluster: LocalCluster | None = None
        if address is None:
            self._cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.ERROR,
            )
            address = self._cluster.scheduler_address
        # Dask tells of every lost connection with a traceback; here a lost one is a sentence.
        self._levels = {handler: handler.level for handler in logging.getLogger("distributed").handlers}
        for handler in self._levels:
            handler.setLevel(logging.CRITICAL)
        self._address = address
        try:
            self._client = _connect(address)
        except BaseException:
            if self._cluster is not None:
                self._cluster.close()
            raise
        self._shared: LRUCache[str, Any] = LRUCache(KEPT)

    @property
    def client(self) -> Client:
        """The connection, for whoever wants to look at the cluster."""
        return self._client

    @property
    def workers(self) -> int:
        """Threads of all workers that are there now."""
        return max(1, sum(int(count) for count in self._client.nthreads().values()))

    def _outcomes(self, tasks: Iterable[Task], order: Order) -> Generator[Outcome]:
        """A cancelled task ends at its next message.

        Raises
        ------
        WorkFailed
            When the scheduler, or every worker, has been gone for a while.
        """
        try:
            yield from self._settled(tasks, order)
        except OSError as error:  # what Dask raises where a connection is lost
            if self._client.status == "running":
                raise
            raise self._lost("is gone", "start it again") from error

    def _lost(self, how: str, remedy: str) -> WorkFailed:
        return WorkFailed(
            f"The Dask scheduler at {self._address!r} {how}: what is done is kept. To go on from here, {remedy}, or "
            "leave --scheduler out, and give the same command."
        )

    def _look(self, seen: _Seen) -> None:
        """End a batch that nobody works on any more."""
        now = time.monotonic()
        if self._client.status == "running":
            seen.scheduler = now
        if now - seen.scheduler > GONE_SECONDS:
            raise self._lost("is gone", "start it again")
        if now - seen.looked > 1.0 and self._client.status == "running":
            seen.looked = now
            if self._client.nthreads():
                seen.worker = now
        if now - seen.worker > ALONE_SECONDS:
            worker = f"start a worker with `dask worker {self._address} --nthreads 1`"
            raise self._lost(f"has had no worker for {ALONE_SECONDS:.0f} s", worker)

    def _settled(self, tasks: Iterable[Task], order: Order) -> Generator[Outcome]:
        batch, seen = _Batch(self._client, order.work), _Seen()
        waiting = iter(tasks)
        more = True
        try:
            while True:
                while more and len(batch.running) < self.workers:
                    task = next(waiting, None)
                    if task is None:
                        more = False
                    else:
                        batch.submit(task, self._data(task, order))
                if not batch.running:
                    return
                event = batch.next_event()
                if order.stop():
                    return
                self._look(seen)
                if event is None:
                    continue
                if self._client.status != "running":  # asked for again when the scheduler is back
                    batch.put_back(event)
                    continue
                kind, key, content = event
                if kind == "message":
                    if key in batch.running:
                        order.on_message(key, content)
                    continue
                outcome = batch.settle(key, content)
                if isinstance(outcome, Task):
                    self._shared.pop(outcome.data or "", None)
                    batch.submit(outcome, self._data(outcome, order))
                elif outcome is not None:
                    yield outcome
        finally:
            batch.cancel()

    def _data(self, task: Task, order: Order) -> Any:
        """The future of the task's data, scattered when it is first asked for."""
        if task.data is None:
            return None
        if task.data not in self._shared:
            self._shared[task.data] = self._scattered(order.share(task.data))
        return self._shared[task.data]

    def _scattered(self, content: Any) -> Any:
        """The future of data that one worker holds and the others fetch when they need it.

        Not sent to all of them at once: a scheduler that copies to a worker which dies meanwhile tries for ever.
        """
        for _ in range(ATTEMPTS):
            with suppress(OSError):  # the worker died that it was sent to
                return self._client.scatter([content], hash=False)[0]
            if self._client.status != "running":
                raise self._lost("is gone", "start it again")
        worker = f"start a worker with `dask worker {self._address} --nthreads 1`"
        raise self._lost("has no worker that takes data", worker)

    def close(self) -> None:
        """Leave the cluster; end it if it was started here."""
        self._shared.clear()
        self._client.close()
        for handler, level in self._levels.items():
            handler.setLevel(level)
        if self._cluster is not None:
            self._cluster.close()


@dataclass
class _Seen:
    """When scheduler and workers were last there, and when somebody last looked for workers."""

    scheduler: float = field(default_factory=time.monotonic)
    worker: float = field(default_factory=time.monotonic)
    looked: float = 0.0


class _Batch:
    """The tasks of one call of `outcomes`: their futures, and one queue of what happens to them."""

    def __init__(self, client: Client, work: Work) -> None:
        self._client = client
        self._work = work
        self.name = f"spofr-{uuid.uuid4().hex}"
        self.running: dict[str, tuple[Task, Any]] = {}
        self._attempts: dict[str, int] = {}
        self._events: queue.SimpleQueue[tuple[str, str, Any]] = queue.SimpleQueue()
        self._unwanted = Event(f"{self.name}-unwanted", client=client)
        client.subscribe_topic(self.name, self._heard)

    def submit(self, task: Task, data: Any) -> None:
        attempts = self._attempts[task.key] = self._attempts.get(task.key, 0) + 1
        key = f"{self.name}-{task.key}-{attempts}"
        # Dask warns of tasks that carry much data. The part of a folder is wanted once, so it travels with its task.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "4 GiB"}):
            future = self._client.submit(do_task, self._work, task, data, self.name, key=key, pure=False)
        self.running[task.key] = (task, future)
        future.add_done_callback(lambda done: self._events.put(("done", task.key, done)))

    def next_event(self) -> tuple[str, str, Any] | None:
        try:
            return self._events.get(timeout=PATIENCE)
        except queue.Empty:
            return None

    def put_back(self, event: tuple[str, str, Any]) -> None:
        """Look at an event later."""
        time.sleep(PATIENCE)
        self._events.put(event)

    def settle(self, key: str, future: Any) -> Outcome | Task | None:
        """The outcome of a future that ended; the task itself if it must be sent again; None for an old future."""
        if key not in self.running or self.running[key][1] is not future:
            return None
        task = self.running[key][0]
        del self.running[key]
        if future.status == "finished":
            try:
                result = future.result()
            except Exception as error:  # noqa: BLE001 - a result that was lost on its way is asked for again
                return self._again(task, f"{type(error).__name__}: {error}")
            return result if isinstance(result, Outcome) else self._again(task, "it was cancelled")
        if future.status == "error":
            raised = future.exception()
            if isinstance(raised, KilledWorker):
                return Outcome(key, failure=lost(ATTEMPTS, "the scheduler gave it up"))
            return Outcome(key, failure=failure_of(raised))
        return self._again(task, "its data was lost")

    def _again(self, task: Task, how: str) -> Outcome | Task:
        if self._attempts[task.key] < ATTEMPTS:
            return task
        return Outcome(task.key, failure=lost(ATTEMPTS, how))

    def cancel(self) -> None:
        """Stop what is under way, and listening to it; where the scheduler is gone nobody is left to be told."""
        if self._client.status != "running":
            return
        if self.running:
            self._unwanted.set()
            self._client.cancel([future for _, future in self.running.values()], force=True)
        self._client.unsubscribe_topic(self.name)

    def _heard(self, event: tuple[float, Any]) -> None:
        key, content = event[1]
        self._events.put(("message", key, content))


_ONE_AT_A_TIME = threading.Lock()
"""Held by the task at work: the numeric kernels bring threads of their own and cannot be entered twice in a process."""


def do_task(work: Work, task: Task, data: Any, name: str) -> Outcome | None:
    """What a worker does; None when the task was cancelled under way."""
    worker = get_worker()
    unwanted = Event(f"{name}-unwanted")
    asked = time.monotonic()

    def emit(message: Any) -> None:
        nonlocal asked
        if time.monotonic() - asked > 1.0:
            asked = time.monotonic()
            if unwanted.is_set():
                raise Cancelled
        worker.log_event(name, (task.key, message))

    with _ONE_AT_A_TIME:
        limit_threads(1)
        try:
            return attempt(work, task, data, emit)
        except Cancelled:
            return None


def _connect(address: str) -> Client:
    """A client of the scheduler, whose workers are there and run this version."""
    if address.startswith("tls://") and Security().get_connection_args("client").get("ssl_context") is None:
        raise ConfigError(
            f"The scheduler at {address!r} wants TLS, and Dask has no certificates here: name them under "
            "distributed.comm.tls in its configuration."
        )
    try:
        get_address_host_port(address)  # of what is no address a client is left half made, and complains when it goes
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConfigError(
            f"No Dask scheduler answers at {address!r} ({type(error).__name__}): start one with `dask scheduler` and "
            "workers with `dask worker ADDRESS --nthreads 1`, or leave --scheduler out to work on this machine."
        ) from error
    try:
        _check_workers(client, address)
    except BaseException:
        client.close()
        raise
    return client


def _check_workers(client: Client, address: str) -> None:
    deadline = time.monotonic() + WORKER_SECONDS
    while not client.nthreads():
        if time.monotonic() > deadline:
            raise ConfigError(
                f"The Dask scheduler at {address!r} has no workers: start some with "
                f"`dask worker {address} --nthreads 1`."
            )
        time.sleep(0.1)
    ours = version("spofr")
    for worker, theirs in client.run(installed_version).items():
        if theirs != ours:
            raise ConfigError(
                f"The Dask worker {worker} has spofr {theirs or 'not installed'}, here it is {ours}: "
                "install the same version on all workers."
            )


def installed_version() -> str | None:
    """Version of this package where the function runs."""
    try:
        return version("spofr")
    except ModuleNotFoundError:
        return None
