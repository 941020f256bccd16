"""Where a command writes: never onto what it reads, through links and pipes, and no two outputs onto one file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import get_args, get_type_hints

import pandas as pd
import pytest

from spofr_core import Fairness, audit, fair_policies, read_dataset
from spofr_core.cli.application import app
from spofr_core.cli.shell_output import output_parameters
from spofr_core.errors import ConfigError
from spofr_core.evaluation import measure, repair_folder
from tests.cli.test_words import HEADER, ROWS, spofr

OUTPUTS = {
    "audit": ("--html", "--csv", "--json"),
    "measure": ("--csv", "--json"),
    "compare": ("--html", "--csv", "--json"),
    "repair": ("--out", "--certificates", "--json"),
    "verify": ("--json",),
    "train": ("--log",),
}
COMPLETE = {"compare": ["--with", "repair"], "repair": ["--out", "out.csv"], "train": ["--method", "uniform"]}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "shown.csv"
    path.write_text(HEADER + ROWS)
    return path


def test_every_option_that_writes_is_known_as_an_output() -> None:
    shells = [app, *(group.typer_instance for group in app.registered_groups)]
    commands = [each.callback for shell in shells for each in shell.registered_commands]
    seen = 0
    for command in commands:
        known = output_parameters(command)
        for name, hint in get_type_hints(command, include_extras=True).items():
            words = [getattr(each, "help", None) or "" for each in get_args(hint)]
            if any(text.startswith(("Write", "Policies as a long table", ".zip")) for text in words):
                assert name in known
                seen += 1
    assert seen >= sum(map(len, OUTPUTS.values()))


@pytest.mark.parametrize("how", ["itself", "symbolic link", "hard link", "through a folder"])
@pytest.mark.parametrize(("command", "option"), [(c, option) for c, options in OUTPUTS.items() for option in options])
def test_no_command_writes_onto_its_input(command, option, how, table, monkeypatch, capsys):
    target = table
    if how == "symbolic link":
        target = table.with_name("link.csv")
        target.symlink_to(table.name)
    elif how == "hard link":
        target = table.with_name("other.csv")
        target.hardlink_to(table)
    elif how == "through a folder":
        Path("inner").mkdir()
        target = Path("inner", "..", table.name)
    before = table.read_bytes()
    words = [command, *(["policies.csv"] if command == "verify" else []), table, option, target]
    words += [] if option == "--out" else COMPLETE.get(command, [])
    assert spofr(monkeypatch, *words) == 2
    said = capsys.readouterr().err
    assert "is read here" in said
    assert said.count("\n") == 1
    assert table.read_bytes() == before


@pytest.mark.parametrize("option", ["--policies", "--item-groups", "--with"])
def test_what_is_read_beside_the_table_is_safe_too(option, table, monkeypatch, capsys):
    other = table.with_name("other.csv")
    other.write_text(HEADER + ROWS)
    named = f"file={other}" if option == "--with" else other
    command = "compare" if option == "--with" else "measure"
    before = other.read_bytes()
    assert spofr(monkeypatch, command, table, option, named, "--csv", other) == 2
    assert "is read here" in capsys.readouterr().err
    assert other.read_bytes() == before


@pytest.mark.parametrize("target", ["rows/a.parquet", "rows/new.parquet", "rows/new", "rows"])
def test_the_folder_that_is_read_gets_no_part_more_or_less(target, table, monkeypatch, capsys):
    Path("rows").mkdir()
    pd.read_csv(table).to_parquet("rows/a.parquet")
    before = {path: path.read_bytes() for path in Path("rows").iterdir()}
    assert spofr(monkeypatch, "repair", "rows", "--out", target) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert {path: path.read_bytes() for path in Path("rows").iterdir()} == before
    with pytest.raises(ConfigError):
        repair_folder("rows", Fairness(delta=0.1), target)
    assert spofr(monkeypatch, "audit", "rows", "--csv", "rows/queries.csv") == 0


def test_a_model_is_not_overwritten_by_its_audit(table, monkeypatch, capsys):
    assert spofr(monkeypatch, "train", "--sample", "hiring", "--method", "uniform", "--out", "runs") == 0
    header = next(Path("runs").rglob("model.json"), None) or next(Path("runs").rglob("*.safetensors"))
    before = header.read_bytes()
    assert spofr(monkeypatch, "audit", "--model", "runs", "--json", header) == 2
    assert "is read here" in capsys.readouterr().err
    assert header.read_bytes() == before


@pytest.mark.parametrize("second", ["one.txt", "./one.txt", "link.txt", "hard.txt"])
@pytest.mark.parametrize("there", [False, True])
def test_two_outputs_never_share_a_file(second, there, table, monkeypatch, capsys):
    if there or second == "hard.txt":
        Path("one.txt").write_text("mine")
    if second == "link.txt":
        Path(second).symlink_to("one.txt")
    elif second == "hard.txt":
        Path(second).hardlink_to("one.txt")
    assert spofr(monkeypatch, "audit", table, "--csv", "one.txt", "--json", second) == 2
    assert "Two outputs" in capsys.readouterr().err
    assert not Path("one.txt").exists() or Path("one.txt").read_text() == "mine"


def test_a_symbolic_link_stays_one_and_what_it_leads_to_is_replaced(table, monkeypatch):
    Path("far").mkdir()
    Path("far", "old.json").write_text("old")
    for name, leads_to in (("link.json", "far/old.json"), ("again.json", "link.json"), ("new.json", "far/new.json")):
        Path(name).symlink_to(leads_to)
    for name in ("again.json", "new.json"):
        assert spofr(monkeypatch, "audit", table, "--json", name) == 0
        assert Path(name).is_symlink()
        assert json.loads(Path(name).read_text())["queries"]["total"] == 2
    assert sorted(path.name for path in Path("far").iterdir()) == ["new.json", "old.json"]
    assert Path("link.json").is_symlink()
    assert not Path("far", "new.json").is_symlink()


def test_a_pipe_is_written_through(table, monkeypatch):
    os.mkfifo("pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_bytes()), daemon=True)
    reader.start()
    assert spofr(monkeypatch, "audit", table, "--csv", "pipe", "--json", "summary.json") == 0
    reader.join(60)
    assert spofr(monkeypatch, "audit", table, "--csv", "whole.csv") == 0
    assert got == [Path("whole.csv").read_bytes()]
    assert Path("pipe").is_fifo()


def test_a_pipe_that_is_read_is_not_written(table, monkeypatch, capsys):
    os.mkfifo("pipe")
    Path("link").symlink_to("pipe")
    for output in ("pipe", "link"):
        assert spofr(monkeypatch, "audit", "pipe", "--csv", output) == 2
        assert "is read here" in capsys.readouterr().err


def test_devices_are_written_through_and_may_be_named_twice(table, monkeypatch, capsys):
    assert spofr(monkeypatch, "audit", table, "--csv", "/dev/null", "--html", "/dev/null", "--json", "/dev/null") == 0
    assert Path("/dev/null").is_char_device()
    assert spofr(monkeypatch, "repair", table, "--out", "out.csv", "--certificates", "/dev/full") == 2
    assert "The disk is full: /dev/full" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_standard_output_takes_a_table_in_its_turn(kind, table):
    command = [
        sys.executable,
        "-c",
        "from spofr_core.cli import main; main()",
        "audit",
        str(table),
        "--csv",
        "/dev/stdout",
        "--json",
        "-",
    ]
    if kind == "pipe":
        text = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
    else:
        with Path("both.txt").open("wb") as file:
            file.write(b"first\n")
            file.flush()
            subprocess.run(command, stdout=file, check=True)
        text = Path("both.txt").read_text().removeprefix("first\n")
    csv, brace, rest = text.partition("{\n")
    assert csv.startswith("query,")
    assert json.loads(brace + rest)["queries"]["total"] == 2


def test_python_writers_refuse_the_file_that_was_read(table):
    data = read_dataset(table)
    fairness = Fairness(delta=0.1)
    result = audit(data, fairness)
    Path("link.csv").symlink_to(table)
    before = table.read_bytes()
    policies = fair_policies(data.score, data.groups, data.offsets, fairness)
    writers = (result.to_csv, result.to_json, result.to_html, measure(data, ["NDKL"]).to_csv, policies.write)
    for write in writers:
        for target in (table, "link.csv"):
            with pytest.raises(ConfigError, match="is read here"):
                write(target)
    assert table.read_bytes() == before
    result.to_csv("queries.csv")
    result.to_csv("queries.csv")  # an output may be written again
    copy = Path(shutil.copy(table, "copy.csv"))
    for mode in ("r", "rb"):
        with copy.open(mode) as file:
            read_dataset(file)
    with pytest.raises(ConfigError, match="is read here"):
        result.to_csv(copy)
    table.unlink()
    result.to_csv(table)  # it is gone: nothing is lost
