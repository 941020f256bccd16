"""The same kills with whole processes: commands of the shell, a pool of workers, a Dask cluster, the service.

Slower by far than forked children, because each imports everything: a few dozen show that nothing depends on the fork.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import kill_dask
import kill_service
import psutil
from kill_works import WORKS, run_results, store_faults, unreadable
from killing import FOLDER, SHELL, Chain, differences, fresh_folder, wait_for_work

PATIENCE = 300.0
MOST_KILLS = 4
_SHORT = ("hidden=[4]", "batch_size=4", "validate_every=2", "max_steps=60")
_TRAIN = (
    *("train", "table.csv", "--query", "search_id", "--item", "candidate_id", "--group", "gender"),
    *("--relevance", "relevance", "--delta", "0.1", "--out", "runs"),
    *(word for setting in _SHORT for word in ("--set", setting)),
)
COMMANDS = {
    "spofr train": _TRAIN,
    "spofr sweep --workers 2": ("sweep", "spec.yaml", "--no-probe", "--out", "runs", "--workers", "2"),
}
NAMES = (*COMMANDS, kill_dask.NAME, kill_service.NAME)


def chains(name: str, root: Path, kills: int, seed: int) -> Iterator[Chain]:
    """Runs of one command, each killed a few times, until there were so many kills."""
    if kills <= 0:
        return
    with ExitStack() as stack:
        disturb: Callable[[random.Random, Chain, Path], None]
        if name == kill_service.NAME:
            disturb = kill_service.served
        elif name == kill_dask.NAME:
            nodes = stack.enter_context(kill_dask.cluster(root))
            disturb = partial(kill_dask.swept, nodes=nodes, whole=kill_dask.undisturbed(root, nodes))
        else:
            disturb = partial(commanded, words=COMMANDS[name], whole=undisturbed(COMMANDS[name], root))
        while kills > 0:
            chain = Chain(name, seed)
            disturb(random.Random(f"{name} {seed}"), chain, root)
            yield chain
            kills -= len(chain.cuts)
            seed += 1


def undisturbed(words: tuple[str, ...], root: Path) -> tuple[dict[str, Any], float]:
    """What a command brings when nobody kills it, and the seconds from its first run to its end."""
    folder = fresh_folder(root / FOLDER, WORKS["sweep, one process"])
    process = _command(words, folder)
    began = wait_for_work(process, folder / "runs")
    if process.wait(PATIENCE):
        raise RuntimeError(f"The command fails by itself with code {process.returncode}: {' '.join(words)}")
    return run_results(folder / "runs"), time.monotonic() - began


def commanded(
    chance: random.Random, chain: Chain, root: Path, words: tuple[str, ...], whole: tuple[dict[str, Any], float]
) -> None:
    """A command, killed at random instants of its work, given again, and compared with an undisturbed one."""
    expected, seconds = whole
    folder = fresh_folder(root / FOLDER, WORKS["sweep, one process"])
    for attempt in range(MOST_KILLS + 1):
        process = _command(words, folder)
        if attempt < MOST_KILLS and chance.random() < 0.8:  # else at any instant of its life
            wait_for_work(process, folder / "runs")
        try:
            process.wait(PATIENCE if attempt == MOST_KILLS else 0.7 * seconds * chance.random())
        except subprocess.TimeoutExpired:
            workers = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            process.wait()
            _, alive = psutil.wait_procs(workers, timeout=30)
            chain.cuts.append("at any instant")
            chain.faults += [f"worker {worker.pid} outlived its parent" for worker in alive]
            chain.faults += [*unreadable(folder), *store_faults(folder / "runs")]
            continue
        if process.returncode:
            chain.faults.append(f"the command ended with code {process.returncode}")
        break
    chain.faults += differences(expected, run_results(folder / "runs"))


def _command(words: tuple[str, ...], folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*SHELL, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
