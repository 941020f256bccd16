"""`run_sweep`: do the runs that are missing, anywhere, and keep what they bring."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from spofr_core.errors import DataError
from spofr_core.experiments.executors import Executor, InlineExecutor, Outcome, Task
from spofr_core.experiments.progress import OnProgress, SweepState
from spofr_core.experiments.run_data import DataShelf
from spofr_core.experiments.runs.claim import Claim
from spofr_core.experiments.runs.execution import execute
from spofr_core.experiments.runs.result_tables import collect
from spofr_core.experiments.runs.store import RunStore
from spofr_core.experiments.sweep_spec import RunConfig, SweepSpec
from spofr_core.files import DiskFull, explain_full_disk, format_size, is_full, size_of

OnMessage = Callable[[str, dict[str, Any]], None]
"""Gets the name of a run and a message of its fit."""
DISK_LIMIT = 20 * 2**30
COLLECT_EVERY = 15.0
POLL_EVERY = 0.5
"""Seconds between two looks at runs that other processes work on."""


@dataclass(frozen=True)
class SweepOutcome:
    """How a sweep ended.

    Attributes
    ----------
    total : int
        Runs of the sweep.
    skipped, done : int
        Runs that were done before, and that were done now (by this process or another one).
    failures : dict of str to str
        Runs that failed, and why.
    stopped : bool
        Whether it was stopped before its end.
    size : int
        Bytes of the store.
    """

    total: int
    skipped: int
    done: int
    failures: dict[str, str]
    stopped: bool
    seconds: float
    size: int

    @property
    def ok(self) -> bool:
        """Whether every run is done."""
        return not self.failures and not self.stopped

    def __str__(self) -> str:
        parts = [f"{self.done + self.skipped} of {self.total} runs are done"]
        parts += [f"{self.skipped} of them from before"] if self.skipped else []
        parts += [f"{len(self.failures)} failed"] if self.failures else []
        text = f"{', '.join(parts)}; the store takes {format_size(self.size)}."
        return f"{text} Stopped: the same command goes on from here." if self.stopped else text


def run_sweep(
    spec: SweepSpec | Sequence[RunConfig],
    store: RunStore,
    executor: Executor | None = None,
    *,
    on_progress: OnProgress | None = None,
    on_message: OnMessage | None = None,
    stop: Callable[[], bool] | None = None,
    changed_data: Literal["error", "rerun"] = "error",
    disk_limit: int = DISK_LIMIT,
    shelf: DataShelf | None = None,
) -> SweepOutcome:
    """Do all runs of a sweep that are not done yet.

    Runs that were cut go on from their checkpoint, failed ones are tried again, and runs that another process is
    working on are waited for. A run that fails is recorded; the others go on. Only this process
    writes the store.

    Parameters
    ----------
    spec : SweepSpec or sequence of RunConfig
    store : RunStore
    executor : Executor, optional
        This process by default.
    on_progress : callable, optional
        Called with the state whenever it changes.
    on_message : callable, optional
        Called with the name of a run and each message of its fit.
    stop : callable, optional
        Asked several times a second; True ends the sweep, and what is under way can be resumed.
    changed_data : {"error", "rerun"}
        What to do with a run whose data had another content when it was done.
    disk_limit : int
        Bytes that the store may take.

    Raises
    ------
    DataError
        When the data of a run has changed.
    DiskFull
        When the disk, or `disk_limit`, is reached; what is done is kept.
    """
    configs = spec.runs() if isinstance(spec, SweepSpec) else tuple(spec)
    return _Sweep(
        configs,
        store,
        executor or InlineExecutor(),
        shelf or DataShelf(configs),
        on_progress or (lambda state: None),
        on_message or (lambda run, message: None),
        stop or (lambda: False),
        disk_limit,
    ).run(spec, changed_data)


def missing_runs(configs: Sequence[RunConfig], store: RunStore) -> tuple[RunConfig, ...]:
    """Those that are not done."""
    done = {record.run for record in store.records() if record.status == "done"}
    return tuple(config for config in configs if config.run not in done)


@dataclass
class _Sweep:
    configs: tuple[RunConfig, ...]
    store: RunStore
    executor: Executor
    shelf: DataShelf
    on_progress: OnProgress
    on_message: OnMessage
    stop: Callable[[], bool]
    disk_limit: int
    claims: dict[str, Claim] = field(default_factory=dict)
    elsewhere: list[RunConfig] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    size: int = 0
    collected: float = field(default_factory=time.monotonic)

    def run(self, spec: SweepSpec | Sequence[RunConfig], changed_data: str) -> SweepOutcome:
        self.store.sweep_up()
        self._check_data(changed_data)
        pending = missing_runs(self.configs, self.store)
        self.state = SweepState(
            len(self.configs), skipped=len(self.configs) - len(pending), workers=self.executor.workers
        )
        self.size = self.store.size()
        if isinstance(spec, SweepSpec):
            name = uuid.uuid4().hex[:12]
            self.store.remember_sweep(name, spec.to_dict(), [config.run for config in self.configs])
        elif len(self.configs) == 1:
            # A model trained alone is found like a sweep; trained again, it is still one.
            only = self.configs[0]
            self.store.remember_sweep(only.run, {"dataset": only.dataset.to_dict()}, [only.run])
        self.on_progress(self.state)
        try:
            while pending and not self.stop():
                self._pass(pending)
                pending = self._wait_for_others()
        finally:
            with suppress(DiskFull):
                collect(self.store)
        return SweepOutcome(
            total=len(self.configs),
            skipped=self.state.skipped,
            done=self.state.done,
            failures=self.failures,
            stopped=self.state.ended < len(self.configs),
            seconds=self.state.seconds,
            size=self.store.size(),
        )

    def _check_data(self, changed_data: str) -> None:
        """A run that was done with data of another content must not pass for one of these."""
        changed = []
        for config in self.configs:
            record = self.store.get(config.run)
            if record is not None and record.fingerprint != self.shelf.fingerprint(config.data_key):
                changed.append(config)
        if not changed:
            return
        if changed_data == "rerun":
            self.store.remove([config.run for config in changed])
            return
        raise DataError(
            f"The data of {changed[0].dataset.label!r} has changed since {len(changed)} of these runs were begun "
            f"(first {changed[0].run}): bring the old data back, give another directory, or do these runs again "
            "with --changed-data rerun."
        )

    def _pass(self, pending: tuple[RunConfig, ...]) -> None:
        """Do what can be claimed."""
        outcomes = self.executor.outcomes(
            execute, self._tasks(pending), share=self.shelf.splits, on_message=self._hear, stop=self.stop
        )
        try:
            with closing(outcomes):
                for outcome in outcomes:
                    self._keep(outcome)
        finally:
            # The workers have ended by now: nobody writes for these runs any more.
            while self.claims:
                run, claim = self.claims.popitem()
                self.state.running.pop(run, None)
                with suppress(DiskFull):
                    claim.release()

    def _tasks(self, pending: tuple[RunConfig, ...]) -> Iterator[Task]:
        for config in pending:
            if self.size > self.disk_limit:
                raise DiskFull(
                    f"The runs in {str(self.store.root)!r} take {format_size(self.size)}, more than the limit of "
                    f"{format_size(self.disk_limit)}: remove some with `spofr runs rm`, or raise --disk-limit."
                )
            claim = self.store.claim(config, self.shelf.fingerprint(config.data_key))
            if claim is None:
                self.elsewhere.append(config)
                continue
            self.claims[config.run] = claim
            self.state.start(config.run)
            self.on_progress(self.state)
            item = {"config": config.to_dict(), "store": str(self.store.root.resolve()), "number": self.store.number}
            yield Task(config.run, item, data=config.data_key)

    def _hear(self, run: str, message: dict[str, Any]) -> None:
        if message["kind"] == "validation" and run in self.claims:
            self.claims[run].metric(message)
        self.state.hear(run, message)
        self.on_message(run, message)
        self.on_progress(self.state)

    def _keep(self, outcome: Outcome) -> None:
        claim = self.claims.pop(outcome.key)
        failure = outcome.failure
        if failure is None:
            claim.finish(outcome.value)
            self.size += size_of(claim.folder)
        elif is_full(failure.error):
            with suppress(DiskFull):
                claim.release()
            with explain_full_disk(self.store.root):
                raise failure.error  # type: ignore[misc]
        else:
            self.failures[outcome.key] = failure.reason
            claim.fail(failure.reason, failure.details)
        self.state.end(outcome.key, ok=failure is None)
        self.on_progress(self.state)
        if time.monotonic() - self.collected > COLLECT_EVERY:
            collect(self.store)
            self.collected = time.monotonic()

    def _wait_for_others(self) -> tuple[RunConfig, ...]:
        """Wait until the runs of other processes end; those that were let go unfinished come back to be done here."""
        waiting, self.elsewhere = self.elsewhere, []
        while waiting and not self.stop():
            still, let_go = [], []
            for config in waiting:
                record = self.store.get(config.run)
                status = "interrupted" if record is None else record.status
                if status in ("done", "failed"):
                    if status == "failed" and record is not None:
                        self.failures[config.run] = record.reason or "unknown"
                    self.state.end(config.run, ok=status == "done")
                    self.on_progress(self.state)
                elif status == "interrupted":
                    let_go.append(config)
                else:
                    still.append(config)
            if let_go:
                return (*let_go, *still)
            waiting = still
            if waiting:
                time.sleep(POLL_EVERY)
        return ()
