"""The Train page: what is offered and refused, the jobs that it starts, and uploads that they learn from."""

from __future__ import annotations

import hashlib
import io
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dashboard.jobs import job_board as jobs_file
from dashboard.jobs.job_board import JobBoard
from dashboard.session.choices import Choices
from dashboard.session.mapping import Mapping
from dashboard.session.sources import UPLOAD, Loaded, load_bundled
from dashboard.session.stored_uploads import dataset_of_upload, forget_uploads, learnable, write_upload
from dashboard.session.uploads import read_upload
from dashboard.session.visible_runs import Sweep, bundled, key_of_runs, results_of, sweep_title
from dashboard.views.train_page import asked_deltas
from spofr_core.data import load_sample, read_dataset
from spofr_core.errors import DataError
from spofr_core.evaluation import measure_exposure
from spofr_core.experiments import (
    DatasetSpec,
    Owner,
    RunConfig,
    RunStore,
    SweepSpec,
    home,
    load_splits,
    private_runs,
)
from spofr_core.experiments.plans import offered_deltas
from spofr_core.fairness import Fairness, format_delta
from spofr_core.files import write_json
from spofr_core.learning import SPOFR
from tests.dashboard.apps import plain, rerun, shown


def test_the_train_page_offers_what_a_scorer_may_see():
    app = shown("train", data="adult", state={"train-shell": True})
    assert "features" not in app.code[-1].value
    app.segmented_control(key="train-features-adult").set_value("work")
    assert "features: work" in rerun(app).code[-1].value


def test_trees_are_chosen_on_the_train_page_with_rates_of_their_own():
    app = shown("train", data="adult", state={"train-shell": True, "train-settings": True})
    app.selectbox(key="train-scorer").set_value("trees")
    app = rerun(app)
    assert app.number_input(key="train-learning_rate").value == 0.05
    app.selectbox(key="train-loss").set_value("logistic")
    spec = yaml.safe_load(rerun(app).code[-1].value)
    assert spec["training"] == {"scorer": "trees"}
    assert spec["method_settings"] == {
        "pto": {"loss": "logistic"}, "unfair": {"loss": "logistic"}, "spofr": {"warm_up": "logistic"}
    }  # fmt: skip
    assert {config.settings.get("learning_rate") for config in SweepSpec.from_dict(spec).runs()} == {0.05}
    app.button_group(key="train-methods").set_value(["pto", "fultr"])
    told = rerun(app).error[0].value
    assert "DELTR and FULTR learn with a network" in told
    assert "Settings" not in told  # that is a class of ours


# -- Train -------------------------------------------------------------------------------------------


@pytest.fixture
def quiet(own_home, monkeypatch):
    """Jobs are written down, and nobody works on them."""
    monkeypatch.setattr(jobs_file, "spawn", lambda folder: None)
    return JobBoard(own_home)


