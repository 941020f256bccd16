"""What is remembered stays within its bytes, and these are the bytes that it really takes."""

from __future__ import annotations

import gc
import json
import tracemalloc

import numpy as np
import psutil
import pytest

from spofr_core.fairness import Fairness
from spofr_core.serving import MemoryCounters, Reranker
from spofr_core.serving.bench.crowd import ask_all, rank_request
from spofr_core.serving.counter_store import CounterStore
from spofr_core.serving.impression_log import write_parts
from spofr_core.serving.recent import Recent
from spofr_core.serving.service import Service
from spofr_core.serving.service_settings import ServiceSettings
from tests.serving.running import get, running
from tests.waiting import wait_until

LIMIT = 1 << 20


def long_list(rng: np.random.Generator, n: int, letters: int, groups: int = 2) -> dict:
    """A list that nobody has asked for before, with ids of so many letters."""
    names = rng.integers(97, 123, (n, letters), dtype=np.uint8)
    items = [{"id": bytes(name).decode(), "score": float(rng.normal())} for name in names]
    return {"items": [{**item, "group": f"g{k}"} for item, k in zip(items, rng.integers(groups, size=n), strict=True)]}


def test_what_was_not_used_for_the_longest_goes_when_bytes_or_places_are_short():
    gone: list[str] = []
    recent = Recent(10_000, most=3, forgotten=gone.append)
    for name in "abc":
        recent.put(name, name.upper(), 1000)
    assert recent.get("a") == "A"
    recent.put("d", "D", 1000)
    assert gone == ["b"]
    recent.put("e", "E", 8000)
    assert gone == ["b", "c", "a"]
    recent.put("d", "D", 10)
    assert (recent.get("d"), recent.get("e")) == ("D", "E")
    assert 8010 < recent.bytes <= 10_000
    recent.put("huge", "H", 10_000)
    assert recent.get("huge") is None
    assert recent.bytes == 0


@pytest.mark.parametrize(
    ("n", "letters", "groups", "lists"),
    [
        (20, 10, 2, 2000),
        (1000, 10, 2, 100),
        (200, 400, 2, 500),
        (40, 10, 4, 400),
        (3, 10, 1, 3000),
        (30, 5, None, 400),
    ],
)
def test_bytes_are_those_that_are_really_taken(n, letters, groups, lists):
    """What the allocator gets back, megabytes, for lists of few and many groups, long and short; what items share is
    counted for each of them."""
    rng, cache = np.random.default_rng(0), Recent()
    reranker = Reranker(Fairness(delta=0.05), cache=cache)

    def ask() -> None:
        items = long_list(rng, n, letters, groups or 2)["items"]
        ids, labels = [item["id"] for item in items], [item["group"] for item in items]
        reranker.rank([item["score"] for item in items], None if groups is None else labels, items=ids)

    for _ in range(20):
        ask()
    gc.collect()
    told = cache.bytes
    tracemalloc.start()
    for _ in range(lists):
        ask()
    gc.collect()
    told, (held, _) = cache.bytes - told, tracemalloc.get_traced_memory()
    cache.most_bytes = 0
    cache.put("", None, 1)  # drops all, and leaves what was allocated for other reasons
    gc.collect()
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.85 < told / (held - left) < 1.5


@pytest.mark.parametrize("letters", [5, 200])
def test_a_service_remembers_within_its_bytes_and_tells_them(tmp_path, letters):
    settings = ServiceSettings(
        fairness=Fairness(delta=0.05), state=tmp_path / "counters", log=tmp_path / "log", cache_bytes=LIMIT
    )
    found, rng = Service(settings), np.random.default_rng(0)
    first = {"query": "first", **long_list(rng, 50, letters)}
    asked = [first, *({"query": "q", **long_list(rng, 100, letters)} for _ in range(300)), first]
    answers = [found.answer(json.dumps(one).encode()) for one in asked]
    assert LIMIT / 2 < found.cache.bytes <= LIMIT
    assert (answers[-1]["policy"], answers[-1]["impressions"]) == (answers[0]["policy"], 2)  # solved anew, counted on
    found.answer(json.dumps({**first, "delta": 0.2}).encode())
    assert {id(each._cache) for each in found._rerankers.values()} == {id(found.cache)}
    found.store.close()


def test_counters_in_memory_keep_within_their_bytes():
    counters = MemoryCounters(most_bytes=LIMIT)
    tracemalloc.start()
    for k in range(3000):
        counters.serve(f"{k}" * 200, f"{k:024}", 3, lambda counts: 0)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert LIMIT / 2 < taken < 1.5 * LIMIT
    assert counters.serve("2999" * 200, f"{2999:024}", 3, lambda counts: 0).impressions == 2
    assert counters.serve("0" * 200, f"{0:024}", 3, lambda counts: 0).impressions == 1


def test_parts_of_the_log_are_bounded_by_bytes_too(tmp_path, monkeypatch):
    monkeypatch.setattr("spofr_core.serving.impression_log.MOST_BYTES", 100_000)
    settings = ServiceSettings(fairness=Fairness(delta=0.05), state=tmp_path / "counters", log=tmp_path / "log")
    found, rng = Service(settings), np.random.default_rng(0)
    for n in (100, 100, 100, 300, 1):  # of some 400 letters an item
        found.answer(json.dumps({"query": "q", **long_list(rng, n, 400)}).encode())
    assert write_parts(found.store, tmp_path / "log") == 5
    numbers = sorted(tuple(map(int, path.stem.split("-")[-2:])) for path in (tmp_path / "log").iterdir())
    assert numbers == [(1, 2), (3, 3), (4, 4), (5, 5)]
    assert found.store.waiting() == 0
    found.store.close()


def test_the_real_service_stays_level_under_long_lists_that_nobody_asked_for_before(tmp_path):
    """As soon as the 8 MB that it may remember are full, more than 100 MB of lists leave no trace in its memory."""
    items = long_list(np.random.default_rng(0), 1000, 450)["items"]
    body = json.dumps({"query": "q", "items": [{**item, "id": f"NUMBER{item['id']}"} for item in items]})
    request = [rank_request(body.replace("NUMBER", f"{k:06}").encode()) for k in range(360)]
    options = ["--delta", "10%", "--log", str(tmp_path / "log"), "--cache-mb", "8"]
    with running(tmp_path, *options) as (port, process):
        memory = psutil.Process(process.pid).memory_info
        sizes = []
        for part in (request[:120], request[120:]):
            found = ask_all(port, part, readers=2)
            assert found.refused == found.cut_off == 0
            # Whoever writes the log needs memory for it, too.
            wait_until(lambda: not json.loads(get(port, "/health")[1])["waiting_for_the_log"])
            sizes.append(memory().rss)
        told = dict(line.split() for line in get(port, "/metrics")[1].splitlines() if not line.startswith("#"))
    assert 4 * 2**20 < float(told["spofr_cache_bytes"]) <= 8 * 2**20
    assert sizes[1] - sizes[0] < 40 * 2**20
    store = CounterStore(tmp_path / "counters.sqlite")
    assert store.waiting() == 0
    store.close()
