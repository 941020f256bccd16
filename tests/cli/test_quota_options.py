"""`--quota-slack`, `--quota-top` and `--quota-min`: every command that takes a delta takes a quota."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core import Fairness, Quota, load_sample
from spofr_core.cli import app
from spofr_core.errors import ConfigError, SpofrError
from spofr_core.evaluation import audit, repair
from spofr_core.experiments import RunStore
from spofr_core.fairness import parse_quota, quota_options

QUOTA = ["--quota-slack", 1, "--quota-top", 10]
HIRING = Path(__file__).resolve().parents[2] / "sample_data" / "hiring.csv"


def spofr(*arguments: object, code: int = 0) -> str:
    """What the command prints; the sentence of its refusal where it is to be refused."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if code == 2:
        assert isinstance(result.exception, SpofrError), result.output
        return str(result.exception)
    assert result.exit_code == code, result.output
    return result.stdout


@pytest.mark.parametrize(
    "quota",
    [
        Quota(slack=1, top=10),
        Quota(slack=0),
        Quota(slack=2, minimum={"a=b@c": {10: 2, 5: 1}, "women": {3: 1}}),
    ],
)
def test_options_say_a_quota_and_are_read_back(quota):
    words = quota_options(quota)
    given = {name: [words[i + 1] for i, word in enumerate(words) if word == name] for name in words if name[:2] == "--"}
    slack, top = (int(given[name][0]) if name in given else None for name in ("--quota-slack", "--quota-top"))
    assert parse_quota(slack, top, given.get("--quota-min")) == quota
    assert quota_options(None) == []
    assert parse_quota(None, None, []) is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--quota-top", 5], "--quota-top is 5, which goes with --quota-slack"),
        (["--quota-slack", -1], "slack is -1; give 0"),
        (["--quota-slack", 1, "--quota-top", 0], "top is 0; give 1 or more"),
        (["--quota-min", "women"], "--quota-min is 'women'; write group@depth=count, such as women@10=2."),
        (["--quota-min", "female@3=x"], "write group@depth=count"),
        (["--quota-min", "female@3=5"], "5 among the first 3"),
        (["--quota-min", "female@3=1", "--quota-min", "female@3=2"], "names female@3 twice"),
        (["--quota-min", "nobody@3=1"], "minimum for group 'nobody'; the groups of the data are"),
    ],
)
def test_what_is_no_quota_is_refused_in_one_sentence(options, said):
    refusal = spofr("audit", HIRING, *options, code=2)
    assert said in refusal
    assert "\n" not in refusal


def test_an_audit_says_how_often_the_quota_is_broken_and_can_fail_for_it():
    asked = Fairness(delta="200%", every_ranking=Quota(slack=1, top=10))  # a delta that everything holds
    summary = json.loads(spofr("audit", "--sample", "hiring", "--delta", "200%", *QUOTA, "--json", "-"))
    found = audit(load_sample("hiring").test, asked)  # another part of the data: only the form is compared
    assert set(summary["quota"]) == set(found.summary["quota"])
    assert summary["queries"]["fair"] == summary["queries"]["judged"]
    broken, asked_of = summary["quota"]["queries"]["broken"], summary["quota"]["queries"]["applicable"]
    assert 0 < broken < asked_of == 500
    said = spofr("audit", "--sample", "hiring", "--delta", "200%", *QUOTA, "--fail-on-violation", code=1)
    assert f"In {broken} of 500 queries some ranking that may be shown has a group more than 1 away from its" in said
    spofr("audit", "--sample", "hiring", "--delta", "200%", "--fail-on-violation")


def test_a_repair_holds_the_quota_and_verify_counts_every_ranking(tmp_path):
    table, proofs = tmp_path / "policies.parquet", tmp_path / "proofs.jsonl"
    options = ["--sample", "hiring", "--delta", "5%"]
    said = spofr("repair", *options, *QUOTA, "--out", table, "--certificates", proofs)
    assert "Every ranking that can be drawn is within the quota. It costs" in said
    assert "of the utility beyond what delta costs." in said
    for written in (table, proofs):
        assert "every ranking keeps the quota" in spofr("verify", written, *options, *QUOTA)
    alone = tmp_path / "alone.parquet"
    spofr("repair", *options, "--out", alone)
    assert "the quota asks for" in spofr("verify", alone, *options, *QUOTA, "--no-optimal", code=1)


