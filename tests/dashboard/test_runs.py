"""Charts and sentences of many models, on frames small enough to check by eye."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dashboard.charts import run_charts as charts
from dashboard.charts.drawing import percent_ticks
from dashboard.session.visible_runs import data_label
from dashboard.widgets.run_picker import part_of, said, values_of
from spofr_core.errors import ConfigError
from spofr_core.evaluation import (
    achieved_tradeoff,
    asked_and_achieved,
    best_at_violation,
    grid_search,
    guarantees,
    lead_at_violation,
    price_of_fairness,
    tradeoff,
)
from spofr_core.experiments import RESULT_COLUMNS
from spofr_core.experiments.earlier_times import OVERHEAD, time_from_earlier_runs
from spofr_core.experiments.plans import MOST_RUNS, parse_numbers, plan_sweep, sample_groups, shared_sample
from spofr_core.fairness import NOTIONS
from spofr_core.learning import METHODS
from spofr_core.reporting import (
    empty_slots,
    in_order,
    listed,
    matched,
    method_style,
    names_of_methods,
    palette,
    promised,
    run_table,
)

BASE = {
    "dataset": "d",
    "notion": "exposure",
    "unit": "absolute",
    "groups": 2,
    "clicks": None,
    "status": "done",
    "ideal_dcg": 2.0,
}


GERMAN = "German Credit (3 lists, 9 test lists, by purpose)"


def run(name, method, dcg, violation, *, delta=None, penalty=None, seed=0, **more):
    measured = {"dcg": dcg, "violation_mean": violation, "violation_max": violation, "seconds": 2.0}
    return {**BASE, "run": name, "method": method, "delta": delta, "penalty": penalty, "seed": seed, **measured, **more}


@pytest.fixture
def results():
    rows = [
        run("a", "spofr", 1.0, 0.01, delta=0.01),
        run("b", "spofr", 1.2, 0.04, delta=0.05),
        run("b1", "spofr", 1.4, 0.04, delta=0.05, seed=1),
        run("c", "fultr", 0.8, 0.02, penalty=100.0),
        run("d", "deltr", 1.1, 0.09, penalty=10.0),
        run("e", "uniform", 0.5, 0.0),
    ]
    kinds = {"groups": "Int64", "clicks": "Int64", "delta": float, "penalty": float}
    return pd.DataFrame(rows, columns=list(RESULT_COLUMNS)).astype(kinds)


def named(figure):
    return {trace.name: trace for trace in figure.checked().data if trace.name}


def test_the_grid_has_a_mark_per_model_and_a_ring_around_the_chosen_one(results):
    figure = charts.grid(grid_search(results), achieved_tradeoff(results), "c")
    runs = [
        run for trace in figure.checked().data for run in (trace.customdata if trace.customdata is not None else ())
    ]
    assert sorted(runs) == sorted(results["run"])
    ring = named(figure)["the chosen model"]
    assert (ring.x[0], ring.y[0]) == (0.02, 0.8)
    assert "the chosen model" not in named(charts.grid(grid_search(results), achieved_tradeoff(results), "nobody"))


def test_a_line_of_a_method_goes_through_the_means_of_its_settings_with_their_band(results):
    drawn = charts.grid(grid_search(results), achieved_tradeoff(results)).checked().data
    line = next(trace for trace in drawn if trace.mode == "lines" and trace.name == "SPOFR")
    assert (list(line.x), list(line.y)) == ([0.01, 0.04], pytest.approx([1.0, 1.3]))
    assert line.showlegend is False  # its marks are in the legend
    assert not any(trace.mode == "lines" and trace.name == "FULTR" for trace in drawn)  # one setting is no line
    more = pd.concat([results, results.assign(seed=results["seed"] + 5, dcg=results["dcg"] + 0.1)])
    means = achieved_tradeoff(more)
    band = next(trace for trace in charts.grid(grid_search(more), means).checked().data if trace.fill == "toself")
    first = means[(means["method"] == "spofr") & (means["delta"] == 0.01)].iloc[0]
    half = stats.t.ppf(0.975, 1) * stats.sem([1.0, 1.1])
    assert (first["dcg_lower"], first["dcg_upper"]) == pytest.approx((1.05 - half, 1.05 + half))
    assert (band.x[0], band.y[0], band.y[-1]) == pytest.approx((0.01, first["dcg_upper"], first["dcg_lower"]))


def test_the_axis_is_on_the_models_and_the_ideal_is_told_where_it_would_squeeze_them(results):
    far = charts.grid(grid_search(results), achieved_tradeoff(results)).checked()
    assert far.layout.yaxis.range[1] < 2.0
    assert [note.text for note in far.layout.annotations] == ["ideal DCG 2, above this chart"]
    assert len(far.layout.shapes) == 0
    near = results.assign(ideal_dcg=1.5)
    figure = charts.grid(grid_search(near), achieved_tradeoff(near)).checked()
    assert figure.layout.yaxis.range[1] > 1.5
    assert figure.layout.shapes[0].y0 == 1.5
    for low, high in ((0.7, 0.8), (1.1, 1.2)):
        assert far.layout.yaxis.range[0] < low < high < far.layout.yaxis.range[1]
    equal = results.assign(dcg=1.0, ideal_dcg=np.nan)
    bottom, top = charts.grid(grid_search(equal), achieved_tradeoff(equal)).checked().layout.yaxis.range
    assert bottom < 1.0 < top


def test_a_random_ranking_far_below_all_rivals_is_told_and_does_not_squeeze_them(results):
    far = results.assign(dcg=results["dcg"].where(results["method"] != "uniform", 0.1))
    figure = charts.grid(grid_search(far), achieved_tradeoff(far)).checked()
    assert figure.layout.yaxis.range[0] > 0.5
    (note,) = figure.layout.annotations
    assert note.text == "ideal DCG 2, above this chart<br>random ranking 0.1, below this chart"
    drawn = charts.grid(grid_search(results), achieved_tradeoff(results)).checked()
    assert drawn.layout.yaxis.range[0] < 0.5  # not far: it is the end of the chart
    alone = results[results["method"] == "uniform"]
    low, high = charts.grid(grid_search(alone), achieved_tradeoff(alone)).checked().layout.yaxis.range
    assert low < 0.5 < high


def test_pointing_at_a_model_tells_its_violation_in_the_unit_of_the_axis(results):
    for unit, digits in (("share", "%{x:.2%}"), ("absolute", "%{x:.4f}")):
        frame = results.assign(unit=unit)
        figure = charts.grid(grid_search(frame), achieved_tradeoff(frame)).checked()
        told = [trace.hovertemplate for trace in figure.data if trace.customdata is not None]
        assert all(digits in text for text in told)


def test_methods_with_trees_and_without_are_told_apart_without_colour():
    shapes = [method_style(name + scorer)[1] for name in METHODS for scorer in ("", ":trees") if name != "uniform"]
    assert len(set(shapes)) == len(shapes)
    seen = {method_style(f"{name}:trees")[1] for name in ("spofr", "pto", "unfair")}
    assert not seen & {"circle", "pentagon", "hexagon", "octagon"}  # one round mark of nine pixels is like another


def test_the_table_of_models_names_methods_as_the_chart_does_and_has_no_empty_column(results):
    table = run_table(grid_search(results.assign(method=results["method"].replace("spofr", "spofr:trees"))))
    assert set(table["method"]) == {"SPOFR (trees)", "FULTR", "DELTR", "random ranking"}
    assert "clicks" not in table
    assert "penalty" in table
    assert set(run_table(grid_search(results.assign(violation_mean=3e-17)))["violation_mean"]) == {0.0}


def test_shares_have_an_axis_in_per_cent_of_the_mean_exposure(results):
    shares = results.assign(unit="share")
    figure = charts.grid(grid_search(shares), achieved_tradeoff(shares)).checked()
    assert figure.layout.xaxis.title.text == "mean violation on test, share of mean exposure"
    assert figure.layout.xaxis.tickformat == ".0%"
    assert charts.tradeoff(tradeoff(shares)).checked().layout.xaxis.title.text == (
        "delta asked for, share of mean exposure"
    )
    mixed = pd.concat([results, shares])
    assert len(tradeoff(mixed)) == 2 * len(tradeoff(results))  # never one curve of both
    alone = int(grid_search(results)["dominated"].sum())
    assert set(grid_search(mixed).groupby("unit")["dominated"].sum()) == {alone}


@pytest.mark.parametrize("span", [3.0, 0.5, 0.08, 0.02, 0.003])
def test_ticks_of_shares_are_told_apart(span):
    decimals = int(percent_ticks(span)[1:-1])
    for count in (5, 8):
        ticks = [f"{100 * k * span / count:.{decimals}f}" for k in range(count + 1)]
        assert len(set(ticks)) == len(ticks)
    assert 100 * span > 10**-decimals  # and no more decimals than that takes


def test_dominated_models_stand_back_on_light_and_dark(results):
    drawn = named(charts.grid(grid_search(results), achieved_tradeoff(results)))
    assert drawn["muted: dominated"].marker.color == palette.see_through(palette.NEUTRAL, 0.35)


def test_pointing_at_a_model_names_its_run_whole(results):
    long = results.assign(run=[f"{k:016x}" for k in range(len(results))])
    figure = charts.grid(grid_search(long), achieved_tradeoff(long)).checked()
    texts = {run: text for trace in figure.data if trace.customdata is not None
             for run, text in zip(trace.customdata, trace.text, strict=True)}  # fmt: skip
    assert set(texts) == set(long["run"])
    assert all(text.endswith(f"<br>run {run}") for run, text in texts.items())


def test_every_method_is_in_the_legend_once_even_if_all_its_models_are_dominated(results):
    figure = charts.grid(grid_search(results), achieved_tradeoff(results))
    shown = [trace.name for trace in figure.checked().data if trace.showlegend is not False and len(trace.x)]
    for name in ("SPOFR", "FULTR", "DELTR", "random ranking"):
        assert shown.count(name) == 1, name


def test_many_marks_are_thinned_but_the_front_stays():
    rng = np.random.default_rng(0)
    rows = [run(str(k), "spofr", rng.random(), rng.random(), delta=0.1, seed=k) for k in range(500)]
    points = grid_search(pd.DataFrame(rows, columns=list(RESULT_COLUMNS)))
    kept = charts.thinned(points, 100)
    assert len(kept) <= 100
    assert set(points.loc[~points["dominated"], "run"]) <= set(kept["run"])
    assert charts.thinned(points, 500) is points


def test_curves_carry_the_frame_and_its_bands(results):
    frame = tradeoff(results)
    figure = charts.tradeoff(frame)
    curve = named(figure)["SPOFR"]
    assert list(curve.x) == [0.01, 0.05]
    assert list(curve.y) == pytest.approx([1.0, 1.3])
    assert "ideal DCG" not in named(figure)
    achieved = named(charts.achieved(asked_and_achieved(results)))
    assert list(achieved["SPOFR, largest"].y) == [0.01, 0.04]
    assert achieved["delta"].line.color == palette.NEUTRAL  # can be seen on a dark page
    price = named(charts.price(price_of_fairness(results)))["SPOFR"]
    assert price.y[0] == pytest.approx(1 - 1.0 / 1.2)


def test_the_exact_curve_marks_delta_only_where_it_is_in_reach():
    frame = pd.DataFrame({"delta": [0.0, 0.4], "dcg": [1.0, 1.5], "dcg_lower": [0.9, 1.4], "dcg_upper": [1.1, 1.6]})
    figure = charts.exact(frame, 0.1, "<b>m</b>")
    assert figure.checked().layout.shapes[0].x0 == 0.1
    assert "&lt;b&gt;m&lt;/b&gt;" in named(figure)
    assert len(charts.exact(frame, 0.7, "m").checked().layout.shapes) == 0


def queries(values):
    """Two queries per run with these violations; DCG as in the results."""
    rows = [{"run": r, "violation": v, "dcg": d, "applicable": True} for r, (vs, d) in values.items() for v in vs]
    return pd.DataFrame(rows).astype({"run": "category"})


@pytest.fixture
def guarantee_frame(results):
    per_query = queries(
        {"a": ((0.01, 0.01), 1.0), "b": ((0.05, 0.03), 1.2), "b1": ((0.05, 0.03), 1.4)}
        | {"c": ((0.0, 0.04), 0.8), "d": ((0.2, 0.2), 1.1)}
    )
    rivals = results[results["method"] != "uniform"]
    return guarantees(rivals, per_query, per_query, deltas=[0.01, 0.05], levels=[0.5, 1.0])


def test_bars_stand_where_a_model_qualifies_and_crosses_elsewhere(guarantee_frame):
    bars = named(charts.guarantee(guarantee_frame))
    assert list(bars) == ["● SPOFR", "▲ FULTR, no guarantee", "◆ DELTR, no guarantee"]
    spofr, fultr, deltr = bars.values()
    assert spofr.marker.color == METHODS["spofr"].colour
    assert [list(part) for part in spofr.x] == [
        ["delta 0.01", "delta 0.01", "delta 0.05", "delta 0.05"],
        ["50%", "100%", "50%", "100%"],
    ]
    assert list(spofr.y) == [1.0, 1.0, 1.4, 1.4]
    assert list(fultr.y) == [0.8, 0.0, 0.8, 0.8]
    assert list(fultr.text) == ["▲", "×", "▲", "▲"]  # told apart by shape too
    assert list(fultr.textposition) == ["inside", "outside", "inside", "inside"]
    assert set(deltr.text) == {"×"}
    assert "the closest reaches 50.0%" in fultr.hovertext[1]


def test_empty_slots_are_explained_in_words(guarantee_frame):
    told = empty_slots(guarantee_frame)
    assert told[0] == "No FULTR model of 1 reaches 100 % of the queries at delta = 0.01."
    assert told[1:] == [
        "No DELTR model of 1 reaches 50 % of the queries at delta = 0.01, 0.05.",
        "No DELTR model of 1 reaches 100 % of the queries at delta = 0.01, 0.05.",
    ]
    assert promised(guarantee_frame, 0.05, 1.0) == (
        "SPOFR and FULTR each have a model that holds delta = 0.05 on every query; no DELTR model does"
    )
    assert promised(guarantee_frame, 0.01, 0.5).startswith(
        "SPOFR and FULTR each have a model that holds delta = 0.01 on 50 %"
    )
    missed = guarantee_frame.assign(holds=(guarantee_frame["method"] != "fultr") & guarantee_frame["holds"])
    assert promised(missed, 0.05, 1.0) == (
        "SPOFR has a model that holds delta = 0.05 on every query; FULTR does so on validation only; "
        "no DELTR model does"
    )
    nobody = guarantee_frame.assign(dcg=np.nan, holds=pd.NA)
    assert promised(nobody, 0.05, 1.0) == "No model holds delta = 0.05 on every query"


def told(rows, level=0.05):
    runs = pd.DataFrame(rows, columns=list(RESULT_COLUMNS))
    runs = runs.astype({"groups": "Int64", "clicks": "Int64", "delta": float, "penalty": float})
    return matched(best_at_violation(runs, (level,)), lead_at_violation(runs, level), level)


def over(method, values, violation=0.01, **steer):
    return [run(f"{method}{s}", method, dcg, violation, seed=s, **steer) for s, dcg in enumerate(values)]


OURS = over("spofr", [1.3, 1.31, 1.32], delta=0.05)


def test_a_method_is_called_the_highest_only_beyond_the_noise_of_three_seeds():
    clear = told(OURS + over("fultr", [0.8, 0.82, 0.81], penalty=1.0) + over("deltr", [1.0], 0.09, penalty=1.0))
    assert clear[0] == "SPOFR has the highest DCG at a mean violation of 0.05 or less"
    assert clear[1] == (
        "Mean DCG of each method's best setting there: SPOFR 1.31 (3 seeds), FULTR 0.81 (3 seeds). "
        "SPOFR minus FULTR +0.500 (95 % interval +0.475 to +0.525, 3 seeds). DELTR does not get there."
    )
    noise = told(OURS + over("fultr", [1.2, 1.4, 1.25], penalty=1.0) + over("deltr", [0.5, 0.51, 0.53], penalty=1.0))
    assert (
        noise[0] == "No difference that these runs can show between SPOFR and FULTR at a mean violation of 0.05 or less"
    )
    assert "SPOFR minus FULTR +0.027 (95 % interval" in noise[1]
    assert "SPOFR minus DELTR +0.797" in noise[1]


def test_two_seeds_other_seeds_and_a_method_alone_have_no_highest():
    two = told(OURS[:2] + over("fultr", [0.1, 0.1], penalty=1.0))
    assert two[0].startswith("No difference that these runs can show between SPOFR and FULTR")
    assert two[1].endswith("A difference is told from three seeds in common on.")
    others = [row | {"seed": row["seed"] + 7} for row in over("fultr", [0.1, 0.1, 0.1], penalty=1.0)]
    apart = told(OURS + others)
    assert apart[0].startswith("No difference that these runs can show")
    assert "SPOFR minus FULTR cannot be told: no seed in common." in apart[1]
    assert told(OURS)[0] == "SPOFR is the only method in these runs"
    only = told(OURS + over("fultr", [2.0, 2.0, 2.0], 0.3, penalty=1.0))
    assert only[0] == "Only SPOFR gets to a mean violation of 0.05 or less"
    assert only[1].endswith("FULTR does not get there.")
    assert told(OURS, 0.001) == ("No model has a mean violation of 0.001 or less", "")
    assert listed(["a", "b", "c"], word="or") == "a, b or c"


def test_training_curves_are_the_validations(results):
    rows = [{"step": 20 * k, "validation_dcg": 1 + k, "violation": 0.1 / (k + 1)} for k in range(3)]
    top, below = charts.training_curves([("SPOFR, <i>", "#123456", "circle", rows)]).checked().data
    assert list(top.y) == [1, 2, 3]
    assert list(below.y) == pytest.approx([0.1, 0.05, 0.1 / 3])
    assert below.yaxis == "y2"
    assert top.name == "SPOFR, &lt;i&gt;"


def test_long_names_of_runs_take_two_lines_of_the_legend_and_are_whole():
    rows = [{"step": 0, "validation_dcg": 1.0, "violation": 0.1}]
    names = ["SPOFR, delta 5 %, seed 0", "predict-then-optimise (trees), delta 15 %, seed 10, by marital status"]
    figure = charts.training_curves([(name, "#123456", "circle", rows) for name in names]).checked()
    short, long = (trace.name for trace in figure.data if trace.showlegend)
    assert short == names[0]
    assert long == names[1].replace("), ", "),<br>")
    alone = charts.training_curves([(names[0], "#123456", "circle", rows)]).checked()
    assert figure.layout.height > alone.layout.height  # the curves keep their room


def test_training_curves_have_violations_in_the_unit_of_delta():
    rows = [{"step": 20 * k, "validation_dcg": 1 + k, "violation": 0.15} for k in range(3)]
    history = [("SPOFR", "#123456", "circle", rows)]
    shares = charts.training_curves(history, "share").checked()
    assert shares.layout.yaxis2.tickformat == ".0%"
    assert ["%{y:.2%}" in trace.hovertemplate for trace in shares.data] == [False, True]
    assert charts.training_curves(history).checked().layout.yaxis2.tickformat is None
    still = [("SPOFR", "#123456", "circle", [{"step": 0, "validation_dcg": 1.0, "violation": 3e-17}])]
    assert charts.training_curves(still, "share").checked().layout.yaxis2.tickformat == ".0%"


def test_settings_are_values_and_rows(results):
    mixed = pd.concat([results, results.assign(clicks=pd.array([500] * len(results), dtype="Int64"))])
    assert values_of(mixed, "clicks") == [500, None]
    assert len(part_of(mixed, {"clicks": None, "method": "spofr"})) == 3
    assert said("clicks", 5000) == "5,000 clicks"
    assert said("clicks", None) == "true labels"
    assert said("groups", 3) == "3 groups"


@pytest.mark.parametrize(
    ("dataset", "groups", "seed", "label"),
    [
        ({"sample": "hiring"}, None, 0, "Hiring searches (synthetic)"),
        ({"sample": "german-credit", "lists": 30, "test_lists": 30}, "age", 0, "German Credit (30 lists, by age)"),
        ({"sample": "german-credit", "lists": 3, "test_lists": 3}, 5, 2, "German Credit (3 lists, by age, split 2)"),
        ({"sample": "german-credit", "lists": 3, "test_lists": 9}, None, 0, GERMAN),
        ({"sample": "adult", "features": "work"}, ["sex", "race"], 0, "Census income (by sex and race, work only)"),
        ({"sample": None, "file": "/x/y/jobs.parquet"}, None, 0, "jobs"),
    ],
)  # fmt: skip
def test_data_with_other_lists_has_another_label(dataset, groups, seed, label):
    assert data_label(dataset, groups, seed) == label


def test_numbers_from_a_text():
    assert parse_numbers("0, 0.05;0.1  0.05", "deltas") == [0, 0.05, 0.1]
    assert parse_numbers("5000", "Clicks", int) == [5000]
    for text, said_ in [("", "at least one"), ("a", "'a' is not"), ("-1", "not allowed"), ("inf", "not allowed")]:
        with pytest.raises(ConfigError, match=said_):
            parse_numbers(text, "deltas")
    with pytest.raises(ConfigError, match="write them like 5000"):
        parse_numbers("1.5", "Clicks", int)


def test_groupings_that_charts_could_not_tell_apart_are_refused():
    assert sample_groups(["purpose", "3", "5"], "german-credit") == ["purpose", 3, 5]
    assert sample_groups(["gender", "gender+region"], "hiring") == [2, 8]
    with pytest.raises(ConfigError, match="mixed up"):
        sample_groups(["gender", "age"], "german-credit")
    with pytest.raises(ConfigError, match="at least one"):
        sample_groups([], "mslr")


def test_a_plan_is_checked(tmp_path):
    dataset, store = shared_sample(tmp_path, "german-credit", 40)
    plan = plan_sweep(dataset, store, methods=["spofr", "fultr"], deltas=[0.1, 0.2], penalties=[1.0], seeds=3)
    assert len(plan.runs) == 9
    with pytest.raises(ConfigError, match=f"{MOST_RUNS:,} are the limit"):
        plan_sweep(dataset, store, methods=["spofr"], deltas=[k / 1000 for k in range(200)], seeds=50)
    with pytest.raises(ConfigError, match="'methods' is empty"):
        plan_sweep(dataset, store, methods=[], deltas=[0.1])


def test_time_from_earlier_runs_is_their_mean_shared_by_the_workers(results, tmp_path):
    dataset, store = shared_sample(tmp_path, "german-credit", 40)
    plan = plan_sweep(dataset, store, methods=["spofr"], deltas=[0.1, 0.2], seeds=100)
    earlier = results.assign(source="german-credit")
    seconds = 200 * (2.0 + OVERHEAD) / 2
    assert f"about {seconds / 60:.0f} min" in time_from_earlier_runs(plan.runs, earlier, 2)
    assert time_from_earlier_runs(plan.runs, earlier.assign(source="mslr"), 2) == ""
    assert time_from_earlier_runs((), earlier, 2) == ""


def test_a_method_that_is_registered_elsewhere_is_drawn_in_its_own_colour_and_shape(results):
    toy = replace(METHODS["fultr"], name="toy", title="Toy", colour="#123456", shape="hexagon", guaranteed=True)
    plain = replace(toy, name="plain", title="Plain", colour="", shape="", guaranteed=False)
    rows = results.assign(method=results["method"].replace({"fultr": "toy", "deltr": "plain"}))
    METHODS.register(toy)
    METHODS.register(plain)
    try:
        marks = named(charts.grid(grid_search(rows), achieved_tradeoff(rows)))
        assert (marks["Toy"].marker.color, marks["Toy"].marker.symbol) == ("#123456", "hexagon")
        assert marks["Plain"].marker.color in palette.SERIES_COLOURS
        assert in_order(rows["method"]) == ["spofr", "uniform", "toy", "plain"]
        assert names_of_methods(lambda method: method.guaranteed) == [
            "SPOFR", "SPOFR as published", "predict-then-optimise", "Toy"
        ]  # fmt: skip
    finally:
        METHODS.unregister("toy")
        METHODS.unregister("plain")
    assert "toy" in named(charts.grid(grid_search(rows), achieved_tradeoff(rows))), (
        "a method that is not registered goes by its name"
    )


def test_curves_by_notion_go_by_the_label_of_the_notion(results):
    both = pd.concat([results, results.assign(notion="merit"), results.assign(notion="elsewhere")])
    frame = tradeoff(both[both["method"] == "spofr"])
    assert {NOTIONS["exposure"].label, NOTIONS["merit"].label, "elsewhere"} <= set(
        named(charts.tradeoff(frame, "notion"))
    )
