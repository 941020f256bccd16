"""The log of what was shown: a row per shown item, in Parquet parts that are there whole or not at all."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spofr_core.files import write_whole
from spofr_core.serving.counter_store import CounterStore, Part
from spofr_core.serving.reranker import Ranked

SCHEMA = pa.schema(
    [
        ("time", pa.timestamp("us", tz="UTC")),
        ("query", pa.string()),
        ("impression", pa.string()),
        ("policy", pa.string()),
        ("ranking", pa.int32()),
        ("probability", pa.float64()),
        ("number", pa.int64()),
        ("position", pa.int32()),
        ("item", pa.string()),
        ("group", pa.string()),
        ("score", pa.float64()),
        ("delta", pa.float64()),
        ("added", pa.float64()),
        ("how", pa.string()),
        ("anew", pa.bool_()),
    ]
)
"""`impression` names the store, and numbers what was shown by all workers together; `number` numbers the impressions of
the query under its policy; `added` is what its schedule can add to a violation, times impressions; `anew` marks where
the counters of a query began again because its policy changed."""
MOST_RECORDS, MOST_BYTES = 2000, 4_000_000
"""Of one part: all of it is in memory while it is written."""


def shown_text(ranked: Ranked, items: Sequence[str], groups: Sequence[str | None], scores: Sequence[float]) -> str:
    """The part of a record that is the same whenever this ranking of this policy is shown: items from the top down."""
    order = ranked.ranking.tolist()
    told = [items[i] for i in order], [groups[i] for i in order], [scores[i] for i in order]
    return json.dumps(told, ensure_ascii=False)


def record_of(query: str | None, ranked: Ranked, shown: str) -> str:
    """One impression as the text that waits for its part; `shown` is its `shown_text`."""
    bound = ranked.bound if ranked.bound != float("inf") else None
    told = [
        time.time(),
        query,
        ranked.policy,
        ranked.index,
        ranked.probability,
        ranked.impressions,
        ranked.delta,
        None if bound is None else bound * ranked.impressions,
        ranked.how,
        ranked.anew,
    ]
    return f"{json.dumps(told, ensure_ascii=False)[:-1]}, {shown[1:]}"


def write_parts(store: CounterStore, folder: Path, *, patience: float = 0.0) -> int:
    """Write what waits in the store, and strike it there; how many impressions it was.

    A part that a process began and did not finish, because it was killed, is written by the next one who comes here:
    the same rows under the same name.

    Parameters
    ----------
    patience : float
        Seconds to wait for another process that is writing; without it what waits is left to that one.
    """
    written = 0
    with store.writer(patience=patience) as mine:
        part = store.claim(most=MOST_RECORDS, most_bytes=MOST_BYTES) if mine else None
        if part is not None:
            for half in folder.glob(f".shown-{store.name}-*"):
                half.unlink(missing_ok=True)
        while part is not None:
            write_whole(folder / part_name(store.name, part), _parquet(store.name, part))
            store.strike(part)
            written += len(part.records)
            part = store.claim(most=MOST_RECORDS, most_bytes=MOST_BYTES)
    return written


def part_name(store: str, part: Part) -> str:
    """Follows from the numbers of its records: written again, a part replaces itself, and nothing else."""
    return f"shown-{store}-{part.first:012d}-{part.last:012d}.parquet"


_ONCE = ("time", "query", "policy", "ranking", "probability", "number", "delta", "added", "how", "anew")
"""What a record says of its impression, in this order; then items, groups and scores from the top down."""


def _parquet(store: str, part: Part) -> bytes:
    records = [json.loads(text) for _, text in part.records]
    once = dict(zip(_ONCE, zip(*records, strict=True), strict=False))
    once["time"] = tuple(int(1e6 * seconds) for seconds in once["time"])
    once["impression"] = tuple(f"{store}-{number}" for number, _ in part.records)
    lengths = np.array([len(record[-1]) for record in records])
    rows = pa.array(np.repeat(np.arange(len(records)), lengths))
    columns = {name: pa.array(values, SCHEMA.field(name).type).take(rows) for name, values in once.items()}
    for place, name in enumerate(("item", "group", "score"), start=len(_ONCE)):
        flat = list(chain.from_iterable(record[place] for record in records))
        columns[name] = pa.array(flat, SCHEMA.field(name).type)
    tops = np.repeat(np.cumsum(lengths) - lengths, lengths)
    columns["position"] = pa.array((np.arange(len(tops)) - tops + 1).astype(np.int32))
    target = io.BytesIO()
    pq.write_table(pa.table({name: columns[name] for name in SCHEMA.names}, schema=SCHEMA), target, compression="zstd")
    return target.getvalue()
