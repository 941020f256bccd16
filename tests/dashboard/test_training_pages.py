"""Train, Tradeoffs and Guarantees as pages: first visit, errors, empty states, one model on all pages."""

from __future__ import annotations

import json
import shlex
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from dashboard.session.chosen_model import exact_curve, model_named
from dashboard.session.visible_runs import Sweep, about_runs, bundled, results_of
from spofr_core.cli import app as command_line
from spofr_core.evaluation import guarantees
from spofr_core.experiments import (
    RunStore,
    audit_model,
    query_results,
)
from spofr_core.fairness import Fairness
from spofr_core.learning import load_model
from spofr_core.reporting import percent, verdict
from tests.dashboard.apps import charts, plain, rerun, shown, titles

VIEWS = ("train", "tradeoffs", "guarantees")
MOST_BYTES = 5 * 2**20


@pytest.fixture(scope="module")
def first_sweep(bundled_home):
    return bundled(bundled_home)[0]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("data", ["hiring", "mslr"])
def test_every_page_opens_on_a_first_visit(view, data):
    app = shown(view, data=data)
    assert app.error == []
    assert len(titles(app)) == 1
    assert sum(len(chart.proto.spec) for chart in app.get("plotly_chart")) < MOST_BYTES


def test_the_first_visit_to_people_shows_curves_that_differ():
    """Trees stand apart from networks at the same delta, by more than the intervals over seeds."""
    app = shown("tradeoffs", data="adult", groups="sex")
    assert app.error == []
    names = {trace.get("name") for drawn in charts(app) for trace in drawn["data"]}
    assert {"predict-then-optimise", "predict-then-optimise (trees)"} <= names
    assert titles(app)[0].startswith("Predict-then-optimise (trees) has the highest DCG")


def test_the_bundled_sweeps_are_small_whole_and_have_every_method(bundled_home):
    found = bundled(bundled_home)
    frame = results_of(list(found))
    assert set(frame["method"]) == {
        "spofr", "pto", "fultr", "deltr", "unfair", "uniform", "pto:trees", "unfair:trees"
    }  # fmt: skip
    assert len(frame["groups"].unique()) > 2
    assert len(frame["clicks"].dropna().unique()) > 1
    held = frame[frame["delta"].notna()]
    assert (held["violation_max"] <= held["delta"] + 1e-9).all()
    for sweep in found:
        for run in sweep.runs:
            assert (sweep.store.model_folder(run) / "model.json").exists()


def test_tradeoffs_shows_every_model_of_the_bundled_sweep(first_sweep):
    app = shown("tradeoffs", sweep=first_sweep.key)
    grid = charts(app)[0]
    marks = [run for trace in grid["data"] for run in trace.get("customdata", ())]
    assert sorted(marks) == sorted(first_sweep.runs)
    heads = [head.value for head in app.header]
    assert heads[:1] == ["DCG against violation"]
    app = shown("tradeoffs", sweep=first_sweep.key, state={"tradeoffs-curves": "Achieved"})
    assert any("hold delta on every test query of every seed" in plain(text.value) for text in app.caption)


def captions(app):
    return [plain(text.value) for text in app.main.caption]


@pytest.mark.parametrize("view", ["tradeoffs", "guarantees"])
def test_a_sample_without_runs_shows_an_example_and_leads_to_training_and_to_other_runs(view, first_sweep, monkeypatch):
    app = shown(view, data="hiring")
    said = plain(app.info[0].value)
    assert said.startswith("No runs on this data yet: Hiring searches (synthetic), gender. As an example: runs on Cens")
    assert captions(app)[0].startswith("Runs on Census income")
    assert captions(app)[0].endswith("· 5 seeds")
    assert charts(app) != []
    assert app.warning == []
    wanted = []
    monkeypatch.setattr("streamlit.switch_page", lambda page: wanted.append(page.url_path))
    app.button(key="train-on-this").click()
    rerun(app)
    assert wanted == ["train"]
    app.multiselect(key=f"{view}-sweeps").set_value([first_sweep.key])
    rerun(app)
    assert captions(app)[0].startswith("Runs on German Credit (200 lists, by purpose) · 2 groups · 72 trained models")
    assert "The other pages look at Hiring searches (synthetic), gender." in plain(app.warning[0].value)
    assert app.info == []
    app.button(key="runs-back").click()
    rerun(app)
    assert captions(app)[0].startswith("Runs on Census income")
    assert plain(app.info[0].value) == said
    app.multiselect(key=f"{view}-sweeps").set_value([first_sweep.key])
    rerun(app)
    app.button(key="runs-use").click()
    rerun(app)
    assert (app.session_state["choices"].data, app.session_state["choices"].groups) == ("german-credit", "purpose")
    assert app.warning == []
    assert app.info == []
    assert charts(app) != []


