"""Measures by their names on the Audit page, and who is selected on the Report page."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from dashboard.session.findings.report_parts import NOTHING_MORE, ReportParts, usable_window, with_parts
from dashboard.session.sources import load_bundled
from spofr_core.data import read_dataset
from spofr_core.evaluation import audit, measure, selection_rates
from spofr_core.fairness import Fairness
from spofr_core.reporting import (
    MEASURED_HEAD,
    formula_texts,
    measured_cells,
    measured_notes,
    selection_sentences,
    selection_tables,
)
from tests.dashboard.apps import charts, plain, rerun, shown
from tests.dashboard.test_uploads import kept, press, uploaded

SHARE = {"delta": 0.1, "unit": "share"}
USUAL = ["exposure_ratio", "AWRF", "NDKL", "Skew@10", "impact_ratio@10"]


@pytest.fixture(scope="module")
def hiring():
    return load_bundled("hiring", "gender").data


def by_name(app) -> pd.DataFrame:
    """The table of measures by their names."""
    return next(table.value for table in app.dataframe if list(table.value.columns) == list(MEASURED_HEAD))


def rows(found) -> list[list[str]]:
    return [list(cells) for cells in measured_cells(found.summary)]


def test_the_usual_measures_come_with_means_intervals_notes_and_formulas(hiring):
    app = shown("audit", data="hiring", **SHARE)
    assert not any(list(table.value.columns) == list(MEASURED_HEAD) for table in app.dataframe)  # until it is asked for
    app.toggle(key="measures-by-name").set_value(True)
    rerun(app)
    found = measure(hiring, USUAL, protected="female")
    assert by_name(app).to_numpy().tolist() == rows(found)
    notes = "\n".join(f"- {note}" for note in measured_notes(found.summary))
    assert notes in [plain(each.value) for each in app.markdown]
    assert "below four fifths in 376 of 500 queries, and in the data as a whole" in notes
    app.session_state["measures-formulas"] = True
    rerun(app)
    label, _, formula, origin = formula_texts(found.summary)[0]
    assert any(label in each.value and f"`{formula}` ({origin})" in plain(each.value) for each in app.markdown)


def test_delta_changes_no_measure_and_group_and_target_do(hiring):
    state = {"measures-by-name": True, "measure-spread": True}
    app = shown("audit", data="hiring", state=state, **SHARE)
    before = by_name(app)
    app.number_input(key="sidebar-delta-typed").set_value(30.0)
    rerun(app)
    assert by_name(app).equals(before)
    app.selectbox(key="measures-protected").set_value("male")
    app.selectbox(key="measures-target").set_value("uniform")
    rerun(app)
    found = measure(hiring, USUAL, protected="male", target="uniform")
    assert by_name(app).to_numpy().tolist() == rows(found)
    app.selectbox(key="measure").set_value("NDKL")
    rerun(app)
    mean = found.summary["measures"]["NDKL"]["mean"]
    assert charts(app)[-1]["layout"]["shapes"][0]["x0"] == pytest.approx(mean)


def test_measures_may_be_typed_and_are_refused_in_words():
    typed = {"measures-by-name": True, "audit-measures-kept": ("NDKL@5", "Skew@3(group=nobody)")}
    app = shown("audit", data="german-credit", state=typed)
    assert "There is no group 'nobody' to measure" in plain(app.error[0].value)
    app.multiselect(key="audit-measures").set_value(["NDKL@5", "beauty"])
    rerun(app)
    assert by_name(app)["measure"].tolist() == ["NDKL@5"]
    assert any("beauty" in plain(each.value) for each in app.caption)


def test_ties_one_group_lists_and_odd_names_are_told():
    lists = [("a", "x<b>"), ("a", "a"), ("x<b>", "=1+1")] * 12
    text = "query,item,group,score\n" + "".join(
        f"q{q},{q}-{k},{group},1\n" for q, groups in enumerate(lists) for k, group in enumerate(groups * 4)
    )
    source = kept(press(uploaded("ties.csv", text)))
    app = shown("audit", data="upload", state={"uploaded": source, "measures-by-name": True}, **SHARE)
    said = " ".join(plain(each.value) for each in app.markdown)
    assert "have no value in 12 of 36 queries: only one group in the list" in said
    assert "drawn orders of ties add a standard error" in said
    assert app.selectbox(key="measures-protected").value == "=1+1"
    assert "relevant" not in app.selectbox(key="measures-target").options


def chosen_selection(app, way: str):
    app.session_state["selection-open"] = True
    rerun(app)
    app.selectbox(key="selection-way").set_value(way)
    return rerun(app)


def test_selection_rates_stand_under_the_names_of_the_rules(hiring):
    app = chosen_selection(shown("report", data="hiring", **SHARE), "top")
    app.number_input(key="selection-top").set_value(5)
    rerun(app)
    rates = selection_rates(hiring, k=5).summary
    rule = rates["rules"][0]
    assert f"{rule['title']} ({rule['source']})" in [plain(each.value) for each in app.subheader]
    assert selection_sentences(rule, "top")[0] in [plain(each.value) for each in app.markdown]
    table = selection_tables(rule)[0][1]
    assert app.dataframe[0].value.to_numpy().tolist() == [list(cells) for cells in table.rows]
    assert "selection rates (the first 5 of each list)" in " ".join(plain(each.value) for each in app.caption)
    assert next(b.value for b in app.code if b.language == "bash").endswith("--top-k 5")
    result = audit(hiring, Fairness(**SHARE))
    whole = with_parts(load_bundled("hiring", "gender"), result, ReportParts(selected="top", top=5))
    assert whole.summary["selection"] == rates
    assert "Appendix: selection rates under named rules" in whole.to_html()
    assert "selection" not in with_parts(load_bundled("hiring", "gender"), result, NOTHING_MORE).summary


def test_a_score_that_nobody_has_is_told_and_left_out_of_the_report():
    app = chosen_selection(shown("report", data="hiring", **SHARE), "score")
    assert next(b.value for b in app.code if b.language == "bash").endswith("--threshold 3.187")  # about the median
    app.number_input(key="selection-least").set_value(1e6)
    rerun(app)
    assert "Nobody is selected" in app.error[0].value
    assert "--threshold" not in next(b.value for b in app.code if b.language == "bash")
    chosen_selection(app, "median")
    assert next(b.value for b in app.code if b.language == "bash").endswith("--threshold median")


def test_a_window_that_the_times_cannot_be_cut_into_gives_way_to_one_that_suits():
    text = "query,item,group,score,day\n" + "".join(
        f"{q},{k},{'ab'[k]},{k},{year}-05-01\n" for q, year in enumerate((1990, 2020)) for k in (0, 1)
    )
    data = read_dataset(io.BytesIO(text.encode()), time="day", insist=True)
    assert usable_window(data, ReportParts(window="week")) == "auto"  # 1,566 weeks
    assert usable_window(data, ReportParts(window="month")) == "month"
    assert usable_window(data.replace(times=None), ReportParts(window="month")) is None
