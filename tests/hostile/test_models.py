"""Models and runs that are damaged, altered or made to harm: one sentence, and nothing outside the store is read."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from spofr_core import Fairness, PredictThenOptimize, load_model, load_sample
from spofr_core.errors import ConfigError, DataError, SpofrError
from spofr_core.experiments import RunStore, resolve_model
from spofr_core.learning.estimator import Estimator
from spofr_core.learning.model_files import HEADER_FILE, WEIGHTS_FILE


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    data = load_sample("hiring")
    model = PredictThenOptimize(Fairness(delta=0.1), max_steps=1, seed=0)
    model.fit(data.train[:20], data.validation[:20]).save(folder)
    return folder


def altered(whole: Path, target: Path, header: Callable[[dict[str, Any]], Any], arrays: Callable[[dict], dict]) -> Path:
    """A copy with another header and other weights, and a digest that is right again."""
    weights = save(arrays(load((whole / WEIGHTS_FILE).read_bytes())))
    content = json.loads((whole / HEADER_FILE).read_text())
    content["weights_sha256"] = hashlib.sha256(weights).hexdigest()
    target.mkdir()
    (target / WEIGHTS_FILE).write_bytes(weights)
    (target / HEADER_FILE).write_text(json.dumps(header(content)))
    return target


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda content: {key: value for key, value in content.items() if key != name}


def same(content: Any) -> Any:
    return content


FIELDS = (
    *("architecture", "feature_names", "constant_features", "group_names", "group_spec", "report", "fairness"),
    *("discount", "settings", "method", "format", "format_version", "weights_sha256"),
)


@pytest.mark.parametrize("field", FIELDS)
def test_a_header_without_a_field(whole: Path, tmp_path: Path, field: str) -> None:
    with pytest.raises(DataError):
        load_model(altered(whole, tmp_path / "m", without(field), same))


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, [[1]], {"a": {"b": 1}}, -1, 1e308])
@pytest.mark.parametrize("field", ["architecture", "feature_names", "settings", "fairness", "report", "group_names"])
def test_a_header_of_wrong_types(whole: Path, tmp_path: Path, field: str, value: Any) -> None:
    folder = altered(whole, tmp_path / "m", lambda content: content | {field: value}, same)
    unheard = field in ("report", "group_names") or (field, value) == ("settings", {})  # no score depends on it
    with suppress(SpofrError) if unheard else pytest.raises(DataError):
        load_model(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: {name: array.T.copy() for name, array in arrays.items()},
        lambda arrays: {name: array for name, array in arrays.items() if "scaler" not in name},
        lambda arrays: {name: array for name, array in arrays.items() if "scaler" in name},
        lambda arrays: {name: array[:1] for name, array in arrays.items()},
        lambda arrays: {name: np.zeros((2, 2, 2)) for name in arrays},
        lambda arrays: {f"x{name}": array for name, array in arrays.items()},
        lambda arrays: {},
    ],
)
def test_weights_of_another_shape(whole: Path, tmp_path: Path, change: Callable[[dict], dict]) -> None:
    with pytest.raises(DataError, match="damaged or was altered"):
        load_model(altered(whole, tmp_path / "m", same, change))


def test_an_architecture_that_would_fill_the_memory(whole: Path, tmp_path: Path) -> None:
    vast = {"n_features": 10**9, "widths": [10**9]}
    with pytest.raises(DataError, match="do not belong together"):
        load_model(altered(whole, tmp_path / "m", lambda content: content | {"architecture": vast}, same))
    wide = {
        "n_features": json.loads((whole / HEADER_FILE).read_text())["architecture"]["n_features"],
        "widths": [10**12],
    }
    with pytest.raises(DataError, match="should have weights of the shapes"):
        load_model(altered(whole, tmp_path / "n", lambda content: content | {"architecture": wide}, same))


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"format":' * 70 + "1" + "}" * 70, "9" * 5_000, "", "\x80\x04\x95", "null"]
)
def test_a_header_that_is_no_header(whole: Path, tmp_path: Path, text: str) -> None:
    shutil.copytree(whole, tmp_path / "m")
    (tmp_path / "m" / HEADER_FILE).write_text(text)
    with pytest.raises(DataError):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("content", ["{}", '{"data": 3}', '{"data": {}}', '{"data": {"sample": 3}, "seed": 0}'])
def test_an_old_run_file_that_says_nothing(whole: Path, tmp_path: Path, content: str) -> None:
    shutil.copytree(whole, tmp_path / "m")
    (tmp_path / "m" / "run.json").write_text(content)
    with pytest.raises((DataError, ConfigError)):
        resolve_model(tmp_path / "m")


@pytest.mark.parametrize("content", ["{}", "[]", '{"run": "a", "status": "done"}', "[" * 5_000])
def test_a_run_whose_status_is_damaged(tmp_path: Path, content: str) -> None:
    store = RunStore(tmp_path / "runs")
    folder = store.folder("abc")
    folder.mkdir(parents=True)
    (folder / "status.json").write_text(content)
    assert store.records() == []
    assert store.get("abc") is None
    with pytest.raises(DataError, match=r"status\.json is damaged"):
        resolve_model(folder)


def test_names_of_runs_lead_nowhere_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    told = {"run": "outside", "status": "done", "config": {}, "data": "x", "updated": 0.0}
    (outside / "status.json").write_text(json.dumps(told))
    store = RunStore(tmp_path / "store")
    (tmp_path / "store" / "runs").mkdir(exist_ok=True)
    for name in ("../../outside", str(outside), "..", ".", "", "a/../../../outside", "a\0", "..\\outside"):
        assert store.get(name) is None
        for look in (store.folder, store.model_folder, store.metrics, store.log, store.queries):
            with pytest.raises(ConfigError, match="is no name of a run"):
                look(name)


@pytest.mark.parametrize("error", [MemoryError(), ImportError("no lightgbm"), OSError("stale file handle")])
def test_what_is_not_the_files_fault_is_not_called_damage(
    whole: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(Estimator, "_read_learned", fails)
    with pytest.raises(type(error)):
        load_model(whole)


def test_a_header_of_another_format_whose_versions_are_no_names(whole: Path, tmp_path: Path) -> None:
    place = altered(whole, tmp_path / "m", lambda content: content | {"format_version": 9, "versions": [1]}, same)
    with pytest.raises(DataError, match=r"has format version 9, this package reads 1.*version unknown of the package"):
        load_model(place)


def test_two_features_of_one_name(whole: Path, tmp_path: Path) -> None:
    def twice(content: dict[str, Any]) -> dict[str, Any]:
        return content | {"feature_names": content["feature_names"][:1] * len(content["feature_names"])}

    with pytest.raises(DataError, match="have the same name"):
        load_model(altered(whole, tmp_path / "m", twice, same))


@pytest.mark.parametrize("name", [HEADER_FILE, WEIGHTS_FILE, "trees.txt"])
@pytest.mark.parametrize("kind", ["endless", "pipe", "itself"])
def test_what_is_no_file_is_never_opened(tmp_path: Path, name: str, kind: str) -> None:
    data, place = load_sample("hiring"), tmp_path / "m"
    model = PredictThenOptimize(Fairness(delta=0.1), scorer="trees", max_steps=1, seed=0)
    model.fit(data.train[:20], data.validation[:20]).save(place)
    (place / name).unlink()
    if kind == "pipe":
        os.mkfifo(place / name)
    else:
        (place / name).symlink_to("/dev/zero" if kind == "endless" else place / name)
    with pytest.raises(DataError, match=r"a device or a pipe, not a file|Too many levels of symbolic links"):
        load_model(place)
