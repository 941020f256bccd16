"""Counts in prefixes against their limits: the frame against a count by hand, the figures against their frame."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.charts.quota_charts import MOST_PANELS, MOST_PLACES, counts_in_prefixes, panel_groups, shares_that_break
from dashboard.views.sections.quota_section import deepest, kept_sentence, price_of_quota, share_outside
from spofr_core.fairness import Fairness, Quota
from spofr_core.policy import fair_policy
from spofr_core.reporting import PREFIX_COLUMNS, group_styles, outside_limits, prefix_frame
from tests.policy.brute_force import within

SCORES, GROUPS = [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], list("aaaabbbb")
ODD = ["<b>x", "=1+1", "組", "مجموعة"]


def solved(quota, delta=1.0, scores=SCORES, groups=GROUPS):
    return fair_policy(scores, groups, Fairness(delta=delta, every_ranking=quota))


def test_the_frame_of_a_list_that_can_be_counted_by_hand():
    quota = Quota(slack=0, top=4)
    frame = prefix_frame(solved(quota), quota)
    assert tuple(frame.columns) == (*PREFIX_COLUMNS, "ranking 1")
    first = frame[frame["group"] == "a"]
    assert first["first"].tolist() == list(range(1, 9))
    assert first["at least"].tolist() == [0, 1, 1, 2, 2, 2, 2, 2]
    assert first["at most"].tolist() == [1, 1, 2, 2, 4, 4, 4, 4]
    assert first["plain sort"].tolist() == [1, 2, 3, 4, 4, 4, 4, 4]
    assert first["ranking 1"].tolist() == [1, 1, 2, 2, 3, 4, 4, 4]
    broken = outside_limits(frame, "plain sort")
    assert broken[["group", "first"]].iloc[:2].to_numpy().tolist() == [["a", 2], ["b", 2]]
    assert not len(outside_limits(frame, "ranking 1"))


@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 25), slack=st.integers(0, 2), delta=st.sampled_from([0.0, 0.05])
)
@settings(max_examples=25, deadline=None)
def test_what_is_outside_is_what_the_definition_says(seed, n, slack, delta):
    rng = np.random.default_rng(seed)
    groups = [ODD[g] for g in rng.integers(0, 4, n)]
    quota = Quota(slack=slack, top=int(rng.integers(1, n + 1)))
    policy = fair_policy(rng.random(n), groups, Fairness(delta=delta))
    frame = prefix_frame(policy, quota)
    if len(set(groups)) == 1:
        assert frame is None
        return
    kept = [within(quota, [groups[i] for i in ranking]) for ranking in policy.rankings]
    assert [not len(outside_limits(frame, f"ranking {r}")) for r in range(1, len(kept) + 1)] == kept
    assert share_outside(policy, quota) == pytest.approx(policy.probabilities[~np.array(kept)].sum())


def test_the_chart_draws_the_frame_in_the_colours_of_the_groups():
    quota = Quota(slack=0, top=6)
    groups = ["<b>x", "=1+1", "<b>x", "=1+1", "<b>x", "組", "<b>x", "<b>x"]
    policy = solved(quota, delta=0.02, groups=groups)
    frame = prefix_frame(policy, quota)
    names = ("nobody", "<b>x", "=1+1", "組")
    figure = counts_in_prefixes(frame, policy.probabilities.tolist(), 6, names).checked()
    panels = panel_groups(frame)
    styles = group_styles(names)
    for place, name in enumerate(panels):
        axis = "y" if place == 0 else f"y{place + 1}"
        part = frame[(frame["group"] == name) & (frame["first"] <= 6)]
        drawn = [trace for trace in figure.data if trace.yaxis == axis]
        band = [trace for trace in drawn if trace.line.width == 0]
        assert np.round(band[0].y + 0.3).tolist() == part["at least"].tolist()
        assert np.round(band[1].y - 0.3).tolist() == part["at most"].tolist()
        rankings = [trace for trace in drawn if (trace.name or "").startswith("ranking")]
        for r, trace in enumerate(rankings, start=1):
            assert np.round(trace.y).tolist() == part[f"ranking {r}"].tolist()
            assert trace.line.color == styles[name].colour
        (sort,) = [trace for trace in drawn if trace.name == "plain sort"]
        assert list(sort.y) == part["plain sort"].tolist()
        crosses = [trace for trace in drawn if trace.name == "not allowed"]
        assert [list(trace.x) for trace in crosses] == [
            list(x) for x in [outside_limits(part, "plain sort")["first"]] if len(x)
        ]
    said = [note.text for note in figure.layout.annotations]
    assert any("&lt;b&gt;x" in text for text in said)
    told = [trace.name for trace in figure.data if trace.showlegend]
    assert len(told) == len(set(told))


def test_many_groups_and_long_lists_are_cut_to_those_that_break_most():
    rng = np.random.default_rng(1)
    groups = [f"g{k}" for k in rng.integers(0, 9, 100)]
    quota = Quota(slack=0)
    policy = fair_policy(rng.random(100) + (np.array(groups) == "g8"), groups, Fairness(delta=1.0, every_ranking=quota))
    frame = prefix_frame(policy, quota)
    assert "g8" in panel_groups(frame)
    assert len(panel_groups(frame)) == MOST_PANELS
    figure = counts_in_prefixes(frame, [1.0], deepest(quota, policy), sorted(set(groups))).checked()
    assert max(max(trace.x) for trace in figure.data if len(trace.x)) == MOST_PLACES


def test_bars_of_shares_carry_them_and_their_intervals():
    figure = shares_that_break([("now", 0.25, [0.2, 0.3]), ("<b>", 0.0, None)]).checked()
    assert list(figure.data[0].x) == [25.0, 0.0]
    assert list(figure.data[-1].text) == [" 25.0 %", " none"]
    assert list(figure.data[-1].x) == [30.0, 0.0]
    assert list(figure.data[0].y) == ["now", "&lt;b&gt;"]
    assert list(figure.data[1].x) == [20.0, 30.0]
    assert len(figure.data) == 3
    nothing = shares_that_break([("now", 0.0, [0.0, 0.0])]).checked()
    assert nothing.layout.xaxis.range == (0, 1.0)


class TestThePriceInWords:
    def test_the_share_kept_is_that_of_the_utilities(self):
        policy, alone = solved(Quota(slack=0)), solved(None)
        # by hand: a b a b a b a b against a a a a b b b b
        worth = 1 / np.log2(1 + np.arange(1, 9))
        kept = np.array([8, 4, 7, 3, 6, 2, 5, 1]) @ worth / (np.arange(8, 0, -1) @ worth)
        assert price_of_quota(policy, alone) == (
            f"The policy keeps {100 * kept:.1f} % of the utility that delta alone allows."
        )

    def test_a_quota_that_asks_for_nothing_costs_nothing(self):
        assert price_of_quota(solved(Quota(slack=8)), solved(None)).startswith("That costs nothing beside delta")

    def test_without_a_zero_of_the_scores_it_is_said_of_the_gain(self):
        scores = np.array(SCORES) - 100
        quota = Quota(slack=0)
        policy, alone = solved(quota, scores=scores), solved(None, scores=scores)
        worth = policy.discount.vector(8)
        lost = (alone.utility - policy.utility) / (np.sort(scores)[::-1] @ worth - scores.mean() * worth.sum())
        assert price_of_quota(policy, alone) == (
            f"Beside delta it costs {100 * lost:.2f} % of what sorting gains over a random order."
        )

    def test_what_the_sort_and_delta_alone_would_show_is_said_with_the_numbers(self):
        quota = Quota(slack=0, top=4)
        said = kept_sentence(solved(quota), solved(None))
        assert said == (
            "Sorted by score, 2 of group a are among the first 2, and 1 is allowed; of the lists that delta alone "
            "would draw, all break it."
        )
        kept = kept_sentence(solved(Quota(slack=8)), solved(None))
        assert kept == "Sorted by score, the list keeps this; of the lists that delta alone would draw, none breaks it."
