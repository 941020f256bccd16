"""A notion of one's own: delta as a share of the list's mean exposure."""

import numpy as np

from spofr_core.fairness import NOTIONS, Composition, Fairness, Notion


class Relative(Notion):
    """abs(e_g / e - 1) <= delta: the condition abs(scale_g e_g - target_g) <= delta with scale 1 / e and target 1."""

    name = "relative"
    label = "Relative"
    definition = "In every list, each group's mean exposure differs from the list's by at most this share of it."
    formula = "|e_g / e - 1| <= delta"
    latex = r"|e_g / e - 1| \le \delta"
    caveat = "A share of the exposure says nothing about who deserves it."
    always_feasible = True  # the uniform policy has e_g = e

    def scale_and_target(
        self, fairness: Fairness, composition: Composition, mean_exposure: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        shape = composition.sizes.shape
        return np.broadcast_to(1 / mean_exposure[:, None], shape), np.ones(shape)


NOTIONS.register(Relative())
