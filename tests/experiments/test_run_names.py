"""Names of runs are for ever: settings that came later, or were renamed, change none of them."""

import json
import zipfile
from pathlib import Path

import pytest

from spofr_core.experiments import RunConfig, SweepSpec
from spofr_core.fairness import Quota
from spofr_core.learning import load_model

BUNDLED = sorted((Path(__file__).resolve().parents[2] / "sample_data" / "sweep").glob("*.zip"))


def configs(archive: Path) -> dict[str, dict]:
    with zipfile.ZipFile(archive) as file:
        return {name.split("/")[0]: json.loads(file.read(name)) for name in file.namelist() if "config.json" in name}


@pytest.mark.parametrize("archive", BUNDLED, ids=lambda path: path.stem)
def test_bundled_runs_keep_their_names(archive):
    stored = configs(archive)
    assert len(stored) > 5
    for run, config in stored.items():
        assert RunConfig.from_dict(config).run == run
    spec = SweepSpec.read(archive.with_suffix(".yaml"))
    assert {config.run for config in spec.runs()} == set(stored)


@pytest.mark.parametrize("archive", BUNDLED, ids=lambda path: path.stem)
def test_bundled_models_are_still_read(archive, tmp_path):
    with zipfile.ZipFile(archive) as file:
        file.extractall(tmp_path, [name for name in file.namelist() if "/model/" in name])
    for folder in sorted(tmp_path.iterdir()):
        model = load_model(folder / "model")
        assert model.settings.scorer == "network" or archive.stem == "income"
        assert all(array.size for array in model.learned.scorer.arrays().values())


def config(settings):
    return RunConfig(dataset={"sample": "german-credit"}, method="pto", delta=0.1, settings=settings)


def test_the_loss_goes_by_its_old_name_in_names_only():
    """The hash was computed when `scorer` was the name of the loss."""
    before = config({"scorer": "logistic"})
    assert before.run == "96f240770d68be70"
    assert before.settings == {"loss": "logistic"}
    assert config({"loss": "logistic", "scorer": "network"}).run == before.run
    assert config({"loss": "listnet"}).run != before.run
    assert config({"loss": "logistic", "scorer": "trees"}).run != before.run


def test_an_older_sweep_is_the_same_sweep():
    def runs(settings):
        spec = {"dataset": {"sample": "german-credit"}, "methods": ["pto", "unfair"], "deltas": [0.1]}
        return [config.run for config in SweepSpec.from_dict(spec | {"training": settings}).runs()]

    assert runs({"scorer": "logistic"}) == runs({"loss": "logistic"})
    assert runs({}) == runs({"scorer": "listnet"}) == runs({"scorer": "network"})


def test_a_change_of_the_default_renames_no_run_that_was_written_out():
    """The hash was computed when SPOFR's loss was Fenchel-Young unless another was named."""
    spec = {"dataset": {"sample": "german-credit", "lists": 200, "test_lists": 200}, "methods": ["spofr"], "seeds": [2]}
    before = {"loss": "fenchel-young", "warm_up": None, "margin": None}
    (same,) = SweepSpec.from_dict(spec | {"deltas": [0.01], "method_settings": {"spofr": before}}).runs()
    written = same.to_dict()
    del written["settings"]["mix"]  # there was no such setting
    then = RunConfig.from_dict(written)
    assert then.run == "34a4d848329e3a70"
    assert then.settings["mix"] == 0.0
    (now,) = SweepSpec.from_dict(spec | {"deltas": [0.01]}).runs()
    assert [now.settings[name] for name in ("loss", "warm_up", "margin", "mix")] == ["spo+", "listnet", None, None]
    assert len({now.run, then.run, same.run}) == 3


def test_a_quota_is_part_of_a_name_and_its_absence_is_not():
    plain = SweepSpec.from_dict({"dataset": {"sample": "german-credit"}, "methods": ["pto"], "deltas": [0.05]})
    quota = {"slack": 1, "top": 10}
    asked = SweepSpec.from_dict(plain.to_dict() | {"every_ranking": quota})
    (before,), (after,) = plain.runs(), asked.runs()
    assert "every_ranking" not in before.to_dict()
    assert after.to_dict()["every_ranking"] == quota
    assert before.run != after.run
    assert RunConfig.from_dict(json.loads(json.dumps(after.to_dict()))).every_ranking == Quota(**quota)
    assert "at most 1 from its share in every prefix of the top 10" in after.title
    assert "share" not in before.title
