"""Runs with trees: in the shell, in a sweep beside networks, in the tables and figures that tell the two apart."""

import json

import pytest
from typer.testing import CliRunner

from spofr_core.cli.application import app
from spofr_core.errors import ConfigError
from spofr_core.evaluation import tradeoff
from spofr_core.experiments import DatasetSpec, RunConfig, RunStore, SweepSpec, results, run_sweep
from spofr_core.learning import load_model, with_scorer
from spofr_core.reporting import in_order, is_baseline, is_guaranteed, method_style, method_title

SHORT = {"max_steps": 15, "leaf_items": 5}


def shell(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_shell_trains_audits_and_repairs_with_trees(tmp_path):
    out = tmp_path / "runs"
    data = ["--sample", "adult", "--features", "work", "--groups", "marital_status"]
    chosen = ["--method", "spofr", "--set", "scorer=trees", "--set", "max_steps=10", "--delta", "5%"]
    assert "within the tolerance of 5 %" in shell("train", *data, *chosen, "--out", out)
    summary = json.loads(shell("audit", "--model", out, "--json", "-"))
    assert summary["queries"]["share"] == 1.0
    assert summary["violation"]["max"] <= 0.05 + 1e-9
    record = RunStore(out, create=False).records()[0]
    assert record.config.title.startswith("spofr:trees on adult")
    names = {path.name for path in RunStore(out, create=False).model_folder(record.run).iterdir()}
    assert names == {"model.json", "model.safetensors", "model_card.md", "trees.txt"}
    assert load_model(RunStore(out, create=False).model_folder(record.run)).learned.scorer.name == "trees"


def test_the_shell_says_who_learns_with_networks_alone(tmp_path):
    arguments = ["train", "--sample", "adult", "--method", "deltr", "--set", "scorer=trees", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, ConfigError)  # the sentence of an error, which ends with 2
    assert "DELTR and FULTR learn with a network" in str(result.exception)


def test_a_sweep_of_both_scorers_keeps_them_apart(tmp_path):
    spec = {"dataset": {"sample": "german-credit", "lists": 40, "test_lists": 30}, "deltas": [0.02, 0.1]}
    spec |= {"methods": ["pto", "unfair", "uniform"]}
    store = RunStore(tmp_path)
    for training in ({"max_steps": 15}, {"scorer": "trees", **SHORT}):
        outcome = run_sweep(SweepSpec.from_dict(spec | {"training": training}), store)
        assert outcome.ok
    frame = results(store)
    assert sorted(set(frame["method"])) == ["pto", "pto:trees", "unfair", "unfair:trees", "uniform"]
    assert len(frame) == 4 + 2 + 2  # the random ranking is there once for each sweep
    held = frame[frame["delta"].notna()]
    assert (held["violation_max"] <= held["delta"] + 1e-9).all()
    curves = tradeoff(frame)
    assert curves.groupby("method").size().to_dict() == {"pto": 2, "pto:trees": 2}
    assert in_order(frame["method"]) == ["pto", "pto:trees", "unfair", "unfair:trees", "uniform"]


def test_one_sweep_goes_over_scorers():
    spec = SweepSpec.from_dict(
        {
            "dataset": {"sample": "adult"},
            "methods": ["pto", "fultr", "uniform"],
            "deltas": [0.1],
            "penalties": [1],
            "scorers": ["network", "trees"],
            "scorer_settings": {"trees": {"leaves": 6}, "network": {"learning_rate": 0.01}},
        }
    )
    runs = {with_scorer(run.method, run.settings): run.settings for run in spec.runs()}
    assert set(runs) == {"pto", "pto:trees", "fultr", "uniform"}
    assert (runs["pto:trees"]["leaves"], runs["pto:trees"]["learning_rate"]) == (6, 0.05)
    assert runs["pto"]["learning_rate"] == runs["fultr"]["learning_rate"] == 0.01
    assert "scorers" not in SweepSpec.from_dict({"dataset": {"sample": "adult"}}).to_dict()
    with pytest.raises(ConfigError, match=r"a scorer must be one of .* got 'forest'"):
        SweepSpec.from_dict({"dataset": {"sample": "adult"}, "scorers": ["forest"]})
    alone = SweepSpec.from_dict({"dataset": {"sample": "adult"}, "methods": ["deltr"], "scorers": ["trees"]})
    with pytest.raises(ConfigError, match="DELTR and FULTR learn with a network"):
        alone.runs()


def test_a_method_with_trees_has_a_title_and_a_look_of_its_own():
    assert with_scorer("pto", {"scorer": "logistic"}) == with_scorer("pto", {}) == "pto"
    assert with_scorer("uniform", {"scorer": "trees"}) == "uniform"
    assert method_title("pto:trees") == "predict-then-optimise (trees)"
    assert is_guaranteed("spofr:trees")
    assert not is_guaranteed("unfair:trees")
    assert is_baseline("unfair:trees")
    assert not is_baseline("pto:trees")
    names = ["spofr", "spofr:trees", "pto", "pto:trees", "fultr", "deltr", "unfair", "unfair:trees", "uniform"]
    looks = [method_style(name) for name in names]
    assert len({colour for colour, _ in looks}) == len({shape for _, shape in looks}) == len(names)
    assert in_order([*names[::-1], "new"]) == [*names, "new"]


@pytest.mark.parametrize(
    "settings",
    [
        {"training": {"scorer": "network"}},
        {"method_settings": {"pto": {"scorer": "trees"}}},
        {"method_settings": {"pto": {"scorer": "logistic"}}},  # the loss, in older settings
    ],
    ids=str,
)
def test_a_scorer_among_the_settings_does_not_undo_those_of_the_sweep(settings):
    with pytest.raises(ConfigError, match=r"'scorers' is \['trees'\], and the settings under .* leave one of them out"):
        SweepSpec.from_dict({"dataset": {"sample": "adult"}, "methods": ["pto"], "scorers": "trees", **settings})


def test_a_seed_that_no_table_of_runs_can_hold_is_refused():
    dataset = DatasetSpec(sample="adult")
    with pytest.raises(ConfigError, match="'seed' is 9223372036854775808: input should be less than"):
        RunConfig.single(dataset, "pto", {}, delta=0.1, seed=2**63)