def test_the_number_of_runs_is_told_before_the_start(quiet):
    app = shown("train", data="german-credit")
    assert any(plain(text.value).startswith("**14 runs**") for text in app.markdown)
    app.text_input(key="train-deltas").set_value("0.1, 0.2")
    app.number_input(key="train-seeds").set_value(3)
    rerun(app)
    assert any(plain(text.value).startswith("**18 runs**") for text in app.markdown)
    assert "delta" not in app.session_state["choices"].sweep


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("train-deltas", "0.1, x", "deltas is 'x'; give a number such as 0.05, or a share such as 10%"),
        ("train-deltas", "-0.1", "give a number >= 0"),
        ("train-deltas", "0.1, 10%", "write all of them with % or none"),
        ("train-deltas", " ", "at least one number"),
        ("train-penalties", "", "at least one number"),
        ("train-clicks", "many", "'many' is not a number"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_sentence(quiet, key, value, said):
    app = shown("train", data="german-credit", state={"train-methods": ["spofr", "fultr"], "train-learn": "clicks"})
    app.text_input(key=key).set_value(value)
    rerun(app)
    assert said in plain(app.error[0].value)
    assert not any(button.label == "Start" for button in app.button)


@pytest.mark.parametrize("unit", ["absolute", "share"])
def test_deltas_are_offered_within_the_range_of_the_data_and_in_its_unit(quiet, unit):
    app = shown("train", data="german-credit", unit=unit)
    data = load_bundled("german-credit", "purpose").data
    low, high = measure_exposure(data, Fairness(delta=0.1, unit=unit)).delta_range
    offered, read = asked_deltas(app.text_input(key="train-deltas").value, "absolute")
    assert read == unit
    assert offered == offered_deltas(low, high)
    assert any(plain(text.value).startswith(f"On this data {format_delta(low, unit, 3)} asks for everything, and from "
                                            f"{format_delta(high, unit, 3)} on") for text in app.caption)  # fmt: skip
    app.text_input(key="train-deltas").set_value("0, 5 %; 900%" if unit == "share" else "0 0.05, 9")
    rerun(app)
    assert any(f"{'900 %' if unit == 'share' else '9'} lies beyond that." in plain(text.value) for text in app.caption)
    app.button(key="train-start").click()
    rerun(app)
    (job,) = quiet.jobs()
    assert job.spec.get("unit", "absolute") == unit
    assert list(job.spec["deltas"]) == ([0, 0.05, 9.0] if unit == "share" else [0, 0.05, 9])


def test_other_data_is_offered_other_deltas_and_what_was_typed_stays(quiet):
    app = shown("train", data="german-credit")
    app.text_input(key="train-deltas").set_value("0.3")
    rerun(app)
    assert app.text_input(key="train-deltas").value == "0.3"
    app.session_state["choices"] = Choices(data="hiring", groups="region", delta=0.1, unit="share")
    rerun(app)
    assert app.text_input(key="train-deltas").value == "0%, 10%, 20%, 50%, 100%, 400%"


@given(st.floats(0, 1e3), st.floats(1e-6, 1e3))
def test_offered_deltas_are_round_rise_and_stay_within_the_range(first, second):
    low, high = min(first, second / 10), second
    offered = offered_deltas(low, high)
    assert offered == sorted(set(offered)) or offered[0] == offered[-1]
    assert low - 1e-9 <= offered[0] <= 1.1 * low + 1e-9
    assert high - 1e-9 <= offered[-1] <= 1.1 * high
    assert all(float(f"{delta:.2g}") == pytest.approx(delta) for delta in offered)
    assert offered_deltas(0.0, 0.0) == [0.0]


def test_steps_are_said_to_be_of_a_stage(quiet):
    app = shown("train", data="german-credit", state={"train-settings": True})
    steps = app.number_input(key="train-max_steps")
    assert steps.label == "Steps per stage"
    assert "SPOFR has two" in steps.proto.help
    splits = load_sample("german-credit", lists=20)
    fitted = SPOFR(Fairness(delta=0.1), seed=0, max_steps=20, patience=100, validate_every=10).fit(splits.train)
    assert fitted.report.steps == 40


def test_only_what_the_chosen_methods_take_is_asked_for(quiet):
    def asked(**state):
        return {box.key for box in shown("train", data="german-credit", state=state).text_input}

    assert asked() == {"train-deltas"}
    assert asked(**{"train-methods": ["deltr"]}) == {"train-penalties"}
    assert asked(**{"train-learn": "clicks"}) == {"train-deltas", "train-clicks"}


def test_a_started_job_is_in_the_tray_of_every_page_and_of_nobody_else(quiet):
    app = shown("train", data="hiring")
    app.button(key="train-start").click()
    rerun(app)
    (job,) = quiet.jobs()
    assert job.title.startswith("Hiring searches (synthetic): SPOFR")
    assert job.total == 14
    token = app.session_state["visitor"]
    again = shown("audit", state={"visitor": token})
    assert any("starting, 0 of 14 runs done" in plain(text.value) for text in again.sidebar.caption)
    stranger = shown("audit")
    assert not any("runs done" in plain(text.value) for text in stranger.sidebar.caption)
    again.sidebar.button(key=f"cancel-tray-{job.job}").click()
    rerun(again)
    assert quiet.get(job.job, job.visitor).status == "stopping"


def test_jobs_are_told_apart_by_groups_features_and_scorer(quiet):
    app = shown("train", data="adult", state={"train-settings": True})
    app.selectbox(key="train-scorer").set_value("trees")
    app.segmented_control(key="train-features-adult").set_value("work")
    app.multiselect(key="train-groups-adult").set_value(["sex", "marital_status"])
    app = rerun(app)
    app.button(key="train-start").click()
    rerun(app)
    (job,) = quiet.jobs()
    assert job.title.startswith(
        "Census income (by sex and marital status, work only): SPOFR (trees), predict-then-optimise (trees), "
    )


def test_jobs_that_ended_offer_what_can_be_done_with_them(quiet):
    app = shown("train", data="hiring")
    app.button(key="train-start").click()
    rerun(app)
    (job,) = quiet.jobs()
    state = quiet.folder / job.job / "state.json"
    dead = {**Owner.me().to_dict(), "started": 0.0, "after_boot": -100.0}
    write_json(state, {"status": "running", "owner": dead, "done": 3})
    rerun(app)
    assert any("interrupted, 3 of 14 runs done" in plain(text.value) for text in app.caption)
    write_json(state, {"status": "failed", "owner": dead, "reason": "The disk is <full>."})
    rerun(app)
    assert plain(app.warning[0].value) == "The disk is <full>."
    app.button(key=f"resume-train-{job.job}").click()
    rerun(app)
    assert quiet.get(job.job, job.visitor).status == "starting"
    write_json(state, {"status": "done", "done": 14})
    rerun(app)
    app.button(key=f"forget-{job.job}").click()
    rerun(app)
    assert quiet.jobs() == []
    assert any("No job yet" in text.value for text in app.caption)


def test_a_job_leads_to_its_own_models_whatever_was_trained_after_it(quiet, monkeypatch):
    app = shown("train", data="hiring")
    app.button(key="train-start").click()
    rerun(app)
    (job,) = quiet.jobs()
    write_json(quiet.folder / job.job / "state.json", {"status": "done", "done": 14})
    rerun(app)
    led: list[object] = []
    monkeypatch.setattr("streamlit.switch_page", lambda page: led.append(page.title))
    app.button(key=f"models-{job.job}").click()
    rerun(app)
    assert led == ["Tradeoffs"]
    assert app.session_state["choices"].sweep == key_of_runs(job.runs)


def test_several_groupings_of_the_same_data_are_one_name(own_home):
    first = bundled(own_home)[0]
    frame = results_of([first])
    of_each = [frame.loc[frame["grouping"] == grouping, "run"].iloc[0] for grouping in frame["grouping"].unique()[:2]]
    title = sweep_title(Sweep(first.store, tuple(of_each), 0.0, "bundled"))
    assert title.count("German Credit") == 1, title
    assert "…" not in title


def test_what_is_chosen_on_the_form_is_seen_whole(quiet):
    app = shown("train", data="adult")
    for key in ("train-groups-adult", "train-notions"):
        assert app.multiselect(key=key).proto.wrap


def test_models_of_an_upload_are_seen_by_who_uploaded_it_alone(own_home):
    token = "0" * 32
    mine = private_runs(own_home, hashlib.sha256(token.encode()).hexdigest()[:24])
    first = bundled(own_home)[0]
    run = results_of([first])["run"].iloc[0]
    store = RunStore(mine)
    shutil.copytree(first.store.folder(run), store.folder(run))
    store.remember_sweep("s", {"dataset": {"file": "x"}}, [run])
    key = Sweep(store, (run,), 0.0, "own").key
    app = shown("tradeoffs", sweep=key, state={"visitor": token})
    assert app.multiselect(key="tradeoffs-sweeps").value == [key]
    stranger = shown("tradeoffs", data="german-credit", sweep=key)
    assert stranger.multiselect(key="tradeoffs-sweeps").value == [first.key]
    offered = [len(each.multiselect(key="tradeoffs-sweeps").options) for each in (stranger, app)]
    assert offered == [len(bundled(own_home)), len(bundled(own_home)) + 1]


# -- uploads -----------------------------------------------------------------------------------------


def upload(columns=("skill", "relevance"), queries=12):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"q": np.repeat(np.arange(queries), 6), "i": np.arange(6 * queries)})
    rows["who"] = np.where(rng.random(len(rows)) < 0.5, "<x>", "y")
    rows["points"] = rng.random(len(rows))
    for name in columns:
        rows[name] = rng.integers(0, 2, len(rows)).astype(float) if name == "relevance" else rng.random(len(rows))
    buffer = io.BytesIO(rows.to_csv(index=False).encode())
    options = {"query": "q", "item": "i", "group": "who", "score": "points", "guess": False}
    if "relevance" in columns:
        options["relevance"] = "relevance"

    def again():
        buffer.seek(0)
        return read_dataset(buffer, features="auto", **options)

    return Loaded(UPLOAD, "my file.v2.csv", again(), "", None, learnable=again)


