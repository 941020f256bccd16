"""Work in a forked child that is killed at a random instant, again and again, until it has ended.

The parent has imported everything and runs no threads, so that a child costs milliseconds: it forks, works on real
files, and SIGKILL comes from outside. The child tells on a page of shared memory how far it is with its writes, so that
afterwards it is known what the kill has cut: half of the kills come at any instant, half at a write.
"""

from __future__ import annotations

import mmap
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMPUTING, WRITING, MOVING = range(3)
MOST_KILLS = 6
"""Of one piece of work; after them it is let alone."""
PATIENCE = 900.0
SHELL = (sys.executable, "-c", "from spofr_core.cli import main; main()")
"""The command as a process of its own."""
FOLDER = "work"
"""The same for all of them: names of runs, and reports, carry the paths of their data."""


@dataclass(frozen=True)
class Work:
    """Something that a process does in a folder, and that the same call goes on with when the process was killed.

    Parameters
    ----------
    name : str
    run : callable
        The work itself, in a child.
    faults : callable
        What is wrong with what the folder shows after a kill, in sentences; nothing, if all is well.
    result : callable
        What must be the same as after an undisturbed run.
    begin : callable, optional
        What has to be there before.
    """

    name: str
    run: Callable[[Path], None]
    faults: Callable[[Path], list[str]]
    result: Callable[[Path], dict[str, Any]]
    begin: Callable[[Path], None] = lambda folder: None


@dataclass
class Chain:
    """One piece of work, killed some times, and what became of it."""

    work: str
    seed: int
    cuts: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a line of JSON."""
        return {"work": self.work, "seed": self.seed, "kills": len(self.cuts), "cuts": self.cuts, "faults": self.faults}


class Page:
    """What a child tells of its writes: where it is, how many it has begun and ended."""

    _layout = struct.Struct("qqq")

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)

    def read(self) -> tuple[int, int, int]:
        phase, begun, ended = self._layout.unpack_from(self._memory)
        return phase, begun, ended

    def tell(self, phase: int, begun: int = 0, ended: int = 0) -> None:
        _, so_far, done = self.read()
        self._layout.pack_into(self._memory, 0, phase, so_far + begun, done + ended)

    def clear(self) -> None:
        self._layout.pack_into(self._memory, 0, COMPUTING, 0, 0)

    def watch(self) -> None:
        """Tell of every file that is written beside its place and moved there, and of every transaction; in a child."""
        make, replace, rename = tempfile.mkstemp, Path.replace, Path.rename

        def mkstemp(*args: Any, **settings: Any) -> Any:
            self.tell(WRITING, begun=1)
            return make(*args, **settings)

        def moved(move: Callable[[Path, Any], Path]) -> Callable[[Path, Any], Path]:
            def tell_and_move(self_: Path, target: Any) -> Path:
                self.tell(MOVING)
                try:
                    return move(self_, target)
                finally:
                    self.tell(COMPUTING, ended=1)

            return tell_and_move

        tempfile.mkstemp = mkstemp
        Path.replace, Path.rename = moved(replace), moved(rename)  # type: ignore[method-assign,assignment]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A write that is no file of its own."""
        self.tell(WRITING, begun=1)
        try:
            yield
        finally:
            self.tell(COMPUTING, ended=1)


PAGE = Page()


def warm_up(work: Work, root: Path) -> None:
    """Do the work once in this process, so that its children have everything imported and compiled."""
    folder, here, words = fresh_folder(root / FOLDER, work), Path.cwd(), sys.argv
    try:
        with (folder / "said.txt").open("w") as file, redirect_stdout(file), redirect_stderr(file):
            work.run(folder)
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"{work.name} fails by itself with code {end.code}: {said(folder)}") from None
    finally:
        os.chdir(here)
        sys.argv = words


