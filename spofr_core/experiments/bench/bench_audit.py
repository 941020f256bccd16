"""`spofr bench audit`: from a CSV of a million rows to the summary, beside pandas reading the same file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_svmlight_file

from spofr_core.data import read_dataset
from spofr_core.evaluation import audit
from spofr_core.experiments.bench.timing import interleaved, peak_memory
from spofr_core.fairness import Fairness

LIMITS = {"audit_over_pandas": 3.0, "memory_over_table": 3.0, "letor_over_sklearn": 1.5}


def bench_audit(*, queries: int = 50_000, items: int = 20, rounds: int = 5, seed: int = 0) -> dict[str, Any]:
    """Time and memory of an audit from a CSV file, and of reading LETOR, as ratios within one run."""
    with tempfile.TemporaryDirectory() as folder:
        table, letor = Path(folder, "rows.csv"), Path(folder, "rows.letor")
        _write_table(table, queries, items, seed)
        _write_letor(letor, max(queries // 10, 1), items, seed)
        seconds = interleaved(
            {
                "pandas_read_csv": lambda: pd.read_csv(table, engine="pyarrow"),
                "read_dataset": lambda: read_dataset(table),
                "csv_to_summary": lambda: audit_file(table),
                "load_svmlight_file": lambda: load_svmlight_file(str(letor), query_id=True),
                "read_letor": lambda: read_letor(letor),
            },
            rounds=rounds,
        )
        parsed = int(pd.read_csv(table).memory_usage(deep=True).sum())
        peak = peak_memory(audit_file, table, warmup=_compile)
    ratios = {
        "audit_over_pandas": seconds["csv_to_summary"] / seconds["pandas_read_csv"],
        "memory_over_table": peak / parsed,
        "letor_over_sklearn": seconds["read_letor"] / seconds["load_svmlight_file"],
    }
    return {
        "rows": queries * items,
        "queries": queries,
        "rounds": rounds,
        "cpus": os.cpu_count(),
        "seconds": seconds,
        "memory": {"parsed_table_bytes": parsed, "peak_rise_bytes": peak},
        "ratios": ratios,
        "limits": LIMITS,
        "held": {name: ratios[name] <= limit for name, limit in LIMITS.items()},
    }


def audit_file(path: Path) -> dict[str, Any]:
    """What is measured: a file in, a summary out."""
    return audit(read_dataset(path), Fairness(delta=0.05)).summary


def read_letor(path: Path) -> object:
    """LETOR with groups from a feature, as its users read it."""
    return read_dataset(path, format="letor", group="5", group_quantiles=2)


def _compile() -> None:
    """Compile and import everything once, on a file of two rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "small.csv")
        _write_table(path, 2, 2, 0)
        audit_file(path)


def _write_table(path: Path, queries: int, items: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = queries * items
    group = rng.choice(np.array(["women", "men"]), rows)
    pd.DataFrame(
        {
            "query_id": np.char.add("q", np.repeat(np.arange(queries), items).astype(str)),
            "item_id": np.char.add("d", np.arange(rows).astype(str)),
            "group": group,
            "score": np.round(rng.normal(size=rows) + 0.3 * (group == "men"), 5),
            "relevance": rng.integers(0, 3, rows),
        }
    ).to_csv(path, index=False)


def _write_letor(path: Path, queries: int, items: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.random((queries * items, 46)), 6)
    with path.open("w", encoding="ascii") as file:
        for row, features in enumerate(values):
            cells = " ".join(f"{k}:{value}" for k, value in enumerate(features, start=1))
            file.write(f"{row % 3} qid:{row // items} {cells} # doc{row}\n")