def test_an_upload_is_written_for_its_job_and_read_back_the_same(own_home):
    source = upload()
    dataset, store = dataset_of_upload(source, own_home, "me")
    assert store == private_runs(own_home, "me")
    assert not store.exists()
    write_upload(source, store)
    splits = load_splits(RunConfig(dataset=DatasetSpec(**dataset), method="pto", delta=0.1))
    data = learnable(source)
    assert sum(len(part) for part in (splits.train, splits.validation, splits.test)) == len(data)
    assert splits.test.feature_names == ("skill",)
    assert set(splits.train.group_names) == {"<x>", "y"}
    one = splits.test[0]
    same = data.query(int(one.query_ids[0]))
    assert np.array_equal(one.features, same.features)
    assert np.array_equal(one.relevance, same.relevance)


def test_what_was_read_for_an_audit_is_read_again_with_its_features(tmp_path):
    file = tmp_path / "people.csv"
    file.write_bytes(b"q,i,who,points,age,relevance\n1,a,x,3,20,1\n1,b,y,2,30,0\n2,c,x,1,40,0\n2,d,y,5,50,1\n")
    mapping = Mapping(query="q", item="i", ranked_by="points", relevance="relevance", group=("who",))
    found = read_upload(file, mapping, title="people.csv")
    assert found.data.features is None
    data = learnable(found)
    assert data.feature_names == ("age",)
    assert data.features[:, 0].tolist() == [20, 30, 40, 50]
    assert np.array_equal(data.score, found.data.score)


