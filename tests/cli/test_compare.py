"""`spofr compare` as a shell sees it: every kind of rival, the gate of a pipeline, files, and names full of traps."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core import Fairness, PredictThenOptimize, audit, compare, read_dataset, repair
from spofr_core import cli as shell
from spofr_core.cli import app
from spofr_core.errors import SpofrError
from spofr_core.reporting import comparison_headline

ROLES = {"query": "qid", "item": "doc", "group": "sex", "score": "score", "relevance": "label"}
OPTIONS = [part for role, column in ROLES.items() for part in (f"--{role}", column)]
SHARE = Fairness(delta="10%")


def run(*arguments: object):
    return CliRunner().invoke(app, [str(word) for word in arguments], catch_exceptions=False)


def summary_of(*arguments: object) -> dict:
    result = run("compare", *arguments, "--json", "-")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def rows_of(summary: dict, rival: str) -> dict[str, dict]:
    return {row["name"]: row for row in summary["rivals"][rival]["rows"]}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Forty lists; the score leans towards men, new_score does not, place is the rank by it."""
    rng = np.random.default_rng(4)
    rows = 40 * 8
    sex, field = rng.choice(["f", "m"], rows), rng.choice(["arts", "law", "tech"], rows)
    skill = rng.random(rows)
    table = pd.DataFrame(
        {
            "qid": np.repeat([f"s{k}" for k in range(40)], 8),
            "doc": [f"d{k}" for k in range(rows)],
            "sex": sex,
            "field": field,
            "skill": skill,
            "label": (skill + 0.3 * rng.random(rows) > 0.8).astype(int),
            "score": skill + 0.5 * (sex == "m"),
            "new_score": skill,
        }
    )
    return table.assign(place=table.groupby("qid")["new_score"].rank(ascending=False, method="first").astype(int))


