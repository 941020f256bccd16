"""What a shell user is told to do can be done in a shell."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from spofr_core import cli
from spofr_core.cli.shell_words import in_shell_words

HEADER = "qid,doc,group,score,label\n"
ROWS = "q,a,f,0.5,1\nq,b,m,0.4,0\nr,a,f,0.5,1\nr,b,m,0.4,0\n"


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        ("say so: decimal=','.", "say so: --decimal ','."),
        ("name it: query='...'.", "name it: --query '...'."),
        ("cut it (group='133', group_quantiles=2)", "cut it (--group '133', --quantiles 2)"),
        ("missing='own_group' makes them a group", "--missing 'own_group' makes them a group"),
        ("use on_infeasible='relax' to let", "use --relax to let"),
        ("a table (item_groups=...)", "a table (--item-groups ...)"),
        ("the limit: limits=Limits(groups=...).", "the limit: in Python, limits=Limits(groups=...)."),
        ("write group=number, such as women=10%.", "write group=number, such as women=10%."),
        ("write setting=value, such as group=women.", "write setting=value, such as group=women."),
        ("column 'group' holds 'x=y'", "column 'group' holds 'x=y'"),
    ],
)
def test_settings_become_options(python: str, shell: str) -> None:
    assert in_shell_words(python) == shell


def spofr(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["spofr", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code or 0)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "shown.csv"
    path.write_text(HEADER + ROWS)
    return path


def test_a_decimal_comma_is_found_out_or_asked_for_with_the_option_that_takes_it(tmp_path, monkeypatch, capsys):
    path = tmp_path / "shown.csv"
    path.write_text((HEADER + ROWS).replace(",", ";").replace(".", ","))
    assert spofr(monkeypatch, "audit", path) == 0
    assert "have a decimal comma" in capsys.readouterr().out
    assert spofr(monkeypatch, "audit", path, "--decimal", ",", "--delimiter", ";") == 0
    path.write_text(HEADER + ROWS.replace("0.5", '"4,752"').replace("0.", ""))
    assert spofr(monkeypatch, "audit", path) == 2
    assert "--decimal ','" in capsys.readouterr().err


def test_a_first_row_of_data_is_asked_about(tmp_path, monkeypatch, capsys):
    path = tmp_path / "shown.csv"
    path.write_text(ROWS)
    columns = ["--query", "column 1", "--item", "column 2", "--group", "column 3", "--score", "column 4"]
    assert spofr(monkeypatch, "audit", path, *columns) == 2
    said = capsys.readouterr().err
    assert "--no-header reads every row" in said
    assert "--header takes the row as names" in said
    assert spofr(monkeypatch, "audit", path, *columns, "--no-header", "--json", "-") == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert {name: group["items"] for name, group in groups.items()} == {"f": 2, "m": 2}


def test_a_rank_named_as_a_score_is_asked_about(tmp_path, monkeypatch, capsys):
    path = tmp_path / "shown.csv"
    rows = "".join(f"q{q},d{k},{'fm'[k > 3]},{k}\n" for q in range(4) for k in range(1, 8))
    path.write_text("qid,doc,group,Platz\n" + rows)
    assert spofr(monkeypatch, "audit", path, "--score", "Platz") == 2
    said = capsys.readouterr().err
    assert "counts 1, 2, 3, ... in each list" in said
    assert "Say --rank 'Platz' if 1 is the top" in said
    assert "--score 'Platz' and --insist" in said

    def exposure(*arguments: str) -> float:
        assert spofr(monkeypatch, "audit", path, *arguments, "--json", "-") == 0
        return json.loads(capsys.readouterr().out)["groups"]["f"]["exposure_mean"]

    assert exposure("--rank", "Platz") == exposure()
    assert exposure("--score", "Platz", "--insist") != exposure()


def test_groups_are_renamed_and_left_out(tmp_path, monkeypatch, capsys):
    path = tmp_path / "shown.csv"
    path.write_text(HEADER + ROWS + "r,c,x=y,0.1,0\n")
    renamed = ["--rename-group", "f=women", "--rename-group", "m=men", "--leave-out-group", "x=y"]
    assert spofr(monkeypatch, "audit", path, *renamed, "--json", "-") == 0
    summary = json.loads(capsys.readouterr().out)
    assert {name: group["items"] for name, group in summary["groups"].items()} == {"women": 2, "men": 2}
    assert summary["excluded"] == {"items of groups left out, which kept their places": 1}
    assert spofr(monkeypatch, "audit", path, "--rename-group", "x=y=z", "--json", "-") == 0
    assert set(json.loads(capsys.readouterr().out)["groups"]) == {"f", "m", "z"}
    assert spofr(monkeypatch, "audit", path, "--rename-group", "women") == 2
    assert "--rename-group is 'women'; write old=new, such as 0=men" in capsys.readouterr().err
    assert spofr(monkeypatch, "audit", path, "--leave-out-group", "y") == 2
    assert "There is no group 'y'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [("--seed", -1), ("--decimal", ",,"), ("--delimiter", "ab")])
def test_bad_settings_are_one_sentence(table, monkeypatch, capsys, arguments):
    assert spofr(monkeypatch, "audit", table, *arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("spofr: ")
    assert len(said.splitlines()) == 1


def test_a_folder_with_a_broken_file_is_one_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "part.parquet").write_bytes(b"PAR1 and then nothing")
    assert spofr(monkeypatch, "audit", tmp_path) == 2
    said = capsys.readouterr().err
    assert "cannot be read as Parquet" in said
    assert "part.parquet" in said


def test_a_place_that_cannot_be_written_is_named_as_it_was_given(table, tmp_path, monkeypatch, capsys):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    target = blocked / "policies.csv"
    assert spofr(monkeypatch, "rerank", table, "--out", target) == 2
    assert str(target) in capsys.readouterr().err


MERIT = ("--notion", "merit", "--merit", "f=0", "--merit", "m=1", "--delta", "0")


def test_infeasible_merit_leaves_no_file_and_names_the_query_and_the_way_out(table, tmp_path, monkeypatch, capsys):
    out, proofs = tmp_path / "out.csv", tmp_path / "out.jsonl"
    assert spofr(monkeypatch, "rerank", table, *MERIT, "--out", out, "--certificates", proofs) == 2
    said = capsys.readouterr().err
    assert "query 'q'" in said
    assert "--relax" in said
    assert not out.exists()
    assert not proofs.exists()


def test_relaxed_queries_are_not_said_to_hold_delta(table, tmp_path, monkeypatch, capsys):
    out = tmp_path / "OUT.PARQUET"
    assert spofr(monkeypatch, "rerank", table, *MERIT, "--out", out, "--relax") == 0
    assert spofr(monkeypatch, "verify", out, table, *MERIT) == 1
    assert "--allow-relaxed" in capsys.readouterr().out
    assert spofr(monkeypatch, "verify", out, table, *MERIT, "--allow-relaxed") == 0
    said = capsys.readouterr().out
    assert "0 of 2 queries hold delta; no policy of 2 can hold the delta asked for, so" in said
    assert "Every query holds delta" not in said


def test_a_list_with_one_group_has_no_violation_to_print(tmp_path, monkeypatch, capsys):
    path, out = tmp_path / "one.csv", tmp_path / "out.csv"
    path.write_text(HEADER + "q,a,f,0.5,1\nq,b,f,0.4,0\n")
    assert spofr(monkeypatch, "rerank", path, "--out", out) == 0
    capsys.readouterr()
    assert spofr(monkeypatch, "verify", out, path) == 0
    assert "nan" not in capsys.readouterr().out


def test_a_repair_and_its_check_say_of_whom_delta_holds(tmp_path, monkeypatch, capsys) -> None:
    """Where one group alone is known, no list can be re-ranked for it."""
    file, policies = tmp_path / "holes.csv", tmp_path / "policies.parquet"
    lists = {"q": "abab", "r": "ab-", "s": "a-"}
    rows = [f"{q},{k},{'' if g == '-' else g},{9 - k}" for q, groups in lists.items() for k, g in enumerate(groups)]
    file.write_text("\n".join(["qid,doc,group,score", *rows]))
    options = [file, "--missing", "keep", "--delta", "5%", "--insist", "--score", "score"]
    assert spofr(monkeypatch, "repair", *options, "--out", policies) == 0
    said = capsys.readouterr().out
    assert (
        "2 of 3 queries hold delta = 5 % whatever the unknown groups are, 1 breaks it and none depends on them." in said
    )
    assert spofr(monkeypatch, "verify", policies, *options) == 0
    assert "Every query holds delta for the items whose group is known; " in capsys.readouterr().out
