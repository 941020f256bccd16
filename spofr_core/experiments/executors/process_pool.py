"""Work done in processes of this machine, started afresh (spawn), one numeric thread each.

A pool of its own rather than that of `concurrent.futures`: when a worker is killed, only its own task is done again,
the task that keeps killing workers is known, and messages come through the same pipe as results.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable
from multiprocessing.connection import Connection, wait
from typing import Any

from cachetools import LRUCache

from spofr_core.config import MOST_WORKERS, checked_count
from spofr_core.errors import ConfigError, first_line
from spofr_core.experiments.executors.protocol import (
    ATTEMPTS,
    Cancelled,
    Executor,
    Failure,
    Order,
    Outcome,
    Task,
    Work,
    attempt,
    lost,
)
from spofr_core.experiments.executors.thread_limits import limit_threads
from spofr_core.parent import end_with_parent

KEPT = 2
"""Shared data sets that a worker keeps; the one that was used least recently is forgotten first."""
UNPICKLABLE = (pickle.PicklingError, TypeError, AttributeError)
"""What pickling says of a function without a name of its own, and of what holds one."""
PATIENCE = 0.25
"""Seconds between two looks at `stop`."""


class PoolExecutor(Executor):
    """Spawned processes, each with one task at a time.

    Parameters
    ----------
    workers : int
        Number of processes.
    threads : int, default 1
        Numeric threads of each.
    """

    def __init__(self, workers: int, *, threads: int = 1) -> None:
        self._count = checked_count(workers, "workers", MOST_WORKERS)
        self._threads = threads
        self._idle: list[_Worker] = []

    @property
    def workers(self) -> int:
        """Number of processes."""
        return self._count

    def _outcomes(self, tasks: Iterable[Task], order: Order) -> Generator[Outcome]:
        """Cancelling ends the processes at work."""
        waiting, again = iter(tasks), deque[Task]()
        attempts: dict[str, int] = {}
        busy: dict[_Worker, Task] = {}
        try:
            while True:
                while len(busy) < self._count:
                    task = again.popleft() if again else next(waiting, None)
                    if task is None:
                        break
                    worker = self._idle.pop() if self._idle else _Worker(self._threads)
                    busy[worker] = task
                    attempts[task.key] = attempts.get(task.key, 0) + 1
                    worker.start(order, task)
                if not busy:
                    return
                ready = wait([worker.connection for worker in busy], timeout=PATIENCE)
                if order.stop():
                    return
                for worker in [worker for worker in busy if worker.connection in ready]:
                    task = busy[worker]
                    kind, content = worker.receive()
                    if kind == "message":
                        order.on_message(task.key, content)
                        continue
                    del busy[worker]
                    if kind == "outcome":
                        self._idle.append(worker)
                        yield content
                    elif attempts[task.key] < ATTEMPTS:
                        again.append(task)
                    else:
                        yield Outcome(task.key, failure=lost(ATTEMPTS, content))
        finally:
            for worker in busy:
                worker.kill()

    def close(self) -> None:
        """End all processes."""
        while self._idle:
            self._idle.pop().end()


class _SentData(LRUCache[str, None]):
    """Names of the data that a worker has; it is told to forget what makes room."""

    def __init__(self, connection: Any) -> None:
        super().__init__(KEPT)
        self._connection = connection

    def popitem(self) -> tuple[str, None]:
        name, nothing = super().popitem()
        self._connection.send(("forget", name))
        return name, nothing


class _Worker:
    """A process, the pipe to it, and what it already has."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, threads), daemon=True)
        self._process.start()
        theirs.close()
        self._has = _SentData(self.connection)

    def start(self, order: Order, task: Task) -> None:
        """Send a task, and its data if the worker does not have it."""
        try:
            if task.data is not None:
                self._send_data(task.data, order.share)
            self._send("run", order.work, task)
        except (BrokenPipeError, ConnectionResetError):
            return  # It died while idle; `receive` finds out.

    def _send_data(self, name: str, share: Callable[[str], Any]) -> None:
        if name not in self._has:
            self._send("share", name, share(name))
        self._has[name] = None

    def _send(self, *what: Any) -> None:
        try:
            self.connection.send(what)
        except UNPICKLABLE as error:
            raise ConfigError(
                f"The work cannot be sent to other processes ({first_line(error)}): define its functions with def in a "
                "module, or work in this process alone."
            ) from error

    def receive(self) -> tuple[str, Any]:
        """The next message or outcome, or ("lost", how)."""
        try:
            kind, content = self.connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            self.kill()
            code = self._process.exitcode
            return "lost", f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return kind, content

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.join()
        self.connection.close()

    def end(self) -> None:
        """Let the process end by itself."""
        self.connection.close()
        self._process.join(timeout=5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def serve(connection: Connection, threads: int) -> None:
    """The life of a worker: until its parent closes the pipe or dies."""
    # Ctrl-C reaches the whole process group; the parent decides what becomes of the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(lambda: os._exit(1))  # a worker whose parent was killed has nobody to work for
    limit_threads(threads)
    shared: dict[str, Any] = {}
    while True:
        try:
            order, *content = connection.recv()
        except (EOFError, OSError):
            return
        if order == "share":
            shared[content[0]] = content[1]
        elif order == "forget":
            shared.pop(content[0], None)
        else:
            _work(connection, content[0], content[1], shared)


def _work(connection: Connection, work: Work, task: Task, shared: dict[str, Any]) -> None:
    def emit(message: Any) -> None:
        try:
            connection.send(("message", message))
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Cancelled from error

    try:
        outcome = attempt(work, task, None if task.data is None else shared.get(task.data), emit)
    except Cancelled:
        return
    try:
        connection.send(("outcome", outcome))
    except UNPICKLABLE as error:
        failure = Failure(f"Its result cannot be sent back ({type(error).__name__}: {error}).")
        connection.send(("outcome", Outcome(task.key, failure=failure)))
    except (BrokenPipeError, ConnectionResetError):
        return
