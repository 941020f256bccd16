"""What a killed process had begun to write is gone with the next write; what somebody is writing is left alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.files import write_whole
from spofr_core.unfinished import unfinished_folder

ROOT = Path(__file__).resolve().parents[2]
FILE = """
import sys, time
from spofr_core.files import write_whole
def pieces():
    yield b"half of"
    print("begun", flush=True)
    sys.stdin.read()
    yield b" it"
write_whole("report.html", pieces())
"""
FOLDER = """
import sys
from pathlib import Path
from spofr_core.unfinished import unfinished_folder
with unfinished_folder(Path("report.html")) as hidden:
    (hidden / "part").write_text("half of it")
    print("begun", flush=True)
    sys.stdin.read()
    hidden.replace("moved")
"""
REPORT = """
import os, sys
from spofr_core.cli import main
os.fsync = lambda handle: (print("begun", flush=True), sys.stdin.read())
sys.argv = ["spofr", "audit", "table.csv", "--query", "q", "--item", "i", "--group", "g", "--score", "s",
            "--delta", "0.1", "--html", "report.html"]
main()
"""


@contextmanager
def at_work(script: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is in the middle of a write, until the end of the block at the latest."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{script}"]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


@pytest.mark.parametrize("script", [FILE, FOLDER], ids=["file", "folder"])
def test_what_a_killed_process_had_begun_is_gone_with_the_next_write(tmp_path, script):
    own = {".report.html.original", ".report.html.k3j2h4g5", ".other.html.k3j2h4g5.tmp"}
    for name in own:
        (tmp_path / name).write_text("somebody's")
    with at_work(script, tmp_path):
        pass
    assert len(hidden(tmp_path)) == 4
    write_whole(tmp_path / "report.html", b"whole")
    assert set(hidden(tmp_path)) == own
    assert (tmp_path / "report.html").read_bytes() == b"whole"


def test_what_somebody_is_writing_is_left_alone(tmp_path):
    with at_work(FILE, tmp_path) as file, at_work(FOLDER, tmp_path) as folder:
        write_whole(tmp_path / "report.html", b"whole")
        with unfinished_folder(tmp_path / "report.html"):
            assert len(hidden(tmp_path)) == 3
        for process in (file, folder):
            process.communicate()
            assert process.returncode == 0
    assert hidden(tmp_path) == []
    assert (tmp_path / "report.html").read_bytes() == b"half of it"
    assert (tmp_path / "moved" / "part").exists()


def test_a_name_as_long_as_names_may_be_is_written(tmp_path):
    write_whole(tmp_path / ("名" * 85), b"whole")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"whole"]


def test_a_report_that_was_killed_leaves_nothing_when_it_is_made_again(tmp_path, monkeypatch):
    rows = [f"1,{item},{'ab'[item % 2]},{5 - item}" for item in range(5)]
    (tmp_path / "table.csv").write_text("\n".join(["q,i,g,s", *rows]))
    with at_work(REPORT, tmp_path):
        pass
    assert len(hidden(tmp_path)) == 1
    assert not (tmp_path / "report.html").exists()
    monkeypatch.chdir(tmp_path)
    columns = ["--query", "q", "--item", "i", "--group", "g", "--score", "s"]
    again = CliRunner().invoke(app, ["audit", "table.csv", *columns, "--delta", "0.1", "--html", "report.html"])
    assert again.exit_code == 0, again.output
    assert hidden(tmp_path) == []
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")
