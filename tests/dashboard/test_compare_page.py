"""The Compare page: the ranking on the screen beside another one."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pandas as pd
import pytest

from dashboard.charts.rival_charts import both_spreads, exposure_change
from dashboard.session.choices import Choices
from dashboard.session.comparing.both_rankings import side_by_side
from dashboard.session.comparing.rivals import Ranking
from dashboard.session.sources import Loaded
from spofr_core import Fairness, compare, fair_policies, load_sample, read_dataset, repair
from spofr_core.evaluation import audit, parse_rival
from spofr_core.reporting import comparison_cells, comparison_sentences
from tests.dashboard.apps import plain, rerun, shown, titles
from tests.dashboard.test_uploads import press, uploaded

SHARE = {"delta": 0.1, "unit": "share"}
TWO_SCORES = "qid,doc,sex,score,new\n" + "".join(
    f"q{q},d{k},{'fm'[(q * k + k) % 3 > 0]},{k + 0.1 * q},{(k * 7 + q) % 11}\n" for q in range(25) for k in range(8)
)


def cells(app):
    """The table of differences as the page shows it."""
    return app.dataframe[0].value.to_numpy().tolist()


def test_the_page_opens_on_the_repair_in_the_words_of_the_comparison():
    app = shown("compare", data="hiring", **SHARE)
    found = repair(read_dataset("sample_data/hiring.csv", group="gender"), Fairness(**SHARE))
    expected = compare({"now": found.before, "the repair": found.after})
    first, *others = comparison_sentences(expected.summary)
    assert titles(app) == [first]
    assert " ".join(others) in [plain(text.value) for text in app.markdown]
    assert cells(app) == [list(row) for row in comparison_cells(expected.summary)]
    assert first.startswith("The repair gives group female 16 % more exposure than now")


def test_measures_by_name_are_compared_too():
    app = shown("compare", data="hiring", **SHARE)
    app.multiselect(key="compare-measures").set_value(["NDKL", "skew@5"])
    rerun(app)
    labels = [row[0] for row in cells(app)]
    assert "NDKL" in labels
    assert any("Skew@5" in label for label in labels)


@pytest.mark.parametrize(
    ("rival", "said"),
    [("delta=5%", "hold delta = 5 %"), ("group=region", "by region"), ("notion=merit", "merit")],
)
def test_other_deltas_groups_and_notions(rival, said):
    app = shown("compare", data="hiring", rival=rival, **SHARE)
    text = " ".join([*titles(app), *(plain(each.value) for each in app.markdown)])
    assert said in text
    assert app.error == []


@pytest.mark.parametrize("rival", ["file=/etc/passwd", "file=upload-0123456789abcdef", "score=salary"])
def test_what_is_not_there_to_compare_with_is_one_sentence(rival):
    app = shown("compare", data="hiring", rival=rival, **SHARE)
    assert len(app.error) == 1
    assert "choose another one" in plain(app.error[0].value) or "upload one on the Data page" in plain(
        app.error[0].value
    )
    assert app.selectbox(key="rival-kind").value  # and another one can be chosen


def test_a_link_carries_the_rival_and_nothing_that_is_none():
    made = Choices(data="hiring", rival="score=new, with comma".replace(",", ""))
    assert Choices.from_address(made.to_address()) == made
    assert Choices.from_address({"rival": "score="}).rival == ""
    assert Choices.from_address({"rival": "<script>"}).rival == ""


def test_another_column_of_an_upload_is_compared_and_its_queries_lead_to_both_rankings(own_home):
    app = press(uploaded("two.csv", TWO_SCORES))
    here = app.session_state["choices"]
    state = {"visitor": app.session_state["visitor"]}
    page = shown("compare", state=state, data=here.data, rival="score=new", **SHARE)
    data = read_dataset(pd.read_csv(StringIO(TWO_SCORES)), query="qid", item="doc", group="sex", score="score")
    other = read_dataset(
        pd.read_csv(StringIO(TWO_SCORES)), query="qid", item="doc", group="sex", score="new", insist=True
    )
    asked = Fairness(**SHARE)
    expected = compare({"now": audit(data, asked), "new": audit(other, asked)})
    assert cells(page) == [list(row) for row in comparison_cells(expected.summary)]
    worst = str(expected.changed(1)["query"].iloc[0])
    policy = shown("policy", state=state, data=here.data, rival="score=new", query=worst, **SHARE)
    assert "Now and new, side by side" in [plain(header.value) for header in policy.header]
    frame = policy.dataframe[0].value
    place = data.query_ids.tolist().index(worst)
    for column, ranked in (("now", data), ("new", other)):
        one = ranked[place]
        order = np.argsort(-np.asarray(one.score), kind="stable")
        assert [text.split(" ", 1)[1] for text in frame[column]] == [str(one.item_ids[k]) for k in order]


def test_of_a_lottery_the_most_probable_ranking_stands_beside_the_present_one(monkeypatch):
    data = load_sample("hiring").test[:3]
    policies = fair_policies(data, Fairness(delta=0.0))
    source = Loaded("x", "x", data, "")
    import dashboard.session.comparing.both_rankings as module

    monkeypatch.setattr(module, "now_shown", lambda *_: Ranking(data, Fairness(delta=0.0)))
    monkeypatch.setattr(module, "rival_shown", lambda *_: Ranking(data, Fairness(delta=0.0), policies))
    query = str(data.query_ids[1])
    frame = side_by_side(source, parse_rival("repair"), query, "the repair")
    best = policies[1].rankings[int(np.argmax(policies[1].probabilities))]
    assert [text.split(" ", 1)[1] for text in frame.iloc[:, 2]] == [str(data[1].item_ids[k]) for k in best]
    assert f"in {100 * policies[1].probabilities.max():.0f} % of the draws" in frame.columns[2]
    now = {text: place for place, text in enumerate(frame["now"], 1)}
    for place, (text, moved) in enumerate(zip(frame.iloc[:, 2], frame["moved"], strict=True), 1):
        steps = now[text] - place
        assert moved == ("" if steps == 0 else f"↑ {steps}" if steps > 0 else f"↓ {-steps}")
    assert side_by_side(source, parse_rival("repair"), "nobody", "the repair") is None


def test_charts_are_what_plotly_knows_and_show_the_numbers():
    rows = [
        {"group": "<b>women</b>", "before": 0.83, "after": 0.96},
        {"group": "men", "before": 1.14, "after": 1.04},
    ]
    drawn = exposure_change(rows, ["<b>women</b>", "men"], "now", "the <i>repair</i>")
    drawn.checked()
    assert [trace["x"] for trace in drawn.spec["data"]] == [[83.0, 96.0], [pytest.approx(114.0), 104.0]]
    assert "<b>women" not in str(drawn.spec["layout"]["annotations"]).replace("<b>83", "")
    frame = pd.DataFrame(
        {"query": list("abc"), "before": [0.1, 0.2, np.nan], "after": [0.3, 0.3, 0.3], "difference": 0.1}
    )
    spread = both_spreads(frame, "now", "new", "violation", share=True)
    spread.checked()
    after, before = spread.spec["data"]
    assert sum(before["y"]) == sum(after["y"]) == 2  # the query without a value on one side is in neither
