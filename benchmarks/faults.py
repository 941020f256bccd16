"""SIGKILL at random instants: `python benchmarks/faults.py kills`, `... processes`, then `... report`.

Every piece of work (see `kill_works`) is killed up to six times, goes on after each as its user would let it, and must
end in the bytes and numbers of an undisturbed run. A line of `results/kills.jsonl` tells of each; runs add up.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

# One thread, so that a fork is whole, and a layer of numba's that outlives it.
os.environ.update(OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1", NUMBA_THREADING_LAYER="workqueue", PYTHONUNBUFFERED="1")

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from document_parts import write_part  # noqa: E402
from killing import Chain  # noqa: E402

KILLS = HERE / "results" / "kills.jsonl"
CUTS = (
    "at any instant",
    "before the first write",
    "while it wrote",
    "at a move into place",
    "between two writes",
    "after the last write",
)


def kills(most: int, names: list[str], first_seed: int, target: Path) -> int:
    """Kill until there are so many of each work in the file; how many faults were found now."""
    from kill_works import WORKS
    from killing import disturbed, undisturbed, warm_up

    faults = 0
    with tempfile.TemporaryDirectory(prefix="faults-") as root:
        for name in names or list(WORKS):
            work, done = WORKS[name], [line for line in told(target) if line["work"] == name]
            count, seed = sum(line["kills"] for line in done), first_seed + len(done)
            if count >= most:
                continue
            warm_up(work, Path(root))
            whole = undisturbed(work, Path(root))
            start, before = time.monotonic(), count
            while count < most:
                chain = disturbed(work, Path(root), seed, whole)
                keep(chain, target)
                faults += len(chain.faults)
                count += len(chain.cuts)
                seed += 1
            took = time.monotonic() - start
            print(
                f"{name}: {count - before} kills in {took:.0f} s, undisturbed {whole[1]:.2f} s, {whole[2]} writes",
                file=sys.stderr,
                flush=True,
            )
    return faults


def processes(most: int, names: list[str], target: Path) -> int:
    """The same with whole processes."""
    from kill_processes import NAMES, chains

    faults = 0
    with tempfile.TemporaryDirectory(prefix="faults-") as root:
        for name in names or NAMES:
            done = [line for line in told(target) if line["work"] == name]
            left = most - sum(line["kills"] for line in done)
            for chain in chains(name, Path(root), left, len(done)):
                keep(chain, target)
                faults += len(chain.faults)
    return faults


def keep(chain: Chain, target: Path) -> None:
    """Add a line, and say what is wrong."""
    with target.open("a", encoding="utf-8") as file:
        file.write(json.dumps(chain.to_dict()) + "\n")
    for fault in chain.faults:
        print(f"{chain.work}, seed {chain.seed}: {fault}", file=sys.stderr, flush=True)


def told(path: Path) -> list[dict[str, object]]:
    """The lines of a file of results."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def report() -> str:
    """What all lines say, in a sentence and a table."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    faults: list[str] = []
    for line in told(KILLS):
        row = rows[line["work"]]
        row["chains"] += 1
        row["kills"] += line["kills"]
        row["faulty"] += bool(line["faults"])
        row.update(line["cuts"])
        faults += [f"- {line['work']}, seed {line['seed']}: {fault}" for fault in line["faults"][:1]]
    total = sum(rows.values(), Counter())
    table = [f"| work | runs | kills | {' | '.join(CUTS)} | runs with a fault |", f"|{'---|' * (len(CUTS) + 4)}"]
    for name, row in [*rows.items(), ("in all", total)]:
        cells = (row[cut] for cut in CUTS)
        table.append(
            f"| {name} | {row['chains']:,} | {row['kills']:,} | {' | '.join(f'{n:,}' for n in cells)} "
            f"| {row['faulty']:,} |"
        )
    text = (
        f"`python benchmarks/faults.py kills` and `... processes`: {total['kills']:,} kills in "
        f"{total['chains']:,} runs, {total['faulty']:,} of which showed a fault."
    )
    return "\n".join([text, "", *table, *faults[:20]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["kills", "processes", "report"])
    parser.add_argument("--kills", type=int, default=150, help="of each work")
    parser.add_argument("--work", action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=KILLS)
    asked = parser.parse_args()
    if asked.part == "report":
        text = report()
        write_part("kills", text)
        print(text)
        return
    if asked.part == "processes":
        sys.exit(1 if processes(asked.kills, asked.work, asked.results) else 0)
    sys.exit(1 if kills(asked.kills, asked.work, asked.seed, asked.results) else 0)


if __name__ == "__main__":
    main()
