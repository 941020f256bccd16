"""Saved models: the same scores and policies afterwards, and clear words when a file is not what it should be."""

import json

import numpy as np
import onnxruntime
import pytest

from spofr_core.errors import DataError
from spofr_core.fairness import Fairness
from spofr_core.learning import METHODS, SPOFR, PredictThenOptimize, export_onnx, load_model, make_estimator
from tests.learning.toy import toy_data

QUICK = {"max_steps": 20, "validate_every": 5, "batch_size": 8}


@pytest.fixture(scope="module")
def data():
    return toy_data(20, n_groups=3)


@pytest.fixture
def saved(data, tmp_path):
    model = PredictThenOptimize(Fairness(delta=0.02), **QUICK).fit(data)
    model.save(tmp_path / "model")
    return model, tmp_path / "model"


@pytest.mark.parametrize("method", METHODS)
def test_a_saved_model_is_the_same_model(method, data, tmp_path):
    fairness = Fairness(delta={"a": 0.01, "b": 0.02, "c": 0.5}, position_bias=np.linspace(1, 0.1, 9))
    model = make_estimator(method, fairness, hidden=(6, 4), **QUICK).fit(data)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert type(again) is type(model)
    assert again.to_config() == model.to_config()
    np.testing.assert_array_equal(again.scores(data), model.scores(data))
    vector = np.linspace(1, 0, 9)
    np.testing.assert_array_equal(again.policies(data).expectation(vector), model.policies(data).expectation(vector))
    assert again.report == model.report
    assert sorted(p.name for p in (tmp_path / "m").iterdir()) == ["model.json", "model.safetensors", "model_card.md"]


def test_the_header_tells_what_is_needed(saved, data):
    model, place = saved
    header = json.loads((place / "model.json").read_text())
    assert header["feature_names"] == list(data.feature_names)
    assert header["group_names"] == ["a", "b", "c"]
    assert header["fairness"]["delta"] == 0.02
    assert header["report"]["data"]["train"] == data.fingerprint
    assert header["versions"]["torch"]
    assert header["report"]["best"]["validation_dcg"] == model.report.best["validation_dcg"]


def test_columns_are_found_by_name(saved, data):
    model, _ = saved
    order = [3, 1, 4, 0, 2]
    shuffled = data.replace(features=data.features[:, order], feature_names=tuple(data.feature_names[k] for k in order))
    np.testing.assert_array_equal(model.scores(shuffled), model.scores(data))


def test_other_features_are_refused(saved, data):
    model, _ = saved
    renamed = data.replace(feature_names=("x0", "x1", "income", "x3", "x4"))
    with pytest.raises(DataError, match=r"1 of them are missing here, first 'x2'.*'income'"):
        model.scores(renamed)


def test_a_truncated_file_is_refused(saved):
    _, place = saved
    weights = (place / "model.safetensors").read_bytes()
    (place / "model.safetensors").write_bytes(weights[:-10])
    with pytest.raises(DataError, match="truncated or was replaced"):
        load_model(place)
    (place / "model.safetensors").unlink()
    with pytest.raises(DataError, match="cannot be read"):
        load_model(place)


def test_a_truncated_header_is_refused(saved):
    _, place = saved
    text = (place / "model.json").read_text()
    (place / "model.json").write_text(text[: len(text) // 2])
    with pytest.raises(DataError, match="not valid JSON"):
        load_model(place)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format_version": 2}, "format version 2, this package reads 1"),
        ({"format": "other"}, "does not describe a model"),
        ({"method": "magic"}, "unknown method 'magic'"),
    ],
)
def test_another_version_is_refused(saved, change, words):
    _, place = saved
    header = json.loads((place / "model.json").read_text())
    (place / "model.json").write_text(json.dumps(header | change))
    with pytest.raises(DataError, match=words):
        load_model(place)


def test_a_model_of_another_method_is_refused(saved, tmp_path):
    _, place = saved
    with pytest.raises(DataError, match="method 'pto', not 'spofr'"):
        SPOFR.load(place)
    with pytest.raises(DataError, match="There is no model in"):
        SPOFR.load(tmp_path / "nowhere")


@pytest.mark.parametrize("hidden", [(), (8,), (7, 3)])
def test_onnx_gives_the_same_scores(hidden, data, tmp_path):
    model = PredictThenOptimize(Fairness(delta=0.02), hidden=hidden, exclude_features=("x1",), **QUICK).fit(data)
    export_onnx(model, tmp_path / "scorer.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "scorer.onnx", providers=["CPUExecutionProvider"])
    columns = [data.feature_names.index(name) for name in model.learned.feature_names]
    (scores,) = session.run(None, {"features": data.features[:, columns] * 50.0})
    wild = data.replace(features=data.features * 50.0)
    np.testing.assert_allclose(scores, model.scores(wild), atol=1e-5)
    assert session.get_modelmeta().custom_metadata_map["features"].split("\n") == list(model.learned.feature_names)
