"""Files that are too much, one a process: `hostile_sizes.py NAME` prints seconds, memory and what came of it."""

from __future__ import annotations

import gzip
import io
import json
import resource
import sys
import time
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from spofr_core.data import preview_table, read_dataset
from spofr_core.errors import SpofrError

HEADER = b"qid,doc,sex,score\n"
ROWS = b"1,a,f,0.5\n1,b,m,0.4\n"


def many(rows: int, **columns: object) -> bytes:
    """A table of so many rows, with these columns in place of plain ones."""
    plain = {"qid": np.arange(rows) // 10, "doc": np.arange(rows), "sex": np.arange(rows) % 2}
    return pd.DataFrame({**plain, "score": np.arange(rows) / 7, **columns}).to_csv(index=False).encode()


def shared_text() -> bytes:
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000_000, np.int32)), pa.array(["x" * 500_000]))
    numbers = pa.array(np.arange(1_000_000))
    written = io.BytesIO()
    pq.write_table(pa.table({"qid": numbers, "doc": texts, "group": texts, "score": numbers}), written)
    return written.getvalue()


def lying_rows() -> bytes:
    """A Parquet file whose footer was cut down and patched: it speaks of what is not there."""
    written = io.BytesIO()
    pq.write_table(
        pa.table({"qid": np.arange(100_000), "group": ["a", "b"] * 50_000, "score": np.arange(1e5)}), written
    )
    content = bytearray(written.getvalue())
    footer = int.from_bytes(content[-8:-4], "little")
    return bytes(content[4 : len(content) // 2]) + bytes(content[-8 - footer :])


CASES: Mapping[str, Callable[[], bytes]] = {
    "gzip, 13 MB that unpack to 13 GB": lambda: gzip.compress(bytes(2**26)) * 200,
    "Parquet, 26 kB with a text of 500 kB in a million rows": shared_text,
    "Parquet whose footer lies": lying_rows,
    "CSV, one line of 500 MB": lambda: HEADER + ROWS + b"1," + b"x" * (500 * 10**6) + b",f,1\n",
    "CSV, a first line of 500 MB": lambda: b"x," * (250 * 10**6),
    "CSV, a quote that is never closed, 100 MB": lambda: HEADER + b'1,"a,f,0.5\n' + ROWS * 5_000_000,
    "CSV, 100,000 columns": lambda: (
        b",".join(b"c%d" % k for k in range(100_000)) + b"\n" + b",".join([b"1"] * 100_000) + b"\n"
    ),
    "CSV, 1,000,000 groups": lambda: many(1_000_000, sex=np.arange(1_000_000)),
    "CSV, one list of 1,000,000 items": lambda: many(1_000_000, qid=np.zeros(1_000_000, int)),
    "LETOR, feature 999999 in 20,000 lines": lambda: b"1 qid:1 1:1 999999:1 # a\n" * 20_000,
    "a zip archive": lambda: b"PK\x03\x04" + bytes(1_000),
    "a pickle": lambda: b"\x80\x04\x95" + bytes(1_000),
}


def main(name: str) -> None:
    """Look at the file as the upload form does, and read it."""
    content = CASES[name]()
    start = time.perf_counter()
    outcome = ""
    for read in (preview_table, read_dataset):
        try:
            outcome = type(read(content)).__name__
        except SpofrError as error:
            outcome = str(error)
    told = {"outcome": outcome, "seconds": time.perf_counter() - start}
    print(json.dumps({**told, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main(sys.argv[1])