@pytest.mark.parametrize("view", ["tradeoffs", "guarantees"])
def test_data_of_a_visitor_without_runs_says_so_and_shows_those_of_others_only_when_asked(
    view, bundled_home, monkeypatch
):
    monkeypatch.setattr("dashboard.widgets.run_picker.chosen_about", lambda: ("mine.csv", "sex"))
    app = shown(view, data="hiring")
    assert plain(app.info[0].value).startswith("No runs on this data yet: ")
    assert "As an example" not in plain(app.info[0].value)
    assert charts(app) == []
    app.button(key="runs-example").click()
    rerun(app)
    assert captions(app)[0].startswith("Runs on Census income")
    assert charts(app) != []


def test_runs_follow_the_grouping_of_the_data(bundled_home):
    app = shown("tradeoffs", data="german-credit", groups="3")
    assert captions(app)[0] == "Runs on German Credit (200 lists, by age) · 3 groups · 4 trained models · 1 seed"
    assert app.warning == []
    assert titles(app) == ["Predict-then-optimise is the only method in these runs."]
    app.selectbox(key="tradeoffs-groups").set_value(5)
    rerun(app)
    assert "· 5 groups ·" in captions(app)[0]
    assert "(5 groups). The other pages look at German Credit, 3 age groups" in plain(app.warning[0].value)
    assert "No runs on this data yet" in shown("tradeoffs", data="german-credit", groups="gender").info[0].value


def test_newer_runs_on_the_data_come_before_bundled_ones(own_home):
    first = bundled(own_home)[0]
    run = results_of([first]).query("method == 'pto'")["run"].iloc[0]
    store = RunStore(own_home / "runs")
    shutil.copytree(first.store.folder(run), store.folder(run))
    store.remember_sweep("s", {"dataset": {"sample": "german-credit"}}, [run])
    app = shown("tradeoffs", data="german-credit")
    assert app.multiselect(key="tradeoffs-sweeps").value == [Sweep(store, (run,), 0.0, "shared").key]
    assert "· 1 trained model · 1 seed" in captions(app)[0]
    assert captions(shown("tradeoffs", data="german-credit", sweep=first.key))[0].endswith(
        "72 trained models · 3 seeds"
    )


def test_a_model_of_other_data_brings_its_data_along(first_sweep):
    app = shown("tradeoffs", data="hiring", sweep=first_sweep.key)
    run = results_of([first_sweep])["run"].iloc[0]
    app.selectbox(key="tradeoffs-model").set_value(run)
    rerun(app)
    chosen = app.session_state["choices"]
    assert (chosen.data, chosen.groups, chosen.model) == ("german-credit", "purpose", run)
    assert app.warning == []


@pytest.mark.parametrize(
    ("dataset", "groups", "about"),
    [
        ({"sample": "german-credit"}, None, ("german-credit", "purpose")),
        ({"sample": "german-credit"}, 5, ("german-credit", "5")),
        ({"sample": "hiring"}, 8, ("hiring", "gender+region")),
        ({"sample": "hiring"}, ["gender", "region"], ("hiring", "gender+region")),
        ({"sample": "mslr"}, 3, ("mslr", "3")),
        ({"sample": None, "file": "/x/y.parquet"}, None, ("/x/y.parquet", "")),
        ({"sample": "gone"}, "g", ("gone", "g")),
    ],
)
def test_what_runs_are_about(dataset, groups, about):
    assert about_runs(dataset, groups) == about


