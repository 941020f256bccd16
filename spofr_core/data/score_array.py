"""Scores as somebody brings them, some too large for doubles; and what is added to labels below 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from spofr_core.data.ids import bare, label_text, plain
from spofr_core.data.rows import counts_rows, row_labels
from spofr_core.errors import DataError, first_line, shortened

if TYPE_CHECKING:
    from spofr_core.data.dataset import RankingDataset

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.integer]

EXACT = 2.0**53
"""From here on not every whole number is a double."""
_TAKEN_AS_LISTS = (
    "The scores came without an index and were taken in the order of the lists, which is not that of the rows that "
    "were read. If they are in the order of the rows, rank by scores[data.rows], or give them as a Series with the "
    "index of the frame."
)
_TAKEN_AS_ROWS = (
    "The scores have the index 0, 1, 2, ..., which was taken for the labels of the rows that were read, not for the "
    "order of the lists (data.rows says which is which). If they are in the order of the lists, give them as an array."
)


def score_array(scores: npt.ArrayLike) -> npt.NDArray[Any]:
    """The scores as an array, of whatever type and shape; those behind a mask are missing.

    Raises
    ------
    DataError
        When NumPy cannot take them: a tensor that carries its gradient or has a type of its own, lists within lists.
    """
    try:
        if np.ma.is_masked(scores):
            return np.ma.filled(np.ma.array(scores, dtype=np.float64), np.nan)
        return np.asarray(scores)
    except (RuntimeError, TypeError, ValueError) as error:
        raise DataError(
            f"The scores are no array of numbers ({first_line(error)}): give one number for each item.", column="score"
        ) from error


def scores_of(data: RankingDataset, scores: Any) -> dict[str, Any]:
    """What changes in a dataset that is ranked by these scores: `score`, `ranks` and `notes`.

    Raises
    ------
    DataError
        When they are no numbers, or not one an item.
    """
    ordered = in_order_of(data, scores)
    values = score_array(ordered)
    if values.dtype.kind not in "buif":
        few = shortened(repr(values.ravel()[:2].tolist()))
        raise DataError(
            f"The scores are {few} and so on, of the type {values.dtype}: a number for each item is needed.",
            column="score",
        )
    if values.shape != (data.n_items,):
        raise _not_one_an_item(data, values.shape)
    doubles = values.astype(np.float64)
    notes = [note for note in data.notes if note not in (_TAKEN_AS_LISTS, _TAKEN_AS_ROWS, order_only("The score"))]
    notes += _order_notes(data, scores)
    places = None
    if values.dtype.kind in "iu":
        places = exact_places(doubles, data.query_of_item, lambda rows: values[rows].tolist())
    if places is not None:
        doubles = places_from_the_top(places, data.query_of_item)
        notes.append(order_only("The score"))
    return {"score": doubles, "ranks": places is not None, "notes": notes}


def in_order_of(data: RankingDataset, values: Any, what: str = "scores") -> Any:
    """Values in the order of the items: a Series by its index, a DataFrame by ids; anything else has it already.

    Raises
    ------
    DataError
        When a label or an id that is needed is missing, or occurs twice.
    """
    if isinstance(values, pd.Series):
        return values.take(_by_index(data, values.index, what))
    if isinstance(values, pd.DataFrame):
        return _by_ids(data, values, what)
    shape = (len(values),) if isinstance(values, list | tuple) else tuple(getattr(values, "shape", ()))
    if _may_be_all_rows(data, shape):
        raise _not_one_an_item(data, shape, what)
    return values


def ranking_scores(data: RankingDataset, scores: Any = None) -> Any:
    """What the items are ranked by, in their order: `scores` as `in_order_of` takes them, or those of the dataset.

    Raises
    ------
    DataError
        When there are none.
    """
    ranked_by = data.score if scores is None else in_order_of(data, scores)
    if ranked_by is None:
        raise DataError(
            "This dataset has no score to rank by; map a score or rank column, or use data.with_scores(scores).",
            column="score",
        )
    return ranked_by


def _may_be_all_rows(data: RankingDataset, shape: tuple[int, ...]) -> bool:
    """Whether an array may be of all rows that were read, where the dataset has fewer items."""
    return data.rows is not None and len(shape) == 1 and shape[0] > max(data.n_items, int(data.rows.max(initial=0)))


def refuse_unlike_indexes(**columns: Any) -> None:
    """See to it that no two Series are paired by position whose indexes say that their rows are others.

    Raises
    ------
    DataError
        With the first row in which they differ.
    """
    indexes = [(name, values.index) for name, values in columns.items() if isinstance(values, pd.Series)]
    for (first, index), (name, other) in pairwise(indexes):
        if index.equals(other):
            continue
        pairs = enumerate(zip_longest(map(plain, index), map(plain, other), fillvalue="no label"))
        differing = next(((row, *pair) for row, pair in pairs if pair[0] != pair[1]), None)
        if differing is None:  # the same labels in another type
            continue
        row, one, two = differing
        raise DataError(
            f"{first!r} and {name!r} are Series with different indexes ({one!r} and {two!r} in row {row}), and would "
            f"be paired by position: bring them into one order, such as {name}.reindex({first}.index), or give arrays "
            "(.to_numpy()) where the order is the same.",
            column=name,
        )


def _not_one_an_item(data: RankingDataset, shape: tuple[int, ...], what: str = "scores") -> DataError:
    all_rows = _may_be_all_rows(data, shape)
    way = f": {what}[data.rows] takes those of the rows that these items were read from." if all_rows else "."
    kind = "number" if what == "scores" else "label"
    return DataError(
        f"The {what} have the shape {shape}, but one {kind} for each of the {data.n_items:,} items is needed, in their "
        f"order{way}",
        column=what.removesuffix("s"),
    )


def _order_notes(data: RankingDataset, scores: Any) -> list[str]:
    """What to say where scores could have been meant in another order than the one they were taken in."""
    if data.rows is None or not np.any(data.rows[1:] < data.rows[:-1]) or isinstance(scores, pd.DataFrame):
        return []
    if not isinstance(scores, pd.Series):
        return [_TAKEN_AS_LISTS]
    return [_TAKEN_AS_ROWS] if len(scores) == data.n_items and counts_rows(scores.index) else []


def _by_index(data: RankingDataset, index: pd.Index, what: str) -> npt.NDArray[np.intp]:
    """Where the index has the row of each item."""
    labels = row_labels(data)
    if labels is None:
        raise DataError(
            f"The {what} are a Series, but this dataset was not read from a table whose rows its index could name: "
            f"give an array in the order of the dataset, such as {what}.to_numpy().",
            column=what.removesuffix("s"),
        )
    read = None if data.origin is None else data.origin.index
    reset = f"read frame.reset_index(drop=True), or give a DataFrame with the ids of query and item beside the {what}"
    for each, owner, way in ((read, "the frame that was read", reset), (index, f"the {what}", "keep one of them")):
        if each is not None and not each.is_unique:
            raise DataError(
                f"The index of {owner} has the label {plain(each[each.duplicated()][0])!r} twice, so that it names no "
                f"single row: {way}.",
                column=what.removesuffix("s"),
            )
    found = np.full(len(labels), -1) if index.nlevels != labels.nlevels else index.get_indexer(labels)
    if (found < 0).any():
        first = int(np.argmax(found < 0))
        raise DataError(
            f"The index of the {what} has no label {plain(labels[first])!r}, that of {_name_of(data, first)}"
            f"{_more(found, what)}: give one for each row that was read, with the index of the frame.",
            column=what.removesuffix("s"),
        )
    return np.asarray(found)


def _by_ids(data: RankingDataset, frame: pd.DataFrame, what: str) -> pd.Series:
    """The one column besides the ids, in the order of the dataset."""
    origin, names = data.origin, [str(name) for name in frame.columns]
    read = ("query_id", "item_id") if origin is None else (origin.query, origin.item or "item_id")
    known = [name if name in names else usual for name, usual in zip(read, ("query_id", "item_id"), strict=True)]
    others = [place for place, name in enumerate(names) if name not in known]
    if sorted(names[k] for k in range(len(names)) if k not in others) != sorted(known) or len(others) != 1:
        raise DataError(
            f"The DataFrame of {what} has the columns {names}: it needs the ids of query and item, {read[0]!r}, "
            f"{read[1]!r}, and one more.",
            column=what.removesuffix("s"),
        )
    pairs = pd.MultiIndex.from_arrays([_id_texts(frame.iloc[:, names.index(name)]) for name in known])
    if not pairs.is_unique:
        query, item = pairs[pairs.duplicated()][0]
        raise DataError(
            f"The DataFrame of {what} has query {query!r}, item {item!r} twice: keep one row.",
            column=what.removesuffix("s"),
        )
    queries = np.repeat(np.array(_id_texts(data.query_ids), dtype=object), data.list_lengths)
    found = pairs.get_indexer(pd.MultiIndex.from_arrays([queries, _id_texts(data.item_ids)]))
    if (found < 0).any():
        raise DataError(
            f"The DataFrame of {what} has no row for {_name_of(data, int(np.argmax(found < 0)))}{_more(found, what)}: "
            "give one for each item.",
            column=what.removesuffix("s"),
        )
    return frame.iloc[:, others[0]].take(found)


def _id_texts(ids: npt.NDArray[Any] | pd.Series) -> list[str]:
    """Ids as text without blanks around them, whatever type the column has that they come in."""
    return [bare(label_text(value) or "") for value in ids.tolist()]


def _name_of(data: RankingDataset, row: int) -> str:
    query = data.query_ids[int(np.searchsorted(data.offsets, row, side="right")) - 1]
    return f"query {plain(query)!r}, item {plain(data.item_ids[row])!r}"


def _more(found: npt.NDArray[np.intp], what: str) -> str:
    others = int((found < 0).sum()) - 1
    return f" (and no {what.removesuffix('s')} for {others:,} more)" if others else ""


def exact_places(
    values: FloatArray, query_codes: IntArray, exact: Callable[[IntArray], Sequence[int | Decimal] | None]
) -> FloatArray | None:
    """Place of each value in its list, counted 1, 2, ... from the smallest, equal ones together.

    Parameters
    ----------
    values : array of shape (N,)
        The numbers as doubles.
    query_codes : array of shape (N,)
        The list of each.
    exact : callable
        What these rows hold really; None where that is the doubles.

    Returns
    -------
    array of shape (N,) or None
        None where the doubles have the order of the numbers: they are as good then.
    """
    if not len(values) or not max(values.max(), -values.min()) >= EXACT or not np.isfinite(values).all():
        return None
    order = np.lexsort((values, query_codes))
    same = ~_rises(query_codes[order], values[order])
    same &= np.abs(values[order]) >= EXACT
    tied = order[same | np.append(same[1:], False)]
    numbers = exact(tied) if len(tied) else None
    if numbers is None:
        return None
    place = {number: k for k, number in enumerate(sorted(set(numbers)))}
    within = np.zeros(len(values), dtype=np.int64)
    within[tied] = [place[number] for number in numbers]
    order = np.lexsort((within, values, query_codes))
    coarse, fine = (_rises(query_codes[order], values[order], *more) for more in ((), (within[order],)))
    if np.array_equal(coarse, fine):
        return None
    return places_in_lists(query_codes, values, within)


def places_in_lists(query_codes: IntArray, *columns: npt.NDArray[Any]) -> FloatArray:
    """Place of each row in its list, counted 1, 2, ... from the smallest in these columns, equal ones together."""
    order = np.lexsort((*columns[::-1], query_codes))
    first = np.flatnonzero(_rises(query_codes[order]))
    counted = np.cumsum(_rises(query_codes[order], *(column[order] for column in columns)))
    places = np.empty(len(order))
    places[order] = counted - np.repeat(counted[first] - 1, np.diff(np.append(first, len(order))))
    return places


def _rises(*columns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Whether each row of sorted columns differs from the row before it; the first one does."""
    return np.append(True, np.any([column[1:] != column[:-1] for column in columns], axis=0))


