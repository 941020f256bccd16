"""What SPOFR, its rivals and the anchors reach on held-out data: equal tuning budgets, one selection rule.

    python benchmarks/quality.py                # all methods with one network: runs the study, or continues it
    python benchmarks/quality.py --end-to-end   # the same for: what does training through the programme add?
    python benchmarks/quality.py --pieces       # scorers, losses, learning curve, long lists, ensembles: piece by piece
    python benchmarks/quality.py --report       # the tables of docs/quality.md, and longer ones
    python benchmarks/quality.py --quick --results /tmp/quick.jsonl

Protocol. Every method gets the same data and early stopping, and the same number of configurations to choose from: each
is trained on seeds that are used for nothing else, and the one with the best mean objective on the VALIDATION lists is
taken for all other seeds. Test lists are scored once, at the end, without a look at their labels.
One line per (dataset, method, seed, delta or penalty) is appended to the results file; what is there is not run again.
What is compared is in quality_cells.py, the pieces in quality_plan.py, the tables in quality_tables.py and
quality_answers.py; docs/make_tables.py puts these into docs/quality.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # many fits at a time, each on one core

from quality_answers import answers
from quality_cells import DATASETS, DELTAS, KNOWN, LOGISTIC_REGRESSION, METHODS, PENALTIES, TUNING_SEEDS
from quality_fits import ensemble_unit, run_unit, tune_unit
from quality_plan import PIECES, as_cells, objectives, study_of, tuning_of
from quality_tables import END_TO_END, print_tables

# -- what is left to do --------------------------------------------------------------------------------


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All complete lines; one that was cut off by a crash is told, left out, and run again."""
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(text))
        except ValueError:
            print(f"left out a broken line: {text[:60]}...", file=sys.stderr)
    return lines


def chosen_settings(lines: list[dict[str, Any]], dataset: str, method: str) -> dict[str, Any]:
    """The configuration with the best mean objective over the tuning seeds."""
    tried = objectives(lines, dataset, method)
    chosen: dict[str, Any] = json.loads(max(tried, key=tried.__getitem__)) if tried else {}
    return chosen


def tuning_left(arguments: argparse.Namespace, lines: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """Units (dataset, seed, method, settings, values) of tuning that are not in the results yet."""
    done = {
        (line["dataset"], line["method"], line["seed"], json.dumps(line["settings"], sort_keys=True))
        for line in lines
        if line.get("tuning")
    }
    for dataset in arguments.datasets:
        for method in arguments.methods:
            choices = METHODS[method].choices if method in METHODS else ()
            for choice in choices[:2] if arguments.quick else choices:
                for seed in TUNING_SEEDS[:1] if arguments.quick else TUNING_SEEDS:
                    if (dataset, method, seed, json.dumps(choice, sort_keys=True)) not in done:
                        yield dataset, seed, method, choice, ()


def study_left(arguments: argparse.Namespace, lines: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """The same of the study itself, seed by seed, so that an unfinished study has whole pairs."""
    done = {
        (line["dataset"], line["method"], line["seed"], line["delta"] if line["penalty"] is None else line["penalty"])
        for line in lines
        if not line.get("tuning")
    }
    for seed in arguments.seeds:
        for dataset in arguments.datasets:
            for method in arguments.methods:
                if method == LOGISTIC_REGRESSION and KNOWN[dataset].sample != "german-credit":
                    continue
                grid = METHODS[method].grid(arguments.deltas, arguments.penalties) if method in METHODS else (None,)
                values = tuple(value for value in grid if (dataset, method, seed, value) not in done)
                if values:
                    yield dataset, seed, method, chosen_settings(lines, dataset, method), values


def run(arguments: argparse.Namespace) -> None:
    """Tune what is not tuned, then run what is not there."""
    for name, unit, find in (("tuning", tune_unit, tuning_left), ("study", run_unit, study_left)):
        work_off(name, unit, list(find(arguments, read_lines(arguments.results))), arguments)


def run_pieces(arguments: argparse.Namespace) -> None:
    """The pieces of the plan, one after the other: the tuning of each, then its study."""
    for name in arguments.pieces:
        piece = PIECES[name]
        work_off(
            f"tuning of {name}", tune_unit, list(tuning_of(piece, as_cells(read_lines(arguments.results)))), arguments
        )
        unit = ensemble_unit if piece.ensemble else run_unit
        work_off(name, unit, list(study_of(piece, as_cells(read_lines(arguments.results)), arguments.seeds)), arguments)


def work_off(name: str, unit: Callable[..., Any], left: list[Any], arguments: argparse.Namespace) -> None:
    """Run units of work, several at a time if asked for, and write their lines as they come."""
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    print(f"{name}: {len(left)} units to run", file=sys.stderr)
    started = time.perf_counter()
    for count, (work, lines) in enumerate(_done(unit, left, arguments), start=1):
        with arguments.results.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        eta = (time.perf_counter() - started) / count * (len(left) - count)
        print(f"{count}/{len(left)} {work[:3]}, {eta / 60:.0f} min left", file=sys.stderr)


def _done(unit: Callable[..., Any], left: list[Any], arguments: argparse.Namespace) -> Iterator[tuple[Any, Any]]:
    """Each unit with its lines: in this process if there is one job, else as processes end with them."""
    if arguments.jobs == 1:
        yield from ((work, unit(*work, arguments.quick)) for work in left)
        return
    with ProcessPoolExecutor(arguments.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(unit, *work, arguments.quick): work for work in left}
        yield from ((futures[future], future.result()) for future in as_completed(futures))


def _seeds(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main() -> None:
    """Read the command line."""
    rivals = [*(name for name in METHODS if name not in END_TO_END), LOGISTIC_REGRESSION]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results/quality.jsonl"))
    parser.add_argument("--end-to-end", action="store_true", help="what training through the programme adds, and where")
    parser.add_argument("--pieces", nargs="*", choices=PIECES, help="scorers, losses and the programme; all by default")
    parser.add_argument("--datasets", nargs="+", choices=KNOWN)
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, LOGISTIC_REGRESSION])
    parser.add_argument("--seeds", type=_seeds, default=_seeds("60-83"), help="first-last")
    parser.add_argument("--deltas", nargs="+", type=float)
    parser.add_argument("--penalties", nargs="+", type=float, default=list(PENALTIES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quick", action="store_true", help="two seeds, two deltas, few steps")
    parser.add_argument("--report", action="store_true", help="only print the tables")
    arguments = parser.parse_args()
    arguments.datasets = arguments.datasets or list(KNOWN if arguments.end_to_end else DATASETS)
    arguments.methods = arguments.methods or (list(END_TO_END) if arguments.end_to_end else rivals)
    arguments.deltas = arguments.deltas or ([0.0, 0.02] if arguments.end_to_end else list(DELTAS))
    if arguments.quick:
        arguments.seeds, arguments.deltas, arguments.penalties = arguments.seeds[:2], [0.0, 0.03], [0.0, 100.0]
    if arguments.pieces is not None and not arguments.report:
        arguments.pieces = arguments.pieces or list(PIECES)
        run_pieces(arguments)
    elif not arguments.report:
        run(arguments)
    lines = read_lines(arguments.results)
    for name, table in answers(lines).items():
        print(f"\n## {name}\n\n{table}")
    print_tables(lines)


if __name__ == "__main__":
    main()
