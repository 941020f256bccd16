"""Figures carry the numbers of the audit, one colour and shape per group, and no markup from the data."""

from __future__ import annotations

from base64 import b64decode

import numpy as np
import pandas as pd
import pytest

from dashboard.charts import bounds_shares, exposure_by_group, share_curve, violation_histograms
from dashboard.charts.dataset_charts import group_counts, list_lengths
from dashboard.charts.drawing import Drawing, line_note, whole_ticks
from dashboard.charts.measure_chart import measure_histogram
from dashboard.charts.policy_charts import (
    MOST_POSITIONS,
    MOST_RANKINGS,
    exposure_in_bounds,
    heat_map,
    lottery,
    lottery_room,
    sampled_histogram,
)
from dashboard.charts.share_chart import is_thinned
from dashboard.views.policy_page import lottery_cut
from spofr_core.data import read_dataset
from spofr_core.evaluation import audit
from spofr_core.fairness import Fairness
from spofr_core.policy import fair_policies, fair_policy
from spofr_core.reporting import MOST_STEPS, group_styles, share_steps
from spofr_core.reporting.policy_frames import corner, position_frame, sampled_frame
from tests.evaluation.lists import dataset, random_dataset

HOSTILE = "<b onclick=x>&</b>"


@pytest.fixture(scope="module")
def result():
    return audit(random_dataset(1, n_queries=80), Fairness(delta=0.05))


def test_exposure_bars_are_the_means_of_the_summary(result):
    bar = exposure_by_group(result.summary).checked().data[0]
    groups = result.summary["groups"]
    assert list(bar.x) == [100 * group["relative_mean"] for group in groups.values()]
    assert list(bar.marker.color) == [style.colour for style in group_styles(list(groups)).values()]
    assert exposure_by_group(result.summary).checked().layout.shapes[0].x0 == 100


def test_bars_carry_the_intervals_of_the_summary(result):
    intervals = [trace for trace in exposure_by_group(result.summary).checked().data if trace.type == "scatter"]
    groups = result.summary["groups"].values()
    assert [list(trace.x) for trace in intervals] == [[100 * end for end in group["relative_ci"]] for group in groups]


def test_small_groups_come_last_pale_and_with_their_size():
    # The one item of "few" stands above everybody: its mean would be the largest by far.
    lists = [["few", "a", "b", "a", "b"], *([["a", "b", "a", "b"]] * 39)]
    scores = [list(range(len(groups), 0, -1)) for groups in lists]
    data = dataset(scores, lists, names=("few", "a", "b"))
    figure = exposure_by_group(audit(data, Fairness(delta=0.1, unit="share")).summary).checked()
    *said, arrow = [note.text for note in figure.layout.annotations[1:]]
    assert ["few" in text for text in said] == [False, False, True]
    assert arrow == "→", "the bar goes on beyond the plot"
    assert "only 1 item in 1 list" in said[2]
    pale = list(figure.data[0].marker.opacity)
    assert pale[0] == pale[1] > pale[2]
    assert (
        max(figure.data[0].x[:2]) < figure.data[0].x[2] == figure.layout.xaxis.range[1] < 100 * 0.5 / 0.29
    )  # what "few" gets


def test_shares_are_drawn_in_per_cent():
    shares = audit(random_dataset(1, n_queries=80), Fairness(delta=0.2, unit="share"))
    curve = share_curve(shares, 0.2).checked()
    assert list(curve.data[3].x) == [20.0]
    assert curve.layout.shapes[0].x0 == 20.0
    assert curve.layout.annotations[0].text.startswith("<b>delta = 20 %")
    assert "%" in curve.layout.xaxis.title.text
    assert np.allclose(curve.data[2].x[1:], 100 * share_steps(shares.fair_share()).delta[1:])
    histograms = violation_histograms(shares, 0.2).checked()
    assert (histograms.layout.shapes[0].x0, histograms.layout.shapes[0].x1) == (-20.0, 20.0)


