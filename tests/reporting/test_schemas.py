"""Real outputs keep to the formats that docs/schema writes down, and damaged ones do not."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from jsonschema import Draft202012Validator, ValidationError
from typer.testing import CliRunner

from spofr_core import Fairness, Quota, audit, compare, fair_policies, load_sample, read_dataset
from spofr_core.cli import app
from spofr_core.evaluation import repair, summary
from spofr_core.evaluation.comparing import comparison
from spofr_core.policy import policy_table
from spofr_core.policy.proof import certificate
from spofr_core.serving import Reranker, impression_log
from spofr_core.serving.counter_store import CounterStore
from spofr_core.serving.impression_log import record_of, shown_text, write_parts

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schema"
NAMES = sorted(path.name.removesuffix(".schema.json") for path in FOLDER.glob("*.json"))


def checker(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8")))


def hold(name: str, output: object) -> None:
    """As a reader of the file gets it: JSON there and back, no NaN."""
    checker(name).validate(json.loads(json.dumps(output, allow_nan=False)))


@pytest.fixture(scope="module")
def hiring():
    return load_sample("hiring").test


@pytest.fixture(scope="module")
def odd():
    """Two lists, one of a single group; odd names, no relevance, nothing to compute intervals from."""
    frame = pd.DataFrame(
        {
            "query_id": ["=1+1", "=1+1", "<b>x", "<b>x"],
            "item_id": ["一", "二", "三", "四"],
            "group": ["<b>", "مجموعة", "<b>", "<b>"],
            "score": [2.0, 1.0, 1.0, 1.0],
        }
    )
    return read_dataset(frame, query="query_id", item="item_id", group="group", score="score")


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_schema_under_its_own_name(name):
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:spofr:schema:{name}"
    assert schema["additionalProperties"] is False
    assert f"[{name}]({name}.schema.json)" in (FOLDER / "README.md").read_text("utf-8")


def test_the_numbers_in_the_names_are_those_that_the_outputs_carry():
    assert f"summary-{summary.SCHEMA}" in NAMES
    assert f"comparison-{comparison.SCHEMA}" in NAMES
    assert f"certificate-{certificate.SCHEMA}" in NAMES


@pytest.mark.parametrize(
    "asked",
    [Fairness(delta="10%"), Fairness(delta=0.05, notion="gap"), Fairness(delta={"female": 0.1, "male": 0.2}),
     Fairness(delta=0.0, notion="merit", merits={"female": 1.0, "male": 2.0}),
     Fairness(delta="10%", every_ranking=Quota(slack=0, top=5)),
     Fairness(delta="10%", every_ranking=Quota(minimum={"female": {10: 9}}))],
    ids=["share", "gap", "by group", "merit", "quota", "minimum"],
)  # fmt: skip
def test_summaries(asked, hiring, odd):
    hold("summary-2", audit(hiring, asked).summary)
    if asked == Fairness(delta="10%"):
        hold("summary-2", audit(odd, asked).summary)
        hold("summary-2", audit(odd.with_each_item(), asked).summary)
        alone = audit(hiring.with_each_item(), asked).summary
        assert alone["each_item"] is True
        hold("summary-2", alone)


def test_summaries_with_slices_time_and_selection(tmp_path):
    frame = pd.DataFrame({"query_id": [k // 4 for k in range(96)], "item_id": range(96), "group": ["a", "b"] * 48})
    frame = frame.assign(score=[k * k % 7 / 10 for k in range(96)], country=[f"c{k // 48}" for k in range(96)])
    frame.assign(day=[f"2024-0{1 + k // 24}-01" for k in range(96)]).to_csv(tmp_path / "file.csv", index=False)
    options = ["--slice", "country", "--time", "day", "--window", "month", "--top-k", "2", "--delta", "10%"]
    target = tmp_path / "found.json"
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "file.csv"), *options, "--json", str(target)])
    assert done.exit_code == 0, done.output
    found = json.loads(target.read_text("utf-8"))
    assert {"slices", "time", "selection"} <= set(found)
    hold("summary-2", found)


def test_comparisons(hiring):
    asked = Fairness(delta="10%")
    repaired = repair(hiring, asked).after
    hold("comparison-1", compare({"now": audit(hiring, asked), "repaired": repaired}).summary)


@pytest.mark.parametrize("asked", [Fairness(delta="10%"), Fairness(delta=0.05, every_ranking=Quota(slack=1, top=10))])
def test_certificates_and_the_table_of_policies(asked, hiring):
    end = int(hiring.offsets[5])
    policies = fair_policies(hiring.score[:end], hiring.groups[:end], hiring.offsets[:6], asked)
    for policy in policies:
        hold("certificate-1", policy.certificate)
    table = policy_table.to_frame(policies)
    check = checker("policy-table-1")
    for row in json.loads(table.head(50).to_json(orient="records")):
        check.validate(row)
    assert list(table.columns) == list(check.schema["properties"])


def test_the_log_of_impressions(tmp_path):
    store, groups, scores = CounterStore(tmp_path / "counters"), ["a", "b", "a"], [3.0, 2.0, 1.0]
    reranker = Reranker(Fairness(delta="10%"))
    for query in ("一 <b>", None):
        ranked = reranker.rank(scores, groups, query=query)
        store.keep(record_of(query, ranked, shown_text(ranked, ["x", "=1+1", "z"], groups, scores)))
    assert write_parts(store, tmp_path / "log") == 2
    table = pq.read_table(tmp_path / "log").to_pylist()
    check = checker("impression-log-1")
    assert list(check.schema["properties"]) == impression_log.SCHEMA.names
    assert len(table) == 6
    for row in table:
        check.validate({**row, "time": row["time"].isoformat()})


def test_what_is_damaged_is_refused(hiring):
    good = json.loads(json.dumps(audit(hiring, Fairness(delta="10%")).summary))
    check = checker("summary-2")
    check.validate(good)
    for damage in (
        lambda s: s.pop("queries"),
        lambda s: s.update(schema=1),
        lambda s: s.update(unit="percent"),
        lambda s: s.update(extra=1),
        lambda s: s["queries"].update(share=13),
        lambda s: s["queries"].update(ci=[0.1]),
        lambda s: s["worst"][0].pop("group"),
        lambda s: s["groups"]["female"].update(items="many"),
    ):
        bad = copy.deepcopy(good)
        damage(bad)
        with pytest.raises(ValidationError):
            check.validate(bad)


def test_a_summary_with_unknown_groups(hiring):
    codes = hiring.groups.copy()
    codes[::9] = -1
    result = audit(hiring.replace(groups=codes), Fairness(delta=0.05))
    assert result.summary["unknown"]["violation"]
    hold("summary-2", result.summary)


def test_no_schema_names_a_machine():
    for path in FOLDER.iterdir():
        hosts = re.findall(r"https?://[^\s\"]+", path.read_text("utf-8"))
        assert set(hosts) <= {"https://json-schema.org/draft/2020-12/schema"}
