"""Files that are too much, one a process: `hostile_sizes.py NAME` prints seconds, memory and what came of it."""

from __future__ import annotations

import gzip
import io
import json
import resource
import sys
import time
import zipfile
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


def some_parquet() -> bytes:
    written = io.BytesIO()
    columns = {"qid": np.arange(1_000) // 10, "group": ["a", "b"] * 500, "score": np.arange(1e3)}
    pq.write_table(pa.table(columns), written)
    return written.getvalue()


def lying_rows() -> bytes:
    """A Parquet file of a thousand rows whose footer speaks of a million million everywhere."""
    content = some_parquet()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[start:-8].replace(zigzag(1_000), zigzag(10**12))
    return content[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def zigzag(number: int) -> bytes:
    """A number as Parquet's footer writes it."""
    number, written = number << 1, bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    return bytes([*written, number])


def without_middle() -> bytes:
    """A Parquet file whose footer points at pages that are gone."""
    content = some_parquet()
    return content[:100] + content[-8 - int.from_bytes(content[-8:-4], "little") :]


def zip_bomb() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for k in range(10):
            archive.writestr(f"{k}.csv", bytes(10**8))
    return packed.getvalue()


CASES: Mapping[str, Callable[[], bytes]] = {
    "gzip, 13 MB that unpack to 13 GB": lambda: gzip.compress(bytes(2**26)) * 200,
    "Parquet, 26 kB with a text of 500 kB in a million rows": shared_text,
    "Parquet, 1,000 rows and a footer that speaks of 1,000,000,000,000": lying_rows,
    "Parquet, a footer that points at what is not there": without_middle,
    "CSV, one line of 500 MB": lambda: HEADER + ROWS + b"1," + b"x" * (500 * 10**6) + b",f,1\n",
    "CSV, a first line of 500 MB": lambda: b"x," * (250 * 10**6),
    "CSV, a quote that is never closed, 100 MB": lambda: HEADER + b'1,"a,f,0.5\n' + ROWS * 5_000_000,
    "CSV, 100,000 columns": lambda: (
        b",".join(b"c%d" % k for k in range(100_000)) + b"\n" + b",".join([b"1"] * 100_000) + b"\n"
    ),
    "CSV, 1,000,000 groups": lambda: many(1_000_000, sex=np.arange(1_000_000)),
    "CSV, one list of 1,000,000 items": lambda: many(1_000_000, qid=np.zeros(1_000_000, int)),
    "LETOR, feature 999999 in 20,000 lines": lambda: b"1 qid:1 1:1 999999:1 # a\n" * 20_000,
    "zip, 1 MB that unpack to 1 GB": zip_bomb,
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
