"""`RankingDataset`: queries with their lists of items, as flat arrays with offsets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spofr_core.data.groups.labels import NO_GROUP, UNKNOWN, MissingLabels, codes_of_labels, label_array
from spofr_core.data.ids import plain
from spofr_core.data.query_attributes import as_attributes, as_times, at_queries, query_mask
from spofr_core.data.rows import Origin, all_finite, content_bytes, positions_of, read_only_view, rows_of
from spofr_core.data.score_array import in_order_of, label_note, scores_of, shift_of_labels
from spofr_core.data.shared_features import FeaturesField, SharedFeatures
from spofr_core.errors import DataError
from spofr_core.read_only import read_only
from spofr_core.sizes import check_label_sizes

if TYPE_CHECKING:
    import pandas as pd

    from spofr_core.data.group_spec import GroupSpec
    from spofr_core.data.splits import Splits

FloatArray = npt.NDArray[np.float64]

_CONTENT = ("item_ids", "groups", "relevance", "score", "features", "clicks", "positions", "propensities")
_PER_ITEM = (*_CONTENT, "rows")


@dataclass(frozen=True, eq=False, kw_only=True)
class RankingDataset:
    """Lists of items, one per query, with groups and whatever else is known about the items.

    Immutable: the arrays are read-only, and every change gives a new dataset. Query q owns the rows
    ``offsets[q]:offsets[q + 1]`` of all arrays with one entry per item.

    Parameters
    ----------
    query_ids : array of shape (Q,)
        Ids as given: strings stay strings, integers stay integers.
    offsets : array of shape (Q + 1,)
        First row of each query, and the number of rows at the end.
    item_ids : array of shape (N,)
        Ids as given.
    groups : array of shape (N,)
        Code of each item's group: an index into `group_names`, or `UNKNOWN` or `NO_GROUP`. Items of the latter two
        keep their places and have no bound.
    group_names : tuple of str
        Names of the groups. A name may have no item here (in a slice, for example).
    relevance : array of shape (N,), optional
        Labels: any finite numbers. In a click dataset: the inverse-propensity labels.
    score : array of shape (N,), optional
        What the items are ranked by, higher is better. Ranks are kept here with their sign changed; `ranks` says so.
    features : array of shape (N, F), optional
        Inputs of a learned scorer. Features that many lists share may be given as `SharedFeatures`; they are copied
        to one row per item only when this attribute is read (see `shared_features`).
    feature_names : tuple of str
        One name per feature.
    clicks, positions, propensities : array of shape (N,), optional
        Of logged lists: clicked or not, the position shown (1 is the top), the probability of being examined.
    notes : tuple of str
        What the reader wants known: guesses, ties, clipping, lonely groups. A slice keeps them.
    excluded : mapping of str to int
        How much was left out when the data came in, by reason. A slice keeps it.
    group_spec : GroupSpec, optional
        How the groups were made, with the thresholds and names found: read a test part with it.
    attributes : mapping of str to array of shape (Q,)
        What is known of the queries, such as country or device, to slice by: kept as text, "(missing)" where unknown.
    times : array of shape (Q,), optional
        When each query was asked, in UTC; NaT where unknown.
    ranks : bool
        Whether `score` is made of ranks, and so says an order and no distances.
    label_shift : float
        What `gains` adds to every label: at least so much that none is below 0. A slice keeps it.
    rows : array of shape (N,), optional
        Row of the file or frame that each item was read from, counted from 0; None where nothing was read. With it,
        ``frame.iloc[data.rows]`` and ``array_of_all_rows[data.rows]`` have the order of the dataset.
    origin : Origin, optional
        Where these rows were read: the columns of the ids, and the index of the frame.
    """

    query_ids: npt.NDArray[Any]
    offsets: npt.NDArray[np.int64]
    item_ids: npt.NDArray[Any]
    groups: npt.NDArray[np.int32]
    group_names: tuple[str, ...]
    relevance: FloatArray | None = None
    score: FloatArray | None = None
    features: FeaturesField = FeaturesField()  # noqa: RUF009  # a descriptor: reads as FloatArray or None
    feature_names: tuple[str, ...] = ()
    clicks: FloatArray | None = None
    positions: npt.NDArray[np.int64] | None = None
    propensities: FloatArray | None = None
    notes: tuple[str, ...] = ()
    excluded: Mapping[str, int] = field(default_factory=dict)
    group_spec: GroupSpec | None = None
    attributes: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    times: npt.NDArray[np.datetime64] | None = None
    ranks: bool = False
    label_shift: float = 0.0
    rows: npt.NDArray[np.int64] | None = None
    origin: Origin | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "query_ids", read_only_view(self.query_ids, None))
        put(self, "offsets", read_only_view(self.offsets, np.int64))
        put(self, "item_ids", read_only_view(self.item_ids, None))
        put(self, "groups", read_only_view(self.groups, np.int32))
        put(self, "positions", read_only_view(self.positions, np.int64))
        put(self, "rows", read_only_view(self.rows, np.int64))
        for name in ("relevance", "score", "clicks", "propensities"):
            put(self, name, read_only_view(getattr(self, name), np.float64))
        if self.shared_features is None:
            put(self, "features", read_only_view(self.features, np.float64))
        put(self, "group_names", tuple(str(name) for name in self.group_names))
        put(self, "feature_names", self._checked_feature_names())
        put(self, "notes", tuple(self.notes))
        put(self, "excluded", read_only(self.excluded))
        put(self, "attributes", as_attributes(self.attributes, len(self.query_ids)))
        put(self, "times", as_times(self.times, len(self.query_ids)))
        self._check()

    def _checked_feature_names(self) -> tuple[str, ...]:
        width = 0 if self._stored("features") is None else self._stored("features").shape[-1]
        names = tuple(self.feature_names) or tuple(str(k) for k in range(1, width + 1))
        if len(names) != width:
            raise DataError(f"There are {len(names)} feature names for {width} features: give one name per feature.")
        return names

    def _check(self) -> None:
        """Shapes and ranges; everything here is cheap."""
        if self.query_ids.ndim != 1 or self.offsets.shape != (len(self.query_ids) + 1,):
            raise DataError(
                f"'offsets' has shape {self.offsets.shape} for {len(self.query_ids)} queries: "
                "it needs one entry per query and the number of rows at the end."
            )
        if self.offsets[0] != 0 or np.any(np.diff(self.offsets) < 1):
            raise DataError("'offsets' must start at 0 and increase: every query has at least one item.")
        rows = int(self.offsets[-1])
        for name in _PER_ITEM:
            array = self._stored(name)
            if array is not None and (array.shape[0] != rows or len(array.shape) != (2 if name == "features" else 1)):
                raise DataError(f"{name!r} has shape {array.shape}, but 'offsets' ends at {rows} rows.", column=name)
        if len(set(self.group_names)) != len(self.group_names):
            raise DataError(f"Group names must differ from each other, got {list(self.group_names)}.")
        if rows and (self.groups.min() < NO_GROUP or self.groups.max() >= len(self.group_names)):
            raise DataError(
                f"Group codes run from {self.groups.min()} to {self.groups.max()}, "
                f"but there are {len(self.group_names)} group names; {UNKNOWN} is an item whose group is unknown, "
                f"{NO_GROUP} one of no group.",
                column="groups",
            )
        for name in ("relevance", "score", "features", "clicks", "propensities"):
            if not isinstance(self._stored(name), SharedFeatures):
                self._check_finite(name)
        check_label_sizes(self.relevance, self.offsets, lambda query: plain(self.query_ids[query]))
        object.__setattr__(self, "label_shift", shift_of_labels(self.relevance, self.label_shift))
        if self.label_shift and label_note(self.label_shift) not in self.notes:
            object.__setattr__(self, "notes", (*self.notes, label_note(self.label_shift)))
        self._check_sign("positions", minimum=1, allowed="1 (the top) or more")
        if self.propensities is not None and rows:
            self._check_sign("propensities", minimum=np.finfo(float).tiny, allowed="above 0")

    def _check_finite(self, name: str) -> None:
        array = getattr(self, name)
        if array is None or all_finite(array):
            return
        bad = np.argwhere(~np.isfinite(array))
        row = int(bad[0, 0])
        raise DataError(
            f"'{name}' holds {array[tuple(bad[0])]} at {self._place(row)}: only finite numbers can be used.",
            column=name,
            row=row + 1,
        )

    def _check_sign(self, name: str, *, minimum: float, allowed: str) -> None:
        array = getattr(self, name)
        if array is None or array.size == 0 or array.min() >= minimum:
            return
        row = int(np.argmax(array < minimum))
        raise DataError(
            f"'{name}' is {array[row]} at {self._place(row)}: it must be {allowed}.", column=name, row=row + 1
        )

    def _place(self, row: int) -> str:
        query = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return f"query {plain(self.query_ids[query])!r}, item {plain(self.item_ids[row])!r}"

    # -- sizes ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of queries."""
        return len(self.query_ids)

    @property
    def n_items(self) -> int:
        """Number of rows: items summed over the lists."""
        return int(self.offsets[-1])

    @property
    def n_groups(self) -> int:
        """Number of group names."""
        return len(self.group_names)

    @property
    def each_item(self) -> bool:
        """Whether each item is on its own: a group is one item of one list, and has nothing to do with other lists."""
        return self.group_spec is not None and self.group_spec.each_item

    @property
    def shared_features(self) -> SharedFeatures | None:
        """Features as a table and the row of each item, where they are kept that way; otherwise None."""
        stored = self._stored("features")
        return stored if isinstance(stored, SharedFeatures) else None

    def _stored(self, name: str) -> Any:
        """A field as it is kept: shared features are not copied."""
        return self.__dict__["_features"] if name == "features" else getattr(self, name)

    @cached_property
    def gains(self) -> FloatArray | None:
        """(N,): labels of 0 or more, for nDCG, merits and whatever else needs them: `relevance` plus `label_shift`."""
        return self.relevance if self.relevance is None or not self.label_shift else self.relevance + self.label_shift

    @cached_property
    def grouped(self) -> npt.NDArray[np.bool_]:
        """(N,): items of a named group."""
        return np.asarray(self.groups >= 0)

    @cached_property
    def unknown(self) -> npt.NDArray[np.bool_]:
        """(N,): items whose group is not known."""
        return np.asarray(self.groups == UNKNOWN)

    @property
    def list_lengths(self) -> npt.NDArray[np.int64]:
        """Items of each query, shape (Q,)."""
        return np.diff(self.offsets)

    @property
    def group_sizes(self) -> dict[str, int]:
        """Rows of each group, by name; items without a group are in none."""
        counts = np.bincount(self.groups[self.grouped], minlength=self.n_groups)
        return {name: int(count) for name, count in zip(self.group_names, counts, strict=True)}

    @property
    def query_of_item(self) -> npt.NDArray[np.int64]:
        """Position of the query that each row belongs to, shape (N,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.list_lengths)

    def __repr__(self) -> str:
        optional = ("relevance", "score", "clicks", "propensities")
        known = [name for name in optional if getattr(self, name) is not None]
        if self.feature_names:
            known.append(f"{len(self.feature_names)} features")
        groups = "each item on its own" if self.each_item else f"groups {list(self.group_names)}"
        return (
            f"RankingDataset({len(self):,} queries, {self.n_items:,} items, {groups}"
            f"{', ' if known else ''}{', '.join(known)})"
        )

    # -- parts ---------------------------------------------------------------------------------------

    def __getitem__(self, key: int | slice | Sequence[int] | npt.NDArray[Any]) -> RankingDataset:
        """The queries at these positions, as a dataset: an int, a slice, a mask or an array of positions."""
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self._rows_between(start, max(start, stop))
            return self._take(np.arange(start, stop, step, dtype=np.int64))
        if isinstance(key, (int, np.integer)):
            position = int(positions_of([int(key)], len(self))[0])
            return self._rows_between(position, position + 1)
        return self._take(positions_of(key, len(self)))

    def __iter__(self) -> Iterator[RankingDataset]:
        """One dataset per query."""
        return (self[position] for position in range(len(self)))

    def query(self, query_id: object) -> RankingDataset:
        """The one query with this id. Raises `DataError` when there is none."""
        position = self._position_by_id.get(query_id)
        if position is None:
            known = ", ".join(repr(plain(name)) for name in self.query_ids[:5])
            raise DataError(f"There is no query {query_id!r}; the first ids are {known}.", column="query_ids")
        return self[position]

    @cached_property
    def _position_by_id(self) -> dict[object, int]:
        return {name: position for position, name in enumerate(self.query_ids.tolist())}

    def _rows_between(self, first: int, last: int) -> RankingDataset:
        rows = slice(int(self.offsets[first]), int(self.offsets[last]))
        offsets = self.offsets[first : last + 1] - self.offsets[first]
        return self.with_rows(slice(first, last), offsets, rows)

    def _take(self, queries: npt.NDArray[np.int64]) -> RankingDataset:
        rows, offsets = rows_of(self.offsets, queries)
        return self.with_rows(queries, offsets, rows)

    def with_rows(
        self,
        queries: slice | npt.NDArray[np.int64],
        offsets: npt.NDArray[np.int64],
        rows: slice | npt.NDArray[np.int64],
    ) -> RankingDataset:
        """These rows alone, which belong to the queries at these positions in turn."""
        arrays = {name: self._stored(name) for name in _PER_ITEM}
        part: dict[str, Any] = {name: None if a is None else a[rows] for name, a in arrays.items()}
        part |= {"label_shift": self.label_shift, "notes": self.notes}
        part |= at_queries(self.attributes, self.times, queries)
        return self.replace(query_ids=self.query_ids[queries], offsets=offsets, **part)

    def where(self, wanted: Mapping[str, Any] | None = None, **more: Any) -> RankingDataset:
        """The queries with these attributes: ``where(country="DE")``, ``where({"country": ["DE", "AT"]})``.

        Raises
        ------
        DataError
            For an attribute that the queries do not have, or a value or crossing of values that no query has.
        """
        chosen = {**(wanted or {}), **more}
        mask = query_mask(self.attributes, chosen, len(self))
        if not mask.any():
            raise DataError(f"No query has {' and '.join(f'{name} {value!r}' for name, value in chosen.items())}.")
        return self if mask.all() else self[mask]

    def split(self, *, train: float = 0.6, validation: float = 0.2, seed: int = 0) -> Splits:
        """Split by query at random: all items of a query land in the same part.

        Parameters
        ----------
        train, validation : float
            Shares of the queries; the test part is the rest.
        seed : int
            Seed of the shuffle. Within a part the queries keep their order.
        """
        from spofr_core.data.splits import split

        return split(self, train=train, validation=validation, seed=seed)

    # -- changes -------------------------------------------------------------------------------------

    @classmethod
    def require(cls, data: object, name: str = "data") -> None:
        """`DataError` for what is no dataset, such as the frame that one could be read from."""
        if not isinstance(data, cls):
            raise DataError(
                f"{name!r} must be a RankingDataset, got {type(data).__name__}; read_dataset(...) makes one from a "
                "file or a DataFrame."
            )

    def replace(self, **changes: Any) -> RankingDataset:
        """The same data with other values of some fields; other labels get a shift of their own."""
        if "relevance" in changes:
            kept = [note for note in self.notes if note != label_note(self.label_shift)]
            changes = {"label_shift": 0.0, "notes": kept} | changes
        return RankingDataset(**({f.name: self._stored(f.name) for f in fields(self)} | changes))

    def with_scores(self, scores: npt.ArrayLike | pd.Series | pd.DataFrame) -> RankingDataset:
        """The same data, ranked by these scores, higher is better.

        Parameters
        ----------
        scores : Series, DataFrame or array
            A pandas Series goes to the items by its index: that of the frame that was read, or the rows of the file
            counted from 0. A DataFrame goes by the ids: its columns are those of query and item, named as they were
            read or "query_id" and "item_id", and one of scores. Anything else is of shape (N,), in the order of the
            dataset; a note says so where reading moved rows, and ``scores[data.rows]`` brings them into that order.

        Raises
        ------
        DataError
            When they are no numbers, not finite, or not one an item, or a label or id is missing or occurs twice.
        """
        return self.replace(**scores_of(self, scores))

    def with_groups(
        self,
        groups: npt.ArrayLike,
        group_names: Sequence[str] | None = None,
        *,
        group_spec: GroupSpec | None = None,
        missing: MissingLabels = "error",
    ) -> RankingDataset:
        """The same data with other groups.

        Parameters
        ----------
        groups : array of shape (N,)
            Codes into `group_names`; without `group_names` the labels themselves. A Series goes by its index.
        group_names : sequence of str, optional
            Names of the codes. Without it they are the sorted distinct labels.
        group_spec : GroupSpec, optional
            How these groups were made.
        missing : {"error", "keep"}
            Refuse labels of None, NaN or NA, or keep those items in their places with an unknown group.
        """
        given: npt.NDArray[Any] = label_array(in_order_of(self, groups, "groups"))
        if group_names is None:
            given, group_names = codes_of_labels(given, missing)
        return self.replace(groups=given, group_names=tuple(group_names), group_spec=group_spec)

    def with_each_item(self) -> RankingDataset:
        """The same data with each item on its own: a group of one, compared within its list alone.

        Raises
        ------
        DataError
            For lists too long, or too many, for that.
        """
        from spofr_core.data.groups.each_item import with_each_item

        return with_each_item(self)

    def regrouped(self, names: Mapping[str, str] | None = None, *, leave_out: Sequence[str] = ()) -> RankingDataset:
        """The same data with groups renamed, merged or left out; `excluded` counts what is left out.

        Items of a group that is left out keep their places and belong to no group.

        Parameters
        ----------
        names : mapping of str to str, optional
            New name by present name; two groups of one new name become one group.
        leave_out : sequence of str
            Groups, by their present names, whose items belong to no group any more.

        Raises
        ------
        DataError
            For a group that there is not, and where fewer than two of several groups would be left.
        """
        from spofr_core.data.groups.regrouping import regrouped

        return regrouped(self, names or {}, leave_out)

    def with_notes(self, *notes: str) -> RankingDataset:
        """The same data with these notes added."""
        return self.replace(notes=(*self.notes, *notes))

    # -- out and back --------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """A row per item: query_id, item_id, group, then what is known, then "slice:..." and query_time, then features.

        An item whose group is unknown has no group there; where some belong to no group, a column no_group says which.
        `from_frame` reads it back. A feature whose name is one of the fixed ones is prefixed "feature:".
        """
        from spofr_core.data.frames import to_frame

        return to_frame(self)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> RankingDataset:
        """Read a frame with the columns of `to_frame`; columns of any other name are features.

        For frames with names of their own, use `read_dataset(frame, query=..., item=...)`.
        """
        from spofr_core.data.frames import from_frame

        return from_frame(frame)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the content (not over notes, exclusions, rows or the way the groups were made)."""
        digest = hashlib.sha256()
        for name in ("query_ids", "offsets", *_CONTENT):
            array = self._stored(name)
            digest.update(f"{name}:{'absent' if array is None else array.shape};".encode())
            for block in array.blocks() if isinstance(array, SharedFeatures) else [array]:
                digest.update(b"" if block is None else content_bytes(block))
        for names in (self.group_names, self.feature_names):
            digest.update(repr(names).encode())
        if self.label_shift:
            digest.update(f"label shift {self.label_shift!r}".encode())
        if self.each_item:  # codes that mean something else than those of groups with the same names
            digest.update(b"each item")
        known = self.attributes if self.times is None else {**self.attributes, "\x00": self.times}
        for name, values in known.items():  # nothing at all where nothing is known: stored data keeps its name
            digest.update(f"attribute {name}:".encode("utf-8", "surrogatepass") + content_bytes(values))
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that the arrays are read-only on the other side too.
        return _rebuild, ({f.name: self._stored(f.name) for f in fields(self)},)


def _rebuild(state: dict[str, Any]) -> RankingDataset:
    return RankingDataset(**state)
