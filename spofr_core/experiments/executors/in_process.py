"""Work done in this process, one task after the other."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from spofr_core.experiments.executors.protocol import Cancelled, Executor, Order, Outcome, Task, attempt


class InlineExecutor(Executor):
    """The plainest executor: no other process, nothing to send."""

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def _outcomes(self, tasks: Iterable[Task], order: Order) -> Generator[Outcome]:
        """`stop` is asked before each task and at each message."""
        for task in tasks:
            data = None if task.data is None else order.share(task.data)

            def emit(message: Any, key: str = task.key) -> None:
                if order.stop():
                    raise Cancelled
                order.on_message(key, message)

            try:
                if order.stop():
                    return
                yield attempt(order.work, task, data, emit)
            except Cancelled:
                return

    def close(self) -> None:
        """Nothing was started."""
        return
