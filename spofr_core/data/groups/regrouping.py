"""Groups renamed, merged and left out: in a table that is read, and in a dataset that is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spofr_core.data.group_spec import MISSING_NAME, Grouping, GroupSpec
from spofr_core.errors import DataError

if TYPE_CHECKING:
    from spofr_core.data.dataset import RankingDataset

LEFT_OUT = "rows of groups left out"
EMPTIED = "queries left without items"
LEFT_OUT_CODE = -2


@dataclass(frozen=True, eq=False)
class Relabelling:
    """What becomes of each group: its new code (`LEFT_OUT_CODE` for none), and the names of the new codes."""

    codes: npt.NDArray[np.int32]
    names: tuple[str, ...]


def relabelling(names: Sequence[str], renamed: Mapping[str, str], left_out: Sequence[str]) -> Relabelling:
    """New codes and names of groups.

    Parameters
    ----------
    names : sequence of str
        The groups that there are, in the order of their codes.
    renamed : mapping of str to str
        New names; two groups of one new name become one group. A group that is not mentioned keeps its name.
    left_out : sequence of str
        Groups, by their names before renaming, whose items are left out.

    Raises
    ------
    DataError
        For a group that there is not, an empty new name, and where fewer than two of several groups would be left.
    """
    unknown = [name for name in (*renamed, *left_out) if name not in names]
    if unknown:
        raise DataError(
            f"There is no group {unknown[0]!r} to rename or to leave out; the groups are "
            f"{', '.join(map(repr, names[:20]))}{', ...' if len(names) > 20 else ''}.",
            fields=("group_names" if unknown[0] in renamed else "leave_out_groups",),
        )
    nameless = next((name for name, new in renamed.items() if not new.strip()), None)
    if nameless is not None:
        raise DataError(f"The new name of group {nameless!r} is empty: give it one.", fields=("group_names",))
    kept = {name: renamed.get(name, name).strip() for name in names if name not in set(left_out)}
    new = tuple(dict.fromkeys(kept.values()))
    if len(new) < 2 <= len(names):
        left = f"only {new[0]!r} would be left" if new else "none would be left"
        raise DataError(
            f"Of the {len(names)} groups {left}: exposure is compared between groups, so keep at least two apart.",
            fields=("group_names", "leave_out_groups"),
        )
    codes = [new.index(kept[name]) if name in kept else LEFT_OUT_CODE for name in names]
    return Relabelling(np.array(codes, dtype=np.int32), new)


def relabelled(grouping: Grouping) -> Grouping:
    """The groups as their spec wants them called; the spec keeps the names before, so that it reads a test part too."""
    spec = grouping.spec
    if not spec.renamed and not spec.left_out:
        return grouping
    names = grouping.names
    if spec.missing == "own_group" and MISSING_NAME not in names:
        names = (*names, MISSING_NAME)  # may be renamed also where nothing is missing
    new = relabelling(names, spec.renamed, spec.left_out)
    codes = np.append(new.codes, np.int32(-1))[grouping.codes]  # missing ones stay missing
    sizes = np.bincount(grouping.codes[grouping.codes >= 0], minlength=len(names))
    notes = _notes(names, sizes, new)
    return Grouping(codes, new.names, spec, (*grouping.notes, *notes))


def regrouped(data: RankingDataset, renamed: Mapping[str, str], left_out: Sequence[str]) -> RankingDataset:
    """See `RankingDataset.regrouped`."""
    if data.each_item:
        raise DataError(
            "Each item is on its own here: there are no groups to rename, to merge or to leave out. Choose a group "
            "column first.",
            fields=("group_names", "leave_out_groups"),
        )
    new = relabelling(data.group_names, renamed, left_out)
    codes = new.codes[data.groups]
    keep = codes >= 0
    if not keep.any():
        raise DataError("Every item is of a group that is left out: nothing is left.", fields=("leave_out_groups",))
    lengths = np.add.reduceat(keep.astype(np.int64), data.offsets[:-1])
    excluded = dict(data.excluded)
    for reason, count in ((LEFT_OUT, int((~keep).sum())), (EMPTIED, int((lengths == 0).sum()))):
        if count:
            excluded[reason] = excluded.get(reason, 0) + count
    present = lengths > 0
    offsets = np.concatenate([[0], np.cumsum(lengths[present])])
    part = data if keep.all() else data.with_rows(np.flatnonzero(present), offsets, np.flatnonzero(keep))
    return part.replace(
        groups=codes[keep],
        group_names=new.names,
        group_spec=None if data.group_spec is None else _composed(data.group_spec, data.group_names, renamed, left_out),
        excluded=excluded,
        notes=(*data.notes, *_notes(data.group_names, np.bincount(data.groups, minlength=data.n_groups), new)),
    )


def _composed(spec: GroupSpec, names: Sequence[str], renamed: Mapping[str, str], left_out: Sequence[str]) -> GroupSpec:
    """A spec that makes the groups of `spec` and then renames and leaves out these, in one."""
    now = {name: spec.renamed.get(name, name) for name in (*spec.names, *spec.renamed)}
    now |= {name: name for name in names if name not in now.values()}
    after = {name: renamed.get(called, called) for name, called in now.items()}
    gone = (name for name, called in now.items() if called in set(left_out))
    return spec.model_copy(
        update={
            "renamed": {name: new for name, new in after.items() if new != name},
            "left_out": tuple(dict.fromkeys((*spec.left_out, *gone))),
        }
    )


def _notes(names: Sequence[str], sizes: npt.NDArray[np.integer], new: Relabelling) -> list[str]:
    parts = {
        name: [old for old, place in zip(names, new.codes, strict=True) if place == code]
        for code, name in enumerate(new.names)
    }
    notes = [
        f"Group {name!r} is called {' and '.join(map(repr, old))} in the data."
        for name, old in parts.items()
        if old != [name]
    ]
    gone = [
        f"{name!r} ({size:,} items)"
        for name, size, place in zip(names, sizes, new.codes, strict=True)
        if place == LEFT_OUT_CODE
    ]
    return [*notes, *([f"Groups left out: {', '.join(gone)}."] if gone else [])]
