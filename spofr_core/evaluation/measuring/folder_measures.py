"""Measures by their names of Parquet folders larger than memory: part by part, with the summary of the whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spofr_core.data import NothingLeft, Part, PartContents
from spofr_core.data.groups.regrouping import LEFT_OUT
from spofr_core.data.reading.assemble import DROPPED
from spofr_core.errors import ConfigError, DataError
from spofr_core.evaluation.folder_audit import Map, cut, each_part, notes_on_queries
from spofr_core.evaluation.measuring.named_measures import Measured, measure
from spofr_core.fairness import Discount, Fairness
from spofr_core.measures import Measure, Target, Values, parse_measures


@dataclass(frozen=True, eq=False)
class _PartMeasured:
    """What was measured of a part (None where all was left out), and the row of the folder at which queries begin."""

    measured: Measured | None
    first_rows: NDArray[np.int64]
    contents: PartContents


def measure_folder(
    folder: str | Path,
    measures: Iterable[str | Measure] | str | Measure,
    *,
    mapping: Mapping[str, Any] | None = None,
    fairness: Fairness | None = None,
    target: Target = "list",
    protected: str | None = None,
    discount: Discount | None = None,
    cutoff: int = 10,
    seed: int = 0,
    rows_per_part: int | None = None,
    min_parts: int = 1,
    map_parts: Map = map,
) -> Measured:
    """Measure a folder of Parquet files in a stream: the values of every query are those of reading it in one piece.

    Values of the data as a whole (`overall`) are not computed.

    Parameters
    ----------
    folder : path
    measures : sequence of str or Measure, or "all"
    mapping : mapping, optional
        Arguments for `read_dataset` that say which column is what.
    fairness, target, protected, discount, cutoff, seed
        As for `measure`. What only the whole folder knows has to be named: the protected group, and a target other
        than "data".
    rows_per_part, min_parts, map_parts
        As for `audit_folder`.

    Raises
    ------
    ConfigError
        For what `measure` refuses, and for a target or a group that only the whole folder knows.
    """
    chosen = parse_measures(measures)
    _check_known(chosen, target, protected)
    how: dict[str, Any] = {"fairness": fairness, "target": target, "protected": protected, "discount": discount}
    work = partial(_measure_part, measures=chosen, how=how | {"cutoff": cutoff, "seed": seed})
    with cut(folder, mapping, rows_per_part=rows_per_part, min_parts=min_parts) as parts:
        results: list[_PartMeasured] = list(each_part(map_parts, work, parts))
    return _joined(results, folder, tuple(parts.notes))


def _check_known(chosen: Sequence[Measure], target: Target, protected: str | None) -> None:
    for each in chosen:
        if "target" in each.parameters and each.settings.get("target", target) == "data":
            raise ConfigError(
                f"The target of {each} is the share in the data, which a folder that is read in parts does not know; "
                "give the shares, such as target={'women': 0.5, 'men': 0.5}, or another target."
            )
        if "group" in each.parameters and "group" not in each.settings and protected is None:
            raise ConfigError(
                f"{each.name} is about one group, and in a folder that is read in parts it has to be named: "
                "protected='...'."
            )


def _measure_part(part: Part, *, measures: Sequence[Measure], how: Mapping[str, Any]) -> _PartMeasured:
    """Read one part and measure it."""
    try:
        data = part.read()
    except NothingLeft as emptied:
        return _PartMeasured(None, np.zeros(0, dtype=np.int64), PartContents(excluded=emptied.excluded))
    found = measure(data, measures, **how)
    return _PartMeasured(found, part.first_rows(data), part.about(data))


def _joined(results: Sequence[_PartMeasured], folder: str | Path, notes: tuple[str, ...]) -> Measured:
    """One result in the order of the folder."""
    parts = [result.measured for result in results if result.measured is not None]
    if not parts:
        raise DataError(f"No item in the folder {str(folder)!r} has a group: nothing is left.")
    order = np.argsort(np.concatenate([result.first_rows for result in results]), kind="stable")
    contents = PartContents.together(result.contents for result in results)
    times = [part.times for part in parts]
    reasons = (LEFT_OUT, DROPPED[LEFT_OUT])  # the others stand in the notes of the contents
    left_out = tuple(f"{n:,} not compared: {why}." for why, n in contents.excluded.items() if why in reasons)
    about: dict[str, Any] = {
        "attributes": {
            name: np.concatenate([part.attributes[name] for part in parts])[order] for name in parts[0].attributes
        },
        "times": None if times[0] is None else np.concatenate([each for each in times if each is not None])[order],
    }
    return replace(
        parts[0],
        found={name: _joined_values([part.found[name] for part in parts], order) for name in parts[0].found},
        query_ids=np.concatenate([part.query_ids for part in parts])[order],
        items=np.sum([part.items for part in parts], axis=0),
        drawn_lists=sum(part.drawn_lists for part in parts),
        notes=(*notes, *left_out, *contents.notes, *notes_on_queries(**about)),
        **about,
    ).with_notes_on_sizes()


def _joined_values(parts: Sequence[Values], order: NDArray[np.intp]) -> Values:
    lengths = [len(part.values) for part in parts]
    reasons = sorted({reason for part in parts for reason in part.why})

    def whole(of: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(of)[order]

    why = {
        reason: whole([part.why.get(reason, np.zeros(n, dtype=bool)) for part, n in zip(parts, lengths, strict=True)])
        for reason in reasons
    }
    drawn = any(part.error is not None for part in parts)
    errors = [np.zeros(n) if part.error is None else part.error for part, n in zip(parts, lengths, strict=True)]
    return Values(whole([part.values for part in parts]), why, whole(errors) if drawn else None)
