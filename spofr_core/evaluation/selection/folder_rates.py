"""Selection rates of Parquet folders larger than memory: counted part by part, the same numbers as in one piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.data import GroupSpec, NothingLeft, Part
from spofr_core.data.reading.assemble import DROPPED, WITHOUT, without_a_group
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation.folder_audit import Map, cut, each_part
from spofr_core.evaluation.selection import SelectionRule
from spofr_core.evaluation.selection.rates import SelectionRates, rates_of
from spofr_core.evaluation.selection.selected import Counts, Selection


@dataclass(frozen=True, eq=False)
class CountedPart:
    """The counts of a part (None where nothing is left of it), and the row of the folder where each query begins."""

    counts: Counts | None
    first_rows: NDArray[np.int64]
    left_out: int
    group_names: tuple[str, ...] = ()
    group_spec: GroupSpec | None = None


def folder_selection_rates(
    folder: str | Path,
    *,
    k: int | None = None,
    threshold: float | None = None,
    mapping: Mapping[str, Any] | None = None,
    rules: Sequence[str | SelectionRule] | None = None,
    seed: int = 0,
    rows_per_part: int | None = None,
    min_parts: int = 1,
    map_parts: Map = map,
) -> SelectionRates:
    """`selection_rates` of a folder of Parquet files, in a stream.

    Parameters
    ----------
    folder : path
    k, threshold, rules, seed
        As for `selection_rates`. One of k and threshold is needed: the median of all scores is known only in the end.
    mapping, rows_per_part, min_parts, map_parts
        As for `audit_folder`.
    """
    selection = Selection(k=k, threshold=threshold)
    if selection.kind == "scoring":
        raise ConfigError(
            "The median of all scores of a folder is known only when all of it has been read; give k or a threshold, "
            "or read it in one piece with read_dataset."
        )
    with cut(folder, mapping, rows_per_part=rows_per_part, min_parts=min_parts) as parts:
        counted: list[CountedPart] = list(each_part(map_parts, partial(count_part, selection=selection), parts))
    filled = [part for part in counted if part.counts is not None]
    if not filled:
        raise DataError(f"No item in the folder {str(folder)!r} has a group: nothing is left.")
    order = np.argsort(np.concatenate([part.first_rows for part in filled]), kind="stable")
    return rates_of(
        selection,
        Counts.concatenate([part.counts for part in filled if part.counts is not None], order),
        group_names=filled[0].group_names,
        group_spec=filled[0].group_spec,
        rules=rules,
        left_out=sum(part.left_out for part in counted),
        seed=seed,
    )


def count_part(part: Part, *, selection: Selection) -> CountedPart:
    """Read one part and count who is selected in it."""
    try:
        data = part.read()
    except NothingLeft as emptied:
        return CountedPart(None, np.zeros(0, dtype=np.int64), emptied.excluded.get(DROPPED[WITHOUT], 0))
    counts = Counts.of(data, selection.chances(data))
    return CountedPart(counts, part.first_rows(data), without_a_group(data), data.group_names, data.group_spec)