def test_choosing_a_model_shows_what_it_can_do_without_training(first_sweep):
    frame = results_of([first_sweep])
    run = frame.loc[(frame["method"] == "spofr") & (frame["delta"] == 0.05), "run"].iloc[0]
    app = shown("tradeoffs", sweep=first_sweep.key, delta=0.2)
    app.selectbox(key="tradeoffs-model").set_value(run)
    rerun(app)
    assert app.query_params["model"] == run
    assert (app.session_state["choices"].delta, app.session_state["choices"].unit) == (0.05, "absolute")
    curve = next(
        trace for figure in charts(app) for trace in figure["data"] if trace.get("name", "").startswith("SPOFR, d")
    )
    assert len(curve["x"]) == 41
    model = model_named_in(run)
    exact = exact_curve(model, run)
    assert np.allclose(curve["y"], exact["dcg"])
    # At the delta that it was trained with, the solver gives what the run measured.
    at = exact.loc[np.isclose(exact["delta"], 0.05), "dcg"].item()
    assert at == pytest.approx(frame.loc[frame["run"] == run, "dcg"].item(), abs=1e-9)


@pytest.mark.parametrize(("method", "penalised"), [("deltr", True), ("unfair", False), ("uniform", False)])
def test_only_a_model_with_a_penalty_is_said_to_have_one(method, penalised, first_sweep):
    frame = results_of([first_sweep])
    run = frame.loc[frame["method"] == method, "run"].iloc[0]
    said = [plain(each.value) for each in shown("tradeoffs", sweep=first_sweep.key, model=run).markdown]
    (about,) = [text for text in said if text.startswith("On test: ")]
    assert "Settings:" not in about
    assert "promises nothing about a single query." in about
    assert ("penalty" in about) is penalised


def model_named_in(run):
    """`model_named` outside a page: without a visitor there are the bundled sweeps."""
    found = model_named(run)
    assert found is not None
    return found


def test_a_chosen_model_is_the_source_of_scores_on_audit_and_policy(first_sweep):
    frame = results_of([first_sweep])
    run = frame.loc[frame["method"] == "fultr", "run"].iloc[0]
    model = model_named_in(run)
    app = shown("audit", model=run, delta=0.03)
    direct = audit_model(load_model(first_sweep.store.model_folder(run)), model.data, Fairness(delta=0.03)).summary
    assert titles(app) == [verdict(direct)]
    assert direct["model"] == {"title": "FULTR", "guaranteed": False, "plain_sort": None}
    assert any("which has no guarantee" in plain(text.value) for text in app.markdown)
    assert any(model.title in plain(text.value) for text in app.sidebar.caption)
    assert shown("policy", model=run).error == []
    report = shown("report", model=run)
    python = next(block.value for block in report.code if block.language == "python")
    assert "load_model(store.model_folder(" in python
    app.sidebar.button(key="leave-model").click()
    rerun(app)
    assert "model" not in app.query_params
    assert "of 500 queries" in titles(app)[0]


@pytest.mark.parametrize(("delta", "unit"), [(0.03, "absolute"), (0.1, "share")])
def test_a_guaranteed_model_is_audited_by_its_policies(first_sweep, delta, unit, capsys):
    frame = results_of([first_sweep])
    run = frame.loc[frame["method"] == "spofr", "run"].iloc[0]
    asked = Fairness(delta=delta, unit=unit)
    folder = first_sweep.store.model_folder(run)
    direct = audit_model(load_model(folder), model_named_in(run).data, asked)
    summary, sorted_ = direct.summary, direct.model.contrast.summary
    assert summary["queries"]["fair"] == summary["queries"]["judged"] > 0
    assert sorted_["queries"]["fair"] < sorted_["queries"]["judged"]
    app = shown("audit", model=run, delta=delta, unit=unit)
    assert app.error == []
    assert titles(app) == [verdict(summary)]
    said = f"{sorted_['queries']['fair']} of {sorted_['queries']['judged']} judged queries would"
    assert any(f"sorted plainly by the same scores, {said}" in plain(text.value) for text in app.markdown)
    assert "What the guarantee costs" in [head.value for head in app.header]
    table = next(frame.value for frame in app.dataframe if "plainly sorted" in frame.value)
    held = table[table["measure"] == "queries that hold delta"].iloc[0]
    assert (held["plainly sorted"], held["as the model shows them"]) == (
        percent(sorted_["queries"]["share"]),
        "100.0 %",
    )
    report = shown("report", model=run, delta=delta, unit=unit)
    exec(compile(next(block.value for block in report.code if block.language == "python"), "report", "exec"), {})
    assert json.loads(capsys.readouterr().out) == summary
    shell = shlex.split(next(block.value for block in report.code if block.language == "bash"))
    assert CliRunner().invoke(command_line, [*shell[1:], "--json", "-"]).exit_code == 0
    assert json.loads(CliRunner().invoke(command_line, [*shell[1:], "--json", "-"]).stdout) == summary


