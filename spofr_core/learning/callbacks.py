"""Ready-made callbacks: a progress bar for people, JSON lines for programmes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from spofr_core.learning.events import Progress


class JsonLines:
    """Writes each message as one line of JSON, at once.

    Parameters
    ----------
    target : path or text stream
        A file is appended to, so that a resumed fit continues its own log.
    """

    def __init__(self, target: str | Path | IO[str]) -> None:
        self._path = Path(target) if isinstance(target, str | Path) else None
        self._stream = target if not isinstance(target, str | Path) else None

    def __call__(self, progress: Progress) -> None:
        line = json.dumps(progress.to_dict(), allow_nan=False) + "\n"
        if self._stream is not None:
            self._stream.write(line)
            self._stream.flush()
        elif self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)


class ProgressBar:
    """A progress bar on standard error while it is a terminal, silent otherwise.

    The bar runs to the last step that the stage may take; early stopping usually ends it before.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._console = Console(file=stream or sys.stderr)
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def __call__(self, progress: Progress) -> None:
        if not self._console.is_terminal:
            return
        if progress.kind == "end":
            self._stop()
            return
        if self._bar is None:
            self._bar = Bar(
                TextColumn("[bold]{task.fields[method]}[/] {task.fields[stage]}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[news]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task("", method=progress.method, stage=progress.stage, news="")
            self._bar.start()
        self._bar.update(self._task, completed=progress.step, total=progress.max_steps, stage=progress.stage)
        if progress.kind == "validation":
            self._bar.update(self._task, news=_news(progress))

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _news(progress: Progress) -> str:
    """The numbers of a validation in a few words."""
    parts = [f"DCG {progress.validation_dcg:.4f}"] if progress.validation_dcg is not None else []
    if progress.violation is not None:
        parts.append(f"violation {progress.violation:.4f}")
    if progress.fair_share is not None:
        parts.append(f"{progress.fair_share:.1%} hold delta")
    return ", ".join(parts)