def test_the_mean_of_a_measure_is_named():
    frame = pd.DataFrame({"query": ["a", "b", "c"], "value": [0.0, 0.5, 1.0]})
    figure = measure_histogram(frame, "x").checked()
    assert figure.layout.annotations[0].text == "mean 0.5"
    assert figure.layout.shapes[0].x0 == 0.5


@pytest.mark.parametrize("most", [1, 3, 4])
def test_small_counts_have_whole_ticks(most):
    assert whole_ticks(most)["dtick"] == 1
    assert "dtick" not in whole_ticks(5)


def test_the_share_curve_is_exact_and_marks_delta(result):
    fig = share_curve(result, 0.05).checked()
    curve, mark = fig.data[2], fig.data[3]
    steps = result.fair_share()[: len(curve.x) - 1]
    assert np.allclose(curve.x[1:], steps["delta"])
    assert np.allclose(curve.y[1:], 100 * steps["share"])
    assert np.allclose(fig.data[4].y[1:], 100 * steps["cannot_fail"] / steps["queries"])
    assert (curve.x[0], curve.y[0]) == (0, 0)
    assert mark.x[0] == 0.05
    counts = result.summary["queries"]
    assert mark.y[0] == pytest.approx(100 * (counts["fair"] + counts["cannot_fail"]) / counts["applicable"])
    assert fig.layout.shapes[0].x0 == 0.05


def test_a_long_curve_is_thinned_but_keeps_its_ends_and_the_mark():
    rng = np.random.default_rng(0)
    scores = [rng.random(24) for _ in range(3000)]
    big = audit(dataset(scores, [rng.choice(["a", "b"], 24) for _ in scores]), Fairness(delta=0.05))
    assert is_thinned(big)
    curve = share_curve(big, 0.05).checked().data[2]
    assert len(curve.x) <= MOST_STEPS + 2
    assert curve.y[-1] == pytest.approx(100)


def test_shares_below_within_and_above_add_up(result):
    below, within, above = (np.array(trace.x) for trace in bounds_shares(result).checked().data)
    assert np.allclose(below + within + above, 100)
    judged = result.queries[result.queries["applicable"]]
    for place, name in enumerate(result.summary["groups"]):
        mine = judged[judged["group"] == name]["violation"]
        assert below[place] == pytest.approx(100 * (mine < -0.05 - 1e-9).mean())
        assert above[place] == pytest.approx(100 * (mine > 0.05 + 1e-9).mean())


def test_histograms_count_every_judged_query_of_a_group(result):
    fig = violation_histograms(result, 0.05).checked()
    judged = result.queries[result.queries["applicable"]]
    for trace, name in zip(fig.data, result.summary["groups"], strict=True):
        assert sum(trace.y) == (judged["group"] == name).sum()
    assert (fig.layout.shapes[0].x0, fig.layout.shapes[0].x1) == (-0.05, 0.05)


def test_an_outline_of_a_histogram_has_its_steps_at_the_edges_of_the_bins(result):
    trace = violation_histograms(result, 0.05).checked().data[0]
    x, y = np.array(trace.x), np.array(trace.y)
    edges = (x[:-1] + x[1:]) / 2  # where a line of the shape hvh rises and falls
    judged = result.queries[
        result.queries["applicable"] & (result.queries["group"] == next(iter(result.summary["groups"])))
    ]
    assert trace.line.shape == "hvh"
    assert list(y[1:-1]) == list(np.histogram(judged["violation"], edges)[0])
    assert (y[0], y[-1]) == (0, 0)


def test_what_is_sent_is_what_was_drawn_in_the_theme_of_the_page(result):
    drawn = share_curve(result, 0.05)
    sent = drawn.to_dict()
    curve = sent["data"][2]
    assert np.allclose(np.frombuffer(b64decode(curve["y"]["bdata"]), "<f4"), drawn.spec["data"][2]["y"], atol=1e-5)
    assert sent["layout"]["template"]["layout"]
    cells = Drawing({"data": [{"z": np.arange(6.0).reshape(2, 3), "y": np.array(["a", "b"])}], "layout": {}}).to_dict()
    assert cells["data"][0]["z"]["shape"] == "2, 3"
    assert cells["data"][0]["y"] == ["a", "b"]


