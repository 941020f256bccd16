"""What every list that is drawn has to hold, on the pages: asked, counted, drawn, priced, and refused with a remedy."""

from __future__ import annotations

import json
from base64 import b64decode

import numpy as np
import pandas as pd
import pytest
import yaml

from dashboard.session.every_list.quota_address import minima_text
from dashboard.session.sources import Loaded, load_bundled
from dashboard.views.sections.quota_section import TITLE, impossible_sentence, price_of_quota
from spofr_core.data import SAMPLES, read_dataset
from spofr_core.evaluation import audit, repair
from spofr_core.fairness import Fairness, Quota
from spofr_core.policy import fair_policy
from spofr_core.reporting import percent
from spofr_core.reporting.words import quota_sentence
from tests.dashboard.apps import charts, plain, rerun, shown

ASKED = Fairness(delta=0.1, unit="share", every_ranking=Quota(slack=1, top=10))


def said(app):
    return [plain(text.value) for text in [*app.markdown, *app.caption, *app.warning, *app.error]]


def count_said(app, found):
    """How often the page says how many queries break a quota; `found` is the part of a summary about it."""
    return sum(text.count(quota_sentence(found)) for text in said(app))


def values(packed):
    """Numbers of a trace as they are sent."""
    if isinstance(packed, dict):
        return np.frombuffer(b64decode(packed["bdata"]), dtype=f"<{packed['dtype']}").tolist()
    return packed


class TestTheControl:
    def test_it_is_off_and_nothing_is_asked_until_it_is_switched_on(self):
        app = shown("report")
        assert app.sidebar.toggle(key="sidebar-quota").value is False
        assert "quota" not in app.query_params
        app.sidebar.toggle(key="sidebar-quota").set_value(True)
        rerun(app)
        assert app.session_state["choices"].quota == "1@10"
        assert app.query_params["quota"] == "1@10"
        assert Quota(slack=1, top=10).definition in said(app)
        app.sidebar.number_input(key="sidebar-quota-slack").set_value(0)
        app.sidebar.number_input(key="sidebar-quota-top").set_value(0)
        rerun(app)
        assert app.session_state["choices"].quota == "0"
        assert any("--quota-slack 0" in code.value for code in app.code)
        app.sidebar.toggle(key="sidebar-quota").set_value(False)
        rerun(app)
        assert app.session_state["choices"].quota == ""

    def test_minima_are_added_and_taken_away(self):
        app = shown("report", quota="1@10", state={"sidebar-quota-minima": True})
        app.sidebar.selectbox(key="sidebar-quota-group").set_value("male")
        app.sidebar.number_input(key="sidebar-quota-count").set_value(3)
        rerun(app)
        app.sidebar.button(key="sidebar-quota-add").click()
        rerun(app)
        assert app.session_state["choices"].quota_min == "male@10:3"
        app.sidebar.checkbox(key="sidebar-quota-alone").set_value(True)
        rerun(app)
        assert (app.session_state["choices"].quota, app.session_state["choices"].quota_min) == ("", "male@10:3")
        app.sidebar.button(key="sidebar-quota-drop-0").click()
        rerun(app)
        assert app.session_state["choices"].quota_min == ""

    @pytest.mark.parametrize(
        ("given", "left", "told"),
        [
            ({"quota": "many"}, ("", ""), "'many' is no quota"),
            ({"quota": "1@10", "quota_min": "nobody@5:1,male@5:1"}, ("1@10", "male@5:1"), "group 'nobody'"),
        ],
    )
    def test_what_a_link_asks_in_vain_is_said_and_left_out(self, given, left, told):
        app = shown("report", **given)
        made = app.session_state["choices"]
        assert (made.quota, made.quota_min) == left
        assert [told in plain(toast.value) for toast in app.toast] == [True]

    def test_other_groups_forget_minima_and_keep_the_rest(self):
        app = shown("data", quota="1@10", quota_min="male@10:3")
        app.radio(key="data-sample").set_value("german-credit")
        rerun(app)
        assert (app.session_state["choices"].quota, app.session_state["choices"].quota_min) == ("1@10", "")