def undisturbed(work: Work, root: Path) -> tuple[dict[str, Any], float, int]:
    """What the work brings when nobody kills it, the seconds that it takes, and its writes."""
    folder = fresh_folder(root / FOLDER, work)
    start = time.monotonic()
    code = os.waitstatus_to_exitcode(os.waitpid(_fork(work, folder), 0)[1])
    seconds = time.monotonic() - start
    if code != 0:
        raise RuntimeError(f"{work.name} fails by itself with code {code}:\n{said(folder)}")
    wrong = work.faults(folder)
    if wrong:
        raise RuntimeError(f"{work.name} is wrong without a kill: {wrong}")
    return work.result(folder), seconds, PAGE.read()[1]


def disturbed(work: Work, root: Path, seed: int, whole: tuple[dict[str, Any], float, int]) -> Chain:
    """Kill the work some times, look at its folder after each, let it end, and compare."""
    expected, seconds, writes = whole
    chance = random.Random(f"{work.name} {seed}")
    chain = Chain(work.name, seed)
    folder = fresh_folder(root / FOLDER, work)
    for attempt in range(MOST_KILLS + 1):
        child = _fork(work, folder)
        last = attempt == MOST_KILLS
        how = None if last else (chance.random() < 0.5, chance.random(), chance.random())
        code = _wait(child) if how is None else _kill(child, how, seconds, writes)
        if code == -signal.SIGKILL:
            chain.cuts.append(_cut(writes))
            chain.faults += [f"after kill {len(chain.cuts)}: {fault}" for fault in work.faults(folder)]
            continue
        if code != 0:
            chain.faults.append(f"the run after {len(chain.cuts)} kills ended with code {code}: {said(folder)[-600:]}")
        break
    chain.faults += differences(expected, work.result(folder))
    if not chain.faults:
        shutil.rmtree(folder)
    else:
        folder.rename(root / f"faulty-{work.name.replace(' ', '-').replace(',', '')}-{seed}")
    return chain


def fresh_folder(folder: Path, work: Work) -> Path:
    """An empty folder with what the work needs."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    work.begin(folder)
    return folder


def said(folder: Path) -> str:
    """What the children of this folder said."""
    return (folder / "said.txt").read_text(encoding="utf-8", errors="replace")


def _fork(work: Work, folder: Path) -> int:
    PAGE.clear()
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        out = os.open(folder / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(out, 1)
        os.dup2(out, 2)
        PAGE.watch()
        work.run(folder)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - a child says what happened, and is no second parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _kill(child: int, how: tuple[bool, float, float], seconds: float, writes: int) -> int:
    """Kill at any instant, or shortly after a write has begun; the exit code."""
    at_a_write, where, delay = how
    if at_a_write and writes:
        wanted = 1 + int(where * writes)
        end = time.monotonic() + 2 * seconds + 1
        while PAGE.read()[1] < wanted and time.monotonic() < end:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
        until = time.perf_counter() + 0.004 * delay**3  # a small file is written in a tenth of a millisecond
        while time.perf_counter() < until:
            pass
    else:
        time.sleep(where * seconds)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _wait(child: int) -> int:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)
    return 124


def _cut(writes: int) -> str:
    phase, begun, ended = PAGE.read()
    if not begun:
        return "before the first write"
    if phase == WRITING:
        return "while it wrote"
    if phase == MOVING:
        return "at a move into place"
    return "after the last write" if ended >= writes else "between two writes"


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for_work(process: subprocess.Popen[bytes], store: Path) -> float:
    """Until a run of the store is at work, or the command that does it has ended; the time then."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        if any(path.stat().st_mtime > time.time() - 1.0 for path in store.glob("runs/*/*") if path.exists()):
            break
        time.sleep(0.01)
    return time.monotonic()


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What of the results is not that of an undisturbed run, in sentences."""
    names = expected.keys() | found.keys()
    wrong = sorted(name for name in names if expected.get(name) != found.get(name))
    return [f"{name} is not that of an undisturbed run" for name in wrong]
