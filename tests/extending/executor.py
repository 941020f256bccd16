"""An executor of one's own: works in this process, and says on stderr what it begins with."""

import sys
from collections.abc import Generator, Iterable, Iterator

from spofr_core.experiments import EXECUTORS, Executor, ExecutorKind, InlineExecutor, Order, Outcome, Task


class Spoken(InlineExecutor):
    """Tasks are drawn one at a time, when there is somebody free for them."""

    def __init__(self, address: str) -> None:
        self.address = address

    def _outcomes(self, tasks: Iterable[Task], order: Order) -> Generator[Outcome]:
        return super()._outcomes(self._spoken(tasks), order)

    def _spoken(self, tasks: Iterable[Task]) -> Iterator[Task]:
        for task in tasks:
            print(f"{self.address} begins with {task.key}", file=sys.stderr)
            yield task


def start(address: str, workers: int) -> Executor:
    """What `--scheduler spoken:...` stands for; `--workers` is left to it."""
    return Spoken(address)


EXECUTORS.register(ExecutorKind("spoken", start, "spoken:NAME for this process, with words"))
