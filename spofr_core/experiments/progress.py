"""How far a sweep, or other work in pieces, is: counts, fractions and the time left, for a bar or a page."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from spofr_core.data import Part, PartitionedFolder
    from spofr_core.experiments.executors import Executor

R = TypeVar("R")


@dataclass
class SweepState:
    """Where a sweep is.

    Attributes
    ----------
    total : int
        Runs of the sweep.
    skipped : int
        Runs that were done before it began.
    done, failed : int
        Runs that ended since.
    running : dict of str to float
        Runs at work, and the share of the steps that they may take at most.
    """

    total: int
    skipped: int = 0
    done: int = 0
    failed: int = 0
    workers: int = 1
    running: dict[str, float] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)
    spent: list[float] = field(default_factory=list)
    _since: dict[str, float] = field(default_factory=dict)

    @property
    def ended(self) -> int:
        """Runs that need no more work."""
        return self.skipped + self.done + self.failed

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self.begun

    @property
    def eta_seconds(self) -> float | None:
        """Time left, from the mean time of the runs that ended; None before the first did."""
        if not self.spent:
            return None
        mean = sum(self.spent) / len(self.spent)
        now = time.monotonic()
        left = max(0, self.total - self.ended - len(self._since)) * mean
        left += sum(max(0.0, mean - (now - since)) for since in self._since.values())
        return left / max(1, min(self.workers, self.total - self.ended))

    def start(self, run: str) -> None:
        """A run begins."""
        self.running[run] = 0.0
        self._since[run] = time.monotonic()

    def hear(self, run: str, message: dict[str, Any]) -> None:
        """A message of a run's fit."""
        if run in self.running and message.get("max_steps"):
            self.running[run] = min(1.0, message["step"] / message["max_steps"])

    def end(self, run: str, *, ok: bool) -> None:
        """A run has ended."""
        self.running.pop(run, None)
        since = self._since.pop(run, None)
        if since is not None:
            self.spent.append(time.monotonic() - since)
        if ok:
            self.done += 1
        else:
            self.failed += 1


OnProgress = Callable[[SweepState], None]


class SweepBar:
    """One bar on standard error while it is a terminal; elsewhere a line now and then.

    Use it as `on_progress` of a sweep, as a context manager.

    Parameters
    ----------
    stream : file, optional
    every : float
        Seconds between two lines.
    unit : str
        What is counted.
    """

    def __init__(self, stream: IO[str] | None = None, *, every: float = 30.0, unit: str = "runs") -> None:
        self._console = Console(file=stream or sys.stderr, highlight=False)
        self._bar: Progress | None = None
        self._every, self._last = every, time.monotonic()
        self._told = -1
        self._unit = unit

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, state: SweepState) -> None:
        if not self._console.is_terminal:
            self._line(state)
            return
        if self._bar is None:
            self._bar = Progress(
                TextColumn(f"{{task.completed:.0f}}/{{task.total:.0f}} {self._unit}"),
                BarColumn(),
                TextColumn("{task.fields[news]}"),
                TimeElapsedColumn(),
                console=self._console,
            )
            self._task = self._bar.add_task("", total=state.total, news="")
            self._bar.start()
        self._bar.update(self._task, completed=state.ended, news=news(state))

    def _line(self, state: SweepState) -> None:
        last = state.ended == state.total and self._told != state.ended
        if last or time.monotonic() - self._last >= self._every:
            self._last, self._told = time.monotonic(), state.ended
            told = [f"{state.ended}/{state.total} {self._unit}", *filter(None, [news(state)])]
            self._console.print(", ".join(told), soft_wrap=True)


def map_with_progress(
    executor: Executor, on_progress: OnProgress, function: Callable[[Part], R], parts: PartitionedFolder
) -> Iterator[R]:
    """`executor.map` over the parts of a folder, with progress told where there is more than one."""
    state = SweepState(len(parts), workers=executor.workers)

    def tell() -> None:
        if state.total > 1:
            on_progress(state)

    def begun() -> Iterator[Part]:
        for place, part in enumerate(parts):
            state.start(str(place))
            tell()
            yield part

    for place, result in enumerate(executor.map(function, begun())):
        state.end(str(place), ok=True)
        tell()
        yield result


def news(state: SweepState) -> str:
    """The state in a few words."""
    parts = [f"{state.failed} failed"] if state.failed else []
    parts += [f"{state.skipped} done before"] if state.skipped else []
    if state.running:
        parts.append(f"{len(state.running)} at work")
    eta = state.eta_seconds
    if eta is not None and state.ended < state.total:
        parts.append(f"about {format_duration(eta)} left")
    return ", ".join(parts)


def format_duration(seconds: float) -> str:
    """A length of time for people."""
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole / 60:.0f} min"
    return f"{whole / 3600:.1f} h"
