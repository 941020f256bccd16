"""Groups renamed, merged and left out: in a table that is read, and in a dataset that is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spofr_core.data.group_spec import MISSING_NAME, Grouping, GroupSpec
from spofr_core.data.groups.labels import NO_GROUP, UNKNOWN
from spofr_core.data.reading.spelling import written_alike
from spofr_core.errors import DataError

if TYPE_CHECKING:
    from spofr_core.data.dataset import RankingDataset

LEFT_OUT = "items of groups left out, which kept their places"


@dataclass(frozen=True, eq=False)
class Relabelling:
    """What becomes of each group: its new code (`NO_GROUP` for none), and the names of the new codes."""

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
        Groups, by their names before renaming, whose items belong to no group.

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
    codes = [new.index(kept[name]) if name in kept else NO_GROUP for name in names]
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
    codes = _recoded(grouping.codes, new)
    sizes = np.bincount(grouping.codes[grouping.codes >= 0], minlength=len(names))
    notes = _notes(names, sizes, new)
    return Grouping(codes, new.names, spec, (*grouping.notes, *notes))


def _recoded(codes: npt.NDArray[np.int32], new: Relabelling) -> npt.NDArray[np.int32]:
    """New codes of items; those of no named group stay what they are."""
    return np.append(new.codes, np.array([NO_GROUP, UNKNOWN], dtype=np.int32))[codes]


def regrouped(data: RankingDataset, renamed: Mapping[str, str], left_out: Sequence[str]) -> RankingDataset:
    """See `RankingDataset.regrouped`."""
    if data.each_item:
        raise DataError(
            "Each item is on its own here: there are no groups to rename, to merge or to leave out. Choose a group "
            "column first.",
            fields=("group_names", "leave_out_groups"),
        )
    new = relabelling(data.group_names, renamed, left_out)
    codes = _recoded(data.groups, new)
    if not (codes >= 0).any():
        raise DataError("Every item is of a group that is left out: nothing is left.", fields=("leave_out_groups",))
    excluded = dict(data.excluded)
    if gone := int(np.sum(data.grouped & (codes < 0))):
        excluded[LEFT_OUT] = excluded.get(LEFT_OUT, 0) + gone
    return data.replace(
        groups=codes,
        group_names=new.names,
        group_spec=None if data.group_spec is None else _composed(data.group_spec, data.group_names, renamed, left_out),
        excluded=excluded,
        notes=(*data.notes, *_notes(data.group_names, np.array(list(data.group_sizes.values())), new)),
    )


def in_groups_of(data: RankingDataset, other: RankingDataset) -> RankingDataset:
    """The data with the group codes of another part of it; groups that only it has come last.

    Raises
    ------
    DataError
        For two groups that are written alike.
    """
    if data.group_names == other.group_names:
        return data
    for theirs, mine in written_alike(other.group_names, data.group_names):
        raise DataError(
            f"The training part has a group {theirs!r} and the validation part {mine!r}: read the second with the "
            "groups of the first, group=train.group_spec, and say join_alike=True or False.",
            column="groups",
        )
    names = tuple(dict.fromkeys((*other.group_names, *data.group_names)))
    code = np.array([names.index(name) for name in data.group_names], dtype=np.int32)
    return data.with_groups(_recoded(data.groups, Relabelling(code, names)), names)


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
        if place == NO_GROUP
    ]
    return [*notes, *([f"Groups left out: {', '.join(gone)}."] if gone else [])]
