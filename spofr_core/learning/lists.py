"""Lists of items as tensors: prepared once, cut into batches without a loop over queries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from spofr_core.data import RankingDataset
from spofr_core.data.ids import plain
from spofr_core.data.score_array import label_note
from spofr_core.errors import ConfigError, DataError
from spofr_core.fairness import Composition
from spofr_core.learning.scorers import Scorer
from spofr_core.learning.scorers.scaling import Scaler

IntArray = NDArray[np.int64]

_PADDING = -1e30
"""Score of an item that is not there: its softmax is 0, and 0 times its logarithm is still 0."""


def refuse_items(train: RankingDataset) -> None:
    """`ConfigError` for training data with each item on its own."""
    if train.each_item:
        raise ConfigError(
            "A model is trained with groups, which training and test lists share; an item on its own is in one list. "
            "Train with a group column, then ask for model.policies(data.with_each_item())."
        )


def training_parts(
    train: RankingDataset, validation: RankingDataset | None
) -> tuple[RankingDataset, RankingDataset | None, list[str]]:
    """Both parts with the larger of their two label shifts, so that a label means the same in both, and a note of it.

    All losses take the shifted labels. SPO+ and FULTR's policy gradient hang on differences within a list alone, and
    are the same as with the labels as they are.

    Raises
    ------
    ConfigError
        For training data with each item on its own.
    """
    refuse_items(train)
    shift = max(part.label_shift for part in (train, validation) if part is not None)
    if not shift:
        return train, validation, []
    other = None if validation is None else validation.replace(label_shift=shift)
    return train.replace(label_shift=shift), other, [label_note(shift)]


def _refuse_extreme_labels(labels: NDArray[np.float64], data: RankingDataset) -> None:
    """Labels are learned from in single precision, which knows nothing beyond this range but 0."""
    limits = np.finfo(np.float32)
    extreme = (labels > limits.max) | ((labels > 0) & (labels < limits.tiny))
    if extreme.any():
        row = int(np.argmax(extreme))
        query = plain(data.query_ids[int(np.searchsorted(data.offsets, row, side="right")) - 1])
        raise DataError(
            f"The relevance of query {query!r}, item {plain(data.item_ids[row])!r} is {labels[row]:g}; to be learned "
            f"from, labels must be 0 or lie from {limits.tiny:.2g} to {limits.max:.2g}: multiply all by a constant.",
            column="relevance",
        )


@dataclass(frozen=True, eq=False)
class Lists:
    """What a loss sees of a dataset. List q owns the rows `offsets[q]:offsets[q + 1]`.

    Attributes
    ----------
    table : (T, F) float32 tensor
        Scaled features; items that are the same person or page in several lists share a row.
    rows : (N,) int64 tensor
        Row of each item in the table.
    labels : (N,) float32 tensor
        Gains: relevance, or inverse-propensity labels, shifted so that none is below 0.
    codes : (N,) int32
        Group of each item, as in `RankingDataset.groups`.
    offsets : (Q + 1,) int64
    group_names : tuple of str
    weights : (Q,) float64
        How many times each list counts in a mean.
    label_shift : float
        What was added to every label; DCG is told without it.
    """

    table: torch.Tensor
    rows: torch.Tensor
    labels: torch.Tensor
    codes: NDArray[np.int32]
    offsets: IntArray
    group_names: tuple[str, ...]
    weights: NDArray[np.float64]
    label_shift: float = 0.0

    @classmethod
    def of(cls, data: RankingDataset, scaler: Scaler, columns: IntArray) -> Lists:
        """Scale the chosen feature columns of a dataset with labels."""
        if data.gains is None:
            raise DataError("Learning needs relevance labels; choose a relevance column.", column="relevance")
        table, rows = feature_table(data)
        _refuse_extreme_labels(data.gains, data)
        return cls(
            table=torch.from_numpy(scaler.transform(table if len(columns) == table.shape[1] else table[:, columns])),
            rows=torch.from_numpy(rows),
            labels=torch.from_numpy(data.gains.astype(np.float32)),
            codes=np.array(data.groups),
            offsets=np.array(data.offsets),
            group_names=data.group_names,
            weights=np.ones(len(data)),
            label_shift=data.label_shift,
        )

    def scores(self, scorer: Scorer) -> NDArray[np.float64]:
        """Scores of all items, flat; what lists share is computed once."""
        return np.asarray(scorer.scores(self.table.numpy())[self.rows.numpy()])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> IntArray:
        """Items of each list."""
        return np.diff(self.offsets)

    @cached_property
    def width(self) -> int | None:
        """The one length of all lists, or None if they differ."""
        first = int(self.lengths[0])
        return first if bool(np.all(self.lengths == first)) else None

    @cached_property
    def longest(self) -> int:
        """Items of the longest list."""
        return int(self.lengths.max())

    @cached_property
    def group_counts(self) -> IntArray:
        """(Q, G): items of each group in each list."""
        return self.composition.sizes

    @cached_property
    def composition(self) -> Composition:
        """Items of each group and of none in each list."""
        return Composition.of(self.codes, self.offsets, self.group_names)

    @cached_property
    def label_totals(self) -> NDArray[np.float64]:
        """(Q,): sum of the labels of each list."""
        return np.asarray(np.add.reduceat(self.labels.numpy(), self.offsets[:-1], dtype=np.float64))

    @cached_property
    def labels_differ(self) -> NDArray[np.bool_]:
        """(Q,): whether some items of a list are more relevant than others, so that one order is worth more."""
        labels, starts = self.labels.numpy(), self.offsets[:-1]
        return np.asarray(np.minimum.reduceat(labels, starts) < np.maximum.reduceat(labels, starts))

    def take(self, queries: IntArray) -> Lists:
        """These lists only, in this order."""
        rows, offsets = self._rows(queries)
        index = torch.from_numpy(rows)
        return Lists(
            table=self.table,
            rows=self.rows.index_select(0, index),
            labels=self.labels.index_select(0, index),
            codes=self.codes[rows],
            offsets=offsets,
            group_names=self.group_names,
            weights=self.weights[queries],
            label_shift=self.label_shift,
        )

    def _rows(self, queries: IntArray) -> tuple[IntArray, IntArray]:
        lengths = self.lengths[queries]
        offsets = np.zeros(len(queries) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        shift = np.repeat(self.offsets[queries] - offsets[:-1], lengths)
        return np.arange(offsets[-1], dtype=np.int64) + shift, offsets

    def batches(self, order: IntArray, size: int) -> Iterator[Batch]:
        """The lists in this order, `size` at a time; the last batch may be smaller."""
        for start in range(0, len(order), size):
            yield self.batch(order[start : start + size])

    def batch(self, queries: IntArray) -> Batch:
        """One batch, gathered without a loop over its lists."""
        if self.width is not None:
            index = torch.from_numpy(queries)
            rows = self.rows.view(-1, self.width).index_select(0, index).view(-1)
            labels = self.labels.view(-1, self.width).index_select(0, index).view(-1)
            offsets = np.arange(0, (len(queries) + 1) * self.width, self.width, dtype=np.int64)
        else:
            chosen, offsets = self._rows(queries)
            flat = torch.from_numpy(chosen)
            rows, labels = self.rows.index_select(0, flat), self.labels.index_select(0, flat)
        return Batch(queries, self.table, rows, labels, offsets, self.width)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some lists, flat: list b of the batch is `offsets[b]:offsets[b + 1]`, and list `queries[b]` of its `Lists`."""

    queries: IntArray
    table: torch.Tensor
    rows: torch.Tensor
    labels: torch.Tensor
    offsets: IntArray
    width: int | None

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def features(self) -> torch.Tensor:
        """(N, F): of each item; those who share a row of the table have copies of it."""
        return self.table.index_select(0, self.rows)

    @cached_property
    def _places(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Row of each cell of the padded matrix, and whether the cell holds an item."""
        lengths = np.diff(self.offsets)
        column = np.arange(int(lengths.max()), dtype=np.int64)[None, :]
        real = column < lengths[:, None]
        rows = np.where(real, self.offsets[:-1, None] + column, 0)
        return torch.from_numpy(rows), torch.from_numpy(real)

    @property
    def real(self) -> torch.Tensor | None:
        """(B, n) mask of the cells that hold an item; None if all do."""
        return None if self.width is not None else self._places[1]

    def matrix(self, flat: torch.Tensor, padding: float = 0.0) -> torch.Tensor:
        """A flat tensor as (B, n_max); lists of one length need no copy."""
        if self.width is not None:
            return flat.view(len(self), self.width)
        rows, real = self._places
        return torch.where(real, flat[rows], torch.full((), padding, dtype=flat.dtype))

    def score_matrix(self, scores: torch.Tensor) -> torch.Tensor:
        """Scores as (B, n_max), so low where no item is that a softmax does not see it."""
        return self.matrix(scores, _PADDING)

    def flat(self, matrix: torch.Tensor) -> torch.Tensor:
        """The inverse of `matrix`."""
        return matrix.reshape(-1) if self.width is not None else matrix[self._places[1]]


def repeats(lists: Lists) -> IntArray:
    """(Q,): the same number for lists with the same items and groups in the same order, whatever their labels."""
    seen: dict[bytes, int] = {}
    known: dict[bytes, int] = {}
    table = np.ascontiguousarray(lists.table.numpy())
    content_of_row = [known.setdefault(hashlib.blake2b(row.data).digest(), len(known)) for row in table]
    items = np.array(content_of_row, dtype=np.int64)[lists.rows.numpy()]
    owner = np.empty(len(lists), dtype=np.int64)
    for q, (start, end) in enumerate(zip(lists.offsets[:-1], lists.offsets[1:], strict=True)):
        content = items[start:end].tobytes() + lists.codes[start:end].tobytes()
        owner[q] = seen.setdefault(content, len(seen))
    return owner


def merge_repeats(lists: Lists) -> Lists:
    """Keep one copy of lists that are the same but for their labels, which are averaged; `weights` counts the copies.

    A utility that is linear in the labels has the same mean over the merged lists as over the original ones. Logs of
    clicks show the same list many times, so this makes their validation several times cheaper.
    """
    owner = repeats(lists)
    copies = np.bincount(owner).astype(np.float64)
    if len(copies) == len(lists):
        return lists
    merged = lists.take(np.unique(owner, return_index=True)[1].astype(np.int64))
    place = np.arange(lists.offsets[-1]) - np.repeat(lists.offsets[:-1], lists.lengths)
    target = merged.offsets[np.repeat(owner, lists.lengths)] + place
    total = np.bincount(target, weights=lists.labels.numpy(), minlength=int(merged.offsets[-1]))
    labels = torch.from_numpy((total / np.repeat(copies, merged.lengths)).astype(np.float32))
    return replace(merged, labels=labels, weights=copies)


def feature_table(data: RankingDataset) -> tuple[NDArray[np.float64], IntArray]:
    """Distinct feature rows of a dataset, as far as it knows them, and the row of each item."""
    shared = data.shared_features
    if shared is not None:
        used, rows = _renumbered(shared.rows, len(shared.table))
        return shared.table[used], rows
    if data.features is None:
        raise DataError("The data has no features: map feature columns to learn or apply a scorer.", column="features")
    return data.features, np.arange(data.n_items, dtype=np.int64)


def _renumbered(rows: IntArray, n_rows: int) -> tuple[IntArray, IntArray]:
    """The rows in use, ascending, and the place of each item's row among them: `np.unique` without its sort."""
    in_use = np.zeros(n_rows, dtype=bool)
    in_use[rows] = True
    return np.flatnonzero(in_use), (np.cumsum(in_use) - 1)[rows]
