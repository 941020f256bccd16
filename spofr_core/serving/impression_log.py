"""The log of what was shown: a row per shown item, in Parquet parts that are there whole or not at all."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spofr_core.files import write_whole
from spofr_core.serving.counter_store import ABANDONED, CounterStore, Part
from spofr_core.serving.reranker import Ranked

SCHEMA = pa.schema(
    [
        ("time", pa.timestamp("us", tz="UTC")),
        ("query", pa.string()),
        ("impression", pa.int64()),
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
"""`impression` numbers what was shown by all workers together, `number` the impressions of the query under its policy,
`added` is what its schedule can add to a violation times impressions; `anew` marks where the counters of a query began
again because its policy changed."""
MOST_RECORDS = 2000


def record_of(
    query: str | None, ranked: Ranked, items: Sequence[str], groups: Sequence[str], scores: Sequence[float]
) -> str:
    """One impression as the text that waits for its part: what was shown, from the top down."""
    order = ranked.ranking.tolist()
    bound = ranked.bound if ranked.bound != float("inf") else None
    return json.dumps(
        [
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
            [items[i] for i in order],
            [groups[i] for i in order],
            [scores[i] for i in order],
        ],
        ensure_ascii=False,
    )


def write_parts(store: CounterStore, folder: Path, *, least: int = 1, abandoned: float = ABANDONED) -> int:
    """Write what waits in the store, and strike it there; how many impressions it was.

    Parameters
    ----------
    least : int
        Leave fewer than this waiting.
    abandoned : float
        Seconds after which parts that somebody began to write are written anew; the same content, the same name.
    """
    written = 0
    while store.waiting() >= max(least, 1):
        part = store.claim(most=MOST_RECORDS, abandoned=abandoned)
        if part is None:
            break
        write_whole(folder / part_name(part), _parquet(part))
        store.strike(part)
        written += len(part.records)
    return written


def part_name(part: Part) -> str:
    """Follows from the numbers of its records: written again, a part replaces itself."""
    return f"shown-{part.first:012d}-{part.last:012d}.parquet"


def _parquet(part: Part) -> bytes:
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for number, text in part.records:
        shown_at, query, policy, ranking, probability, impressions, delta, added, how, anew, *shown = json.loads(text)
        length = len(shown[0])
        once = {
            "time": int(1e6 * shown_at),
            "query": query,
            "impression": number,
            "policy": policy,
            "ranking": ranking,
            "probability": probability,
            "number": impressions,
            "delta": delta,
            "added": added,
            "how": how,
            "anew": anew,
        }
        for name, value in once.items():
            columns[name] += [value] * length
        for name, values in zip(("item", "group", "score"), shown, strict=True):
            columns[name] += values
        columns["position"] += range(1, length + 1)
    target = io.BytesIO()
    pq.write_table(pa.table(columns, schema=SCHEMA), target, compression="zstd")
    return target.getvalue()
