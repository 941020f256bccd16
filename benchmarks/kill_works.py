"""What is killed: commands of the shell, a job, uploads being stored, the service's counters and log.

Each says what must be so after a kill at any instant, and what must be the same as without one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from killing import PAGE, Work

from dashboard.jobs import job_board, job_process
from dashboard.session.upload_store import UploadStore
from spofr_core import Fairness, load_model
from spofr_core.cli import main as shell
from spofr_core.experiments import RunStore, SweepSpec, results
from spofr_core.files import read_json, write_json
from spofr_core.serving import Reranker
from spofr_core.serving.counter_store import CounterStore
from spofr_core.serving.impression_log import record_of, shown_text, write_parts

HIRING = Path(__file__).resolve().parents[1] / "sample_data" / "hiring.csv"
LISTS = 24
_QUICK = ("max_steps=60", "max_epochs=40", "patience=1000")
_NETWORK = ("hidden=[4]", "batch_size=4", "validate_every=2", *_QUICK)
_TREES = ("scorer=trees", "leaves=4", "leaf_items=2", "validate_every=2", *_QUICK)
_COLUMNS = ("--query", "search_id", "--item", "candidate_id", "--group", "gender")


_SPEC = """dataset:
  file: table.csv
  columns: {query: search_id, item: candidate_id, group: gender, relevance: relevance}
methods: [pto]
deltas: [0.0, 0.05, 0.1]
training: {max_steps: 30, max_epochs: 30, patience: 1000, hidden: [4], batch_size: 4, validate_every: 2}
"""


def write_table(folder: Path) -> None:
    """The first lists of the hiring sample in a file of their own, and a sweep over them."""
    (folder / "spec.yaml").write_text(_SPEC, encoding="utf-8")
    lines = HIRING.read_text(encoding="utf-8").splitlines(keepends=True)
    names = [line.split(",", 1)[0] for line in lines[1:]]
    last = sorted(set(names))[:LISTS]
    (folder / "table.csv").write_text(
        lines[0] + "".join(line for line, name in zip(lines[1:], names, strict=True) if name in last), encoding="utf-8"
    )


def command(*words: str) -> Callable[[Path], None]:
    """A command of the shell, given in the folder."""

    def run(folder: Path) -> None:
        os.chdir(folder)
        sys.argv = ["spofr", *words]
        shell()

    return run


# -- runs ----------------------------------------------------------------------------------------------------


def unreadable(folder: Path) -> list[str]:
    """Files that anybody may look at and that are not whole: those with a plain name."""
    wrong = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith(".")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        try:
            if path.suffix == ".json":
                json.loads(path.read_bytes())
            elif path.suffix == ".jsonl":
                [json.loads(line) for line in path.read_bytes().splitlines()]
            elif path.suffix == ".parquet":
                pq.read_table(path, partitioning=None)
        except Exception as error:  # noqa: BLE001 - whatever it is, the file is not whole
            wrong.append(f"{path.relative_to(folder)} is not whole ({type(error).__name__})")
    return wrong


def store_faults(root: Path) -> list[str]:
    """Whether a store opens, no run pretends to be at work, and what is done is all there."""
    if not (root / "store.json").exists():
        return []
    store = RunStore(root, create=False)
    wrong = []
    for record in store.records():
        store.metrics(record.run), store.log(record.run)
        if record.status == "running":
            wrong.append(f"run {record.run} is said to be at work though nobody is")
        if record.status == "failed":
            wrong.append(f"run {record.run} failed: {record.reason}")
        if record.status == "done":
            load_model(store.model_folder(record.run))
            store.queries(record.run)
    results(store)
    return wrong


def run_results(root: Path) -> dict[str, Any]:
    """Models and tables to the byte, numbers to the bit; not the times that they took."""
    store = RunStore(root, create=False)
    found: dict[str, Any] = {"runs": store.names()}
    for record in store.records():
        folder = store.folder(record.run)
        found[f"{record.run} status"] = record.status
        measured = {name: value for name, value in record.measured.items() if name != "seconds"}
        found[f"{record.run} measured"] = measured
        for path in (*sorted(folder.glob("model/*")), folder / "test.parquet", folder / "validation.parquet"):
            if path.name != "model.json":
                found[f"{record.run} {path.name}"] = digest(path)
        found[f"{record.run} model.json"] = _without_times(read_json(folder / "model" / "model.json"))
        found[f"{record.run} metrics"] = [_without_times(line) for line in store.metrics(record.run)]
        found[f"{record.run} checkpoint"] = (folder / "checkpoint").exists()
    frame = pq.read_table(root / "results.parquet").to_pandas().drop(columns="seconds")
    return {**found, "results.parquet": frame.to_json()}


def _without_times(content: Any) -> Any:
    if isinstance(content, dict):
        kept = {name: _without_times(value) for name, value in content.items() if "seconds" not in name}
        return {name: value for name, value in kept.items() if name not in ("eta", "steps_per_second")}
    return [_without_times(value) for value in content] if isinstance(content, list) else content


def digest(path: Path) -> str:
    """The content of a file in a few letters, or that there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else "none"