def test_the_audit_page_counts_what_breaks_it_and_what_a_repair_costs():
    app = shown("audit", delta=0.1, unit="share", quota="1@10")
    data = load_bundled("hiring", "gender").data
    found = audit(data, ASKED).summary["quota"]
    assert found["queries"]["broken"] > 0
    assert count_said(app, found) == 1
    both, alone = repair(data, ASKED), repair(data, ASKED.with_quota(None))
    lost = 1 - both.score_utility[1].sum() / alone.score_utility[1].sum()
    assert 0 < lost < 1e-4
    assert sum("It costs less than 0.01 % of the utility beyond what delta costs." in text for text in said(app)) == 1
    held = audit(data, ASKED, policies=alone.policies).summary["quota"]["draws"]["share"]
    drawn = [chart["data"][0] for chart in charts(app) if "repaired, every list" in (chart["data"][0].get("y") or [])]
    assert len(drawn) == 1
    assert values(drawn[0]["x"]) == pytest.approx([100 * found["draws"]["share"], 100 * held, 0.0])
    table = next(frame.value for frame in app.dataframe if "repaired, every list" in frame.value)
    assert list(table.columns) == ["measure", "as ranked now", "repaired, delta alone", "repaired, every list"]
    shares = table[table["measure"] == "queries that hold delta"]
    assert shares.iloc[0, 2:].tolist() == [percent(1.0), percent(1.0)]


def test_without_a_quota_no_page_speaks_of_it():
    for page in ("audit", "policy"):
        app = shown(page, delta=0.1, unit="share")
        assert TITLE not in [header.value for header in app.header]


def test_the_policy_page_draws_the_lottery_within_its_limits_and_says_the_price():
    app = shown("policy", delta=0.1, unit="share", quota="0@10", query="S0003")
    data = load_bundled("hiring", "gender").data
    asked = ASKED.with_quota(Quota(slack=0, top=10))
    place = data.query_ids.tolist().index("S0003")
    both, alone = repair(data, asked).policies[place], repair(data, asked.with_quota(None)).policies[place]
    assert both.utility < alone.utility
    assert any(price_of_quota(both, alone) in text for text in said(app))
    names = [{trace.get("name") for trace in chart["data"]} for chart in charts(app)]
    assert sum({"allowed", "plain sort", "not allowed"} <= found for found in names) == 1
    next(button for button in app.button if button.label == "Verify").click()
    rerun(app)
    assert "and every ranking keeps the quota" in app.success[0].value
    assert both.certificate["fairness"]["every_ranking"] == {"slack": 0, "top": 10}
    json.dumps(both.certificate)


def odd_lists(**columns):
    """Names that no page expects, a group of one row, a list of one group, ties."""
    rows = pd.DataFrame(
        {
            "query": ["=1+1"] * 6 + ["<b>q"] * 5 + ["組"] * 3,
            "item": range(14),
            "group": [
                "<b>x",
                "<b>x",
                "<b>x",
                "=2",
                "=2",
                "=2",
                "<b>x",
                "<b>x",
                "=2",
                "<b>x",
                "مجموعة",
                "=2",
                "=2",
                "=2",
            ],
            "score": [6, 5, 4, 3, 2, 1, 5, 4, 3, 3, 3, 3, 2, 1],
        }
        | columns
    )
    return read_dataset(rows, query="query", item="item", group="group", score="score")


@pytest.fixture(scope="module")
def odd():
    return odd_lists()


def test_odd_names_one_row_groups_and_lists_of_one_group(odd):
    state = {"uploaded": Loaded("upload", "<i>mine", odd, "data = ...")}
    asked = Fairness(delta=0.1, unit="share", every_ranking=Quota(slack=0))
    app = shown("audit", state=state, data="upload", delta=0.1, unit="share", quota="0")
    found = audit(odd, asked).summary["quota"]
    assert found["queries"]["applicable"] == 2
    assert count_said(app, found) == 1
    for query in ("=1+1", "<b>q", "組"):
        app = shown("policy", state=state, data="upload", delta=0.1, unit="share", quota="0", query=query)
        assert (TITLE in [header.value for header in app.header]) is (query != "組")
        assert not app.warning