def test_the_price_is_the_difference_to_delta_alone():
    data = load_sample("hiring").test
    asked = Fairness(delta=0.02, every_ranking=Quota(slack=0, top=10))
    price = repair(data, asked).summary["quota"]["price"]
    with_quota, without = (repair(data, f).policies.utility for f in (asked, asked.with_quota(None)))
    assert price["without"] == pytest.approx(without.mean())
    assert price["mean"] == pytest.approx((without - with_quota).mean())
    assert price["share"] == pytest.approx(1 - with_quota.mean() / without.mean())
    assert price["share"] > 0
    assert repair(data, asked.with_quota(None)).summary["quota"] is None


def test_lists_that_cannot_meet_it_are_named(tmp_path):
    rows = [("q1", i, "ab"[i % 2], 9.0 - i) for i in range(6)] + [("q2", 6, "a", 2.0), ("q2", 7, "b", 1.0)]
    file = tmp_path / "lists.csv"
    pd.DataFrame(rows, columns=["query", "item", "group", "score"]).to_csv(file, index=False)
    minimum = ["--quota-min", "b@4=2"]
    said = spofr("audit", file, *minimum)
    assert "1 query of which no ranking can meet the quota, such as q2 in its first 2 positions" in said
    refusal = spofr("repair", file, *minimum, "--out", tmp_path / "p.csv", code=2)
    assert "No ranking of query 'q2' can meet the quota (at least 2 of b in the top 4)" in refusal
    relaxed = spofr("repair", file, *minimum, "--relax", "--out", tmp_path / "p.csv")
    assert "except in 1 query of which none could be" in relaxed


def test_a_comparison_says_what_the_repair_does_to_the_quota():
    options = ["--sample", "hiring", "--delta", "5%", *QUOTA, "--with", "repair", "--measure", "quota"]
    found = json.loads(spofr("compare", *options, "--json", "-"))
    (row,) = found["rivals"]["repair"]["rows"]
    assert (row["name"], row["better"], row["unit"]) == ("quota", "lower", "share")
    assert row["after"] == 0.0 < 0.1 < row["before"]
    assert "chance that what is shown breaks the quota" in spofr("compare", *options)


def test_a_trained_model_holds_the_quota_that_it_was_trained_for(tmp_path):
    short = ["--set", "max_steps=6", "--set", "validate_every=3"]
    for method in ("spofr", "fultr"):
        store = tmp_path / method
        spofr("train", "--sample", "german-credit", "--method", method, *QUOTA, *short, "--out", store)
        (record,) = RunStore(store).records()
        assert record.config.every_ranking == Quota(slack=1, top=10)
        summary = json.loads(spofr("audit", "--model", store, "--json", "-"))
        assert summary["quota"]["slack"] == 1
        said = spofr("audit", "--model", store)
        if method == "spofr":
            assert summary["quota"]["queries"]["broken"] == 0
            assert "which hold delta and the quota wherever a list can" in said
            strict = json.loads(spofr("audit", "--model", store, "--quota-slack", 0, "--json", "-"))
            assert (strict["quota"]["slack"], strict["quota"]["top"]) == (0, None)
            assert strict["quota"]["queries"]["broken"] == 0
        else:
            assert summary["quota"]["queries"]["broken"] > 0
            assert "has no guarantee: it can hold neither delta nor a quota" in said
            assert any("cannot hold the quota" in note for note in record.notes)


def test_measures_and_logs_take_no_quota():
    assert "spofr audit" in spofr("measure", HIRING, *QUOTA, code=2)
    assert "--shown takes no quota" in spofr("audit", HIRING, "--shown", *QUOTA, code=2)
    with pytest.raises(ConfigError):
        parse_quota(None, 3, None)
