"""Who works on a run: a lock that dies with its process, and a record of the process for others to read."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import filelock
import psutil


@dataclass(frozen=True)
class Owner:
    """A process, told apart from later ones with the same number by its start.

    Parameters
    ----------
    host : str
    pid : int
    started : float
        In seconds since 1970, by the clock of the machine, which somebody may set.
    boot : str
        Names the start of the machine, where the system does.
    after_boot : float
        Seconds from that to the start of the process: no clock changes it.
    """

    host: str
    pid: int
    started: float
    boot: str = ""
    after_boot: float = 0.0

    @classmethod
    def me(cls) -> Owner:
        """This process."""
        return cls(socket.gethostname(), os.getpid(), psutil.Process().create_time(), _boot(), _after_boot(os.getpid()))

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Owner:
        """Read back what `to_dict` gave."""
        since = (str(content.get("boot", "")), float(content.get("after_boot", 0.0)))
        return cls(str(content["host"]), int(content["pid"]), float(content["started"]), *since)

    def to_dict(self) -> dict[str, Any]:
        """Plain dict for JSON."""
        return asdict(self)

    @property
    def alive(self) -> bool:
        """Whether the process still runs; one of another machine is believed to."""
        if self.host != socket.gethostname():
            return True
        try:
            process = psutil.Process(self.pid)
            # A zombie has ended; only its parent has not asked how yet.
            return process.status() != psutil.STATUS_ZOMBIE and self._is(process)
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True

    def _is(self, process: psutil.Process) -> bool:
        """Whether it is the same process, and no later one with its number."""
        if self.boot and self.boot == _boot():
            return abs(_after_boot(process.pid) - self.after_boot) < 1.0
        return not self.boot and abs(process.create_time() - self.started) < 1.0


def _boot() -> str:
    """A name of this start of the machine; nothing where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _after_boot(pid: int) -> float:
    """Seconds from the start of the machine to that of a process: both are told by the clock, their distance is not."""
    return psutil.Process(pid).create_time() - psutil.boot_time()


class FileLock:
    """An exclusive lock on a file. The system releases it when the process ends, however it ends."""

    def __init__(self, lock: filelock.BaseFileLock) -> None:
        self._lock = lock

    @classmethod
    def acquire(cls, path: Path, *, patience: float = 0.0) -> FileLock | None:
        """The lock, or None when another process has it and does not let go within `patience` seconds."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whichever thread ends the work lets go, not only the one that began it.
        lock = filelock.FileLock(path, timeout=patience, mode=0o644, thread_local=False)
        try:
            lock.acquire(poll_interval=0.02)
        except filelock.Timeout:
            return None
        return cls(lock)

    def release(self) -> None:
        """Let go; a second time does nothing."""
        self._lock.release()
