"""What a sweep may say, and the runs it stands for."""

from __future__ import annotations

from itertools import pairwise

import pytest

from spofr_core.errors import ConfigError
from spofr_core.experiments.sweep_spec import RunConfig, SweepSpec
from tests.experiments.specs import TINY, tiny


def test_every_method_runs_over_its_own_grid():
    spec = tiny(
        methods=["spofr", "fultr", "unfair"],
        deltas=[0, 0.1],
        penalties=[1, 10, 100],
        seeds=2,
        groups=[2, 3],
        clicks=[50, None],
        notions=["exposure", "merit"],
    )
    runs = spec.runs()
    assert len(runs) == (2 + 3 + 1) * 2 * 2 * 2 * 2
    assert len({run.run for run in runs}) == len(runs)
    assert {(r.delta, r.penalty) for r in runs if r.method == "fultr"} == {(None, 1.0), (None, 10.0), (None, 100.0)}
    assert {(r.delta, r.penalty) for r in runs if r.method == "unfair"} == {(None, None)}
    assert {r.seed for r in runs} == {0, 1}


def test_runs_with_the_same_data_stand_beside_each_other():
    keys = [run.click_key for run in tiny(seeds=2, clicks=[50, 60], groups=[2, 3]).runs()]
    assert sum(a != b for a, b in pairwise(keys)) == len(set(keys)) - 1


def test_the_name_of_a_run_is_the_hash_of_all_its_settings():
    first = tiny().runs()[0]
    assert first.run == RunConfig.from_dict(first.to_dict()).run
    assert len(first.run) == 16
    changed = [tiny(seeds=[1]), tiny(training={"max_steps": 5}), tiny(clicks=5), tiny(click_noise=0.1)]
    changed += [tiny(position_bias={"shift": 0}), tiny(data_seed=3), tiny(dataset=TINY | {"lists": 13})]
    names = {first.run, *(spec.runs()[0].run for spec in changed)}
    assert len(names) == 8


def test_settings_are_written_out_in_full():
    settings = tiny().runs()[0].settings
    assert settings["max_steps"] == 4
    assert settings["learning_rate"] == 1e-3
    assert "seed" not in settings


def test_a_grid_that_names_a_value_twice_has_it_once():
    assert len(tiny(methods=["pto"], deltas=[0.1, 0.1, 0.10]).runs()) == 1


def test_seeds_may_have_their_own_split():
    assert [run.data_seed for run in tiny(methods=["uniform"], seeds=3, data_seed=-1).runs()] == [0, 1, 2]
    assert [run.data_seed for run in tiny(methods=["uniform"], seeds=3, data_seed=7).runs()] == [7, 7, 7]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": [0.1]}, "has no setting 'delta'.*Did you mean 'deltas'"),
        ({"methods": []}, "grid 'methods' is empty"),
        ({"deltas": []}, "grid 'deltas' is empty; pto need"),
        ({"methods": ["fultr"], "penalties": []}, "grid 'penalties' is empty; fultr need"),
        ({"seeds": 0}, "grid 'seeds' is empty"),
        ({"deltas": [0.1, -0.5]}, "'deltas' holds -0.5"),
        ({"penalties": [-1]}, "'penalties' holds -1"),
        ({"seeds": [-1]}, "'seeds' holds -1"),
        ({"clicks": [0]}, "'clicks' holds 0"),
        ({"methods": ["spofr", "magic"]}, "must be one of .* got 'magic'"),
        ({"notions": ["equality"]}, "notions"),
        ({"dataset": {}}, "name one source"),
        ({"dataset": {"sample": "mslr", "file": "x.csv"}}, "name one source"),
        ({"dataset": {"file": "x.csv", "lists": 3}}, "for samples"),
        ({"dataset": {"file": "x.csv", "features": "work"}}, "'features' is for samples"),
        ({"dataset": {"sample": "mslr", "columns": {"query": "q"}}}, "for a file"),
    ],
)
def test_what_a_sweep_must_not_say(changes, message):
    with pytest.raises(ConfigError, match=message):
        tiny(**changes)


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"max_step": 4}, "no setting 'max_step'.*Did you mean 'max_steps'"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"seed": 3}, "put it into 'seeds'"),
        ({"penalty": 3}, "put it into 'penalties'"),
    ],
)
def test_settings_that_no_method_knows(training, message):
    with pytest.raises(ConfigError, match=message):
        tiny(training=training).runs()


def test_reading_yaml(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "dataset: {sample: german-credit}\nmethods: [spofr]\ndeltas: [0, 0.1]\nseeds: 3\nclicks: 5000\ngroups: 2\n"
    )
    spec = SweepSpec.read(path)
    assert (spec.seeds, spec.clicks, spec.groups, spec.deltas) == ((0, 1, 2), (5000,), (2,), (0.0, 0.1))
    assert SweepSpec.from_dict(spec.to_dict()) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset: [", "is not YAML"),
        ("", "holds no settings"),
        ("- 1", "holds no settings"),
        ("dataset: {sample: mslr}\nsedes: 3", "no setting 'sedes'"),
        ("methods: [spofr]", "needs the setting 'dataset'"),
    ],
)
def test_yaml_that_is_no_sweep(tmp_path, text, message):
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        SweepSpec.read(path)


def test_yaml_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        SweepSpec.read(tmp_path / "none.yaml")
