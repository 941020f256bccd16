"""Policies of adversarial lists, each with a certificate that `verify` checks: `python benchmarks/certificates.py run`.

Blocks are numbered and the same in every run. A line of `results/certificates.jsonl` counts some of them, so that a run
that is stopped goes on with the next block, and runs add up; `report` writes the sums into `docs/reliability.md`. A
sample of the small lists is solved again by HiGHS, from the same references that the tests use. Lists that fail are
kept, whole, in `results/certificate_failures.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from adversarial_lists import Block, block  # noqa: E402 - scripts find their neighbours, tests by the root
from document_parts import write_part  # noqa: E402

from spofr_core import DataError, Fairness, Policies, PositionBias, SpofrError, fair_policies, verify  # noqa: E402
from spofr_core.experiments import limit_threads  # noqa: E402
from spofr_core.policy.solvers.score_sizes import score_range  # noqa: E402
from tests.policy import quota_reference, reference  # noqa: E402

RESULTS = HERE / "results"
COUNTS, FAILURES = "certificates.jsonl", "certificate_failures.jsonl"
SIZE = 500
"""Lists of a block."""
BLOCKS_A_LINE = 20
WRITTEN_OUT = 8
"""Of so many blocks one has its certificates written as JSON and read again, so that every number in them is checked;
of the others multipliers, lotteries and dual bounds are."""
SAMPLED = 0.004
"""Share of the lists of up to ten items that HiGHS solves again."""
TOLERANCE = 1e-7
"""Relative to the range of the scores times the sum of the discount: what HiGHS can be trusted to."""


def run(lists: int, minutes: float, folder: Path) -> None:
    """Go on until so many lists are counted in all, or the time is up."""
    limit_threads(1)
    end = time.monotonic() + 60 * minutes
    total = counted(folder)["lists"]
    done = {told["first_block"] for told in lines(folder / COUNTS)}
    for number in count(0, BLOCKS_A_LINE):
        if total >= lists or time.monotonic() >= end:
            break
        if number in done:
            continue
        found = Found()
        start = time.perf_counter()
        for b in range(number, number + BLOCKS_A_LINE):
            found.add(check(block(b, SIZE)))
        counts = found.counts
        line = {"first_block": number, "blocks": BLOCKS_A_LINE, "seconds": round(time.perf_counter() - start, 1)}
        with (folder / FAILURES).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({"why": why[:500], **made.to_dict()}) + "\n" for why, made in found.faulty)
        with (folder / COUNTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, "counts": dict(sorted(counts.items()))}) + "\n")
        total += counts["lists"]
        told = {name: counts[name] for name in ("lists", "failed", "refused", "unproved", "glop", "compared", "differ")}
        print(f"{total:,} lists; the last {line['seconds']} s: {told}", file=sys.stderr, flush=True)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """What a file of results tells, if it is there."""
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def counted(folder: Path) -> Counter[str]:
    """The sums over all lines."""
    sums: Counter[str] = Counter()
    for told in lines(folder / COUNTS):
        sums.update(told["counts"])
        sums["blocks"] += told["blocks"]
        sums["seconds"] += told["seconds"]
    return sums


@dataclass
class Found:
    """Counts over some lists, and those that did not pass, with the reason."""

    counts: Counter[str] = field(default_factory=Counter)
    faulty: list[tuple[str, Block]] = field(default_factory=list)

    def add(self, other: Found) -> None:
        self.counts += other.counts
        self.faulty += other.faulty


def check(made: Block) -> Found:
    """Solve a block, verify every certificate, and compare a sample; lists that raise are tried one by one."""
    found = Found()
    try:
        policies = solved(made)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
        if len(made) > 1:
            return apart(made)
        # Scores outside the range that the sentence names, or exposures too different for a proof.
        refused = isinstance(error, DataError) or type(error) is SpofrError
        found.counts.update(["lists", "refused" if refused else "failed"])
        found.counts["unproved"] += type(error) is SpofrError
        if not refused:
            found.faulty.append((f"{type(error).__name__}: {error}", made))
        return found
    found.counts += about(made, policies)
    through_json = made.number % WRITTEN_OUT == 0
    claim = [json.loads(json.dumps(policy.certificate)) for policy in policies] if through_json else policies
    queries = verify(
        claim,
        made.scores,
        made.codes,
        made.fairness,
        offsets=made.offsets,
        group_names=made.names,
        allow_relaxed=True,
    ).queries
    found.counts["through JSON"] += len(made) * through_json
    for q in np.flatnonzero(~queries["ok"].to_numpy()).tolist():
        found.counts["failed"] += 1
        found.faulty.append((str(queries["reasons"].iloc[q]), made.one(q)))
    found.counts["verified"] += int(queries["ok"].sum())
    found.add(compared(made, policies))
    return found


def apart(made: Block) -> Found:
    """Lists whose scores are too large or too small to compute with, one by one, and then the others."""
    longest = int(np.diff(made.offsets).max())
    least, most = score_range(made.fairness.position_bias.vector(longest), made.discount.vector(longest))
    sizes = np.maximum.reduceat(np.abs(made.scores), made.offsets[:-1])
    outside = (sizes > 0) & ((sizes < least) | (sizes > most))
    found = Found()
    alone = outside if outside.any() else np.ones(len(made), dtype=bool)
    for q in np.flatnonzero(alone):
        found.add(check(made.one(int(q))))
    if not alone.all():
        found.add(check(made.some(np.flatnonzero(~alone))))
    return found


def solved(made: Block) -> Policies:
    """Its policies; where delta cannot be held, those of the smallest that can."""
    return fair_policies(
        made.scores,
        made.codes,
        made.offsets,
        made.fairness,
        discount=made.discount,
        group_names=made.names,
        on_infeasible="relax",
    )


def about(made: Block, policies: Policies) -> Counter[str]:
    """What the lists were like, and who solved them."""
    counts: Counter[str] = Counter({f"scores: {kind}": n for kind, n in Counter(made.kinds).items()})
    counts["lists"] += len(made)
    for part in made.demand.split(", "):
        counts[f"demand: {part}"] += len(made)
    counts["relaxed"] += len(policies.relaxed)
    sizes = policies.lists.sizes
    counts["with a group of one item"] += int((sizes == 1).any(axis=1).sum())
    counts["lotteries over several rankings"] += int((policies.solution.counts > 1).sum())
    for note in policies.solution.notes:
        some = re.match(r"(\d+) of \d+ lists were solved by GLOP", note)
        counts["glop"] += int(some[1]) if some else len(made) if note.startswith("Solved by GLOP") else 0
    return counts


def compared(made: Block, policies: Policies) -> Found:
    """A sample of the small lists against HiGHS."""
    found = Found()
    rng = np.random.default_rng([made.number, 1])
    small = np.flatnonzero(np.diff(made.offsets) <= 10)
    for q in small[rng.random(len(small)) < SAMPLED].tolist():
        one = made.one(q)
        try:
            best = highs(one, policies, q)
        except AssertionError:  # HiGHS itself gave up
            found.counts["HiGHS gave up"] += 1
            continue
        if best is None:
            continue
        found.counts["compared"] += 1
        unit = float(np.ptp(one.scores)) * float(made.discount.vector(len(one.scores)).sum())
        rounding = 1e-12 * len(one.scores) * max(float(np.abs(one.scores).max()), np.finfo(float).tiny)
        if not abs(best - float(policies[q].utility)) <= TOLERANCE * unit + rounding:
            found.counts["differ"] += 1
            found.faulty.append((f"HiGHS reaches {best!r}, the policy {policies[q].utility!r}", one))
    return found


def highs(one: Block, policies: Policies, q: int) -> float | None:
    """The optimum of one list by HiGHS; None for quotas beyond what its reference knows."""
    n, lists = len(one.scores), policies.lists
    fairness = one.fairness
    if fairness.every_ranking is not None:
        if fairness.notion != "exposure" or isinstance(fairness.delta, dict) or q in policies.relaxed or n > 7:
            return None
        if q in lists.lifted:
            return None
        least, spread = float(one.scores.min()), float(np.ptp(one.scores))
        plain = (one.scores - least) / (spread or 1.0)
        groups = [one.names[code] for code in one.codes.tolist()]
        best = quota_reference.optimum(plain.tolist(), groups, _in_units(fairness, n), one.discount)
        if isinstance(best, str):
            raise AssertionError(best)
        return least * float(one.discount.vector(n).sum()) + spread * best
    v = fairness.position_bias.vector(n)
    unit = float(v.max()) or 1.0
    lower, upper = lists.lower[q] / unit, lists.upper[q] / unit
    return reference.reference_optimum(one.scores, one.codes, lower, upper, v / unit, one.discount.vector(n))


def _in_units(fairness: Fairness, n: int) -> Fairness:
    """The same demand with 1 as the largest exposure: the tolerances of HiGHS are absolute."""
    v = fairness.position_bias.vector(n)
    unit = float(v.max()) or 1.0
    delta = fairness.delta if fairness.unit == "share" or isinstance(fairness.delta, dict) else fairness.delta / unit
    scaled = {"position_bias": PositionBias(values=v / unit), "delta": delta}
    return Fairness(**{**fairness.to_dict(), "every_ranking": fairness.every_ranking, **scaled})


def again(folder: Path) -> int:
    """Try once more what failed or was refused before; how many still do."""
    still = 0
    for told in lines(folder / FAILURES):
        for why, made in check(Block.from_dict(told)).faulty:
            still += 1
            print(f"block {made.number}, {made.demand}: {why}", file=sys.stderr)
    return still


def report(folder: Path) -> str:
    """The sums in words and a table."""
    sums = counted(folder)
    rows = ["| lists with | how many |", "|---|---|"]
    for prefix in ("scores: ", "demand: "):
        named = {name.removeprefix(prefix): n for name, n in sums.items() if name.startswith(prefix)}
        what = "scores: " if prefix == "scores: " else ""
        rows += [f"| {what}{name} | {n:,} |" for name, n in sorted(named.items(), key=lambda entry: -entry[1])]
    for name in ("with a group of one item", "lotteries over several rankings", "relaxed"):
        rows.append(f"| {name.removeprefix('with ')} | {sums[name]:,} |")
    text = (
        f"`python benchmarks/certificates.py run --lists {sums['lists']}`: {sums['lists']:,} lists, "
        f"{sums['verified']:,} verified ({sums['through JSON']:,} of them as certificates that went through JSON), "
        f"{sums['failed']:,} failed, {sums['refused']:,} refused in a sentence "
        f"(at least {sums['unproved']:,} because no proof could hold them, the others for the size of their scores). "
        f"{sums['glop']:,} went to GLOP. {sums['compared']:,} were solved again by HiGHS "
        f"({sums['HiGHS gave up']:,} more were too hard for it): {sums['differ']:,} differ by more than {TOLERANCE:g} "
        f"of the range. {sums['seconds'] / 60:.0f} minutes of one core, other work beside it."
    )
    return "\n".join([text, "", *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["run", "again", "report"])
    parser.add_argument("--lists", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the counts")
    asked = parser.parse_args()
    if asked.part == "run":
        run(asked.lists, asked.minutes, asked.results)
        return
    if asked.part == "again":
        print(f"{again(asked.results)} of those that failed still do")
        return
    text = report(asked.results)
    write_part("certificates", text)
    print(text)


if __name__ == "__main__":
    os.nice(15)
    main()
