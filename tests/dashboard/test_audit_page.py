"""The first screen: the headline, what stands beneath it, who gets less; then where to look closer."""

from __future__ import annotations

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.charts.calibration_chart import reliability_chart
from dashboard.session.sources import load_bundled
from dashboard.views.audit_page import WORST_OFFERED, group_table, worst_table
from spofr_core.data import load_hiring, read_dataset
from spofr_core.evaluation import audit, calibration_gain, prices_at_face_value, reliability
from spofr_core.fairness import Fairness
from spofr_core.reporting import OF_LISTS, delta_text, direction_text, number, percent, verdict, verdict_details
from tests.dashboard.apps import charts, plain, rerun, saved, shown, titles
from tests.dashboard.test_uploads import kept, press, uploaded
from tests.evaluation.lists import dataset

RANKED = "qid,doc,sex,rank,rel\n" + "".join(
    f"q{q},d{q}{k},{'m' if k < 4 else 'f'},{k + 1},{int(k in (q % 3, 5))}\n" for q in range(12) for k in range(8)
)


def summary_of(**asked):
    return audit(load_bundled("hiring", "gender").data, Fairness(**asked)).summary


def test_the_headline_and_what_stands_beneath_it_are_those_of_the_core():
    app = shown("audit")
    summary = summary_of(delta=0.1, unit="share")
    assert titles(app) == [verdict(summary)]
    beneath = plain(app.markdown[0].value).split("  \n")
    assert beneath == verdict_details(summary)


def test_what_the_scores_are_worth_is_told_when_it_is_asked():
    assert "What the scores are worth" in [expander.label for expander in shown("audit").expander]
    app = shown("audit", state={"calibration-open": True})
    assert app.error == []
    data = load_bundled("hiring", "gender").data
    gain = calibration_gain(data, Fairness(delta=0.1, unit="share"))
    assert any(plain(each.value) == gain.sentence for each in app.markdown)
    drawn = next(one for one in charts(app) if one["layout"]["yaxis"]["title"]["text"] == "mean relevance")
    table = reliability(data)
    assert next(t for t in drawn["data"] if t["mode"] == "markers")["y"] == pytest.approx(list(table["relevance"]))
    assert next(t for t in drawn["data"] if t["mode"] == "lines")["y"] == pytest.approx(list(table["estimate"]))


def test_without_relevance_the_price_is_shown_for_other_meanings_of_the_scores():
    def page() -> None:
        from dashboard.session.sources import UPLOAD, Loaded
        from dashboard.views.sections.calibration_section import calibration_section
        from spofr_core.data import load_hiring
        from spofr_core.evaluation import audit
        from spofr_core.fairness import Fairness

        data = load_hiring()[:40].replace(relevance=None)
        calibration_section(Loaded(UPLOAD, "mine", data, ""), audit(data, Fairness(delta=0.1, unit="share")))

    app = AppTest.from_function(page, default_timeout=120)
    app.session_state["calibration-open"] = True
    app.run()
    assert not app.exception
    prices = prices_at_face_value(load_hiring()[:40].replace(relevance=None), Fairness(delta=0.1, unit="share"))
    said = plain(app.markdown[0].value)
    assert said.startswith("The repair takes the scores at face value")
    assert "twice" not in said  # scores below 0 have no double
    assert said.endswith(f"instead of {percent(prices['price'][0])}.")
    assert [head.value for head in app.header] == ["The price, if the scores meant something else"]
    (drawn,) = charts(app)
    assert drawn["data"][0]["text"] == [percent(price) for price in prices["price"][::-1]]


def test_a_mean_relevance_of_nothing_is_a_whole_mark_on_the_axis():
    ends = {"score_from": [0.0, 1.0], "score_to": [1.0, 2.0], "score": [0.5, 1.5], "items": [5, 5]}
    means = {"relevance": [0.0, 0.4], "lower": [0.0, 0.3], "upper": [0.0, 0.5], "estimate": [0.0, 0.4]}
    marks = reliability_chart(pd.DataFrame({**ends, **means})).checked().data[1]
    assert marks.mode == "markers"
    assert marks.cliponaxis is False


def test_what_scores_may_mean_is_said_in_words_that_hold_for_ranks_too():
    prices = prices_at_face_value(load_hiring()[:5].replace(relevance=None), Fairness(delta=0.1, unit="share"))
    written = " ".join([*prices["transformation"], *prices["meaning"]])
    assert "score" not in written
    assert "rank" not in written


@pytest.mark.parametrize("labelled", [True, False])
def test_a_file_with_ranks_is_not_said_to_have_scores(labelled):
    upload = press(uploaded("ranked.csv", RANKED if labelled else RANKED.replace("rel\n", "colour\n")))
    app = shown("audit", state={"uploaded": upload.session_state["uploaded"], "calibration-open": True}, data="upload")
    told = [plain(each.value) for each in (*app.main.markdown, *app.main.caption)]
    assert any(text.startswith("Re-ranked exactly from the same ranks, ") for text in told)
    assert any(text.startswith("The repair keeps the ranks and shows") for text in told)
    assert "What the ranks are worth" in [expander.label for expander in app.expander]
    assert [text for text in told if "score" in text.replace("ranks and no scores", "")] == []
    drawn = [str(figure["layout"].get("xaxis", {}).get("title", {}).get("text")) for figure in charts(app)]
    assert ("rank, 1 is the top" if labelled else "price, % of what sorting is worth") in drawn
    assert not any("score" in title for title in drawn)
    policy = shown("policy", state={"uploaded": upload.session_state["uploaded"]}, data="upload", quota="1@4")
    told = [plain(each.value) for each in (*policy.main.markdown, *policy.main.caption)]
    assert any(text.startswith("Sorted by rank: ") for text in told)
    assert [text for text in told if "score" in text] == []
    written = str(charts(policy)[0])
    assert "by rank" in written
    assert ", -1" not in written.replace("'x': [-1", "")  # a rank is no score below 0
    report = shown("report", state={"uploaded": upload.session_state["uploaded"]}, data="upload")
    report.button(key="download-Report (HTML)").click()
    (content,) = saved(rerun(report)).values()
    assert "Re-ranked exactly from the same ranks" in content.decode()
    assert "from the same scores" not in content.decode()


