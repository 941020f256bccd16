"""Two groups as exposed as each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spofr_core.data import RankingDataset
from spofr_core.errors import ConfigError
from spofr_core.fairness.composition import Composition
from spofr_core.fairness.exposure import FloatArray
from spofr_core.fairness.notions.notion import NOTIONS, Notion

if TYPE_CHECKING:
    from spofr_core.fairness.fairness import Fairness


class PairwiseGap(Notion):
    """abs(e_0 - e_1) <= delta, for lists with two groups. Any delta can be had: the uniform policy has no gap."""

    name = "gap"
    label = "Gap"
    definition = "In every list, the mean exposures of the two groups differ by at most delta."
    formula = "|e_0 - e_1| <= delta"
    latex = r"|e_0 - e_1| \le \delta"
    difference = "the difference between the groups"
    plain_limit = "The limit says how much more one group may be seen than the other."
    always_feasible = True
    no_items = "A gap is between two groups, and with each item on its own there are none."

    def scale_and_target(
        self, fairness: Fairness, composition: Composition, mean_exposure: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Since n_0 e_0 + n_1 e_1 = n e, e_0 - e_1 = (n / n_1) (e_0 - e): scale n / n_other, target scale * e."""
        _refuse_three_groups(composition)
        _refuse_ungrouped(composition)
        sizes, lengths, two = composition.sizes, composition.lengths, composition.applicable[:, None]
        other = np.where(two, lengths[:, None] - sizes, 1)
        scale = np.where(two, lengths[:, None] / np.maximum(other, 1), 1.0)
        return scale, scale * mean_exposure[:, None]

    def unavailable(self, data: RankingDataset) -> str | None:
        """A gap is between two groups."""
        if data.each_item:
            return self.no_items
        if data.n_groups != 2:
            return "A gap needs exactly two groups."
        return None if data.grouped.all() else "A gap needs items that are all of one of the two groups."


def _refuse_three_groups(composition: Composition) -> None:
    present = composition.present.sum(axis=1)
    if np.any(present > 2):
        query = int(np.argmax(present > 2))
        names = [n for n, here in zip(composition.group_names, composition.present[query], strict=True) if here]
        raise ConfigError(
            f"The gap notion compares two groups, but list {query} has {len(names)} of them "
            f"({', '.join(names[:5])}); use notion='exposure', which takes any number."
        )


def _refuse_ungrouped(composition: Composition) -> None:
    if composition.ungrouped is None:
        return
    beside = composition.applicable & (composition.ungrouped > 0)
    if beside.any():
        query = int(np.argmax(beside))
        raise ConfigError(
            f"The gap notion takes lists whose items are all of one of two groups: list {query} has "
            f"{composition.lengths[query]} items, {composition.ungrouped[query]} without a group; use "
            "notion='exposure', or drop the rows without a group (drop_rows=True)."
        )


NOTIONS.register(PairwiseGap())
