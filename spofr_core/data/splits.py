"""`Splits`: a dataset in three parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from spofr_core.config import checked_seed
from spofr_core.data.dataset import FloatArray, RankingDataset
from spofr_core.errors import DataError


@dataclass(frozen=True, eq=False)
class Splits:
    """The three parts of a dataset; they share no query (the bundled ones share no person or page either).

    `sources` is of how many people or queries the lists of each part were drawn; None where no list was drawn.
    """

    train: RankingDataset
    validation: RankingDataset
    test: RankingDataset
    sources: tuple[int, int, int] | None = None

    def standardized(self) -> Splits:
        """Features less their mean, over their standard deviation: those of the training part, for all parts."""
        center, spread = _standardizer(self.train)

        def scaled(part: RankingDataset) -> RankingDataset:
            return part if part.features is None else part.replace(features=(part.features - center) / spread)

        return self.map(scaled)

    def map(self, change: Callable[[RankingDataset], RankingDataset]) -> Splits:
        """The same change made to each part."""
        return replace(self, train=change(self.train), validation=change(self.validation), test=change(self.test))

    def __repr__(self) -> str:
        parts = (f"{name}={getattr(self, name)!r}" for name in ("train", "validation", "test"))
        return "Splits(" + ",\n       ".join(parts) + ")"


def split(data: RankingDataset, *, train: float, validation: float, seed: int) -> Splits:
    """See `RankingDataset.split`."""
    if train <= 0 or validation < 0 or train + validation > 1 + 1e-12:
        raise DataError(
            f"Shares train={train} and validation={validation} cannot be: train must be above 0, "
            "validation 0 or more, and their sum at most 1."
        )
    order = np.random.default_rng(checked_seed(seed)).permutation(len(data))
    first = round(train * len(data))
    second = round((train + validation) * len(data))
    wanted = (True, validation > 0, train + validation < 1 - 1e-12)
    parts = [np.sort(order[a:b]) for a, b in ((0, first), (first, second), (second, len(data)))]
    if any(need and not len(part) for need, part in zip(wanted, parts, strict=True)):
        raise DataError(
            f"{len(data)} {'query is' if len(data) == 1 else 'queries are'} too few for shares train={train}, "
            f"validation={validation}: "
            "a part would be empty. Give more queries, or, in Python, other shares."
        )
    return Splits(train=data[parts[0]], validation=data[parts[1]], test=data[parts[2]])


def _standardizer(train: RankingDataset) -> tuple[FloatArray, FloatArray]:
    if train.features is None:
        raise DataError("There are no features to standardise.", column="features")
    spread = train.features.std(axis=0)
    return train.features.mean(axis=0), np.where(spread > 0, spread, 1.0)
