"""Served by two workers of which one is killed, logged and audited: nothing answered is lost, all promises are kept."""

from __future__ import annotations

import json
import signal
import socket
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.cli.commands.serve_command import _token_in
from spofr_core.errors import ConfigError
from spofr_core.fairness import Fairness
from spofr_core.serving import CounterStore, audit_shown, read_shown
from spofr_core.serving.bench.crowd import ask_all, rank_request
from tests.serving.running import Reader, get, running, workers_of

IMPRESSIONS, READERS, ONCE = 20_000, 8, 4


def lists() -> list[dict]:
    """Lists of two and three groups, of one item and of one group; one query is asked for with two kinds of scores."""
    rng = np.random.default_rng(3)
    found = []
    for q in range(12):
        n, groups = int(rng.integers(2, 15)), ("a", "b", "c")[: 2 + q % 2]
        items = [{"id": k, "group": groups[k % len(groups)], "score": float(rng.normal())} for k in range(n)]
        found.append({"query": f"query {q}", "items": items})
    found.append({**found[0], "query": "query 1"})
    found.append({"query": "one item", "items": [{"id": 1, "group": "a", "score": 1.0}]})
    found.append({"query": "one group", "items": [{"id": k, "group": "a", "score": k} for k in range(3)]})
    return found


@dataclass
class Day:
    folder: Path
    answers: list[dict]
    cut_off: int
    metrics: str


@pytest.fixture(scope="module")
def day(tmp_path_factory) -> Day:
    """A day of the service: readers ask, a worker is killed in the middle, the service ends in peace."""
    folder = tmp_path_factory.mktemp("day")
    asked = [rank_request(json.dumps(one).encode()) for one in lists()]
    once = [rank_request(json.dumps({**lists()[0], "query": f"seen once, {k}"}).encode()) for k in range(ONCE)]
    chosen = np.random.default_rng(0).integers(len(asked), size=IMPRESSIONS - ONCE)
    answers: list[dict] = []
    with running(folder, "--workers", "2", "--log", str(folder / "log"), "--delta", "4%") as (port, process):
        victim = workers_of(process)[0]

        def hear(_: int, status: int, body: bytes) -> None:
            assert status == 200, body
            answers.append(json.loads(body))
            if len(answers) == IMPRESSIONS // 3:
                victim.send_signal(signal.SIGKILL)

        requests = [*(asked[k] for k in chosen), *once]
        found = ask_all(port, requests, readers=READERS, hear=hear)
        metrics = get(port, "/metrics")[1]
    assert not victim.is_running()
    return Day(folder, answers, found.cut_off, metrics)


def test_no_answered_impression_is_lost_or_told_twice(day):
    numbers = Counter((a["query"], a["policy"], a["impressions"]) for a in day.answers)
    assert set(numbers.values()) == {1}
    counted = sum(sum(counts) for counts in CounterStore(day.folder / "counters.sqlite").counters().values())
    # Whoever was cut off, if the kill met anybody at all, may have been counted without having been told.
    assert len(day.answers) == IMPRESSIONS <= counted <= IMPRESSIONS + day.cut_off


def test_the_log_says_what_the_counters_say(day):
    store = CounterStore(day.folder / "counters.sqlite")
    assert store.waiting() == 0
    shown = pd.read_parquet(day.folder / "log").query("position == 1")
    logged = shown.groupby(["query", "policy", "ranking"]).size()
    counters = {
        (query, policy, place): count
        for (query, policy), counts in store.counters().items()
        for place, count in enumerate(counts)
        if count
    }
    assert logged.to_dict() == counters
    assert not shown.duplicated(["query", "policy", "number"]).any()
    told = {(a["query"], a["policy"], a["impressions"]): a["index"] for a in day.answers}
    numbered = shown.set_index(["query", "policy", "number"])["ranking"].to_dict()
    assert {key: numbered[key] for key in told} == told


def test_a_change_of_policy_is_said_in_the_log(day):
    shown = pd.read_parquet(day.folder / "log").query("position == 1 and anew")
    assert shown["query"].tolist() == ["query 1"]
    assert shown["number"].tolist() == [1]


def test_every_query_is_within_delta_and_the_bound(day):
    result = audit_shown(read_shown(day.folder / "log"), Fairness(delta="4%"))
    queries = result.summary["queries"]
    assert queries["once"] == ONCE
    assert queries["judged"] == queries["promised"] == queries["within"] == queries["promise_kept"] == 12
    assert queries["least_impressions"] > 1000
    assert result.ok


def test_the_shell_audits_the_log(day, tmp_path):
    log, table = str(day.folder / "log"), tmp_path / "queries.csv"
    found = CliRunner().invoke(
        app, ["audit", log, "--shown", "--delta", "4%", "--csv", str(table), "--fail-on-violation"]
    )
    assert found.exit_code == 0, found.output
    assert "12 of 12 are within delta and the bound of their schedule." in found.output
    assert "4 queries seen once are judged together only" in found.output
    assert len(pd.read_csv(table).groupby("query")) == 14 + ONCE
    state = ["--state", str(day.folder / "counters.sqlite")]
    found = CliRunner().invoke(app, ["audit", log, "--shown", "--delta", "4%", *state, "--fail-on-violation"])
    assert found.exit_code == 0
    assert "Log and counters agree: 20,0" in found.output
    found = CliRunner().invoke(app, ["audit", log, "--shown", "--delta", "4%", "--json", "-"])
    assert json.loads(found.output)["queries"]["judged"] == 12
    found = CliRunner().invoke(app, ["audit", log, "--shown", "--impression", "session"])
    assert "has no column 'session' (asked for as the impression)" in str(found.exception)