def test_a_minimum_that_no_ranking_meets_is_said_with_its_remedy(odd):
    state = {"uploaded": Loaded("upload", "mine", odd, "data = ...")}
    app = shown("policy", state=state, data="upload", delta=0.1, unit="share", quota_min="=2@5:2", query="<b>q")
    assert any(
        "in its first 5 places: it has only 1 of group “=2”; ask for no more than that" in text for text in said(app)
    )
    assert TITLE not in [header.value for header in app.header]
    app = shown("audit", state=state, data="upload", delta=0.1, unit="share", quota_min="=2@5:2")
    assert any(text.startswith("No ranking of 1 query can keep it.") for text in said(app))


class TestTraining:
    def test_what_is_trained_ends_in_it(self):
        app = shown("train", data="german-credit", quota="1@10", state={"train-shell": True})
        spec = yaml.safe_load(next(code.value for code in app.code if code.language == "yaml"))
        assert Quota(**spec["every_ranking"]) == Quota(slack=1, top=10)
        assert any(text.startswith(Quota(slack=1, top=10).definition) and "keep to it" in text for text in said(app))

    def test_a_minimum_goes_with_the_groups_that_it_names(self):
        state = {"train-groups-german-credit": list(SAMPLES["german-credit"].groupings)[:2], "train-shell": True}
        name = load_bundled("german-credit", next(iter(SAMPLES["german-credit"].groupings))).data.group_names[0]
        asked = minima_text({name: {10: 2}})
        app = shown("train", data="german-credit", quota_min=asked, state=state)
        assert [plain(error.value).startswith("The minimum beside delta names groups") for error in app.error] == [True]


class TestWhatCannotBeHad:
    def policy(self, fairness, groups="aaaabbbb"):
        return fair_policy(np.arange(len(groups), 0.0, -1), list(groups), fairness, on_infeasible="relax")

    def test_the_smallest_delta_and_the_smallest_slack_are_those_of_the_core(self):
        merit = {"notion": "merit", "merits": {"a": 2.0, "b": 0.2}}
        fairness = Fairness(delta=0.15, every_ranking=Quota(slack=0), **merit)
        policy = self.policy(fairness)
        sentence = impossible_sentence(policy, fairness)
        assert f"the smallest that it can hold is {policy.relaxed:.3g}" in sentence
        slack = int(sentence.partition("Give or take ")[2].partition(",")[0])
        assert self.policy(fairness.with_quota(Quota(slack=slack))).relaxed is None
        assert self.policy(fairness.with_quota(Quota(slack=slack - 1))).relaxed is not None

    def test_a_delta_that_is_out_of_reach_anyway_is_not_blamed_on_the_quota(self):
        merit = {"notion": "merit", "merits": {"a": 2.0, "b": 0.0}}
        fairness = Fairness(delta=0.0, every_ranking=Quota(slack=8), **merit)
        policy = self.policy(fairness)
        assert policy.relaxed is not None
        assert impossible_sentence(policy, fairness) == ""

    def test_a_minimum_against_the_shares_names_the_slack_that_would_do(self):
        fairness = Fairness(delta=1.0, every_ranking=Quota(slack=0, minimum={"a": {4: 4}}))
        sentence = impossible_sentence(self.policy(fairness), fairness)
        slack = int(sentence.partition("give or take ")[2].partition(" ")[0])
        assert self.policy(fairness.with_quota(Quota(slack=slack, minimum={"a": {4: 4}}))).lifted is None
        assert self.policy(fairness.with_quota(Quota(slack=slack - 1, minimum={"a": {4: 4}}))).lifted is not None

    def test_minima_that_contradict_each_other_say_so(self):
        fairness = Fairness(delta=1.0, every_ranking=Quota(minimum={"a": {3: 2}, "b": {3: 2}}))
        assert "ask for more than these places hold" in impossible_sentence(self.policy(fairness), fairness)
        assert impossible_sentence(self.policy(Fairness(delta=1.0)), Fairness(delta=1.0)) == ""
