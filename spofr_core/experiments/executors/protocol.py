"""What an executor is: tasks go in, messages and outcomes come out, in the order in which they happen."""

from __future__ import annotations

import pickle
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from spofr_core.errors import SpofrError, WorkFailed

T = TypeVar("T")
R = TypeVar("R")

ATTEMPTS = 3
"""How many workers a task may lose before it is given up."""

Emit = Callable[[Any], None]
"""Sends a message to whoever asked for the work; raises `Cancelled` when the work is no longer wanted."""

Work = Callable[[Any, Any, Emit], Any]
"""An importable function of a task's item, the data shared under the task's name, and an `Emit`."""


class Cancelled(Exception):
    """Raised inside the work when it is no longer wanted."""


@dataclass(frozen=True)
class Task:
    """One piece of work.

    Attributes
    ----------
    key : str
        Names the task in messages and outcomes; unique among those given at once.
    item : object
        What the work is done on; small and picklable.
    data : str, optional
        Name of the data that the work needs besides; it is sent to each worker once, not with each task.
    """

    key: str
    item: Any
    data: str | None = None


@dataclass(frozen=True)
class Failure:
    """Why a task failed.

    Attributes
    ----------
    reason : str
        One sentence.
    details : str
        The traceback, for a log.
    error : Exception, optional
        The exception itself, where it can be carried from the worker.
    """

    reason: str
    details: str = ""
    error: Exception | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a task: a value, or a failure."""

    key: str
    value: Any = None
    failure: Failure | None = None


@dataclass(frozen=True)
class Order:
    """The arguments of `Executor.outcomes` besides the tasks, with those that were left out filled in."""

    work: Work
    share: Callable[[str], Any]
    on_message: Callable[[str, Any], None]
    stop: Callable[[], bool]


def attempt(work: Work, task: Task, data: Any, emit: Emit) -> Outcome:
    """Do the work; whatever it raises becomes a `Failure`, except `Cancelled`, which goes on."""
    try:
        return Outcome(task.key, work(task.item, data, emit))
    except Cancelled:
        raise
    except Exception as error:  # noqa: BLE001 - any error of one task is told in its outcome; the other tasks go on
        return Outcome(task.key, failure=failure_of(error))


def failure_of(error: Exception) -> Failure:
    """The failure that an exception stands for; errors meant for the user speak for themselves."""
    reason = str(error) if isinstance(error, SpofrError) else f"{type(error).__name__}: {error}"
    return Failure(reason, "".join(traceback.format_exception(error)), error if _travels(error) else None)


def lost(attempts: int, how: str) -> Failure:
    """The failure of a task whose workers died."""
    return Failure(f"Its worker died {attempts} times ({how}); is there enough memory for it?")


def _travels(error: Exception) -> bool:
    """Whether the exception survives pickling: some have constructors that do not fit their arguments."""
    try:
        pickle.dumps(error)
    except Exception:  # noqa: BLE001 - pickling can raise anything, and the answer is then no
        return False
    return isinstance(error, SpofrError | OSError | ValueError)


def _apply(item: Any, data: Any, emit: Emit) -> Any:
    """The work behind `Executor.map`: the item carries its function."""
    function, argument = item
    return function(argument)


class Executor(ABC):
    """Does tasks somewhere. A context manager: leaving it ends the workers that it started."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """Tasks that are worked on at the same time."""

    def outcomes(
        self,
        work: Work,
        tasks: Iterable[Task],
        *,
        share: Callable[[str], Any] | None = None,
        on_message: Callable[[str, Any], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Generator[Outcome]:
        """Do all tasks and yield their outcomes as they come.

        Closing the iterator cancels what is under way.

        Parameters
        ----------
        work : callable
            Importable where the workers are.
        tasks : iterable of Task
            Read one at a time, when a worker is free for it.
        share : callable, optional
            From the name in `Task.data` to that data; called here, and the answer sent to each worker once.
        on_message : callable, optional
            Called here with a task's key and each message that its work emits.
        stop : callable, optional
            Asked several times a second; once it answers True, what is under way is cancelled and the iterator ends.
        """
        order = Order(
            work,
            share=share or (lambda name: None),
            on_message=on_message or (lambda key, message: None),
            stop=stop or (lambda: False),
        )
        return self._outcomes(tasks, order)

    @abstractmethod
    def _outcomes(self, tasks: Iterable[Task], order: Order) -> Generator[Outcome]:
        """What `outcomes` returns."""

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """`function` of every item, in the order of the items; the first failure is raised.

        Results that come early wait for those before them.
        """
        tasks = (Task(str(place), (function, item)) for place, item in enumerate(items, start=1))
        early: dict[int, Any] = {}
        due = 1
        with closing(self.outcomes(_apply, tasks)) as outcomes:
            for outcome in outcomes:
                if outcome.failure is not None:
                    failure = outcome.failure
                    raise failure.error or WorkFailed(f"Part {outcome.key} of the work failed. {failure.reason}")
                early[int(outcome.key)] = outcome.value
                while due in early:
                    yield early.pop(due)
                    due += 1

    @abstractmethod
    def close(self) -> None:
        """End the workers that this executor started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
