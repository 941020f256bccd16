"""What the notes of a folder are made of that is read in parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from spofr_core.data.reading.assemble import lonely_group_notes, missing_group_notes


@dataclass(frozen=True)
class PartContents:
    """What the notes of a folder are made of: counts of a part, and how the times of its queries were read.

    `groups` are the items of each group, nothing where each item is on its own.
    """

    items: int = 0
    unknown: int = 0
    groups: Mapping[str, int] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)
    time_notes: tuple[str, ...] = ()

    @classmethod
    def together(cls, parts: Iterable[PartContents]) -> PartContents:
        """Those of the folder."""
        groups, excluded, times, items, unknown = Counter[str](), Counter[str](), dict[str, None](), 0, 0
        for part in parts:
            groups.update(part.groups)
            excluded.update(part.excluded)
            times.update(dict.fromkeys(part.time_notes))
            items, unknown = items + part.items, unknown + part.unknown
        return cls(items, unknown, groups, dict(excluded), tuple(times))

    @property
    def notes(self) -> list[str]:
        """What reading the folder in one piece would say of these."""
        missing = missing_group_notes(self.items, self.unknown, self.excluded)
        return [*missing, *self.time_notes, *lonely_group_notes(self.groups)]
