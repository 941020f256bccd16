"""Every line that a page says finds its numbers again is run, and gives the summary of that page."""

from __future__ import annotations

import gzip
import io
import json
import shlex
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dashboard.session.choices import Choices
from dashboard.session.commands import command_lines, comparison_lines, proof_of, python_lines
from dashboard.session.comparing.rivals import compared
from dashboard.session.findings.report_parts import ReportParts, with_parts
from dashboard.session.findings.shown_values import audited_log, log_command
from dashboard.session.mapping import Mapping
from dashboard.session.remembered import audited, fairness_of, repaired
from dashboard.session.sources import Loaded, _cut_out, load_bundled
from dashboard.session.upload_store import Upload
from dashboard.session.uploads import read_upload
from spofr_core.cli import app
from spofr_core.data import SAMPLES
from spofr_core.evaluation import parse_rival
from spofr_core.serving import read_shown
from tests.dashboard.apps import rerun, saved, shown

ROOT = Path(__file__).parents[2]


def table() -> pd.DataFrame:
    """A file in which names and contents of columns suggest roles that nobody has to take up."""
    rng = np.random.default_rng(0)
    rows, items = 240, 6
    who = rng.choice(["f", "m", "x"], rows, p=[0.4, 0.4, 0.2])
    return pd.DataFrame(
        {
            "qid": np.repeat([f"q{q}" for q in range(rows // items)], items),
            "doc_id": [f"d{k}" for k in range(rows)],
            "person": [f"p{k}" for k in range(rows)],
            "gender": who,
            "region": rng.choice(["north & south", "a=b", "-west", "Köln"], rows),
            "age": rng.integers(18, 70, rows),
            "score": rng.normal(size=rows).round(3),
            "model_b": rng.normal(size=rows).round(3),
            "rank": np.tile(np.arange(items, 0, -1), rows // items),
            "relevance": rng.integers(0, 3, rows),
            "z": rng.normal(size=rows).round(3),
            "click": rng.integers(0, 2, rows),
            "position": np.tile(np.arange(1, items + 1), rows // items),
            "land = country": np.repeat(rng.choice(["DE", "a:b, c"], rows // items), items),
            "device": np.repeat(rng.choice(["phone", "desk"], rows // items), items),
            "day": np.repeat(pd.date_range("2024-01-01", periods=rows // items).strftime("%Y-%m-%d"), items),
        }
    )


def csv(frame: pd.DataFrame, **how: Any) -> bytes:
    return frame.to_csv(index=False, **how).encode(how.get("encoding", "utf-8"))


def holes() -> bytes:
    frame = table()
    frame.loc[::7, "gender"] = ""
    return csv(frame)


def alike() -> bytes:
    frame = table()
    frame.loc[::5, "gender"] = "F"
    frame.loc[:2, "qid"] = "Q0 "
    return csv(frame)


def parquet() -> bytes:
    content = io.BytesIO()
    table().to_parquet(content)
    return content.getvalue()


def keyed() -> bytes:
    """A document of two tables."""
    other, mine = (json.loads(each.to_json(orient="records")) for each in (table().head(60), table()))
    return json.dumps({"a": other, "b": mine}).encode()


def workbook() -> bytes:
    content = io.BytesIO()
    with pd.ExcelWriter(content, engine="openpyxl") as book:
        for name, frame in {"a": table().head(60), "-it's b": table()}.items():
            frame.to_excel(book, sheet_name=name, index=False)
    return content.getvalue()


def thousandths() -> bytes:
    """Scores in which nothing says what the comma is."""
    frame = table()
    frame["score"] = [f"{k % 7 + 1},{100 + k}" for k in range(len(frame))]
    return csv(frame, sep="\t")


LETOR = "".join(f"{k % 3 - 1} qid:{q} 1:{k}.5 2:{(k * q) % 4} 3:{k % 2}\n" for q in range(1, 9) for k in range(6))
PLAIN = Mapping(query="qid", ranked_by="score", group=("gender",))


@dataclass(frozen=True)
class Situation:
    """What somebody has uploaded, how it is read, and what is asked of it."""

    mapping: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)
    content: bytes = b""
    name: str = "mine.csv"
    slice: str = ""

    def load(self) -> Loaded:
        """Write the file where the lines are run, and read it as the page does."""
        Path(self.name).write_bytes(self.content or csv(table()))
        source = read_upload(Path(self.name), PLAIN.model_copy(update=self.mapping), title=self.name)
        return _cut_out(source, self.slice) if self.slice else source

    @property
    def choices(self) -> Choices:
        return Choices(**{"delta": 0.1, "unit": "share", **self.asked})


LABELLED = {"item": "doc_id", "relevance": "relevance"}
SITUATIONS = {
    "columns that nobody chose": Situation(),
    "no relevance": Situation({"item": "doc_id"}),
    "no item": Situation({"relevance": "relevance"}),
    "another item": Situation({"item": "person", "relevance": "z"}),
    "all columns": Situation(LABELLED),
    "a rank": Situation(LABELLED | {"ranked_by": "rank", "is_rank": True}),
    "a rank taken as a score": Situation(LABELLED | {"ranked_by": "rank", "insist": True}),
    "positions as the rank": Situation({"ranked_by": "position", "is_rank": True}),
    "quantiles": Situation(LABELLED | {"way": "quantiles", "group": ("age",), "quantiles": 4}),
    "a crossing": Situation(LABELLED | {"way": "crossing", "group": ("gender", "device")}),
    "each item": Situation(LABELLED | {"way": "each_item", "group": ()}),
    "groups of hard names": Situation(LABELLED | {"group": ("region",)}),
    "renamed groups": Situation(LABELLED | {"group": ("region",), "group_names": {"a=b": "-c d", "-west": "e & f"}}),
    "names that no shell can say": Situation({"group_names": {"f": "a=b"}}),
    "merged groups": Situation(LABELLED | {"group_names": {"f": "f or x", "x": "f or x"}}),
    "groups left out": Situation(LABELLED | {"group": ("region",), "leave_out": ("-west", "a=b")}),
    "missing groups left out": Situation(LABELLED | {"missing": "exclude"}, content=holes()),
    "missing groups keep their places": Situation(LABELLED | {"missing": "keep"}, content=holes()),
    "missing groups' rows dropped": Situation(LABELLED | {"missing": "drop", "leave_out": ("x",)}, content=holes()),
    "missing groups as a group": Situation(LABELLED | {"missing": "own_group"}, content=holes()),
    "labels below zero": Situation({"relevance": "z"}, {"notion": "merit"}),
    "labels below zero clipped": Situation({"relevance": "z", "negative_labels": "clip"}, {"notion": "merit"}),
    "merit": Situation(LABELLED, {"notion": "merit"}),
    "merit of labels that are all alike": Situation({"relevance": "age"}, {"notion": "merit", "delta": 0.03}),
    "gap": Situation(
        LABELLED | {"leave_out": ("x",), "missing": "drop"}, {"notion": "gap", "delta": 0.02, "unit": "absolute"}
    ),
    "exposure model": Situation(LABELLED, {"power": 1.25, "shift": 0.5, "top": 4}),
    "exposure model of many digits": Situation(LABELLED, {"power": 1 / 3, "shift": 0.123456789, "top": 4}),
    "shift of 0": Situation(LABELLED, {"shift": 0.0, "unit": "absolute", "delta": 0.0}),
    "delta of many digits": Situation({}, {"delta": 0.1 / 3}),
    "quota": Situation(LABELLED, {"quota": "1@5", "quota_min": "f@4:1"}),
    "quota that some lists cannot meet": Situation(LABELLED, {"quota_min": "f@4:4", "delta": 1.0}),
    "quota of hard names": Situation({"group": ("region",)}, {"quota_min": "a=b@4:1,Köln@3:1"}),
    "slices": Situation(LABELLED | {"slices": ("land = country", "device")}),
    "slices and time": Situation(LABELLED | {"slices": ("device",), "time": "day"}, parts={"window": "month"}),
    "time in parts": Situation({"time": "day"}, parts={"window": "5"}),
    "one slice": Situation(LABELLED | {"slices": ("device",), "time": "day"}, slice="device:phone"),
    "one slice of a hard name": Situation({"slices": ("land = country",)}, slice="land = country:a%3Ab%2C c"),
    "selected at the top": Situation(LABELLED, parts={"selected": "top", "top": 3}),
    "selected by score": Situation(LABELLED, parts={"selected": "score", "least": -0.25}),
    "selected above the median": Situation(LABELLED, parts={"selected": "median"}),
    "semicolons and decimal commas": Situation(LABELLED, content=csv(table(), sep=";", decimal=",")),
    "names written alike": Situation(LABELLED | {"join_alike": True}, content=alike()),
    "names written alike kept apart": Situation(LABELLED | {"join_alike": False}, content=alike()),
    "tabs": Situation(LABELLED, content=csv(table(), sep="\t"), name="mine.tsv"),
    "latin-1": Situation(
        {"group": ("region",), "encoding": "latin-1"}, content=csv(table(), encoding="latin-1"), name="l.csv"
    ),
    "no header": Situation(
        {"query": "column 1", "ranked_by": "column 7", "group": ("column 4",), "header": False},
        content=csv(table(), header=False),
    ),
    "gzip": Situation(LABELLED, content=gzip.compress(csv(table()), mtime=0), name="mine.csv.gz"),
    "Parquet": Situation({"relevance": "z"}, content=parquet(), name="mine.parquet"),
    "JSON": Situation(LABELLED, content=table().to_json(orient="split").encode(), name="mine.json"),
    "a key of JSON": Situation({"sheet": "b"}, content=keyed(), name="mine.json"),
    "JSON lines": Situation(LABELLED, content=table().to_json(orient="records", lines=True).encode(), name="m.jsonl"),
    "a sheet": Situation(LABELLED | {"sheet": "-it's b"}, content=workbook(), name="mine.xlsx"),
    "a comma that may be either": Situation({"decimal": ","}, content=thousandths(), name="mine.tsv"),
    "a comma between thousands": Situation({"decimal": "."}, content=thousandths(), name="mine.tsv"),
    "LETOR": Situation(
        {"query": "", "ranked_by": "2", "way": "quantiles", "group": ("1",)}, content=LETOR.encode(), name="train.txt"
    ),
    "a hard file name": Situation(name="-it's my $file (1).csv"),
}


def hard_ids() -> bytes:
    """Ids that a spreadsheet, a shell or a path would read as its own, and that look like a number or nothing."""
    frame = table()
    frame["qid"] = frame["qid"].replace({"q0": "=1+1", "q1": "-q,1\n x", "q2": "007", "q3": "nan", "q4": "'<b>é/../組"})
    frame["doc_id"] = [("=1+'", "@", "'", "00", "d")[k % 5] + str(k) for k in range(len(frame))]
    return csv(frame)


HANDED_OUT = {name: (SITUATIONS[name], "") for name in (
    "missing groups keep their places", "each item", "exposure model", "quota of hard names", "one slice", "LETOR"
)} | {
    f"query {query!r}": (Situation({"item": "doc_id"}, content=hard_ids()), query)
    for query in ("=1+1", "-q,1\n x", "007", "nan", "'<b>é/../組")
}  # fmt: skip


@pytest.mark.parametrize("name", HANDED_OUT)
def test_the_line_of_the_policy_page_passes_each_file_that_it_hands_out(name: str):
    situation, query = HANDED_OUT[name]
    source = situation.load()
    ids = {str(each): each for each in source.data.query_ids.tolist()}
    query = query or next(iter(ids))
    asked = replace(situation.choices, data="upload", query=query, slice=situation.slice)
    page = shown("policy", state={"uploaded": source, "policy-shell": True}, **asdict(asked))
    (line,) = (block.value for block in page.code)
    files: dict[str, bytes] = {}
    for label in ("Policy (CSV)", "Policy (JSON)", "Certificate (JSON)"):
        page.button(key=f"download-{label}").click()
        files |= saved(rerun(page))
    command, verify, named, *rest = shlex.split(line)
    assert (command, verify, named) == ("spofr", "verify", next(iter(files)))
    for file, content in files.items():
        Path(file).write_bytes(content)
        told = shell(["verify", file, *rest]).output
        assert told.startswith(f"Query {ids[query]!r} holds")
        assert "which were not checked" in told


PROVED = (
    "missing groups keep their places",
    "a sheet",
    "columns that nobody chose",
    "a rank",
    "each item",
    "labels below zero",
    "gap",
    "exposure model",
    "LETOR",
    "quota that some lists cannot meet",
)


@pytest.fixture(autouse=True)
def _where_the_file_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def shell(words: list[str]) -> Any:
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    return found


def summary_of_shell(line: str) -> dict[str, Any]:
    shell([*shlex.split(line)[1:], "--json", "found.json"])
    found: dict[str, Any] = json.loads(Path("found.json").read_text("utf-8"))
    return found


def plain(summary: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(summary))
    return found


def check_the_report_page(source: Loaded, choices: Choices, parts: ReportParts, *, prove: bool) -> None:
    result = audited(source, fairness_of(choices, source.data))
    page = plain(with_parts(source, result, parts).summary)
    scope: dict[str, Any] = {}
    exec(compile(python_lines(source, choices, parts).replace("print(", "_ = ("), "report", "exec"), scope)
    assert scope["data"].fingerprint == source.data.fingerprint
    assert plain(scope["result"].summary) == page
    command = command_lines(source, choices, parts)
    if command is None:
        assert "a=b" in source.data.group_names or "land = country" in source.chosen
        return
    assert summary_of_shell(command) == page
    if prove:
        after = repaired(source.data, result.fairness)
        proof = proof_of(command, after.yields)
        assert proof is not None
        repair, verify = proof.splitlines()
        assert summary_of_shell(repair) == plain(after.summary)
        shell(shlex.split(verify)[1:])


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_lines_of_the_report_page_find_its_summary_again(name: str):
    situation = SITUATIONS[name]
    source, parts = situation.load(), ReportParts(**situation.parts)
    check_the_report_page(source, situation.choices, parts, prove=name in PROVED)


def test_the_same_rows_of_another_file_have_notes_of_their_own():
    names = ("tabs", "semicolons and decimal commas", "tabs")
    found = [audited(source, fairness_of(Choices(), source.data)) for source in (SITUATIONS[n].load() for n in names)]
    assert [len(each.summary["notes"]) for each in found] == [0, 2, 0]


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "mslr"])
def test_the_lines_of_a_sample_find_its_summary_again(name: str, monkeypatch):
    monkeypatch.chdir(ROOT)
    sample = SAMPLES[name]
    source = load_bundled(name, next(iter(sample.ways)))
    line = command_lines(source, Choices(data=name, delta=sample.delta, unit=sample.unit))
    page = audited(source, fairness_of(Choices(delta=sample.delta, unit=sample.unit), source.data))
    if line is not None:
        found = json.loads(shell([*shlex.split(line)[1:], "--json", "-"]).stdout)
        assert found == plain(with_parts(source, page, ReportParts()).summary)


@pytest.mark.parametrize(
    ("name", "rival"),
    [
        ("columns that nobody chose", "repair"),
        ("all columns", "score=model_b"),
        ("labels below zero", "repair"),
        ("labels below zero clipped", "rank=rank"),
        ("slices and time", "repair"),
        ("all columns", "group=device"),
    ],
)
def test_the_line_of_the_compare_page_finds_its_table_again(name: str, rival: str, monkeypatch):
    situation = SITUATIONS[name]
    source, asked = situation.load(), replace(situation.choices, rival=rival)
    monkeypatch.setattr("dashboard.session.comparing.rivals.choices", lambda: asked)
    changed = {"score=model_b": {"ranked_by": "model_b"}, "rank=rank": {"ranked_by": "rank", "is_rank": True}}
    other = replace(situation, mapping=situation.mapping | changed.get(rival, {"group": ("device",)}))
    monkeypatch.setattr("dashboard.session.comparing.rivals._reread", lambda *_: other.load().data)
    found, _, _ = compared(source, parse_rival(rival), ())
    line = comparison_lines(source, asked, parse_rival(rival))
    assert line is not None
    told = summary_of_shell(line)
    (mine,), (theirs,) = (plain(each)["rivals"].values() for each in (found.summary, told))
    assert theirs["rows"] == mine["rows"]
    assert theirs["not_compared"] == mine["not_compared"]


LOG = Mapping(is_log=True, query="query", impression="session", ranked_by="place", group=("gender",), is_rank=True)
LOGS = {
    "item and time": {"item": "item", "time": "time"},
    "no item and no time": {},
    "quantiles": {"way": "quantiles", "group": ("age",), "quantiles": 3},
    "a crossing": {"way": "crossing", "group": ("gender", "region")},
    "renamed groups": {"group": ("region",), "group_names": {"a=b": "cd"}, "leave_out": ("-west",)},
    "names written alike": {"join_alike": True},
    "missing groups": {"missing": "exclude", "time": "time"},
    "missing groups keep their places": {"missing": "keep"},
}


def log(*, holed: bool, alike: bool) -> bytes:
    """Impressions in which the item is named by its place, so that the column "item" repeats within a list."""
    rng = np.random.default_rng(1)
    frame = table().rename(columns={"qid": "query"}).drop(columns=["position", "rank"])
    frame = pd.concat([frame.assign(session=f"s{k}", time=f"2024-01-0{k + 1}") for k in range(4)], ignore_index=True)
    frame["place"] = frame.groupby(["query", "session"]).cumcount() + 1
    frame["item"] = frame["person"]
    if alike:
        frame.loc[frame.index % 2 == 0, "gender"] = frame["gender"].str.upper()
    if holed:
        frame.loc[rng.random(len(frame)) < 0.1, "gender"] = ""
    return csv(frame)


@pytest.mark.parametrize("name", LOGS)
def test_the_line_of_a_log_finds_its_summary_again(name: str):
    mapping = LOG.model_copy(update=LOGS[name])
    Path("log.csv").write_bytes(log(holed="missing" in name, alike=name == "names written alike"))
    upload = Upload(name="log.csv", sha256="0" * 64, size=1, opened=0.0, mapping=mapping)
    asked = Choices(delta=0.1, unit="share", power=4 / 3, shift=0.123456789)
    page = audited_log(upload, read_shown(Path("log.csv"), **mapping.log_options()), asked)
    told = summary_of_shell(log_command(upload, asked))
    time = told.pop("time", None)
    assert told == plain(page.summary)
    assert (time is not None) == (page.log.times is not None) == bool(mapping.time)