def test_a_model_that_is_not_here_is_told_and_left():
    app = shown("audit", model="0123456789abcdef")
    assert "a model that is not here" in app.toast[0].value
    assert app.session_state["choices"].model == ""


def test_curves_by_groups_and_by_size(bundled_home):
    found = bundled(bundled_home)
    keys = ".".join(sweep.key for sweep in found if "income" not in sweep.store.root.name)
    app = shown("tradeoffs", sweep=keys, state={"tradeoffs-curves": "By groups"})
    names = {trace.get("name") for figure in charts(app) for trace in figure["data"]}
    assert "3 groups" in names


def test_clearing_the_sweeps_brings_back_the_first(first_sweep):
    app = shown("tradeoffs", data="german-credit", sweep=first_sweep.key)
    app.multiselect(key="tradeoffs-sweeps").set_value([])
    rerun(app)
    assert app.multiselect(key="tradeoffs-sweeps").value == [first_sweep.key]
    assert app.error == []


@pytest.mark.parametrize("view", ["tradeoffs", "guarantees"])
def test_a_sweep_without_a_run_that_is_done_says_so(view, own_home):
    store = RunStore(own_home / "runs")
    store.remember_sweep("s", {"dataset": {"sample": "hiring"}}, ["0" * 16])
    key = Sweep(store, ("0" * 16,), 0.0, "shared").key
    app = shown(view, sweep=key)
    assert "None of these runs is done yet" in app.info[0].value
    assert len(titles(app)) == 1
    assert app.error == []


def test_guarantees_are_those_of_the_core(first_sweep):
    app = shown("guarantees", sweep=first_sweep.key, delta=0.05)
    frame = results_of([first_sweep])
    rivals = frame[~frame["method"].isin(["unfair", "uniform"])]
    per_query = [query_results(first_sweep.store, rivals["run"], part) for part in ("test", "validation")]
    expected = guarantees(rivals, *per_query, deltas=[0.05], levels=[1.0]).set_index("method")["dcg"]
    for trace in charts(app)[0]["data"]:
        at = list(zip(*trace["x"], strict=True)).index(("delta 0.05", "100%"))
        method = {"● SPOFR": "spofr", "▲ FULTR, no guarantee": "fultr", "◆ DELTR, no guarantee": "deltr"}.get(
            trace["name"], "pto"
        )
        assert trace["y"][at] == pytest.approx(np.nan_to_num(expected[method]))
    assert "predict-then-optimise" in titles(app)[0]
    said = " ".join(plain(text.value) for text in app.markdown)
    for method in expected.index[expected.isna()]:
        assert f"No {method.upper()} model" in said


def test_levels_and_deltas_can_be_chosen_and_must_be():
    app = shown("guarantees", data="german-credit")
    app.multiselect(key="guarantees-deltas-absolute").set_value([0.2])
    app.segmented_control(key="guarantees-select").set_value("test")
    rerun(app)
    assert {name for trace in charts(app)[0]["data"] for name in trace["x"][0]} == {"delta 0.2"}
    app.multiselect(key="guarantees-deltas-absolute").set_value([])
    rerun(app)
    assert "at least one delta" in plain(app.error[0].value)


def test_the_table_of_guarantees_has_room_for_the_names_of_methods_and_their_scorers(bundled_home):
    app = shown("guarantees", data="adult", delta=0.1, unit="share")
    table = app.dataframe[-1]
    assert list(table.value.columns)[:4] == ["method", "delta", "asked", "DCG"]  # what a telephone shows
    looks = json.loads(table.proto.columns)
    longest = max(len(name) for name in table.value["method"])
    assert "predict-then-optimise (trees)" in set(table.value["method"])
    assert looks["method"]["width"] >= 6.6 * longest + 10
    assert sum(looks[name]["width"] for name in ("method", "delta", "asked", "DCG")) <= 388
