"""fair, optimal, ok and passed mean the same in Python, per list, in the JSON, the sentence and the exit code."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from spofr_core.cli import app
from spofr_core.data import RankingDataset, read_dataset
from spofr_core.errors import DataError
from spofr_core.fairness import Fairness, Quota
from spofr_core.policy import Policies, fair_policies, verify, verify_file, write_certificates

QUOTA = Quota(minimum={"b": {4: 2}})


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three lists of six, and one of two items in which no ranking has two of b."""
    scores = [[6, 5, 4, 3, 2, 1], [6, 5, 1.5, 1.4, 1.2, 1.1], [9, 8, 7, 3, 2, 1.5]]
    rows = [(f"q{q}", 10 * q + i, "aaabbb"[i], s) for q, row in enumerate(scores) for i, s in enumerate(row)]
    rows += [("q3", 30, "a", 2.0), ("q3", 31, "b", 1.0)]
    path = tmp_path_factory.mktemp("lists") / "lists.csv"
    pd.DataFrame(rows, columns=["query", "item", "group", "score"]).to_csv(path, index=False)
    return path


@dataclass
class Case:
    """What is written for a demand, and what the check must say of it."""

    made: Fairness
    asked: Fairness
    fair: bool
    optimal: bool | None
    passed: bool
    options: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    says: str = ""
    only: int | None = None
    certificates: bool = False
    spoil: str | None = None


F = Fairness(delta="10%")
INFEASIBLE = Fairness(delta=0.0, notion="merit", merits={"a": 0.0, "b": 2.0})
BOTH = INFEASIBLE.with_quota(Quota(minimum={"a": {1: 1}, "b": {1: 1}}))
RELAXED = {"relaxed": 4, "raised": 4, "lifted": 0}
CASES = {
    "fair and optimal": Case(F, F, True, True, True, says="Every query holds delta; "),
    "fair and optimal, certificates": Case(F, F, True, True, True, certificates=True),
    "fair and not optimal": Case(
        F.with_delta(0.05, "share"), F, True, False, False, counts={"failed": 4, "suboptimal": 4, "unfair": 0},
        says="4 of 4 queries fail (4 fair, but not optimal)",
    ),
    "fair and not optimal, where fairness is asked": Case(
        F.with_delta(0.05, "share"), F, True, None, True, ["--no-optimal"], {"failed": 0, "unproved": 4},
        says="Every query holds delta; largest violation 5 %; nothing is said about utility.",
    ),
    "unfair": Case(
        F.with_delta(0.2, "share"), F, False, None, False, counts={"failed": 4, "unfair": 4, "unproved": 0},
        says="4 of 4 queries fail (4 not fair)",
    ),
    "unfair, where fairness is asked": Case(F.with_delta(0.2, "share"), F, False, None, False, ["--no-optimal"]),
    "a delta that cannot be held": Case(INFEASIBLE, INFEASIBLE, False, None, False, counts={**RELAXED, "failed": 4}),
    "a delta that cannot be held, allowed": Case(
        INFEASIBLE, INFEASIBLE, True, True, True, ["--allow-relaxed"], RELAXED,
        says="0 of 4 queries hold delta; no policy of 4 can hold the delta asked for, so the ",
    ),
    "a quota that cannot be met": Case(
        F.with_quota(QUOTA), F.with_quota(QUOTA), False, None, False, counts={"relaxed": 1, "lifted": 1, "failed": 1},
        says="1 of 4 queries fail (1 not fair); no ranking of 1 can meet the quota; ",
    ),
    "a quota that cannot be met, allowed": Case(
        F.with_quota(QUOTA), F.with_quota(QUOTA), True, True, True, ["--allow-relaxed"],
        {"relaxed": 1, "raised": 0, "lifted": 1, "failed": 0},
        says="3 of 4 queries hold delta, and every ranking keeps the quota; no ranking of 1 can meet the quota, ",
    ),
    "a quota and a delta that cannot be had": Case(
        BOTH, BOTH, False, None, False, counts={"relaxed": 4, "raised": 4, "lifted": 4, "failed": 4},
        says="4 of 4 queries fail (4 not fair); no ranking of 4 can meet the quota; no policy of 4 can hold ",
    ),
    "a quota and a delta that cannot be had, allowed": Case(
        BOTH, BOTH, True, True, True, ["--allow-relaxed"], {"relaxed": 4, "raised": 4, "lifted": 4, "failed": 0},
    ),
    "a certificate that says something false": Case(
        F, F, True, None, False, counts={"failed": 1, "unproved": 1, "unfair": 0}, certificates=True,
        spoil="dual_bound", says="1 of 4 queries fail (1 fair, but not proved to be optimal)",
    ),
    "a certificate with a false query": Case(F, F, True, None, False, ["--no-optimal"], certificates=True, spoil="gap"),
    "one query of many": Case(
        F, F, True, True, True, counts={"queries": 4, "missing": 3, "failed": 0}, only=1,
        says="Query 'q1' holds delta; ",
    ),
    "one query of many, its certificate": Case(
        F, F, True, True, True, counts={"queries": 4, "missing": 3}, only=1, certificates=True,
    ),
}  # fmt: skip


def shell(fairness: Fairness) -> list[str]:
    least = ((fairness.every_ranking and fairness.every_ranking.minimum) or {}).items()
    quota = [f"--quota-min={name}@{k}={count}" for name, depths in least for k, count in depths.items()]
    if fairness.notion == "merit":
        return ["--notion", "merit", "--merit", "a=0", "--merit", "b=2", "--delta", "0", *quota]
    return ["--delta", f"{100 * fairness.delta:g}%", *quota]