def test_contents_of_a_dataset():
    data = random_dataset(2, n_queries=50)
    assert list(group_counts(data).checked().data[0].x) == list(data.group_sizes.values())
    drawn = group_counts(data).checked()
    assert not drawn.data[0].text, "beside a bar, a telephone cuts them off"
    for written, size in zip(drawn.layout.annotations, data.group_sizes.values(), strict=True):
        assert f"<b>{size}</b>, mean relevance" in written.text
    assert sum(list_lengths(data).checked().data[0].y) == 50
    spread = list_lengths(dataset([np.arange(n) for n in (1, 500)], ["a", "a" * 500])).checked().data[0]
    assert len(spread.x) <= 60
    assert sum(spread.y) == 2


@pytest.fixture(scope="module")
def policy():
    return fair_policy([0.9, 0.8, 0.7, 0.2, 0.1], list("aaabb"), Fairness(delta=0.01))


def test_the_lottery_shows_every_item_in_every_column(policy):
    fig = lottery(policy, ("a", "b", "c")).checked()
    assert [trace.name for trace in fig.data] == ["a", "b"]
    columns = 1 + len(policy.probabilities)
    assert sum(len(trace.x) for trace in fig.data) == 5 * columns
    styles = group_styles(("a", "b", "c"))
    assert [trace.marker.symbol for trace in fig.data] == [styles["a"].marker, styles["b"].marker]
    shown = [note.text for note in fig.layout.annotations[1:]]
    assert [float(text[3 : text.index(" %")]) for text in shown] == pytest.approx(100 * policy.probabilities, abs=0.06)


def test_scores_stand_beside_the_items_of_the_sort(policy):
    traces = lottery(policy, ("a", "b")).checked().data
    texts = {
        float(x): text for trace in traces for x, y, text in zip(trace.x, trace.y, trace.text, strict=True) if y == 1
    }
    assert texts[0.0] == " 0, 0.9"
    assert all("," not in text for x, text in texts.items() if x > 0)
    assert all(point[1] in ("0.9", "0.8", "0.7", "0.2", "0.1") for trace in traces for point in trace.customdata)


def test_a_long_lottery_is_cut_to_what_can_be_read():
    rng = np.random.default_rng(0)
    names = tuple(f"a group with a long name, number {k}" for k in range(12))
    groups = [names[k] for k in rng.integers(0, 12, 480)]
    long = fair_policy(rng.random(480), groups, Fairness(delta=0.0005))
    assert len(long.probabilities) > MOST_RANKINGS
    fig = lottery(long, names).checked()
    assert sum(len(trace.x) for trace in fig.data) == MOST_POSITIONS * (1 + MOST_RANKINGS)
    assert len(fig.layout.annotations) == 1 + MOST_RANKINGS
    assert "the top 25 of 480 positions and the 8 most probable of" in lottery_cut(long)


def test_long_names_are_told_apart_in_the_legend_of_the_lottery():
    names = ("the northern towns, harbour and all islands", "the northern towns, harbour and the mainland")
    long = fair_policy([0.9, 0.5], list(names), Fairness(delta=0.1))
    first, second = (trace.name for trace in lottery(long, names).checked().data)
    assert first.endswith("islands")
    assert second.endswith("mainland")


@pytest.mark.parametrize(("first", "letters"), [("Item 0", len("ranking 2")), ("an item whose name is cut", 14)])
def test_the_lottery_asks_for_the_width_of_its_longest_words(first, letters):
    # 7 pixels a letter and 22 for its mark; 0.15 columns are free at the left, the sort with its scores takes 1.3, the
    # first ranking 1, the second 0.95; 40 pixels for numbers, 22 for the title of the axis, 8 at the edge.
    rows = [f"q,{first},a,0.9", "q,Item 1,a,0.8", "q,Item 2,a,0.7", "q,Item 3,b,0.2", "q,Item 4,b,0.1"]
    data = read_dataset("\n".join(["query_id,item_id,group,score", *rows]).encode())
    named = fair_policies(data, Fairness(delta=0.01))[0]
    assert len(named.probabilities) == 2
    assert lottery_room(named) == round(3.4 * (22 + 7 * letters)) + 40 + 22 + 8