def in_store(name: str, *words: str) -> Work:
    """A command that writes into a store of runs."""
    return Work(
        name,
        command(*words, "--out", "runs"),
        lambda folder: [*unreadable(folder), *store_faults(folder / "runs")],
        lambda folder: run_results(folder / "runs"),
        write_table,
    )


def _settings(settings: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for setting in settings for word in ("--set", setting))


# -- files ---------------------------------------------------------------------------------------------------


def into_files(name: str, outputs: tuple[str, ...], *words: str) -> Work:
    """A command that writes files over older ones: each is the old one or the new one, never between."""

    def begin(folder: Path) -> None:
        write_table(folder)
        for output in outputs:
            (folder / output).write_text("what was here before", encoding="utf-8")

    def faults(folder: Path) -> list[str]:
        (folder / "whole").mkdir(exist_ok=True)
        wrong = []
        for output in outputs:
            path, known = folder / output, folder.parent / f"{name} {output}"
            if path.read_bytes() == b"what was here before":
                continue
            if not known.exists():  # the undisturbed run comes first
                known.write_bytes(path.read_bytes())
            elif known.read_bytes() != path.read_bytes():
                wrong.append(f"{output} is neither what it was nor what it becomes")
        return wrong

    def result(folder: Path) -> dict[str, Any]:
        hidden = sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
        return {output: digest(folder / output) for output in outputs} | {"left over": hidden}

    return Work(name, command(*words), faults, result, begin)


# -- the dashboard -------------------------------------------------------------------------------------------


def _begin_job(folder: Path) -> None:
    write_table(folder)
    columns = {"query": "search_id", "item": "candidate_id", "group": "gender", "relevance": "relevance"}
    settings = {"max_steps": 40, "max_epochs": 30, "patience": 1000, "hidden": [4], "batch_size": 4}
    spec = SweepSpec.from_dict(
        {
            "dataset": {"file": str(folder / "table.csv"), "columns": columns},
            "methods": ["pto"],
            "deltas": [0.0, 0.1],
            "training": {**settings, "validate_every": 2},
        }
    )
    asked = {"job": "job1", "visitor": "v", "title": "killed", "spec": spec.to_dict(), "created": 0.0}
    runs = [config.run for config in spec.runs()]
    write_json(folder / "jobs" / "job1" / "job.json", {**asked, "runs": runs, "store": str(folder / "runs")})


def _run_job(folder: Path) -> None:
    raise SystemExit(job_process.main(folder / "jobs" / "job1"))


def _job_faults(folder: Path) -> list[str]:
    wrong = [*unreadable(folder), *store_faults(folder / "runs")]
    (job,) = job_board.JobBoard(folder).jobs()
    if job.status not in ("interrupted", "done"):
        wrong.append(f"the job is said to be {job.status} though nobody is at work")
    return wrong


def _job_result(folder: Path) -> dict[str, Any]:
    (job,) = job_board.JobBoard(folder).jobs()
    return {**run_results(folder / "runs"), "status": job.status, "ended": job.ended, "failed": job.failed}


def _uploads() -> list[bytes]:
    rng = np.random.default_rng(3)
    return [rng.bytes(size) for size in (200, 70_000, 3_000_000)]


def _store_uploads(folder: Path) -> None:
    """Keep three files, note something on each, forget the first, keep it again."""
    store = UploadStore(folder, "v")
    kept = [store.add(io.BytesIO(content), f"file {k}.csv") for k, content in enumerate(_uploads())]
    for k, upload in enumerate(kept):
        store.change(upload, notes=f"note {k}", opened=0.0)
    store.remove(kept[0].content)
    store.change(store.add(io.BytesIO(_uploads()[0]), "again.csv"), opened=0.0)


def _upload_faults(folder: Path) -> list[str]:
    store = UploadStore(folder, "v")
    wrong = unreadable(folder)
    for upload in store.uploads():
        content = store.checked_path(upload).read_bytes()
        if content not in _uploads():
            wrong.append(f"{upload.name} is shown, and is not what was uploaded")
    return wrong


def _upload_result(folder: Path) -> dict[str, Any]:
    store = UploadStore(folder, "v")
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.name.startswith(".upload"))
    return {
        "uploads": sorted(upload.model_dump_json() for upload in store.uploads()),
        "damaged": store.damaged(),
        "files": files,
    }


# -- the service ---------------------------------------------------------------------------------------------

IMPRESSIONS = 300


