"""Importable work for the executors' tests."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spofr_core.errors import DataError
from spofr_core.experiments.executors import Emit


def square(number: int) -> int:
    return number * number


def fail_at_three(number: int) -> int:
    if number == 3:
        raise DataError("Three is not allowed.", column="number", row=4)
    return number


def scaled(item: int, data: Any, emit: Emit) -> int:
    """Multiply by the shared data, telling about it first."""
    emit({"item": item})
    if item < 0:
        raise ValueError(f"{item} is below 0")
    return item * int(data["factor"])


def die_once(item: dict[str, Any], data: Any, emit: Emit) -> tuple[int, int]:
    """The first to come kills its own process, leaving a mark; whoever comes again finds the mark and lives."""
    mark = Path(item["mark"])
    if item["number"] == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item["number"], os.getpid()


def always_die(item: int, data: Any, emit: Emit) -> int:
    if item == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def slow(item: dict[str, Any], data: Any, emit: Emit) -> str:
    """Work for a while in small steps, leaving its process id where the test finds it."""
    Path(item["folder"], f"{item['name']}.{os.getpid()}").touch()
    end = time.monotonic() + item["seconds"]
    while time.monotonic() < end:
        emit(item["name"])
        time.sleep(0.05)
    return str(item["name"])


def threads(item: int, data: Any, emit: Emit) -> tuple[int, int]:
    import numba
    import torch

    return torch.get_num_threads(), numba.get_num_threads()


def unpicklable(item: int, data: Any, emit: Emit) -> Any:
    return lambda: item


def killed_once(argument: Any, *, function: Callable[[Any], Any], mark: Path) -> Any:
    """The function of its argument; but the first worker to come is killed, leaving a mark."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return function(argument)