def test_metrics_count_all_workers(day):
    lines = dict(line.rsplit(" ", 1) for line in day.metrics.splitlines() if not line.startswith("#"))
    shown = float(lines['spofr_impressions_total{how="fair"}'])
    assert len(day.answers) <= shown <= len(day.answers) + day.cut_off


def test_workers_end_with_a_parent_that_is_killed_and_what_they_answered_is_logged(tmp_path):
    """Otherwise they would hold the port for ever, and answer beside the service that is started next."""
    with running(tmp_path, "--workers", "2", "--log", str(tmp_path / "log")) as (port, process):
        reader, workers = Reader(port), workers_of(process)
        told = [reader.ask(lists()[k % 12])[1] for k in range(60)]
        reader.close()
        process.kill()
        process.wait()
        _, alive = psutil.wait_procs(workers, timeout=60)
        for worker in alive:
            worker.kill()
        assert alive == []
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", port))
    shown = pd.read_parquet(tmp_path / "log").query("position == 1")
    logged = sorted(zip(shown["query"], shown["policy"], shown["number"], strict=True))
    assert logged == sorted((a["query"], a["policy"], a["impressions"]) for a in told)
    assert CounterStore(tmp_path / "counters.sqlite").waiting() == 0


def test_the_real_service_refuses_falls_back_and_tells_of_both(tmp_path):
    """A token, bad input, sizes, and a notion that no list can hold: each over HTTP."""
    token = {"authorization": "Bearer open sesame"}
    body = {"query": "q", "items": [{"id": k, "group": "ab"[k % 2], "score": k / 7} for k in range(4)]}
    asked = ["--notion", "merit", "--merit", "a=0", "--merit", "b=5", "--delta", "0"]
    (tmp_path / "token").write_text("open sesame\n")
    with running(tmp_path, "--token-file", str(tmp_path / "token"), "--most-items", "5", *asked) as (port, _):
        reader = Reader(port)
        assert reader.ask(body)[0] == reader.ask(body, authorization="Bearer wrong")[0] == 401
        status, answer = reader.ask(body, **token)
        assert (status, answer["how"], answer["ranking"], answer["bound"]) == (200, "sorted", list("3210"), None)
        assert "no policy holds delta here; the smallest that one could hold is" in answer["reason"]
        for bad, field, remedy in (
            ({**body, "items": [{"id": 1, "group": "a", "score": "x"}]}, "items.0.score", "give a number"),
            ({"query": "q"}, "items", "it is missing; add it"),
            ({**body, "items": body["items"] * 2}, "items", "has 8 items; this service takes at most 5"),
            (b"{", "body", "the body is no JSON"),
        ):
            status, answer = reader.ask(bad, **token)
            assert (status, answer["detail"][0]["field"]) == (422, field)
            assert remedy in answer["detail"][0]["message"]
        status, answer = reader.ask(b"x" * 1_100_000, **token)
        assert (status, answer["detail"][0]["field"]) == (413, "body")
        assert get(port, "/metrics")[0] == 401
        told = get(port, "/metrics", **token)[1]
        for line in ('impressions_total{how="sorted"} 1.0', 'refused_total{status="422"} 4.0', 'status="413"} 1.0'):
            assert line in told
        status, answer = reader.ask(body, **token | {"content-type": "application/x-www-form-urlencoded"})
        assert (status, answer["detail"][0]["field"]) == (415, "content-type")
        assert reader.ask(body, **token, origin="https://evil.example")[0] == 403
        assert reader.ask(body, **token, origin=f"http://127.0.0.1:{port}")[0] == 200
        reader.close()
        pages = {path: get(port, path) for path in ("/health", "/docs", "/openapi.json")}
        assert {status for status, _ in pages.values()} == {200}
        assert json.loads(pages["/health"][1])["otherwise"] == "sort"
        assert "/rank" in json.loads(pages["/openapi.json"][1])["paths"]


@pytest.mark.parametrize(
    ("content", "more", "said"),
    [
        (b"one\n", ["--token", "two"], "A token is given twice"),
        (b" \n", [], "token' is empty; write the token into it."),
        (b"one\ntwo\n", [], "letters that a header cannot carry"),
        (b"\xff", [], "cannot be read"),
        (None, [], "cannot be read"),
    ],
)
def test_a_token_file_without_a_token_is_refused(tmp_path, content, more, said):
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    found = CliRunner().invoke(app, ["serve", "--token-file", str(tmp_path / "token"), *more])
    assert isinstance(found.exception, ConfigError)
    assert said in str(found.exception)
    assert "two" not in str(found.exception)


def test_a_token_file_may_begin_with_the_mark_that_editors_write(tmp_path):
    (tmp_path / "token").write_bytes(b"\xef\xbb\xbfsecret\r\n")
    assert _token_in(tmp_path / "token", None) == "secret"


def test_counters_that_cannot_be_kept_are_said_once_before_anything_answers(tmp_path, monkeypatch):
    """Each worker would say it for itself, with a traceback, and be started again for ever."""
    monkeypatch.setattr("spofr_core.cli.commands.serve_command._run", lambda listening, workers: None)
    (tmp_path / "counters").write_text("no database, however long it is looked at")
    line = ["serve", "--port", "0", "--delta", "5%", "--workers", "2", "--state", str(tmp_path / "counters")]
    found = CliRunner().invoke(app, line)
    assert isinstance(found.exception, ConfigError)
    assert "file is not a database" in str(found.exception)
    assert "answered" not in found.output


def test_an_address_that_others_reach_asks_for_a_token(tmp_path):
    found = CliRunner().invoke(app, ["serve", "--host", "0.0.0.0", "--state", str(tmp_path / "s")])
    assert "set --token-file (or SPOFR_TOKEN), or say --i-know" in str(found.exception)