def test_the_heat_map_is_the_matrix_in_the_order_of_the_scores(policy):
    cells = heat_map(policy, ("a", "b")).checked().data[0]
    assert np.allclose(np.nan_to_num(np.array(cells.z)), policy.matrix, atol=1e-9)


def test_a_corner_of_the_matrix_is_that_of_the_whole(policy):
    items = np.array([4, 0, 2])
    assert np.allclose(corner(policy, items, 3), policy.matrix[items, :3], atol=1e-12)


def test_the_tables_under_the_charts_of_a_policy_have_their_numbers(policy):
    cells = heat_map(policy, ("a", "b")).spec["data"][0]
    assert np.allclose(np.nan_to_num(cells["z"]), position_frame(policy, 60).drop(columns="item"), atol=1e-9)
    values, weights = np.array([0.0, 0.1, 0.3]), np.array([0.5, 0.3, 0.2])
    drawn = sampled_histogram(values, weights, 0.05, 0.1).spec["data"][0]
    table = sampled_frame(values, weights, 0.05, 0.1)
    assert np.allclose(drawn["y"], 100 * table["share"])
    assert np.allclose(drawn["x"], (table["violation from"] + table["to"]) / 2)


def test_bounds_and_marks(policy):
    fig = exposure_in_bounds([("delta 0.01", policy)], {"a": 0.4, "b": 0.1}, ("a", "b")).checked()
    allowed = [trace for trace in fig.data if trace.name == "allowed"]
    assert [tuple(trace.x) for trace in allowed] == [policy.bounds["a"], policy.bounds["b"]]
    filled = [trace.x[0] for trace in fig.data if trace.name.startswith("policy")]
    assert filled == [policy.group_exposure["a"], policy.group_exposure["b"]]


def test_the_histogram_of_samples_keeps_all_the_weight():
    fig = sampled_histogram(np.array([0.0, 0.1, 0.3]), np.array([0.5, 0.3, 0.2]), 0.05, 0.1).checked()
    assert sum(fig.data[0].y) == pytest.approx(100)


def test_names_from_the_data_are_text_in_every_figure():
    data = dataset([[3.0, 2.0, 1.0]] * 3, [[HOSTILE, "b", HOSTILE]] * 3, names=(HOSTILE, "b"))
    found = audit(data, Fairness(delta=0.01))
    policy = fair_policy([3.0, 2.0, 1.0], [HOSTILE, "b", HOSTILE], Fairness(delta=0.01))
    figures = [
        exposure_by_group(found.summary), bounds_shares(found), violation_histograms(found, 0.01), group_counts(data),
        lottery(policy, data.group_names), exposure_in_bounds([("d", policy)], policy.group_exposure, data.group_names),
    ]  # fmt: skip
    for fig in (drawn.checked() for drawn in figures):
        assert "<b onclick" not in fig.to_json().replace("\\u003c", "<")
        assert "onclick" in fig.to_json()


def test_many_groups_are_cut_to_the_loudest():
    names = tuple(f"g{k:02d}" for k in range(30))
    rng = np.random.default_rng(3)
    data = dataset([rng.random(30) for _ in range(20)], [names] * 20, names=names)
    found = audit(data, Fairness(delta=0.05))
    assert len(exposure_by_group(found.summary).checked().data[0].x) == 12
    loudest = max(names, key=lambda name: abs(found.summary["groups"][name]["violation_mean"]))
    assert any(loudest in note.text for note in exposure_by_group(found.summary).checked().layout.annotations)


@pytest.mark.parametrize("place", [0.0, 0.3, 0.59, 0.61, 1.0])
def test_the_sign_of_a_line_stands_on_the_line(place):
    made = line_note(100, "mean", place)
    assert made["x"] == 100
    assert made["text"].startswith("┆") is (made["xanchor"] == "left")
    assert made["text"].endswith("┆") is (made["xanchor"] == "right")
    assert (made["xanchor"] == "right") is (place > 0.6), "on a telephone the right end has no room"
