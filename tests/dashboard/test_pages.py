"""Every page on every sample and notion; what is on the screen is what the core says."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from dashboard.escaping import markdown
from dashboard.session.sources import load_bundled
from spofr_core.cli import app as command_line
from spofr_core.data import SAMPLES, load_hiring
from spofr_core.evaluation import audit, repair
from spofr_core.fairness import Fairness, PositionBias, group_merits
from spofr_core.policy import fair_policies
from spofr_core.reporting import number, plain_summary, verdict
from tests.dashboard.apps import charts, plain, rerun, shown, titles

VIEWS = ("data", "audit", "policy", "report")


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("view", VIEWS)
def test_every_page_opens_on_every_sample(view, sample):
    app = shown(view, data=sample)
    assert app.error == []
    assert len(titles(app)) == 1


@pytest.mark.parametrize(("sample", "groups"), [("hiring", "gender+region"), ("german-credit", "5"), ("mslr", "7")])
@pytest.mark.parametrize("view", VIEWS)
def test_every_page_opens_with_many_groups(view, sample, groups):
    app = shown(view, data=sample, groups=groups, delta=0.02)
    assert app.error == []


@pytest.mark.parametrize("notion", ["exposure", "merit", "gap"])
def test_the_verdict_is_that_of_the_core_for_every_notion(notion):
    app = shown("audit", notion=notion, delta=0.03, shift=0.0, top=10)
    data = load_bundled("hiring", "gender").data
    merits = group_merits(data) if notion == "merit" else None
    asked = Fairness(delta=0.03, notion=notion, merits=merits, position_bias=PositionBias(shift=0.0, cutoff=10))
    assert titles(app) == [verdict(audit(data, asked).summary)]
    assert app.sidebar.slider(key="sidebar-delta").value == 0.03


def test_moving_delta_solves_every_query_again():
    app = shown("audit", delta=0.05)
    app.sidebar.slider(key="sidebar-delta").set_value(0.02)
    rerun(app)
    data = load_bundled("hiring", "gender").data
    fairness = Fairness(delta=0.02)
    result = audit(data, fairness, policies=fair_policies(data, fairness))
    assert titles(app) == [verdict(audit(data, fairness).summary)]
    said = [plain(text.value) for text in app.markdown]
    assert any(f"to {number(result.summary['utility']['dcg'])}" in text for text in said)
    assert any(text.startswith("Re-ranked exactly from the same scores, 500 of 500 queries hold") for text in said)
    assert app.query_params["delta"] == "0.02"


IMPOSSIBLE = {"data": "german-credit", "groups": "age", "notion": "merit", "delta": 0.0, "power": 0.5}
"""With attention that falls slowly, no ranking gives the younger as little exposure as their labels say."""


def impossible_summary():
    data = load_bundled("german-credit", "age").data
    bias = PositionBias(power=0.5)
    return audit(data, Fairness(delta=0.0, notion="merit", merits=group_merits(data), position_bias=bias)).summary


def test_infeasible_queries_are_counted_and_listed():
    app = shown("audit", **IMPOSSIBLE)
    summary = impossible_summary()
    count = summary["infeasible"]["count"]
    assert count > 0
    said = " ".join(plain(text.value) for text in app.markdown)
    assert "that no policy can bring within this delta" in said
    assert f"{count:,} quer" in said
    hardest = str(summary["infeasible"]["queries"][0]["query"])
    assert any("smallest delta that would do" in frame.value.columns and hardest in set(frame.value["query"])
               for frame in app.dataframe)  # fmt: skip


def test_a_query_that_cannot_hold_delta_says_so_on_its_page():
    hardest = impossible_summary()["infeasible"]["queries"][0]
    app = shown("policy", **IMPOSSIBLE, query=str(hardest["query"]))
    assert number(hardest["min_delta"]) in plain(app.warning[0].value)
    next(button for button in app.button if button.label == "Verify").click()
    rerun(app)
    assert app.success[0].value.startswith("Verified without the solver")


def test_choices_that_the_data_does_not_allow_are_brought_back():
    app = shown("audit", data="mslr", groups="3", notion="gap", top=5000)
    chosen = app.session_state["choices"]
    assert chosen.notion == "exposure"
    assert chosen.top == 20
    assert "A gap needs exactly two groups." in " ".join(text.value for text in app.sidebar.caption)


def test_an_unknown_sample_opens_the_first_and_says_so():
    app = shown("audit", data="nowhere")
    assert app.session_state["choices"].data == "hiring"
    assert "Here is a bundled sample instead" in app.toast[0].value


def test_choosing_a_sample_and_groups():
    app = shown("data")
    app.radio(key="data-sample").set_value("german-credit")
    rerun(app)
    assert app.session_state["choices"].data == "german-credit"
    app.selectbox(key="data-groups").set_value("gender")
    rerun(app)
    assert app.query_params["groups"] == "gender"
    written = [note["text"] for note in charts(app)[0]["layout"]["annotations"]]
    assert [text.split("</span> ")[1].split("  ")[0] for text in written] == ["female", "male"]


def test_the_policy_page_compares_two_deltas_and_finds_queries():
    app = shown("policy", delta=0.02)
    app.text_input(key="policy-search").set_value("S0003")
    rerun(app)
    assert titles(app) == ["Query S0003"]
    assert app.query_params["query"] == "S0003"
    app.toggle(key="policy-compare").set_value(True)
    rerun(app)
    app.slider(key="policy-other-absolute").set_value(0.05)
    rerun(app)
    heads = [head.value for head in app.header]
    assert "The lottery at delta 0.02" in heads
    assert "The lottery at delta 0.05" in heads
    app.text_input(key="policy-search").set_value("no such query")
    rerun(app)
    assert any("No query has" in text.value for text in app.caption)
    assert titles(app) == ["Query S0003"]


def test_draw_verify_and_sampled_periods():
    app = shown("policy", delta=0.02, state={"policy-more": "Draw one"})
    next(button for button in app.button if button.label == "Draw a ranking").click()
    rerun(app)
    drawn = next(frame.value for frame in app.dataframe if list(frame.value.columns[:2]) == ["position", "item"])
    data = load_bundled("hiring", "gender").data
    one = data.query(app.session_state["choices"].query)
    assert sorted(drawn["item"]) == sorted(one.item_ids.tolist())
    assert list(drawn["position"]) == list(range(1, one.n_items + 1))
    app.select_slider(key="policy-impressions").set_value(100)
    rerun(app)
    assert any("The mean over 100 drawn rankings exceeds delta in" in text.value for text in app.caption)
    next(button for button in app.button if button.label == "Verify").click()
    rerun(app)
    assert app.success[0].value.startswith("Verified without the solver")
    assert app.success[0].value.endswith("largest gap to the optimum below 1e\\-9\\.")


def test_the_report_page_prints_lines_that_reproduce_the_screen(tmp_path, monkeypatch, capsys):
    app = shown("report", delta=0.02, notion="merit", groups="region", shift=0.0)
    python = next(block.value for block in app.code if block.language == "python")
    exec(compile(python, "report", "exec"), {})  # what the page tells people to run
    printed = json.loads(capsys.readouterr().out)
    data = load_bundled("hiring", "region").data
    asked = Fairness(delta=0.02, notion="merit", merits=group_merits(data), position_bias=PositionBias(shift=0.0))
    assert printed == audit(data, asked).with_slices(["job_family"], window="auto").summary
    shell = next(block.value for block in app.code if block.language == "bash")
    assert shell == (
        "spofr audit sample_data/hiring.csv --group region --query search_id --item candidate_id --relevance relevance "
        "--score score --slice job_family --time date --delta 0.02 --notion merit --shift 0"
    )


def test_the_lines_that_the_report_page_prints_carry_the_unit(capsys):
    app = shown("report", data="german-credit", delta=0.125, unit="share", notion="gap", top=8)
    python = next(block.value for block in app.code if block.language == "python")
    exec(compile(python, "report", "exec"), {})  # what the page tells people to run
    printed = json.loads(capsys.readouterr().out)
    asked = Fairness(delta=0.125, unit="share", notion="gap", position_bias=PositionBias(cutoff=8))
    assert printed == audit(load_bundled("german-credit", "purpose").data, asked).summary
    shell = shlex.split(next(block.value for block in app.code if block.language == "bash"))
    assert shell[shell.index("--delta") + 1] == "12.5%"
    result = CliRunner().invoke(command_line, [*shell[1:], "--json", "-"])
    assert json.loads(result.stdout) == printed


def test_figures_hold_numbers_only_where_they_are_numbers():
    for figure in charts(shown("audit", data="german-credit")):
        for trace in figure["data"]:
            assert not any(isinstance(value, float) and np.isnan(value) for value in trace.get("x", []))


@pytest.mark.parametrize(
    ("view", "tab", "last"),
    [
        ("audit", {"audit-groups": "Which groups are outside"}, "Which groups are outside their bounds"),
        ("audit", {"audit-groups": "How far, in whose favour"}, "How far, and in whose favour"),
        ("data", {}, "How long the lists are"),
        ("policy", {"policy-more": "Exposure"}, "Exposure against its bounds"),
        ("policy", {"policy-more": "Positions"}, "Who stands where, how often"),
        ("policy", {"policy-more": "Draw one"}, "What readers see"),
    ],
)
def test_the_numbers_behind_every_chart(view, tab, last):
    app = shown(view, state=tab)
    tables = len(app.dataframe)
    candidates = ("lottery-0", "A schedule instead of dice", last, *(head.value for head in app.header))
    names = {f"numbers-{name}" for name in candidates if f"numbers-{name}" in app.session_state}
    assert len(names) == len(app.get("plotly_chart")) >= 2
    again = shown(view, state={**tab, **dict.fromkeys(names, True)})
    assert len(again.dataframe) == tables + len(names)


def test_the_report_page_speaks_plainly_and_keeps_who_audits():
    app = shown("report", delta=0.1, unit="share")
    asked, data = Fairness(delta=0.1, unit="share"), load_hiring()
    told = plain_summary(audit(data, asked).summary, repair(data, asked).after.summary)
    said = " ".join(block.value for block in app.markdown)
    for sentence in told:
        assert markdown(sentence) in said
    field = next(field for field in app.text_input if field.label == "Auditor")
    field.set_value("Ada Example")
    app = rerun(app)
    again = shown("report", state={"visitor": app.session_state["visitor"]})
    assert next(field.value for field in again.text_input if field.label == "Auditor") == "Ada Example"
    assert next(field.value for field in shown("report").text_input if field.label == "Auditor") == ""
