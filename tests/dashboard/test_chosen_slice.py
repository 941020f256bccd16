"""A slice of the queries is chosen, carried by the address, and what every page is about until it is left."""

from __future__ import annotations

import io
import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from dashboard.session.choices import Choices
from dashboard.session.mapping import Mapping
from dashboard.session.projects.project import project_of
from dashboard.session.slicing.slice_text import parse_slice, slice_text
from dashboard.session.sources import load_bundled
from spofr_core.cli import app as command_line
from spofr_core.data import read_dataset
from spofr_core.errors import ConfigError
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.reporting import change_sentence, slice_sentences, verdict
from tests.dashboard.apps import charts, plain, rerun, shown, titles
from tests.dashboard.test_uploads import kept, press, uploaded

SHARE = {"delta": 0.1, "unit": "share"}
ASKED = Fairness(**SHARE)
COUNTRIES = ('"a:b, <b>%"', "DE")
SLICED = "qid,doc,sex,score,country,device,day,years\n" + "".join(
    f"q{q},d{k},{'fm'[(q + k) % 2]},{(7 * k + q) % 11 + 0.5},{COUNTRIES[q % 2]},{'tv' if q == 1 else 'pc'},"
    f"2024-0{1 + q % 3}-01,{k * q % 5}\n"
    for q in range(30)
    for k in range(6)
)


@pytest.fixture(scope="module")
def hiring():
    return load_bundled("hiring", "gender").data


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=20), min_size=1, max_size=4))
def test_a_slice_with_any_names_reads_back(chosen):
    assert parse_slice(slice_text(chosen)) == chosen


def test_texts_of_slices_are_plain_where_names_are():
    assert slice_text({"country": "DE", "device": "mobile"}) == "country:DE,device:mobile"
    for text in ("country", "country:DE,", ":DE", "country:DE,country:FR"):
        with pytest.raises(ConfigError, match="is no slice of the queries"):
            parse_slice(text)


def test_readings_of_before_there_were_slices_keep_their_names():
    old = Mapping(query="q", group=("a", "b"), way="crossing", group_names={"x": "y"})
    assert (Mapping().key, old.key) == ("7fd946", "8138fe")
    stored = {name: value for name, value in old.to_dict().items() if name not in ("slices", "time")}
    assert Mapping.from_dict(stored) == old
    assert len({old.key, old.model_copy(update={"time": "t"}).key, old.model_copy(update={"slices": ("t",)}).key}) == 3


def test_every_page_is_about_the_slice_and_says_so(hiring):
    chosen = {"data": "hiring", "slice": "job_family:sales", **SHARE}
    app = shown("audit", **chosen)
    part = hiring.where(job_family="sales")
    assert titles(app) == [verdict(audit(part, ASKED).summary)]
    assert plain(app.caption[0].value).startswith("Hiring searches (synthetic) · job_family sales · 102 queries")
    assert "**job_family sales** alone: 102 of 500 queries." in plain(app.sidebar.caption[1].value)
    assert app.query_params["slice"] == "job_family:sales"
    assert not any(title.value == "By slice and over time" for title in app.header)  # there is one slice now
    for page in ("compare", "policy", "data"):
        said = " ".join(plain(each.value) for each in (lambda a: [*a.caption, *a.header])(shown(page, **chosen)))
        assert "102 queries" in said or "job_family sales" in said
    app.button(key="leave-slice").click()
    rerun(app)
    assert titles(app) == [verdict(audit(hiring, ASKED).summary)]
    assert "slice" not in app.query_params


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("job_family:cooking", "No query has job_family 'cooking'; there is 'care', 'engineering'"),
        ("country:DE", "The queries have no attribute 'country'; they have 'job_family'"),
        ("nonsense", "'nonsense' is no slice of the queries"),
    ],
)
def test_a_slice_that_is_not_there_is_said_and_dropped(text, said):
    app = shown("audit", data="hiring", slice=text, **SHARE)
    assert said in plain(app.toast[0].value)
    assert app.toast[0].value.endswith("Here are all queries.")
    assert app.session_state["choices"].slice == ""
    assert "of 500 queries" in titles(app)[0]


def test_other_data_groups_or_models_leave_the_slice():
    script = shown("data", data="hiring", slice="job_family:sales", query="S0003", **SHARE)
    script.selectbox(key="data-groups").set_value("region")
    rerun(script)
    assert (script.session_state["choices"].slice, script.session_state["choices"].groups) == ("", "region")
    script = shown("data", data="hiring", slice="job_family:sales", **SHARE)
    script.radio(key="data-sample").set_value("german-credit")
    rerun(script)
    assert script.session_state["choices"].slice == ""


