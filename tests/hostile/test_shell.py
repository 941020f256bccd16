"""The shell under bad input, defects and a full disk: one sentence, and an exit code that tells them apart."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import pytest

from spofr_core import cli
from spofr_core.cli import application

ROOT = Path(__file__).resolve().parents[2]
HIRING = str(ROOT / "sample_data" / "hiring.csv")


def spofr(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["spofr", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def crash(error: BaseException):
    def raise_it(*_: object, **options: object) -> None:
        raise error

    return raise_it


def test_a_defect_has_an_exit_code_of_its_own(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(application, "app", crash(KeyError("architecture")))
    assert spofr(monkeypatch, "audit", HIRING) == 70
    told = capsys.readouterr().err
    assert told.startswith("spofr: This is a defect of spofr, not of your input: KeyError ('architecture')")
    assert "Traceback" not in told
    assert told.count("\n") == 1


def test_a_defect_shows_its_traceback_to_who_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(application, "app", crash(KeyError("architecture")))
    monkeypatch.setenv(cli.TRACEBACK, "1")
    assert spofr(monkeypatch, "audit", HIRING) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MemoryError(), 70, "not enough memory"),
        (KeyboardInterrupt(), 130, "Stopped."),
        (RecursionError("maximum recursion depth"), 70, "a defect of spofr"),
        (PermissionError(errno.EACCES, "Permission denied", "x.html"), 2, "Permission denied: x.html"),
        (OSError(errno.ENOSPC, "No space left on device", "x.html"), 2, "The disk is full: x.html could not"),
    ],
)
def test_what_ends_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, error: BaseException, code: int, words: str
) -> None:
    monkeypatch.setattr(application, "app", crash(error))
    assert spofr(monkeypatch, "audit", HIRING) == code
    assert words in capsys.readouterr().err


@pytest.fixture
def _full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.FileIO):
        def write(self, content: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def opened(handle: int, mode: str = "r", *_: object, closefd: bool = True) -> io.FileIO:
        return Full(handle, mode, closefd=closefd)

    monkeypatch.setattr("spofr_core.files.os.fdopen", opened)


@pytest.mark.usefixtures("_full_disk")
@pytest.mark.parametrize("out", ["--json", "--html", "--csv"])
def test_a_full_disk_names_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path, out: str
) -> None:
    target = tmp_path / "out.file"
    assert spofr(monkeypatch, "audit", str(ROOT / "tests/fixtures/twelve.csv"), "--delta", "10%", out, str(target)) == 2
    assert f"The disk is full: {target} could not be written." in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("_full_disk")
def test_training_on_a_full_disk_ends_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path
) -> None:
    words = (
        "train",
        "--sample",
        "hiring",
        "--method",
        "unfair",
        "--set",
        "max_steps=1",
        "--out",
        str(tmp_path / "runs"),
    )
    assert spofr(monkeypatch, *words) == 2
    assert "is full: finished runs are safe" in capsys.readouterr().err


DEEP = "[" * 200_000


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("deep.yaml", "[" * 100_000, "nested more than 64 levels deep"),
        ("blocks.yaml", "".join(f"{' ' * k}a:\n" for k in range(200)), "nested more than 64 levels deep"),
        ("bomb.yaml", "a: &a [x]\nb: &b [*a,*a]\nc: [*b,*b]\n", "refers to another place by *a"),
        ("digits.yaml", f"seeds: {'9' * 5_000}\n", "Exceeds the limit"),
        ("seeds.yaml", "dataset: {sample: hiring}\nseeds: 2000000000\n", "'seeds' is 2,000,000,000"),
        ("grid.yaml", "dataset: {sample: hiring}\nseeds: 90000\n", "more than the limit of 100,000"),
        ("numbers.yaml", "dataset: {sample: hiring}\n7: 8\n", "no setting '7'"),
        ("large.yaml", "#" * 1_100_000, "settings 1.0 MB at most"),
        ("tag.yaml", "!!python/object/apply:os.system ['true']\n", "could not determine a constructor"),
    ],
)
def test_sweeps_that_are_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    assert spofr(monkeypatch, "sweep", str(tmp_path / name), "--out", str(tmp_path / "runs"), "--no-probe") == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("text", [DEEP, '{"a":' * 900 + "1" + "}" * 900, "9" * 5_000, "[1]", "null", "{}", '{"q": NaN'])
def test_certificates_that_are_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path, text: str
) -> None:
    (tmp_path / "c.jsonl").write_text(text + "\n")
    fixture = str(ROOT / "tests/fixtures/twelve.csv")
    assert spofr(monkeypatch, "verify", str(tmp_path / "c.jsonl"), fixture, "--delta", "10%") == 2
    told = capsys.readouterr().err
    assert "certificate" in told
    assert len(told) < 2_000


def test_seeds_without_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    words = ("sweep", "--sample", "hiring", "--seeds", "2000000000", "--out", str(tmp_path / "runs"))
    assert spofr(monkeypatch, *words) == 2
    assert "a sweep has at most 100,000 runs" in capsys.readouterr().err


def test_a_measure_nested_without_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    assert spofr(monkeypatch, "measure", HIRING, "--measure", f"Skew@10(group={DEEP})") == 2
    assert len(capsys.readouterr().err) < 2_000
