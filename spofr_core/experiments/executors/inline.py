"""Work done in this process, one task after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from spofr_core.experiments.executors.protocol import Cancelled, Executor, Outcome, Task, Work, attempt


class InlineExecutor(Executor):
    """The plainest executor: no other process, nothing to send."""

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def outcomes(
        self,
        work: Work,
        tasks: Iterable[Task],
        *,
        share: Callable[[str], Any] | None = None,
        on_message: Callable[[str, Any], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Iterator[Outcome]:
        """See `Executor.outcomes`; `stop` is asked before each task and at each message."""
        for task in tasks:
            data = share(task.data) if share is not None and task.data is not None else None

            def emit(message: Any, key: str = task.key) -> None:
                if stop is not None and stop():
                    raise Cancelled
                if on_message is not None:
                    on_message(key, message)

            try:
                if stop is not None and stop():
                    return
                yield attempt(work, task, data, emit)
            except Cancelled:
                return

    def close(self) -> None:
        """Nothing was started."""
        return
