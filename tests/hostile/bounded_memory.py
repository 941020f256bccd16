"""Hostile files in a process of its own that may take 2 GB beside its libraries.

`python -m tests.hostile.bounded_memory` runs all of them.

Each case prints a line of JSON: its name, and what came of it.
"""

from __future__ import annotations

import gzip
import io
import json
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from spofr_core import Fairness, audit, read_dataset
from spofr_core.data import RankingDataset, load_sample, simulate_clicks
from spofr_core.errors import SpofrError

ROOM = 2 * 2**30
LONG = "z" * 50_000
ROWS = 20_000


@contextmanager
def little_room() -> Iterator[None]:
    """No more memory than is taken now, and 2 GB."""
    with open("/proc/self/statm") as file:  # noqa: PTH123 - a file of the kernel
        taken = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def table(column: str = "doc", text: str = LONG) -> bytes:
    """A table of 20,000 rows with one long text in a column."""
    rows = {"qid": [f"q{k // 4}" for k in range(ROWS)], "doc": [f"d{k}" for k in range(ROWS)]}
    rows |= {"sex": ["f" if k % 2 else "m" for k in range(ROWS)], "score": [f"{k % 7}.5" for k in range(ROWS)]}
    rows[column][5] = text
    return pd.DataFrame(rows).to_csv(index=False).encode()


def small_gzip() -> object:
    return read_dataset(gzip.compress(table(text="d5")))


def opened_file() -> object:
    stream = io.BufferedReader(io.BytesIO(table(text="d5")))  # asks for as much memory as it is asked to read
    return read_dataset(stream)


def gzip_bomb() -> object:
    return read_dataset(gzip.compress(bytes(2**26)) * 200)  # 13 MB that unpack to 13 GB


def parquet_of_one_long_text() -> object:
    """A million rows that share a text of half a megabyte: 26 kB of file, 500 GB of table."""
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, np.int32)), pa.array(["x" * 500_000]))
    numbers = pa.array(np.arange(1_000_000))
    written = io.BytesIO()
    pq.write_table(pa.table({"qid": numbers, "doc": texts, "group": texts, "score": numbers}), written)
    return read_dataset(written.getvalue())


def letor_of_far_features() -> object:
    text = "\n".join(f"1 qid:{k // 9} {1 + k % 3}:1 {900_000 + k}:1" for k in range(2_000))
    return read_dataset(text.encode(), group="1", group_quantiles=2)


def letor_long_item() -> object:
    lines = [f"{k % 3} qid:{k // 20} 1:{k % 7} 2:{k % 5} # d{k}" for k in range(ROWS)]
    lines[5] = f"1 qid:0 1:1 2:1 # {LONG}"
    return read_dataset("\n".join(lines).encode(), group="1", group_quantiles=2)


def long_item_looked_up_in_groups() -> object:
    groups = b"doc,team\n" + b"".join(f"d{k},{k % 3}\n".encode() for k in range(ROWS))
    return read_dataset(table(), item_groups=groups, missing="own_group")


def long_item_in_the_table_of_groups() -> object:
    groups = f"doc,team\n{LONG},0\n".encode() + b"".join(f"d{k},{k % 3}\n".encode() for k in range(ROWS))
    return read_dataset(table(text="d5"), item_groups=groups)


def long_item_looked_up_in_judgments() -> object:
    return read_dataset(table(), qrels="\n".join(f"q{k // 4} 0 d{k} {k % 3}" for k in range(ROWS)).encode())


def long_query_and_judgments() -> object:
    return read_dataset(table("qid"), qrels="\n".join(f"q{k // 4} 0 d{k} {k % 3}" for k in range(ROWS)).encode())


def long_group() -> object:
    return audit(read_dataset(table("sex")), Fairness(delta=0.1)).queries


def long_query_through_a_frame() -> object:
    return RankingDataset.from_frame(read_dataset(table("qid")).to_frame())


def long_query_of_clicks() -> object:
    data = load_sample("hiring").train[:200]
    ids = np.array([LONG, *map(str, range(1, len(data)))], dtype=object)
    named = RankingDataset.from_frame(data.to_frame().assign(query_id=np.repeat(ids, data.list_lengths)))
    return simulate_clicks(named, ROWS, logging="score")


def long_line() -> object:
    return read_dataset(b"qid,doc,sex,score\n1,a,f,1\n1," + b"x" * (200 * 2**20) + b",m,2\n")


def long_first_line() -> object:
    return read_dataset(b"qid,doc,sex,score" * (12 * 2**20))


CASES: tuple[Callable[[], object], ...] = (
    *(small_gzip, opened_file, gzip_bomb, parquet_of_one_long_text, letor_of_far_features, letor_long_item),
    *(long_item_looked_up_in_groups, long_item_in_the_table_of_groups, long_item_looked_up_in_judgments),
    *(long_query_and_judgments, long_group, long_query_through_a_frame, long_query_of_clicks, long_line),
    long_first_line,
)


def main() -> None:
    """All cases, one after the other."""
    for case in CASES:
        try:
            with little_room():
                outcome = type(case()).__name__
        except SpofrError as error:
            outcome = str(error)
        except Exception as error:  # noqa: BLE001 - the test tells what came out instead
            outcome = f"{type(error).__name__}: {error}"
        print(json.dumps({"case": case.__name__, "outcome": outcome}), flush=True)


if __name__ == "__main__":
    main()
