"""Counters in a file: one for all processes, whole after a kill; records leave it once each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from spofr_core.errors import ConfigError
from spofr_core.fairness import Fairness
from spofr_core.serving import Reranker
from spofr_core.serving.counter_store import CounterStore
from spofr_core.serving.impression_log import SCHEMA, part_name, record_of, shown_text, write_parts

SCORES, GROUPS = [0.9, 0.8, 0.7, 0.2, 0.1], list("aaabb")


def shown(store: CounterStore, times: int, query: str = "q", scores=SCORES) -> None:
    reranker = Reranker(Fairness(delta=0.03), counters=store)

    def record(ranked):
        return record_of(query, ranked, shown_text(ranked, list("vwxyz"), GROUPS, list(scores)))

    for _ in range(times):
        reranker.rank_and_record(scores, GROUPS, query, list("vwxyz"), record)


def worker(path: Path) -> None:
    shown(CounterStore(path), 150)


def test_two_processes_share_one_counter(tmp_path):
    path = tmp_path / "counters"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=worker, args=(path,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    store = CounterStore(path)
    ((_, counts),) = store.counters().items()
    assert sum(counts) == store.waiting() == 300
    alone = Reranker(Fairness(delta=0.03))
    expected = np.bincount([alone.rank(SCORES, GROUPS, "q", list("vwxyz")).index for _ in range(300)])
    assert counts == pytest.approx(expected.tolist(), abs=1.01)


def test_a_store_goes_on_where_it_was_left_and_keeps_its_seed(tmp_path):
    first = CounterStore(tmp_path / "counters")
    shown(first, 7)
    seed, counts = first.seed, first.counters()
    first.close()
    again = CounterStore(tmp_path / "counters")
    assert (again.seed, again.counters()) == (seed, counts)
    shown(again, 1)
    assert sum(sum(c) for c in again.counters().values()) == 8


def test_another_policy_of_a_query_counts_anew_and_says_so(tmp_path):
    store = CounterStore(tmp_path / "counters")
    reranker = Reranker(Fairness(delta=0.03), counters=store)
    other = [0.9, 0.8, 0.7, 0.2, 0.15]
    first = [reranker.rank(SCORES, GROUPS, "q") for _ in range(2)]
    second = [reranker.rank(other, GROUPS, "q") for _ in range(2)]
    back = reranker.rank(SCORES, GROUPS, "q")
    assert [(ranked.impressions, ranked.anew) for ranked in (*first, *second, back)] == [
        (1, False),
        (2, False),
        (1, True),
        (2, False),
        (3, False),
    ]


def test_an_impression_is_counted_and_recorded_or_neither(tmp_path):
    store = CounterStore(tmp_path / "counters")
    with pytest.raises(ZeroDivisionError):
        store.serve("q", "p", 2, lambda counts: 0, lambda served: str(1 / 0))
    assert (store.counters(), store.waiting()) == ({}, 0)
    assert store.serve("q", "p", 2, lambda counts: 1, lambda served: "x").impressions == 1
    assert store.waiting() == 1


def test_parts_hold_a_row_for_each_shown_item_once(tmp_path):
    store = CounterStore(tmp_path / "counters")
    shown(store, 3)
    assert write_parts(store, tmp_path / "log") == 3
    assert write_parts(store, tmp_path / "log") == store.waiting() == 0
    shown(store, 2, query="<b>\n女")
    assert write_parts(store, tmp_path / "log") == 2
    parts = sorted((tmp_path / "log").iterdir())
    assert [part.name for part in parts] == [
        f"shown-{store.name}-000000000001-000000000003.parquet",
        f"shown-{store.name}-000000000004-000000000005.parquet",
    ]
    table = pq.read_table(tmp_path / "log")
    assert table.schema.equals(SCHEMA)
    frame = table.to_pandas()
    assert len(frame) == 25
    assert frame["impression"].tolist() == [f"{store.name}-{k}" for k in np.repeat(np.arange(1, 6), 5)]
    assert frame["number"].tolist() == np.repeat([1, 2, 3, 1, 2], 5).tolist()
    assert frame["position"].tolist() == [1, 2, 3, 4, 5] * 5
    assert set(frame["query"]) == {"q", "<b>\n女"}
    group = dict(zip("vwxyz", GROUPS, strict=True))
    score = dict(zip("vwxyz", SCORES, strict=True))
    assert frame["group"].tolist() == [group[item] for item in frame["item"]]
    assert frame["score"].tolist() == [score[item] for item in frame["item"]]


def dies_while_writing(path: Path, folder: Path, *, after: str) -> None:
    """A writer that is killed when its part is half written, or whole and not struck yet."""
    store = CounterStore(path)
    with store.writer():
        part = store.claim(most=2, most_bytes=10**6)
        target = folder / part_name(store.name, part)
        folder.mkdir()
        (target if after == "whole" else target.with_name(f".{target.name}.x")).write_bytes(b"the work of the dead")
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("after", ["half", "whole"])
def test_a_part_whose_writer_was_killed_is_written_by_the_next_one_at_once(tmp_path, after):
    store = CounterStore(tmp_path / "counters")
    shown(store, 3)
    process = multiprocessing.get_context("spawn").Process(
        target=dies_while_writing, args=(store.path, tmp_path / "log"), kwargs={"after": after}
    )
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert write_parts(store, tmp_path / "log") == 3
    assert sorted(path.name for path in (tmp_path / "log").iterdir()) == [
        f"shown-{store.name}-000000000001-000000000002.parquet",
        f"shown-{store.name}-000000000003-000000000003.parquet",
    ]
    assert sorted(set(pq.read_table(tmp_path / "log")["impression"].to_pylist())) == [
        f"{store.name}-{k}" for k in (1, 2, 3)
    ]
    assert store.waiting() == 0


def test_one_writes_at_a_time(tmp_path):
    store = CounterStore(tmp_path / "counters")
    shown(store, 3)
    with store.writer() as mine:
        assert mine
        assert write_parts(store, tmp_path / "log") == 0
    assert write_parts(store, tmp_path / "log") == 3


def test_stores_that_share_a_folder_do_not_replace_each_others_parts(tmp_path):
    for name in ("one", "two"):
        store = CounterStore(tmp_path / name)
        shown(store, 2)
        write_parts(store, tmp_path / "log")
    frame = pq.read_table(tmp_path / "log").to_pandas()
    assert frame["impression"].nunique() == 4


def test_a_file_that_is_no_store_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and longer than a header of one would be " * 20)
    with pytest.raises(ConfigError, match=r"cannot be kept in '.*notes.txt'"):
        CounterStore(path)


def test_policies_that_nobody_was_shown_for_long_are_forgotten(tmp_path):
    store = CounterStore(tmp_path / "counters")
    shown(store, 2)
    with sqlite3.connect(store.path) as database:
        database.execute("UPDATE counters SET shown = shown - 86400 * 31")
    database.close()
    store.close()
    assert CounterStore(tmp_path / "counters").counters() == {}
