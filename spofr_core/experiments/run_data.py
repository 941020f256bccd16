"""The data of a run: loaded once where it is asked for, clicks drawn where it is learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from cachetools import LRUCache

from spofr_core.data import RankingDataset, Splits, fit_logging_ranker, load_sample, read_dataset, simulate_clicks
from spofr_core.errors import DataError
from spofr_core.experiments.sweep_spec import RunConfig, digest_of

VALIDATION_CLICKS = 5_000
"""Clicks to validate with at most; more of them do not change which weights are the best."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What a run learns from, stops by and is measured on."""

    train: RankingDataset
    validation: RankingDataset
    test: RankingDataset


def load_splits(config: RunConfig) -> Splits:
    """Full-information data of a run: its sample, or its file split by query.

    Raises
    ------
    DataError
        When a file has no features or no relevance to learn from.
    """
    source, groups = config.dataset, config.groups
    if source.sample is not None:
        names = ("lists", "test_lists", "folder", "features")
        options: dict[str, Any] = {name: getattr(source, name) for name in names if getattr(source, name) is not None}
        chosen = list(groups) if isinstance(groups, tuple) else groups
        return load_sample(source.sample, groups=chosen, seed=config.data_seed, **options)
    columns = {"features": "auto", **source.columns}
    if isinstance(groups, int):
        columns["group_quantiles"] = groups
    elif groups is not None:
        columns["group"] = list(groups) if isinstance(groups, tuple) else groups
    data = read_dataset(str(source.file), **columns)
    for name in ("features", "relevance"):
        if getattr(data, name) is None:
            why = next((f" {note}" for note in data.notes if name in note), "")
            raise DataError(
                f"{source.label!r} has no {name} to learn from.{why}",
                column=name,
                mend=f"Name its column: in a sweep under 'columns', in a shell with --{name} '...'.",
                on_page="Choose its column.",
            )
    return data.split(seed=config.data_seed)


def fingerprint(splits: Splits) -> str:
    """Hash of the three parts."""
    return digest_of([part.fingerprint for part in (splits.train, splits.validation, splits.test)])


def training_data(config: RunConfig, splits: Splits) -> TrainingData:
    """What the run sees: true labels, or clicks on the training and validation parts; the test part is as it is.

    The ranker that logs both is trained on the labels of a few training queries. The validation part has its own
    clicks, as many as the training part, up to `VALIDATION_CLICKS`.
    """
    if config.clicks is None:
        return TrainingData(splits.train, splits.validation, splits.test)
    asked = (config.clicks, config.click_noise, config.seed)
    before, data = _LAST_CLICKS.get(splits, (None, None))
    if data is None or before != asked:
        data = TrainingData(*_clicks(splits, *asked), splits.test)
        _LAST_CLICKS[splits] = asked, data
    return data


def _clicks(splits: Splits, count: int, noise: float, seed: int) -> tuple[RankingDataset, RankingDataset]:
    ranker = fit_logging_ranker(splits.train, seed=seed)
    seeds = np.random.SeedSequence(seed).generate_state(2).tolist()
    parts = (splits.train, count), (splits.validation, min(count, VALIDATION_CLICKS))
    train, validation = (
        simulate_clicks(part, clicks, epsilon_minus=noise, logging=ranker, seed=part_seed)
        for (part, clicks), part_seed in zip(parts, seeds, strict=True)
    )
    return train, validation


_LAST_CLICKS: WeakKeyDictionary[Splits, tuple[tuple[int, float, int], TrainingData]] = WeakKeyDictionary()
"""What was drawn last from data that is still in use. Runs beside each other often differ in delta or method alone, and
a hundred thousand clicks take longer to draw and to hash (the fingerprint in a model's report) than to learn from."""


class DataShelf:
    """Loaded data by key, the least recently used forgotten first.

    Parameters
    ----------
    configs : iterable of RunConfig
        Runs whose data may be asked for.
    size : int
        Data sets kept in memory.
    """

    def __init__(self, configs: tuple[RunConfig, ...], size: int = 2) -> None:
        self._config_of = {config.data_key: config for config in configs}
        self._kept: LRUCache[str, Splits] = LRUCache(size)
        self._fingerprints: dict[str, str] = {}

    def splits(self, key: str) -> Splits:
        """The data of this key."""
        if key not in self._kept:
            self._kept[key] = load_splits(self._config_of[key])
        return self._kept[key]

    def fingerprint(self, key: str) -> str:
        """Hash of the data of this key."""
        if key not in self._fingerprints:
            self._fingerprints[key] = fingerprint(self.splits(key))
        return self._fingerprints[key]


def trimmed(config: RunConfig, **changes: Any) -> RunConfig:
    """The same run with some settings of the method changed."""
    return RunConfig(**{**_fields(config), "settings": {**config.settings, **changes}})


def _fields(config: RunConfig) -> dict[str, Any]:
    return {name: getattr(config, name) for name in type(config).model_fields}
