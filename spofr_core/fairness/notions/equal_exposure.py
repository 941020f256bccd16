"""Every group as exposed as the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spofr_core.fairness.composition import Composition
from spofr_core.fairness.exposure import FloatArray
from spofr_core.fairness.notions.notion import NOTIONS, Notion

if TYPE_CHECKING:
    from spofr_core.fairness.fairness import Fairness


class EqualExposure(Notion):
    """abs(e_g - e) <= delta. The uniform policy has every e_g = e, so any delta can be had."""

    name = "exposure"
    label = "Exposure"
    definition = "In every list, each group's mean exposure differs from the list's mean exposure by at most delta."
    formula = "|e_g - e| <= delta"
    latex = r"|e_g - e| \le \delta"
    item_definition = "In every list, each item's exposure differs from the list's mean exposure by at most delta."
    item_formula = "|e_i - e| <= delta"
    item_latex = r"|e_i - e| \le \delta"
    difference = "the difference from the list's mean"
    plain_limit = "The limit says how far a group may be from being seen as much as the list's average."
    always_feasible = True
    bounds_by_length = True

    def scale_and_target(
        self, fairness: Fairness, composition: Composition, mean_exposure: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Scale 1, target e."""
        shape = composition.sizes.shape
        return np.ones(shape), np.broadcast_to(mean_exposure[:, None], shape)


NOTIONS.register(EqualExposure())