def _serve(folder: Path) -> None:
    """Show rankings, note each answer once it could have been sent, write the log now and then."""
    store = CounterStore(folder / "counters.sqlite")
    begin = store._transaction

    @contextmanager
    def told() -> Iterator[Any]:
        with PAGE.transaction(), begin() as db:
            yield db

    store._transaction = told  # type: ignore[method-assign]
    reranker = Reranker(Fairness(delta=0.05), counters=store, seed=store.seed)
    scores, groups = np.array([0.9, 0.8, 0.4, 0.1]), ["a", "a", "b", "b"]
    answers = os.open(folder / "answers.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    items = list("wxyz")
    for k in range(_answered(folder), IMPRESSIONS):
        query = f"q{k % 7}"
        ranked = reranker.rank_and_record(
            scores,
            groups,
            query,
            items,
            lambda shown, query=query: record_of(query, shown, shown_text(shown, items, groups, scores.tolist())),
        )
        os.write(answers, f"{query} {ranked.policy} {ranked.impressions} {ranked.index}\n".encode())
        if k % 25 == 24:
            write_parts(store, folder / "log")
            store.tidy()
    write_parts(store, folder / "log")


def _answers(folder: Path) -> list[str]:
    path = folder / "answers.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _answered(folder: Path) -> int:
    return len(_answers(folder))


def _impressions(folder: Path) -> list[str]:
    """What the log and the records that wait for it say was shown, as the answers say it."""
    parts = sorted((folder / "log").glob("shown-*.parquet")) if (folder / "log").exists() else []
    shown = []
    for part in parts:
        frame = pq.read_table(part, partitioning=None).to_pandas().query("position == 1")
        columns = (frame[name] for name in ("query", "policy", "number", "ranking"))
        shown += [f"{q} {p} {n} {r}" for q, p, n, r in zip(*columns, strict=True)]
    return shown


def _service_faults(folder: Path) -> list[str]:
    if not (folder / "counters.sqlite").exists():
        return []
    wrong = unreadable(folder)
    logged = Counter(_impressions(folder))
    twice = [name for name, count in logged.items() if count > 1]
    store = CounterStore(folder / "counters.sqlite")
    counted = sum(sum(counts) for counts in store.counters().values())
    waiting = store.waiting()
    store.close()
    answers = set(_answers(folder))
    if twice:
        wrong.append(f"{len(twice)} impressions are in the log twice, {twice[0]} first")
    if counted < len(answers):
        wrong.append(f"{len(answers)} were answered and {counted} counted")
    # A part that is written and not struck yet is in both.
    if counted > len(logged) + waiting:
        wrong.append(f"{counted} were counted, {len(logged)} are in the log and {waiting} wait")
    return wrong


def _service_result(folder: Path) -> dict[str, Any]:
    """Every answer is in the log once, and beyond them only what was cut off before it was answered."""
    logged, answers = Counter(_impressions(folder)), _answers(folder)
    store = CounterStore(folder / "counters.sqlite")
    counted = sum(sum(counts) for counts in store.counters().values())
    waiting = store.waiting()
    store.close()
    return {
        "answers": len(answers) == len(set(answers)) == IMPRESSIONS,
        "in the log once": all(logged[name] == 1 for name in answers),
        "counted is logged": counted == sum(logged.values()) == len(logged),
        "cut off before the answer": counted - len(answers) <= 8,
        "waiting": waiting,
    }


WORKS: Mapping[str, Work] = {
    work.name: work
    for work in (
        in_store(
            "train, network",
            *("train", "table.csv", *_COLUMNS, "--relevance", "relevance", "--delta", "0.1"),
            *_settings(_NETWORK),
        ),
        in_store(
            "train, trees",
            *("train", "table.csv", *_COLUMNS, "--relevance", "relevance", "--delta", "0.1", "--method", "pto"),
            *_settings(_TREES),
        ),
        in_store(
            "sweep, one process",
            *("sweep", "spec.yaml", "--no-probe"),
        ),
        into_files(
            "rerank",
            ("policies.csv", "proofs.jsonl", "summary.json"),
            *("rerank", "table.csv", *_COLUMNS, "--score", "score", "--delta", "0.05", "--out", "policies.csv"),
            *("--certificates", "proofs.jsonl", "--json", "summary.json"),
        ),
        into_files(
            "audit --html",
            ("report.html", "queries.csv", "summary.json"),
            *("audit", "table.csv", *_COLUMNS, "--score", "score", "--delta", "0.05", "--html", "report.html"),
            *("--csv", "queries.csv", "--json", "summary.json"),
        ),
        Work("a job of the dashboard", _run_job, _job_faults, _job_result, _begin_job),
        Work("uploads being stored", _store_uploads, _upload_faults, _upload_result),
        Work("the service's counters and log", _serve, _service_faults, _service_result),
    )
}
