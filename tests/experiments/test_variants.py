"""Runs of one method with other settings are series of their own; what kept its warm-up goes by what it is."""

from __future__ import annotations

import pandas as pd
import pytest

from dashboard.session.visible_runs import Sweep, results_of
from dashboard.widgets.run_picker import Picked, look_at
from spofr_core.evaluation import tradeoff
from spofr_core.experiments import RunStore, SweepSpec, results, run_sweep
from spofr_core.learning import METHODS, departures, method_title, told_apart
from spofr_core.reporting import in_order, is_guaranteed
from spofr_core.reporting.run_figures import GLYPHS
from spofr_core.reporting.series import series_of

DATA = {"dataset": {"sample": "german-credit", "lists": 40, "test_lists": 30}, "deltas": [0.02], "seeds": 2}
QUICK = {"max_steps": 20, "validate_every": 5}


def test_a_name_says_what_differs_from_other_runs_and_from_the_default():
    usual = METHODS["spofr"].defaults
    settings = [usual, usual | {"margin": 1.0}, usual | {"scorer": "trees"}, {}, {"loss": "logistic", "patience": 3}]
    methods = ["spofr", "spofr", "spofr:trees", "pto", "pto"]
    assert told_apart(methods, settings) == [
        "spofr", "spofr:margin 1", "spofr:trees", "pto", "pto:loss logistic, patience 3"
    ]  # fmt: skip
    alike = [usual | {"max_steps": 500, "hidden": [8, 4]}, {"max_steps": 500, "seed": 1, "hidden": (8, 4)}]
    assert told_apart(["spofr"] * 2, alike) == ["spofr"] * 2
    both = told_apart(["spofr:trees"] * 2, [{"leaves": 7, "scorer": "trees"}, {"leaves": 15, "scorer": "trees"}])
    assert both == ["spofr:trees, leaves 7", "spofr:trees, leaves 15"]
    elsewhere = told_apart(["pto"] * 3, [{}, {}, {"patience": 3}], ["a", "a", "b"])
    assert elsewhere == ["pto"] * 3  # on other data there is nothing to be told apart from
    assert told_apart(["uniform", "gone"], [{"patience": 1}, {"patience": 2}]) == ["uniform", "gone"]
    assert departures("spofr-published", {}) == {
        "hidden": ("halving", "32"), "learning_rate": ("1e-05", "0.001"), "warm_up": ("none", "listnet")
    }  # fmt: skip
    assert method_title("spofr:margin 1") == "SPOFR (margin 1)"
    assert is_guaranteed("spofr:margin 1")


def test_what_a_sweep_sets_for_all_methods_leaves_the_published_recipe():
    training = {"batch_size": 16, "learning_rate": 0.01, "loss": "fenchel-young", "hidden": [8], "patience": 3}
    spec = SweepSpec.from_dict(DATA | {"methods": ["spofr", "spofr-published"], "training": training, "seeds": 1})
    chosen = {run.method: run.settings for run in spec.runs()}
    own = {"batch_size": 64, "learning_rate": 1e-5, "loss": "spo+", "hidden": "halving", "warm_up": "none"}
    assert {name: chosen["spofr-published"][name] for name in own} == own
    assert chosen["spofr-published"]["patience"] == 3
    assert chosen["spofr"]["batch_size"] == 16


def test_the_usual_settings_of_a_scorer_are_no_departure():
    (run,) = SweepSpec.from_dict(DATA | {"methods": ["pto"], "scorers": ["trees"], "seeds": 1}).runs()
    assert run.settings["learning_rate"] == 0.05
    assert departures("pto", run.settings) == {}
    assert departures("pto", run.settings | {"patience": 3}) == {"patience": ("3", "10")}


def test_variants_of_one_method_differ_in_colour_and_in_a_shape_that_bars_can_show():
    wanted = [
        "spofr",
        *(f"spofr:margin {k}" for k in range(6)),
        "spofr-published",
        "pto",
        "pto:trees",
        "pto:patience 3",
    ]
    series = series_of(pd.DataFrame({"method": wanted}))
    assert [one.value for one in series] == in_order(wanted)
    assert len({GLYPHS[one.shape] for one in series}) == len(series)
    assert len({(one.colour, one.shape) for one in series}) == len(series)
    assert len({one.colour for one in series if str(one.value).startswith("spofr")}) >= 7


