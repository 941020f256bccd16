"""A method of one's own: a learned scorer, sorted the wrong way round."""

import numpy as np

from spofr_core.data import RankingDataset
from spofr_core.learning import METHODS, Method, Unfair


class Backwards(Unfair):
    """Learns as `Unfair` does, and shows the least relevant first."""

    method = "backwards"

    def scores(self, data: RankingDataset) -> np.ndarray:
        return -super().scores(data)


METHODS.register(
    Method(
        name="backwards",
        title="backwards",
        about="The least relevant first: what no method should fall below.",
        colour="#7a4fa3",
        shape="star",
        estimator=Backwards,
    )
)