def test_the_first_chart_is_exposure_by_group_with_its_intervals():
    app = shown("audit")
    summary = summary_of(delta=0.1, unit="share")
    first = charts(app)[0]
    said = [note["text"] for note in first["layout"]["annotations"]]
    for name, group in summary["groups"].items():
        assert any(name in text and number(group["exposure_mean"]) in text for text in said)
    drawn = [trace["x"] for trace in first["data"] if trace["type"] == "scatter"]
    assert drawn == [[100 * end for end in group["relative_ci"]] for group in summary["groups"].values()]


def test_where_delta_forbids_nothing_one_that_does_is_a_click_away():
    app = shown("audit", delta=5.0)
    summary = summary_of(delta=5.0)
    assert "This delta forbids nothing here" in titles(app)[0]
    assert "100 %" not in titles(app)[0]
    button = app.button(key="use-suggested")
    assert button.label == f"Use {delta_text(summary['suggested_delta'], 'absolute')}"
    button.click()
    rerun(app)
    assert app.session_state["choices"].delta == summary["suggested_delta"]
    assert "forbids nothing" not in titles(app)[0]
    assert "use-suggested" not in [each.key for each in app.button]


def test_every_violation_on_the_page_says_in_whose_favour():
    app = shown("audit", delta=0.05)
    summary = summary_of(delta=0.05)
    worst = summary["worst"][0]
    first = plain(app.button(key="worst-queries-0").label)
    assert first.startswith(f"**{worst['query']}**: {direction_text(worst['group'], worst['violation'], 'absolute')}")
    assert len([button for button in app.button if (button.key or "").startswith("worst-queries-")]) == WORST_OFFERED
    card = next(metric for metric in app.metric if metric.label == "Largest violation")
    assert card.value.endswith("too much" if worst["violation"] > 0 else "too little")


def test_the_row_of_a_query_leads_to_its_policy():
    app = shown("audit", delta=0.05)
    app.button(key="worst-queries-1").click()
    app.run()
    worst = summary_of(delta=0.05)["worst"][1]
    assert app.session_state["choices"].query == worst["query"]


@pytest.fixture(scope="module")
def with_one_row_group():
    # The one item of "few" stands above everybody in the first of forty lists.
    lists = [["few", "a", "b", "a", "b"], *([["a", "b", "a", "b"]] * 39)]
    scores = [list(range(len(groups), 0, -1)) for groups in lists]
    return audit(dataset(scores, lists, names=("few", "a", "b")), Fairness(delta=0.1, unit="share"))


def test_small_groups_write_no_row_of_the_worst_but_stand_in_the_table(with_one_row_group):
    table = worst_table(with_one_row_group, 200)
    assert set(table["group"]) <= {"a", "b"}
    assert len(table) == with_one_row_group.summary["queries"]["judged"]
    # a, b, a, b at 1/2, 1/3, 1/4, 1/5: the mean is 77/240, a gets 3/8.
    assert table["violation"].abs().iloc[-1] == pytest.approx((3 / 8) / (77 / 240) - 1)
    groups = group_table(with_one_row_group.summary).set_index("group")
    assert groups["small"].to_dict() == {"few": True, "a": False, "b": False}
    assert groups.loc["few", "items"] == 1


def test_what_is_alone_in_its_list_is_counted_beside_what_the_means_are_of():
    lists = [["a", "b", "a", "b"]] * 3 + [["a", "a"]]
    found = audit(dataset([[4, 3, 2, 1]] * 3 + [[2, 1]], lists), Fairness(delta=0.1))
    table = group_table(found.summary)[["group", "items", "lists", "items alone"]]
    assert table.to_numpy().tolist() == [["a", 6, 3, 2], ["b", 6, 3, 0]]


def test_a_group_that_is_the_same_in_all_of_a_list_gets_a_sentence_and_no_delta():
    rows = "".join(f"q{k // 3},i{k},{'ab'[k // 3 % 2]},{k % 3}\n" for k in range(36))
    mapped = press(uploaded("bands.csv", f"query_id,item_id,group,score\n{rows}"))
    app = shown("audit", state={"uploaded": kept(mapped)}, data="upload")
    assert titles(app) == ["None of the 12 queries can be judged: each has items of a single group."]
    assert OF_LISTS in plain(" ".join(said.value for said in app.markdown))
    assert charts(app) == []
    assert not app.sidebar.slider
    assert not app.sidebar.number_input
    assert any("no delta forbids anything" in said.value for said in app.sidebar.caption)


def test_twelve_long_names_are_told_apart_and_written_out_in_the_table():
    data = read_dataset("tests/fixtures/twelve.csv", query="query_id", item="item_id", group="group", score="score")
    found = audit(data, Fairness(delta=0.1, unit="share"))
    assert list(group_table(found.summary)["group"]) == list(data.group_names)
    assert all(isinstance(value, str) for value in group_table(found.summary)["mean violation"])
    assert isinstance(worst_table(found, 5), pd.DataFrame)
