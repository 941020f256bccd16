"""Audits and re-rankings of a Parquet folder by workers: the same bytes as in this process."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.errors import ConfigError, InfeasibleFairness, WorkFailed
from spofr_core.evaluation import audit_folder, folder_repair, folder_selection_rates, measure_folder, repair_folder
from spofr_core.experiments import InlineExecutor, map_with_progress
from spofr_core.experiments.executors import dask_cluster as dask_executor
from spofr_core.fairness import Fairness
from tests.experiments import works

FAIRNESS = Fairness(delta=0.03)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """1,200 rows of 80 queries, each spread over three files; scores have ties."""
    rng = np.random.default_rng(6)
    n = 1200
    rows = pd.DataFrame(
        {
            "query": rng.permutation([f"q{k % 80}" for k in range(n)]),
            "item": np.arange(n),
            "group": rng.choice(["a", "b", "c"], n),
            "score": rng.integers(0, 9, n) / 8,
            "relevance": rng.integers(0, 3, n),
        }
    )
    folder = tmp_path_factory.mktemp("rows")
    for k, part in enumerate(np.array_split(np.arange(n), 3)):
        rows.iloc[part].to_parquet(folder / f"{k}.parquet")
    return folder


@pytest.fixture(params=["pool", "dask"])
def processes(request):
    return request.getfixturevalue(request.param)


def spofr(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def test_an_audit_goes_on_when_a_worker_is_killed(processes, folder, tmp_path):
    """The worker dies with the part that it has just been given."""
    mark = tmp_path / "killed"

    def map_parts(function, parts):
        return processes.map(partial(works.killed_once, function=function, mark=mark), parts)

    here = audit_folder(folder, FAIRNESS)
    there = audit_folder(folder, FAIRNESS, min_parts=6, map_parts=map_parts)
    assert mark.exists()
    assert there.to_json() == here.to_json()
    pd.testing.assert_frame_equal(there.queries, here.queries, check_exact=True)


def test_policies_are_the_same_wherever_they_are_made(processes, folder, tmp_path):
    written = {}
    for name, map_parts in (("here", map), ("there", processes.map)):
        out, proofs, parts = tmp_path / f"{name}.parquet", tmp_path / f"{name}.jsonl", tmp_path / name
        settings = {"rows_per_part": 300, "map_parts": map_parts}
        summary = repair_folder(folder, FAIRNESS, out, certificates=proofs, **settings)
        repair_folder(folder, FAIRNESS, parts, **settings)
        files = [out, proofs, *sorted(parts.iterdir())]
        written[name] = (json.dumps(summary), *(path.read_bytes() for path in files))
    assert len(written["here"]) == 3 + 4
    assert written["here"] == written["there"]


def test_an_error_of_a_worker_is_told_as_it_is_here(processes, folder, tmp_path):
    hard = Fairness(delta=0.001, notion="merit", merits={"a": 0.1, "b": 3.0, "c": 1.0})
    with pytest.raises(InfeasibleFairness, match="smallest feasible delta") as caught:
        repair_folder(
            folder, hard, tmp_path / "out" / "p", on_infeasible="raise", rows_per_part=300, map_parts=processes.map
        )
    assert caught.value.min_delta > 0.001
    assert list((tmp_path / "out").iterdir()) == []


def test_a_scheduler_serves_the_commands(dask, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(folder_repair, "ROWS_PER_PART", 300)
    address = dask.client.scheduler.address
    outputs = []
    for words in ([], ["--scheduler", address]):
        out = tmp_path / f"policies-{len(words)}"
        audited = spofr("audit", folder, "--json", "-", *words)
        reranked = spofr("rerank", folder, "--delta", "0.03", "--out", out, "--json", "-", *words)
        outputs.append((audited.stdout, reranked.stdout, *(path.read_bytes() for path in sorted(out.iterdir()))))
        assert "4/4 parts" in reranked.stderr
        assert ("4/4 parts" in audited.stderr) == bool(words)
    assert outputs[0] == outputs[1]
    assert spofr("verify", out, folder, "--delta", "0.03").exit_code == 0


def test_merits_come_from_the_labels_of_the_folder(folder):
    told = json.loads(spofr("audit", folder, "--notion", "merit", "--json", "-").stdout)
    assert set(told["merits"]) == {"a", "b", "c"}


def test_a_scheduler_that_does_not_answer(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_executor, "CONNECT_SECONDS", 0.5)
    for words in (["audit", folder], ["rerank", folder, "--out", tmp_path / "p"]):
        with pytest.raises(ConfigError, match=r"No Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
            spofr(*words, "--scheduler", "tcp://127.0.0.1:9")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("work", [audit_folder, repair_folder, measure_folder, folder_selection_rates])
def test_processes_that_die_are_said_with_the_way_to_start_others(work, folder, tmp_path):
    """Whoever forks after an audit in the same process has threads of OpenMP in it, which end the fork."""

    def dead(function, parts):
        yield function(next(iter(parts)))
        raise BrokenProcessPool("A process in the process pool was terminated abruptly.")

    given = {
        audit_folder: (FAIRNESS,),
        repair_folder: (FAIRNESS, tmp_path / "p.csv"),
        measure_folder: (["NDKL"],),
        folder_selection_rates: (),
    }
    how = {"k": 3} if work is folder_selection_rates else {}
    with pytest.raises(WorkFailed, match=r"terminated abruptly\. .*mp_context=get_context\('spawn'\)"):
        work(folder, *given[work], map_parts=dead, **how)
    assert not (tmp_path / "p.csv").exists()


def test_processes_that_are_started_afresh_work_after_an_audit_in_this_one(folder):
    here = audit_folder(folder, FAIRNESS)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as afresh:
        there = audit_folder(folder, FAIRNESS, min_parts=4, map_parts=afresh.map)
    assert there.to_json() == here.to_json()


def test_only_a_folder_is_shared_out(folder):
    for words in (["--workers", "2"], ["--scheduler", "local"]):
        with pytest.raises(ConfigError, match=r"which '.*0\.parquet' is not"):
            spofr("audit", folder / "0.parquet", *words)
    with pytest.raises(ConfigError, match="share out the parts of a folder; with --policies it is read in one piece"):
        spofr("measure", folder, "--policies", "p.csv", "--workers", "2")
    with pytest.raises(ConfigError, match="which 'sample hiring' is not"):
        spofr("rerank", "--sample", "hiring", "--out", "p.csv", "--workers", "2")
    with pytest.raises(ConfigError, match="name one"):
        spofr("audit", folder, "--sample", "hiring")


def test_progress_counts_the_parts(folder):
    seen: list[tuple[int, int, int]] = []

    def note(state):
        seen.append((state.ended, len(state.running), state.total))

    audit_folder(folder, FAIRNESS, min_parts=3, map_parts=partial(map_with_progress, InlineExecutor(), note))
    assert seen == [(0, 1, 3), (1, 0, 3), (1, 1, 3), (2, 0, 3), (2, 1, 3), (3, 0, 3)]
    seen.clear()
    audit_folder(folder, FAIRNESS, map_parts=partial(map_with_progress, InlineExecutor(), note))
    assert seen == []
