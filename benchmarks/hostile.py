"""The long run of the attacks: `python benchmarks/hostile.py fuzz --tries 20000` and `... limits`.

Each part ends by writing its figures into `docs/reliability.md`, between the two marks with its name. The tries run in
children, a few hundred in each, so that even a crash of the interpreter is counted and not suffered.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from document_parts import write_part

HERE = Path(__file__).resolve().parent
BATCH = 2_500
MEMORY = 6 * 2**30


def fuzz(tries: int) -> str:
    """Mutated files through the readers, and a paragraph about them."""
    start = time.perf_counter()
    failures: list[str] = []
    largest, slowest, done = 0.0, 0.0, 0
    ends: Counter[str] = Counter()
    for first in range(0, tries, BATCH):
        last = min(tries, first + BATCH)
        command = [sys.executable, str(HERE / "hostile.py"), "batch", str(first), str(last)]
        child = subprocess.run(command, capture_output=True, text=True, check=False)
        told = [json.loads(line) for line in child.stdout.splitlines()]
        if child.returncode != 0:
            failures.append(f"batch {first} to {last} ended with code {child.returncode}: {child.stderr[-300:]}")
        for line in told:
            failures += line["failures"]
            ends.update(line["ends"])
            largest, slowest = max(largest, line["megabytes"]), max(slowest, line["slowest"])
            done += line["tries"]
        print(f"{last:,} of {tries:,}: {len(failures)} failures, {largest:,.0f} MB", file=sys.stderr, flush=True)
    minutes = (time.perf_counter() - start) / 60
    lines = [
        f"`python benchmarks/hostile.py fuzz --tries {tries}`: {done:,} mutated files in {minutes:.0f} minutes, "
        f"{ends['dataset']:,} became a dataset, {ends['error']:,} were refused in a sentence, "
        f"{len(failures)} ended in anything else. The slowest took the processor {slowest:.1f} s; the largest process "
        f"{largest:,.0f} MB, libraries included (limit {MEMORY / 2**30:.0f} GB).",
        *(f"- {failure}" for failure in failures),
    ]
    return "\n".join(lines)


def batch(first: int, last: int) -> None:
    """Some of the tries, in this process; prints one line of JSON."""
    import fuzzing

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    ends: Counter[str] = Counter()
    failures, slowest = [], 0.0
    fuzzing.try_one(first)  # imports what is imported late, which is no time of a file's own
    for number in range(first, last):
        start = time.process_time()
        failure = fuzzing.try_one(number, ends)
        slowest = max(slowest, time.process_time() - start)
        if failure is not None:
            failures.append(str(failure))
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {"tries": last - first, "failures": failures, "ends": ends, "slowest": slowest, "megabytes": megabytes}
    print(json.dumps(told))


def limits() -> str:
    """What a child does with each hostile file, in how long and how much memory, as a table."""
    from hostile_sizes import CASES

    rows = ["| input | what comes of it | seconds | MB |", "|---|---|---|---|"]
    for name in CASES:
        command = [sys.executable, str(HERE / "hostile_sizes.py"), name]
        child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        if child.returncode != 0:
            rows.append(f"| {name} | crashed: {child.stderr.strip()[-200:]} | | |")
            continue
        told = json.loads(child.stdout)
        rows.append(f"| {name} | {told['outcome']} | {told['seconds']:.1f} | {told['megabytes']:,.0f} |")
        print(rows[-1], file=sys.stderr, flush=True)
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["fuzz", "limits", "batch"])
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--tries", type=int, default=20_000)
    asked = parser.parse_args()
    if asked.part == "batch":
        batch(*asked.numbers)
        return
    text = fuzz(asked.tries) if asked.part == "fuzz" else limits()
    write_part(asked.part, text)
    print(text)


if __name__ == "__main__":
    main()
