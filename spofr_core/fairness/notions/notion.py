"""What a notion of fairness is, and which ones there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from spofr_core.data import RankingDataset
from spofr_core.fairness.composition import Composition
from spofr_core.fairness.exposure import FloatArray
from spofr_core.fairness.feasibility import bisected_delta
from spofr_core.fairness.terms import Terms
from spofr_core.registry import Registry

if TYPE_CHECKING:
    from spofr_core.fairness.fairness import Fairness


class Notion(ABC):
    """A condition abs(scale_g e_g - target_g) <= delta on the mean exposure e_g of every group g of a list.

    A group absent from a list has no condition there; a list with a single group has none at all.

    Attributes
    ----------
    name : str
        In settings, commands and files.
    label : str
        On buttons, such as "Exposure".
    definition : str
        The condition as a sentence.
    formula, latex : str
        The condition as a formula, in plain text and in LaTeX, with delta as its last letter.
    item_definition, item_formula, item_latex : str
        The same where each item is on its own; without them the condition is told as for groups.
    share_of, share_formula, share_latex : str
        What delta is a share of, where it is one: in words, in plain text and in LaTeX.
    difference : str
        What delta bounds, as a headline names it.
    plain_limit : str
        The same as a sentence for readers without statistics.
    caveat : str
        What the notion does not ask, as a sentence of the report.
    needs_merits : bool
        Whether `Fairness.merits` must be given.
    always_feasible : bool
        Whether every list has a policy that holds delta = 0, so that nothing has to be checked.
    bounds_by_length : bool
        Whether scale, target and share base hang on the length of the list alone, and not on its groups.
    no_items : str
        Why it makes no sense where each item is on its own, as a sentence; empty where it does.
    """

    name: str
    label: str
    definition: str
    formula: str
    latex: str
    item_definition: str = ""
    item_formula: str = ""
    item_latex: str = ""
    share_of: str = "the list's mean exposure"
    share_formula: str = "e"
    share_latex: str = "e"
    difference: str = "the violation"
    plain_limit: str = "The limit says how far a group may be from what it is due."
    caveat: str = "This notion compares exposure alone; it does not ask whether a difference follows relevance."
    needs_merits: bool = False
    always_feasible: bool = False
    bounds_by_length: bool = False
    no_items: str = ""

    @abstractmethod
    def scale_and_target(
        self, fairness: Fairness, composition: Composition, mean_exposure: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """scale_g >= 0 and target_g of each list and group, each (Q, G); entries of absent groups carry no meaning.

        Parameters
        ----------
        fairness : Fairness
            The settings, such as the merits of the groups.
        composition : Composition
            Group sizes of each list.
        mean_exposure : (Q,) float
            Mean exposure e over all items of each list.
        """

    def share_base(self, fairness: Fairness, composition: Composition, mean_exposure: FloatArray) -> FloatArray:
        """(Q,): what violations and delta are divided by where they are shares. Where it is 0 they stay as they are."""
        return mean_exposure

    def condition(
        self, fairness: Fairness, group: str, sizes: Mapping[str, int], mean_exposure: float
    ) -> tuple[float, float]:
        """scale and target of one group of one list, for `verify`.

        Here it is taken from `scale_and_target`. Write it out in plain arithmetic, and `verify` leans on nothing that
        made the policy.
        """
        names = tuple(sizes)
        one = Composition(sizes=np.array([[sizes[name] for name in names]], dtype=np.int64), group_names=names)
        scale, target = self.scale_and_target(fairness, one, np.array([mean_exposure]))
        column = names.index(group)
        return float(scale[0, column]), float(target[0, column])

    def smallest_delta(self, fairness: Fairness, terms: Terms) -> FloatArray:
        """(Q,): smallest delta, the same for all groups, that each list can satisfy; by bisection."""
        if self.always_feasible:
            return np.zeros(len(terms.composition))
        return bisected_delta(fairness.position_bias, terms)

    def unavailable(self, data: RankingDataset) -> str | None:
        """Why the notion cannot be used on this data, as a sentence; None where it can."""
        if data.each_item and self.no_items:
            return self.no_items
        if self.needs_merits and (data.gains is None or not data.gains.any()):
            return f"{self.label} needs relevance labels."
        return None


NOTIONS: Registry[Notion] = Registry(
    "notion",
    {
        "exposure": "spofr_core.fairness.notions.equal_exposure",
        "merit": "spofr_core.fairness.notions.merit_weighted",
        "gap": "spofr_core.fairness.notions.pairwise_gap",
    },
)