def places_from_the_top(places: FloatArray, query_codes: IntArray) -> FloatArray:
    """Scores that say an order and no distances: -1 for the largest of each list, then -2, and so on."""
    most = np.zeros(int(query_codes.max()) + 1)
    np.maximum.at(most, query_codes, places)
    return np.asarray(places - most[query_codes] - 1)


def order_only(what: str) -> str:
    """The note for lists of such numbers."""
    return (
        f"{what} holds whole numbers beyond 2^53, which doubles cannot tell apart: the lists are ranked by them "
        "exactly, and their places are kept in their stead, which say an order and no distances."
    )


def shift_of_labels(relevance: npt.NDArray[np.float64] | None, shift: float = 0.0) -> float:
    """What to add to labels so that none is below 0, and no less than `shift`; 0 without labels."""
    if relevance is None or not relevance.size:
        return 0.0 if relevance is None else shift
    return max(shift, -float(relevance.min()), 0.0)


def label_note(shift: float) -> str:
    """What is said beside numbers that hang on a shift of the labels."""
    return (
        f"Labels below 0: a label of {-shift:.6g} counts as 0 in nDCG, in merits and wherever else labels must be 0 or "
        f"more, where {shift:.6g} is added to every label. DCG takes the labels as they are."
    )


def clip_note(below: int, rows: int) -> str:
    """What is said where labels below 0 were clipped."""
    return f"{below:,} of {rows:,} labels are below 0 and count as 0."