def test_runs_that_count_exposure_otherwise_or_hold_a_quota_are_not_taken_for_the_same(tmp_path):
    sweeps, plain = [], DATA | {"methods": ["uniform"], "seeds": 1}
    for name, more in {
        "plain": {},
        "steep": {"position_bias": {"power": 2.0}},
        "held": {"every_ranking": {"slack": 3}},
    }.items():
        store = RunStore(tmp_path / name)
        assert run_sweep(SweepSpec.from_dict(plain | more), store).ok
        sweeps.append(Sweep(store, tuple(store.names()), 0.0, "own"))
    frame = results_of(sweeps)
    assert frame.attrs["left_out"] == 0
    assert frame["terms"].tolist() == [
        "v_j = 1/(1 + j)", "v_j = 1/(1 + j)^2", "v_j = 1/(1 + j), at most 3 from its share in every prefix"
    ]  # fmt: skip


def test_a_model_is_looked_at_with_its_own_delta_notion_and_exposure(tmp_path, monkeypatch):
    store, chosen = RunStore(tmp_path / "gap"), {}
    asked = {"notions": ["gap"], "position_bias": {"power": 2.0, "cutoff": 5}, "seeds": 1, "training": QUICK}
    assert run_sweep(SweepSpec.from_dict(DATA | {"methods": ["pto"]} | asked), store).ok
    sweeps = [Sweep(store, tuple(store.names()), 0.0, "own")]
    runs = results_of(sweeps)
    monkeypatch.setattr("dashboard.widgets.run_picker.choose", chosen.update)
    look_at(store.names()[0], Picked(sweeps, runs, runs, {}, "", None))
    own = {"delta": 0.02, "unit": "absolute", "notion": "gap", "power": 2.0, "shift": 1.0, "top": 5}
    assert {name: chosen[name] for name in own} == own


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """The default and a margin that nothing reaches, each a sweep of two seeds beside predict-then-optimise."""
    made = []
    for name, margin in (("default", 0.0), ("cautious", 1e9)):
        spec = DATA | {"methods": ["spofr", "pto"], "training": QUICK, "method_settings": {"spofr": {"margin": margin}}}
        store = RunStore(tmp_path_factory.mktemp(name))
        assert run_sweep(SweepSpec.from_dict(spec), store).ok
        made.append(store)
    return made


def test_what_kept_its_warm_up_is_drawn_as_predict_then_optimise(stores):
    default, cautious = (results(store) for store in stores)
    kept = "pto:SPOFR kept its warm-up"
    assert (sorted(set(default["method"])), sorted(set(cautious["method"]))) == (["pto", "spofr"], ["pto", kept])
    best = cautious.set_index(["method", "seed"])["dcg"]
    assert best[kept].to_dict() == best["pto"].to_dict()
    assert default.set_index(["method", "seed"])["dcg"]["spofr"].to_dict() != best["pto"].to_dict()
    assert method_title(kept) == "predict-then-optimise (SPOFR kept its warm-up)"
    run = cautious.loc[cautious["method"] == kept, "run"].iloc[0]
    card = (stores[1].model_folder(run) / "model_card.md").read_text("utf-8")
    assert card.startswith(f"# Model card: {method_title(kept)}\n")
    assert "margin: 1e+09 (by default: None)" in card
    assert "the weights of 'listnet warm-up' were kept" in card


def test_two_sweeps_together_lose_no_model_without_a_word(stores):
    sweeps = [Sweep(store, tuple(store.names()), 0.0, "own") for store in stores]
    frame = results_of(sweeps)
    assert len(frame) == 6  # predict-then-optimise is the same two runs in both
    assert set(frame["method"]) == {"spofr", "pto", "pto:SPOFR kept its warm-up"}
    assert frame.attrs["left_out"] == 0
    curve = tradeoff(frame)
    assert dict(zip(curve["method"], curve["n"], strict=True)) == dict.fromkeys(set(frame["method"]), 2)
    styles = [(one.colour, one.shape) for one in series_of(frame)]
    assert len(set(styles)) == 3
    assert in_order(frame["method"]) == ["spofr", "pto", "pto:SPOFR kept its warm-up"]