def test_boxes_in_the_sidebar_narrow_down_and_say_when_nothing_is_left():
    app = uploaded("sliced.csv", SLICED)
    app.multiselect(key="map-slices").set_value(["country", "device"])
    app.selectbox(key="map-time").set_value("day")
    press(rerun(app))
    source = kept(app)
    app = shown("audit", state={"uploaded": source, "sidebar-slice-open": True}, data="upload", **SHARE)
    app.selectbox(key="sidebar-slice-0").set_value("DE")
    rerun(app)
    assert app.session_state["choices"].slice == "country:DE"
    app.selectbox(key="sidebar-slice-1").set_value("tv")
    rerun(app)
    assert app.session_state["choices"].slice == "country:DE,device:tv"
    assert "1 query" in app.caption[0].value
    app.selectbox(key="sidebar-slice-0").set_value("a:b, <b>%")
    rerun(app)
    assert app.session_state["choices"].slice == ""
    assert "No query has country 'a:b, <b>%' and device 'tv'." in plain(app.toast[0].value)


def test_an_upload_names_slices_and_time_and_its_lines_find_a_slice_again(tmp_path, monkeypatch):
    app = uploaded("sliced.csv", SLICED)
    assert app.multiselect(key="map-slices").value == []  # offered, and not chosen by itself
    assert any(
        "The first rows suggest country and device for slices and day for the time." in plain(c.value)
        for c in app.caption
    )
    app.multiselect(key="map-slices").set_value(["country", "device"])
    app.selectbox(key="map-time").set_value("day")
    press(rerun(app))
    source = kept(app)
    direct = read_dataset(io.BytesIO(SLICED.encode()), slices=["country", "device"], time="day")
    assert source.data.fingerprint == direct.fingerprint
    learned = source.learnable()
    assert not learned.attributes
    assert learned.feature_names == ("years",)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sliced.csv").write_text(SLICED, encoding="utf-8")
    state = {"uploaded": source, "report-parts": ("upload;", parts_of(window="week", selected="top", top=2))}
    app = shown("report", state=state, data="upload", slice=slice_text({"country": "a:b, <b>%"}), **SHARE)
    shell, python = (next(b.value for b in app.code if b.language == name) for name in ("bash", "python"))
    words = shlex.split(shell)
    assert words[words.index("--where") + 1] == "country=a:b, <b>%"
    found = json.loads(CliRunner().invoke(command_line, [*words[1:], "--json", "-"], catch_exceptions=False).stdout)
    namespace: dict = {}
    exec(compile(python.replace("print(", "_ = ("), "report", "exec"), namespace)  # what the page tells people to run
    assert json.loads(namespace["result"].to_json()) == found
    assert found["time"]["window"] == "week"
    assert found["selection"]["k"] == 2
    assert [slicing["by"] for slicing in found["slices"]] == [["device"]]
    assert found["queries"]["total"] == 15


def parts_of(**changes):
    from dashboard.session.findings.report_parts import ReportParts

    return ReportParts(**changes)


def test_slices_and_time_are_told_drawn_and_chosen_on_the_audit_page(hiring):
    app = shown("audit", data="hiring", **SHARE)
    result = audit(hiring, ASKED).with_slices(["job_family"], window="auto")
    slicing, time = result.summary["slices"][0], result.summary["time"]
    told = next(text for text in map(plain, (each.value for each in app.markdown)) if text.startswith("- job_family"))
    first = slice_sentences(slicing, slicing["measures"][0])[0]
    assert told == f"- {first}\n- {change_sentence(time, time['measures'][0])}"
    before = len(charts(app))
    app.toggle(key="audit-slices-closer").set_value(True)
    rerun(app)
    assert len(charts(app)) == before + 2
    labels = [app.selectbox(key="audit-slices-measure").format_func(k) for k in range(7)]
    assert labels == [
        "Violation", "Share that holds delta", "Exposure of female", "Exposure of male", "DCG", "nDCG@10",
        "Pairwise disparity",
    ]  # fmt: skip
    app.selectbox(key="audit-slices-measure").set_value(1)
    app.selectbox(key="audit-slices-window").set_value("parts")
    rerun(app)
    fair = slice_sentences(slicing, slicing["measures"][1])
    halves = audit(hiring, ASKED).with_slices(window=4, measures=["fair"]).summary["time"]
    said = [plain(each.value) for each in app.markdown]
    assert " ".join(fair) in said
    assert change_sentence(halves, halves["measures"][0]) in said
    app.button(key="audit-slices-rows-1").click()
    rerun(app)
    assert app.session_state["choices"].slice == f"job_family:{slicing['measures'][1]['slices'][1]['slice']}"


def test_differences_are_sliced_too_and_a_rival_has_the_queries_of_the_slice():
    app = shown("compare", data="hiring", **SHARE)
    assert any("change in the largest violation in a query" in plain(each.value) for each in app.markdown)
    app = shown("compare", data="hiring", slice="job_family:sales", rival="group=region", **SHARE)
    assert not any("only in" in plain(each.value) for each in app.markdown)
    assert "102 queries" in app.caption[0].value


def test_a_project_names_all_data_and_the_slice(hiring):
    source = load_bundled("hiring", "gender")
    project = project_of(source, Choices(slice="job_family:sales"), None, "")
    assert project.fingerprint == hiring.fingerprint
    assert project.asked["slice"] == "job_family:sales"