@pytest.fixture(scope="module")
def file(frame, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("compare") / "shown.csv"
    frame.to_csv(path, index=False)
    return path


def now(file: Path, **changes: object):
    roles = {name: value for name, value in (ROLES | changes).items() if value is not None}
    return audit(read_dataset(file, **roles), SHARE)


def expected(first, rival, name: str) -> list[dict]:
    """The rows that Python finds, as JSON has them."""
    return json.loads(compare({"now": first, name: rival}).to_json())["rivals"][name]["rows"]


def test_another_score_column(file):
    summary = summary_of(file, *OPTIONS, "--with", "score=new_score")
    assert summary["rivals"]["new_score"]["rows"] == expected(now(file), now(file, score="new_score"), "new_score")
    women = rows_of(summary, "new_score")["exposure:f"]
    assert women["lower"] > 0


def test_a_rank_column_ranks_as_the_score_that_it_was_made_from(file):
    summary = summary_of(file, *OPTIONS, "--with", "score=new_score", "--with", "rank=place")
    by_score, by_rank = rows_of(summary, "new_score"), rows_of(summary, "place")
    for name, row in by_score.items():
        assert by_rank[name]["after"] == pytest.approx(row["after"]), name


def test_another_file_with_other_queries(file, frame, tmp_path):
    other = frame[frame["qid"] != "s3"].assign(score=frame["new_score"])
    extra = other[other["qid"] == "s5"].assign(qid="only there")
    path = tmp_path / "new.csv"
    pd.concat([extra, other]).to_csv(path, index=False)
    summary = summary_of(file, *OPTIONS, "--with", f"file={path}")
    queries = summary["rivals"]["new.csv"]["queries"]
    assert (queries["both"], queries["only_first_ids"], queries["only_rival_ids"]) == (39, ["s3"], ["only there"])
    said = run("compare", file, *OPTIONS, "--with", f"file={path}").stdout
    assert "39 queries were compared, each with itself; left out: 1 only now has (s3)" in said


def test_groups_cut_from_a_number_mean_the_same_in_the_other_file(file, frame, tmp_path):
    path = tmp_path / "half.csv"
    frame[frame["skill"] > 0.4].to_csv(path, index=False)
    options = [*OPTIONS, "--group", "skill", "--quantiles", "2"]
    options.remove("sex")
    options.remove("--group")
    summary = summary_of(file, *options, "--with", f"file={path}")
    assert summary["rivals"]["half.csv"]["same_groups"]


def test_the_repair_and_the_repair_of_another_score(file):
    summary = summary_of(file, *OPTIONS, "--with", "repair", "--with", "repair,score=new_score,name=both")
    fixed = repair(read_dataset(file, **ROLES), SHARE)
    found = rows_of(summary, "repair")
    assert found["fair"]["after"] == fixed.after.summary["queries"]["share"] == 1.0
    assert found["ndcg"]["after"] == pytest.approx(fixed.after.summary["measures"]["ndcg"]["mean"])
    assert rows_of(summary, "both")["fair"]["after"] == 1.0


def test_another_delta_and_another_notion(file):
    summary = summary_of(file, *OPTIONS, "--with", "delta=40%", "--with", "notion=gap", "--with", "notion=merit")
    assert summary["rivals"]["delta 40 %"]["asked"]["delta"] == 0.4
    looser = rows_of(summary, "delta 40 %")["fair"]
    assert looser["after"] > looser["before"]
    assert rows_of(summary, "delta 40 %")["violation"]["difference"] == 0
    for notion in ("gap", "merit"):
        assert summary["rivals"][f"notion {notion}"]["asked"]["notion"] == notion
        assert "violation" not in rows_of(summary, f"notion {notion}")


def test_other_groups_and_a_crossing(file):
    summary = summary_of(file, *OPTIONS, "--with", "group=field", "--with", "group=sex,group=field")
    rows = rows_of(summary, "by field")
    assert not summary["rivals"]["by field"]["same_groups"]
    assert rows["violation"]["after"] == pytest.approx(now(file, group="field").summary["violation"]["mean"])
    assert rows["ndcg"]["difference"] == 0
    assert "by sex and field" in summary["rivals"]


@pytest.fixture(scope="module")
def model(file, tmp_path_factory) -> Path:
    data = read_dataset(file, **ROLES, features=["skill"])
    trained = PredictThenOptimize(Fairness(delta="10%"), max_steps=10, validate_every=5).fit(data)
    path = tmp_path_factory.mktemp("models") / "first"
    trained.save(path)
    return path


def test_a_model_against_the_score_and_the_score_against_a_model(file, model):
    there = summary_of(file, *OPTIONS, "--with", f"model={model}")
    back = summary_of(file, *OPTIONS, "--model", model, "--with", "score=score,name=shown")
    ranked = rows_of(there, "model first")
    assert ranked["fair"]["after"] == 1.0  # its policies hold delta
    turned = rows_of(back, "shown")
    assert back["first"]["name"] == "model first"
    for name in ("fair", "ndcg", "violation"):
        assert turned[name]["difference"] == pytest.approx(-ranked[name]["difference"])


def test_a_model_at_another_delta_and_its_repair(file, model):
    summary = summary_of(file, *OPTIONS, "--model", model, "--with", "delta=40%", "--with", "repair")
    assert rows_of(summary, "delta 40 %")["violation"]["difference"] > 0
    assert all(row["difference"] == 0 for row in rows_of(summary, "repair").values())  # it is its own repair


def test_a_bundled_dataset_with_its_repair_and_other_groups():
    summary = summary_of("--sample", "hiring", "--with", "repair", "--with", "group=region", "--measure", "fair")
    assert summary["first"]["queries"] == 500
    assert [row["name"] for row in summary["rivals"]["repair"]["rows"]] == ["fair"]
    assert not summary["rivals"]["by region"]["same_groups"]


def test_the_text_is_the_headline_the_table_and_the_notes(file):
    result = run("compare", file, *OPTIONS, "--with", "score=new_score,name=new")
    assert result.exit_code == 0
    first, rival = now(file), now(file, score="new_score")
    lines = result.stdout.splitlines()
    assert lines[0] == comparison_headline(compare({"now": first, "new": rival}).summary)
    assert lines[1].split()[:3] == ["Compared", "Before", "After"]
    assert any(line.startswith("exposure of group f ") for line in lines)
    assert "note: 40 queries were compared, each with itself." in lines


def test_measures_are_chosen_and_computed_where_an_audit_has_not_got_them(file):
    arguments = ("--measure", "NDKL", "--measure", "nDCG@5", "--measure", "exposure:f")
    rows = rows_of(summary_of(file, *OPTIONS, "--with", "score=new_score", *arguments), "new_score")
    assert list(rows) == ["NDKL", "ndcg@5", "exposure:f"]


def test_the_gate_of_a_pipeline(file):
    arguments = ("compare", file, *OPTIONS, "--with", "score=new_score")
    assert run(*arguments, "--fail-if-worse", "exposure_ratio").exit_code == 0
    assert run(*arguments, "--fail-if-worse", "exposure:f", "--fail-if-worse", "violation").exit_code == 0
    failed = run(*arguments, "--fail-if-worse", "exposure:m")
    assert failed.exit_code == 1
    assert "worse in new_score: exposure:m" in failed.stderr
    back = ("compare", file, *OPTIONS, "--score", "new_score", "--with", "score=score")
    assert run(*back, "--fail-if-worse", "NDKL").exit_code == 1  # also where no audit has it by itself


def test_a_gate_tolerates_what_it_is_told_to(file):
    arguments = ("compare", file, *OPTIONS, "--with", "score=new_score", "--fail-if-worse", "exposure:m")
    lost = -rows_of(summary_of(*arguments[1:-2]), "new_score")["exposure:m"]["upper"]
    failed = run(*arguments, "--tolerate", f"exposure:m={lost / 2}")
    assert failed.exit_code == 1
    assert f"worse in new_score by more than {lost / 2:g}: exposure:m" in failed.stderr
    passed = run(*arguments, "--tolerate", f"exposure:m={lost * 1.01}")
    assert (passed.exit_code, passed.stderr) == (0, "")


def test_a_gate_that_is_in_the_table_is_no_row_more(file):
    arguments = ("compare", file, *OPTIONS, "--with", "score=new_score", "--json", "-")
    plain = json.loads(run(*arguments).stdout)
    gates = [word for name in ("nDCG@10", "ndcg", "ndcg@10", "max_violation") for word in ("--fail-if-worse", name)]
    assert json.loads(run(*arguments, *gates).stdout) == plain


def test_files_are_written(file, tmp_path):
    arguments = ("--with", "repair", "--html", tmp_path, "--csv", tmp_path / "c.csv", "--json", tmp_path / "c.json")
    assert run("compare", file, *OPTIONS, *arguments).exit_code == 0
    (page,) = tmp_path.glob("spofr-comparison-shown-*.html")
    assert "repair compared with now" in page.read_text("utf-8")
    rows = json.loads((tmp_path / "c.json").read_text("utf-8"))["rivals"]["repair"]["rows"]
    assert pd.read_csv(tmp_path / "c.csv")["name"].tolist() == [row["name"] for row in rows]


def test_differences_by_slices_of_the_first_file(file, frame, tmp_path):
    path = tmp_path / "sliced.csv"
    place = {name: ("DE", "FR")[k % 2] for k, name in enumerate(frame["qid"].unique())}
    frame.assign(country=frame["qid"].map(place)).to_csv(path, index=False)
    arguments = (path, *OPTIONS, "--with", f"file={file},score=new_score,name=new", "--slice", "country")
    rival = summary_of(*arguments)["rivals"]["new"]
    entry = rival["slices"][0]["measures"][0]
    assert {each["slice"]: each["n"] for each in entry["slices"]} == {"DE": 20, "FR": 20}
    overall = {row["name"]: row for row in rival["rows"]}[entry["measure"]]["difference"]
    assert np.mean([each["mean"] for each in entry["slices"]]) == pytest.approx(overall)
    assert "change in the largest violation in a query by country" in run("compare", *arguments).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --with score=COL"),
        (["--with", "beauty"], "--with is 'beauty'"),
        (["--with", "score=beauty"], "beauty"),
        (["--with", "file=no-such-file.csv"], "no-such-file.csv"),
        (["--with", "model=no-such-model"], "There is no model 'no-such-model'"),
        (["--with", "repair", "--with", "repair"], "Two of the rankings are called 'repair'"),
        (["--with", "repair,name=now"], "Two of the rankings are called 'now'"),
        (["--with", "repair", "--measure", "beauty"], "beauty"),
        (
            ["--with", "repair", "--fail-if-worse", "exposure:x"],
            "There is no 'exposure:x' to compare; there is 'exposure:f'",
        ),
        (["--with", "delta=5%", "--fail-if-worse", "fair"], "'fair' cannot be worse"),
        (["--with", "repair", "--confidence", "95"], "'confidence' is 95"),
        (["--with", "repair", "--tolerate", "fair"], "--tolerate is 'fair'; write what may be worse by how much"),
        (["--with", "repair", "--tolerate", "fair=much"], "--tolerate is 'fair=much'; write"),
        (["--with", "repair", "--tolerate", "=1"], "--tolerate is '=1'; write"),
        (["--with", "repair", "--tolerate", "fair=1", "--tolerate", "fair=2"], "--tolerate names fair twice, 1 and 2"),
        (["--with", "repair", "--tolerate", "fair=0.1"], "'fair' has a margin and is no gate; the gates are none."),
        (["--with", "repair", "--fail-if-worse", "fair", "--tolerate", "fair=-1"], "The margin of 'fair' is -1.0"),
        (["--with", "repair", "--fail-if-worse", "fair", "--tolerate", "fair=nan"], "The margin of 'fair' is nan"),
        (["--with", "repair", "--fail-if-worse", "fair", "--tolerate", "beauty=1"], "There is no 'beauty' to compare"),
    ],
)
def test_bad_input_is_one_sentence(file, arguments, message):
    with pytest.raises(SpofrError) as caught:
        run("compare", file, *OPTIONS, *arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_sample_has_no_other_columns_and_a_model_alone_no_file(model):
    with pytest.raises(SpofrError, match="has no other columns or files, so score=x cannot be read; name a FILE"):
        run("compare", "--sample", "hiring", "--with", "score=x")
    with pytest.raises(SpofrError, match="missing, so the data of this model is unknown"):
        run("compare", "--model", model, "--with", "score=x")


def test_the_process_exits_with_two_and_the_list_of_names(file, monkeypatch, capsys):
    words = ["spofr", "compare", str(file), *OPTIONS, "--with", "repair", "--fail-if-worse", "exposure:x"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as end:
        shell.main()
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("spofr: There is no 'exposure:x' to compare")
    assert "'exposure_ratio'" in said


def test_a_file_full_of_traps(tmp_path):
    """Odd names, ties, lists of hundreds, of one and of one group, a group of one row, a missing group, ranks."""
    rng = np.random.default_rng(3)
    groups, column = ["=1+1", "<b>women</b>", '"quoted, man"', "東京"], 'new "score", v2'
    parts = []
    for q, n in enumerate((300, 250, 12, 5, 2, 1, 40, 60, 7, 480)):
        group = rng.choice(groups, n)
        old = np.round(rng.normal(size=n) + 0.6 * (group == "=1+1"), 1)
        new = np.round(old - 0.5 * (group == "=1+1"), 1)
        parts.append(pd.DataFrame({"query id": f"=q,{q} <i>", "the, group": group, "old score": old, column: new}))
    table = pd.concat(parts, ignore_index=True)
    table["place"] = table.groupby("query id")[column].rank(ascending=False, method="min").astype(int)
    table.loc[0, "the, group"], table.loc[1, "the, group"] = None, "x" * 300
    path = tmp_path / "odd.csv"
    table.to_csv(path, index=False)
    arguments = [path, "--query", "query id", "--group", "the, group", "--score", "old score", "--missing", "own_group"]
    arguments += ["--with", "rank=place,name=<i>new</i>", "--with", "repair"]
    page, csv = tmp_path / "c.html", tmp_path / "c.csv"
    result = run("compare", *arguments, "--html", page, "--csv", csv)
    assert result.exit_code == 0
    assert "Between “<i>new</i>” and now there is no difference that 10 queries can show." in result.stdout
    summary = summary_of(*arguments)
    rows = rows_of(summary, "<i>new</i>")
    assert rows["exposure:=1+1"]["difference"] < 0
    assert rows[f"exposure:{'x' * 300}"]["small"]
    assert rows["exposure:(missing)"]["small"]
    text = page.read_text("utf-8")
    assert "<i>new" not in text
    assert "<b>women" not in text
    assert ",'=1+1," in csv.read_text("utf-8")