def test_an_upload_without_labels_or_features_says_what_it_needs(own_home):
    for columns, said in [(("skill",), "no relevance to learn from"), (("relevance",), "no features to learn from")]:
        with pytest.raises(DataError, match=said):
            dataset_of_upload(upload(columns), own_home, "me")
    app = shown("train", data=UPLOAD, state={"uploaded": upload(("relevance",))})
    assert "no features to learn from" in plain(app.error[0].value)


def test_forgetting_a_job_deletes_what_was_uploaded_for_it(quiet):
    app = shown("train", data=UPLOAD, state={"uploaded": upload()})
    assert app.error == []
    app.button(key="train-start").click()
    rerun(app)
    (job,) = quiet.jobs()
    assert "visitors" in str(job.store)
    files = list((job.store / "data").rglob("*.parquet"))
    assert [file.name for file in files] == ["my_file.parquet"]
    store = RunStore(job.store)
    store.remember_sweep("s", job.spec, list(job.runs))
    forget_uploads(home(), job.visitor, {str(files[0])})
    assert files[0].exists()
    write_json(quiet.folder / job.job / "state.json", {"status": "cancelled"})
    rerun(app)
    app.button(key=f"forget-{job.job}").click()
    rerun(app)
    assert not list((job.store / "data").rglob("*.parquet"))
    assert store.sweeps() == []
