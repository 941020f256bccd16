"""Every group exposed in proportion to its merit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spofr_core.fairness.composition import Composition
from spofr_core.fairness.exposure import FloatArray
from spofr_core.fairness.feasibility import proportional_delta
from spofr_core.fairness.notions.notion import NOTIONS, Notion
from spofr_core.fairness.terms import Terms

if TYPE_CHECKING:
    from spofr_core.fairness.fairness import Fairness


class MeritWeighted(Notion):
    """abs(mu e_g - mu_g e) <= delta, with mu the mean merit of the list's own items, those of a named group.

    No policy can give a small group of great merit more than the top positions hold, so some deltas cannot be had.
    """

    name = "merit"
    label = "Merit"
    definition = (
        "In every list, each group's mean exposure is proportional to the group's merit, "
        "up to a difference of at most delta."
    )
    formula = "|mu e_g - mu_g e| <= delta"
    latex = r"|\mu\, e_g - \mu_g\, e| \le \delta"
    difference = "the difference from what merit calls for"
    plain_limit = "The limit says how far a group may be from being seen as much as its results in the past call for."
    caveat = "Merit is estimated from the labels; a gap that is already in the labels is carried over."
    share_of = "the list's mean exposure times its mean merit"
    share_formula = "mu e"
    share_latex = r"\mu\, e"
    needs_merits = True
    no_items = "Merit is the mean label of a group over many lists, which an item on its own does not have."

    def scale_and_target(
        self, fairness: Fairness, composition: Composition, mean_exposure: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Scale mu, target mu_g e."""
        sizes = composition.sizes
        merits = fairness.group_merits(composition.group_names)
        mean_merit = _mean_merit(fairness, composition)
        return np.broadcast_to(mean_merit[:, None], sizes.shape), merits[None, :] * mean_exposure[:, None]

    def share_base(self, fairness: Fairness, composition: Composition, mean_exposure: FloatArray) -> FloatArray:
        """mu e."""
        return _mean_merit(fairness, composition) * mean_exposure

    def smallest_delta(self, fairness: Fairness, terms: Terms) -> FloatArray:
        """(Q,): in closed form, since all groups of a list share one scale."""
        return proportional_delta(fairness.position_bias, terms)


def _mean_merit(fairness: Fairness, composition: Composition) -> FloatArray:
    merits = fairness.group_merits(composition.group_names)
    return np.asarray((composition.sizes @ merits) / np.maximum(composition.grouped, 1))


NOTIONS.register(MeritWeighted())