@pytest.mark.parametrize("name", CASES)
def test_python_shell_and_json_say_the_same(name: str, lists: Path, tmp_path: Path) -> None:
    case = CASES[name]
    data = read_dataset(lists)
    policies = fair_policies(data, case.made, on_infeasible="relax")
    chosen = policies if case.only is None else policies.part(case.only)
    path = tmp_path / ("proofs.jsonl" if case.certificates else "policies.csv")
    (write_certificates if case.certificates else Policies.write)(chosen, path)  # type: ignore[operator]
    if case.spoil:
        first, *others = path.read_text().splitlines()
        spoiled = json.loads(first)
        spoiled[case.spoil] += 0.1
        path.write_text("\n".join([json.dumps(spoiled), *others]))

    asks = {"optimal": "--no-optimal" not in case.options, "allow_relaxed": "--allow-relaxed" in case.options}
    checked = verify_file(path, data, case.asked, **asks)
    assert (checked.fair, checked.optimal, checked.passed) == (case.fair, case.optimal, case.passed), checked.sentence
    assert checked.ok == (case.fair and case.optimal is True)
    rows = checked.queries
    each = zip(rows["ok"], rows["fair"], rows["optimal"], strict=True)
    assert all(ok == (fair and optimal is True) for ok, fair, optimal in each)
    assert {count: checked.summary[count] for count in case.counts} == case.counts
    assert checked.sentence.startswith(case.says)
    assert bool(checked.reasons) != checked.passed

    words = ["verify", str(path), str(lists), *shell(case.asked), *case.options]
    told = CliRunner().invoke(app, words, catch_exceptions=False)
    written = CliRunner().invoke(app, [*words, "--json", "-"], catch_exceptions=False)
    assert told.exit_code == written.exit_code == (0 if checked.passed else 1)
    assert told.stdout.splitlines()[-1] == checked.sentence
    assert json.loads(written.stdout) == json.loads(json.dumps(checked.summary))

    if not case.certificates and case.only is None:  # and policies in memory: with multipliers and without
        flat = {"scores": data.score, "groups": data.groups, "group_names": data.group_names}
        assert verify(policies, **flat, fairness=case.asked, **asks).fair == case.fair
        read = verify(Policies.from_frame(policies.to_frame(), data, case.made), **flat, fairness=case.asked, **asks)
        assert (read.fair, read.optimal, read.ok) == (case.fair, None, False)
        assert read.passed == (case.fair and not asks["optimal"])


def test_a_certificate_of_a_list_that_cannot_meet_the_quota_is_not_called_false(lists: Path, tmp_path: Path) -> None:
    data, asked = read_dataset(lists), F.with_quota(QUOTA)
    write_certificates(fair_policies(data, asked, on_infeasible="relax"), tmp_path / "proofs.jsonl")
    checked = verify_file(tmp_path / "proofs.jsonl", data, asked)
    assert checked.reasons == [
        "query 'q3': no ranking can meet the quota in the first 2 positions (allow_relaxed=False)"
    ]


def test_a_batch_that_leaves_out_queries_fails_in_one_sentence(lists: Path, tmp_path: Path) -> None:
    data = read_dataset(lists)
    policies = fair_policies(data, F)
    table, proofs = policies.to_frame(), [policy.certificate for policy in policies]
    few = table[table["query_id"].isin(["q0", "q3"])]
    few.to_parquet(tmp_path / "few.parquet")
    (tmp_path / "few.jsonl").write_text("\n".join(map(json.dumps, [proofs[3], proofs[0]])))
    for name in ("few.parquet", "few.jsonl"):
        checked = verify_file(tmp_path / name, data, F)
        assert checked.reasons == ["there is no policy for 2 of 4 queries, the first is 'q1'"]
        assert checked.sentence.startswith("2 of 4 queries fail (2 without a policy); ")
        assert (checked.missing, checked.summary["unfair"], checked.passed) == (2, 2, False)


@pytest.fixture(scope="module")
def proved(lists: Path) -> tuple[RankingDataset, list[dict[str, Any]]]:
    data = read_dataset(lists)
    numbered = data.replace(query_ids=np.arange(len(data)))
    return numbered, [json.loads(json.dumps(policy.certificate)) for policy in fair_policies(numbered, F)]


def test_certificates_belong_to_the_queries_that_they_name(
    proved: tuple[RankingDataset, list[dict[str, Any]]], tmp_path: Path
) -> None:
    data, certificates = proved
    path = tmp_path / "proofs.jsonl"
    path.write_text("\n\n".join(map(json.dumps, certificates[::-1])))
    assert verify_file(path, data, F).ok
    path.write_text(json.dumps(certificates[2], indent=2))  # one alone, over many lines
    checked = verify_file(path, data, F)
    assert checked.ok
    assert checked.queries["query"].tolist() == [2]
    assert checked.sentence.endswith("there is no policy for the other 3 queries, which were not checked.")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: [{**c[0], "query": None}, *c[1:]], "of 4 certificates cannot be matched with a query: 1 name none"),
        (lambda c: [*c, {**c[0], "query": "None"}], "1 of 5 certificates cannot be matched with a query: 1 name one "),
        (lambda c: [c[0], c[1], c[1], {**c[3], "query": 9}], "'9', 1 name one that another names, such as '1'"),
        (lambda c: [{**c[0], "query": None}], "1 of 1 certificates cannot be matched"),
    ],
)  # fmt: skip
def test_certificates_that_cannot_be_matched_are_counted_in_one_sentence(
    proved: tuple[RankingDataset, list[dict[str, Any]]], tmp_path: Path, change: Any, said: str
) -> None:
    data, certificates = proved
    path = tmp_path / "proofs.jsonl"
    path.write_text("\n".join(map(json.dumps, change(certificates))))
    with pytest.raises(DataError) as refusal:
        verify_file(path, data, F)
    assert said in str(refusal.value)
