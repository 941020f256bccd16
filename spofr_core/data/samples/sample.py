"""What a bundled dataset says about itself, and how it is loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from spofr_core.data.dataset import RankingDataset
from spofr_core.data.groups.each_item import EACH_ITEM
from spofr_core.data.splits import Splits

Groups = int | str | Sequence[str]


@dataclass(frozen=True)
class Recipe:
    """How to get the same data without the dashboard.

    Attributes
    ----------
    python : str
        The line that makes `data`.
    arguments : tuple of str or None
        Those of a shell command; None where no command reads the same rows.
    in_checkout : bool
        Whether the arguments name files as they are seen from the folder of the project.
    """

    python: str
    arguments: tuple[str, ...] | None = None
    in_checkout: bool = False


class Sample(ABC):
    """A bundled dataset. Register an instance in `SAMPLES`, and shell, sidebar and pages offer it.

    Attributes
    ----------
    name : str
        As in ``load_sample(name)`` and ``--sample name``.
    title, about, credit : str
        Headline, a sentence or two, and who is to be thanked (may be empty).
    drawn_from : str
        What lists are drawn from, in the plural; empty where none is drawn.
    groupings : mapping of str to str
        Ways to group the items: key to label, the first is the default.
    options : frozenset of str
        Which of "lists", "test_lists", "mask_group", "score", "folder" and "features" `load` takes. "score" means that
        the data has no score of its own, and that of a logging ranker can be asked for.
    feature_sets : mapping of str to str
        What a scorer may see, for "features": key to label, the first is the default.
    delta, unit : float and "absolute" or "share"
        What is asked of its lists where nobody names a delta. Those of the class itself, 10 % of the mean exposure,
        are asked of data that is no sample: they mean the same in lists of any length.
    """

    name: str
    title: str
    about: str
    credit: str = ""
    drawn_from: str = ""
    groupings: ClassVar[Mapping[str, str]]
    feature_sets: ClassVar[Mapping[str, str]] = {}
    options: frozenset[str] = frozenset()
    delta: float = 0.1
    unit: Literal["absolute", "share"] = "share"

    @property
    def ways(self) -> dict[str, str]:
        """The groupings, and last each item on its own: key to label."""
        return {**self.groupings, EACH_ITEM: "Each item on its own"}

    def grouped_data(self, way: str | None = None) -> RankingDataset:
        """`audit_data` grouped in one of its `ways`."""
        return self.audit_data().with_each_item() if way == EACH_ITEM else self.audit_data(way)

    def grouped_recipe(self, way: str | None = None) -> Recipe:
        """`recipe` of `grouped_data`."""
        if way != EACH_ITEM:
            return self.recipe(way)
        plain = self.recipe()
        return replace(
            plain,
            python=f"{plain.python}.with_each_item()",
            arguments=None if plain.arguments is None else (*_without_groups(plain.arguments), "--each-item"),
        )

    def sources_text(self, splits: Splits) -> str:
        """Of how many people or queries the lists of training, validation and test are drawn."""
        counts = [f"{count:,}" for count in splits.sources or ()]
        return f"{', '.join(counts[:-1])} and {counts[-1]} {self.drawn_from}" if counts else ""

    @abstractmethod
    def load(self, *, groups: Groups | None = None, seed: int = 0, **options: Any) -> Splits:
        """Train, validation and test part; the options are those in `options`."""

    def groups_of(self, grouping: str | None) -> Groups | None:
        """A grouping, as a page or the shell names it, as `load` takes it: "3" is the number."""
        return int(grouping) if grouping is not None and grouping.isdecimal() else grouping

    def group_count(self, grouping: str) -> int:
        """How many groups a grouping makes: its number, or two. Charts tell runs apart by it."""
        groups = self.groups_of(grouping)
        return groups if isinstance(groups, int) else 2

    def grouped_by(self, groups: Groups | None) -> str:
        """What the groups are made from, for the name of the data in charts; empty where the number says it all."""
        if groups is None or isinstance(groups, int):
            return ""
        return groups if isinstance(groups, str) else " and ".join(groups)

    def audit_data(self, grouping: str | None = None) -> RankingDataset:
        """What an audit opens on: the test part, with the scores of the logging ranker where it has none."""
        return self.load(groups=self.groups_of(grouping), **self._scored()).test

    def recipe(self, grouping: str | None = None) -> Recipe:
        """How to get `audit_data` in Python and in a shell."""
        groups = self.groups_of(grouping)
        given = "" if groups is None else f", groups={groups!r}"
        given += "".join(f', {name}="{value}"' for name, value in self._scored().items())
        return Recipe(
            f'data = load_sample("{self.name}"{given}).test',
            ("--sample", self.name, *(() if grouping is None else ("--groups", grouping))),
        )

    def _scored(self) -> dict[str, Any]:
        return {"score": "logging"} if "score" in self.options else {}


def reuse_note(lists: int, uses: int, sources: int, what: str) -> tuple[str, ...]:
    """What intervals over lists are of, where each source stands in more than one list on average."""
    if uses <= sources:
        return ()
    return (
        f"The {lists:,} lists are drawn from the same {sources:,} {what}: an interval over lists says what other lists "
        f"of these {what} would give, not what other {what} would.",
    )


def _without_groups(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command without those that say how items are grouped."""
    named = [place for place, word in enumerate(arguments) if word in ("--group", "--groups")]
    gone = {*named, *(place + 1 for place in named)}
    return [word for place, word in enumerate(arguments) if place not in gone]
