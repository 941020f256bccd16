"""Numbers beyond all reason in the shell: one sentence that has the value, exit code 2, and nothing said before it."""

from __future__ import annotations

import shlex
import socket

import pandas as pd
import pytest

from spofr_core import cli

HUGE = "9" * 20
BEYOND = [
    f"measure --sample hiring --measure Skew@{HUGE}",
    "measure --sample hiring --measure Skew@9223372036854775807",
    "measure --sample hiring --measure nDCG@1e30",
    f"measure --sample hiring --measure rND(step={HUGE})",
    "measure --sample hiring --measure rND(step=-1)",
    "measure --sample hiring --cutoff -1",
    "measure --sample hiring --seed -1",
    f"audit --sample hiring --measure Skew@{HUGE}",
    f"audit --sample hiring --quota-slack {HUGE}",
    f"audit --sample hiring --quota-slack 1 --quota-top {HUGE}",
    "audit --sample hiring --quota-slack 1 --quota-top -1",
    f"audit --sample hiring --quota-min female@{HUGE}=1",
    f"audit --sample hiring --quota-min female@5={HUGE}",
    "audit --sample hiring --top-k 0",
    "audit --sample hiring --small-items -1",
    "audit --sample hiring --cutoff 0",
    f"audit ROWS --group score --quantiles {HUGE}",
    "audit FOLDER --workers -1",
    "audit FOLDER --workers 0",
    "audit FOLDER --workers 1000000000",
    f"measure FOLDER --measure NDKL --workers {HUGE}",
    "repair FOLDER --out OUT/p.csv --workers 1000000000",
    f"repair --sample hiring --out OUT/p.csv --quota-slack {HUGE}",
    "repair --sample hiring --out OUT/p.csv --seed -1",
    "verify OUT/p.csv --sample hiring --seed -1",
    f"compare --sample hiring --with repair --measure Skew@{HUGE}",
    f"compare --sample hiring --with repair --fail-if-worse Skew@{HUGE}",
    "compare --sample hiring --with repair --seed -1",
    "serve --port -1",
    "serve --port 99999",
    "serve --workers 0",
    "serve --workers 1000000000",
    f"serve --quota-slack {HUGE}",
    "dashboard --headless --port -1",
    "dashboard --headless --port 0",
    "dashboard --headless --port 99999",
    "bench audit --queries -1",
    f"bench audit --queries {HUGE}",
    "bench audit --rounds 0",
    "bench measures --queries 0",
    "bench serve --calls 0",
    "bench serve --rounds -1",
    "bench dashboard --rounds 0",
    "bench solver --rounds 0",
    "bench sweep --seconds nan",
    "bench sweep --seconds -1",
    "sweep --out OUT --sample german-credit --disk-limit nan",
    "sweep --out OUT --sample german-credit --disk-limit inf",
    "sweep --out OUT --sample german-credit --disk-limit -1",
    "sweep --out OUT --sample german-credit --seeds -1",
    f"sweep --out OUT --sample german-credit --clicks {HUGE}",
    "sweep --out OUT --sample german-credit --workers 1000000000",
    f"sweep --out OUT --sample german-credit --quota-slack {HUGE}",
    f"sweep --out OUT --sample german-credit --set hidden=[{HUGE}]",
    "reproduce grid --out OUT --workers 0",
]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    place = tmp_path_factory.mktemp("numbers")
    frame = pd.DataFrame(
        {"query": list("ppqq"), "item": range(4), "group": list("abab"), "score": [0.1, 0.2, 0.3, 0.4]}
    )
    (place / "folder").mkdir()
    frame.to_parquet(place / "folder" / "0.parquet")
    frame.to_csv(place / "rows.csv", index=False)
    return place


def ended(words: list[str], monkeypatch, capsys) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["spofr", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    said = capsys.readouterr()
    return int(end.value.code or 0), said.out, said.err


@pytest.mark.parametrize("line", BEYOND)
def test_a_number_beyond_all_reason_is_one_sentence(line, rows, tmp_path, monkeypatch, capsys):
    places = {"FOLDER": rows / "folder", "ROWS": rows / "rows.csv", "OUT": tmp_path}
    for name, path in places.items():
        line = line.replace(name, str(path))
    code, out, err = ended(shlex.split(line), monkeypatch, capsys)
    assert (code, out) == (2, "")
    assert err.startswith("spofr: ")
    assert err.count("\n") == 1
    number = shlex.split(line)[-1].rpartition("=")[2].rpartition("@")[2].strip("()[]")
    assert number in err.replace(",", "")


@pytest.mark.parametrize("command", ["serve", "dashboard --headless"])
def test_a_port_in_use_is_said_before_anything_answers(command, monkeypatch, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, out, err = ended([*command.split(), "--port", str(port)], monkeypatch, capsys)
    assert (code, out) == (2, "")
    assert err == (f"spofr: Port {port} of '127.0.0.1' is in use; end what listens there, or give another --port.\n")
