"""A trained model by a name for it: a directory of a model, a run, a store with one run, or a run of the home store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spofr_core.data import SAMPLES, RankingDataset
from spofr_core.errors import ConfigError, DataError, first_line
from spofr_core.experiments.run_data import load_splits
from spofr_core.experiments.runs.home import home, shared_runs
from spofr_core.experiments.runs.record import RunRecord, is_record
from spofr_core.experiments.runs.store import RunStore
from spofr_core.experiments.sweep_spec import DatasetSpec, RunConfig
from spofr_core.files import read_json
from spofr_core.learning import Estimator, load_model

MODEL_FILE, STATUS_FILE, STORE_FILE = "model.json", "status.json", "store.json"
OLD_RUN_FILE = "run.json"
"""Beside a model that `spofr train` wrote before it wrote runs: the options of its data, clicks and seed."""
_OLD_OPTIONS = {"quantiles": "group_quantiles", "against_rest": "group_against_rest"}


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model, and what it was trained on where that is known."""

    estimator: Estimator
    folder: Path
    config: RunConfig | None

    def test_data(self) -> RankingDataset:
        """The test part of the data that it was trained beside.

        Raises
        ------
        DataError
            When nothing says which data that is.
        """
        if self.config is None:
            raise DataError(
                f"{self.folder / OLD_RUN_FILE} is missing, so the data of this model is unknown; name a FILE or "
                "--sample."
            )
        return load_splits(self.config).test


def resolve_model(path: str | Path) -> TrainedModel:
    """The model that a path or a name stands for.

    Parameters
    ----------
    path : str or path
        A saved model's directory, a run's folder, a store in which one run is done, or the name (or its beginning) of
        a run in the home store.

    Raises
    ------
    ConfigError
        When a store holds no run that is done, or several.
    DataError
        When there is nothing of the kind.
    """
    place = Path(path)
    if (place / MODEL_FILE).exists():
        return _saved_model(place)
    if (place / STATUS_FILE).exists():
        return _run_model(place)
    if (place / STORE_FILE).exists():
        store = RunStore(place, create=False)
        return _run_model(store.folder(_only_run(store)))
    shared = shared_runs(home())
    if not place.exists() and (shared / STORE_FILE).exists():
        store = RunStore(shared, create=False)
        if any(record.run.startswith(str(path)) for record in store.records()):
            return _run_model(store.folder(store.find(str(path)).run))
    raise DataError(
        f"There is no model {str(path)!r}: give the directory of a saved model, the folder of a run, a store of runs "
        f"with one in it, or the name of a run in {str(shared)!r}."
    )


def with_estimates(model: Estimator, data: RankingDataset) -> RankingDataset:
    """The data with what the model ranks by as its score: repaired, they give the very policies of the model.

    A model that solves the programme gives it calibrated estimates, which are not the raw scores of its network.
    """
    return data.replace(score=model.estimates(data), ranks=False)


def _saved_model(folder: Path) -> TrainedModel:
    if (folder.parent / STATUS_FILE).exists():
        return _run_model(folder.parent)
    old = read_json(folder / OLD_RUN_FILE)
    try:
        config = None if old is None else _old_config(old)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{folder / OLD_RUN_FILE} does not say which data the model was trained on ({first_line(error)}); delete "
            "it, and name a FILE or --sample."
        ) from error
    return TrainedModel(load_model(folder), folder, config)


def _run_model(folder: Path) -> TrainedModel:
    content = read_json(folder / STATUS_FILE)
    if not is_record(content):
        raise DataError(f"{folder / STATUS_FILE} is damaged, so nothing is known of the run: train it again.")
    record = RunRecord(content)
    if record.status != "done":
        raise ConfigError(f"Run {record.run} has no model yet: it is {record.status}.")
    return TrainedModel(load_model(folder / "model"), folder, record.config)


def _only_run(store: RunStore) -> str:
    done = [record for record in store.records() if record.status == "done"]
    if len(done) == 1:
        return done[0].run
    if not done:
        raise ConfigError(f"No run in {str(store.root)!r} is done; see `spofr runs list {store.root}`.")
    names = "; ".join(f"{record.run} ({record.config.title})" for record in done[:10])
    more = f"; and {len(done) - 10} more" if len(done) > 10 else ""
    raise ConfigError(
        f"{len(done)} runs are done in {str(store.root)!r}; name the folder of one, below runs/: {names}{more}."
    )


def _old_config(run: dict[str, Any]) -> RunConfig:
    """As much of a configuration as the data of an old model needs."""
    options = dict(run["data"])
    sample, groups = options.pop("sample", None), options.pop("groups", None)
    if sample is not None:
        return _data_only(DatasetSpec(sample=sample), run["seed"], SAMPLES[sample].groups_of(groups and str(groups)))
    file = options.pop("file")
    columns = {_OLD_OPTIONS.get(name, name): value for name, value in options.items()}
    if isinstance(columns.get("group"), list) and len(columns["group"]) == 1:
        columns["group"] = columns["group"][0]
    return _data_only(DatasetSpec(file=file, columns=columns), run["seed"])


def _data_only(dataset: DatasetSpec, seed: int, groups: Any = None) -> RunConfig:
    return RunConfig(dataset=dataset, method="uniform", groups=groups, data_seed=seed)
