"""A bundled dataset of one's own: bakeries on sixty streets."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd

from spofr_core.data import SAMPLES, Sample, Splits, read_dataset


class Bakeries(Sample):
    """Eight bakeries a street; chains are rated as well as families, and shown above them."""

    name = "bakeries"
    title = "Bakeries (a toy)"
    about = "Sixty streets with eight bakeries each, ranked by a model that likes chains."
    groupings: ClassVar[dict[str, str]] = {"owner": "Owner"}

    def load(self, *, groups: Any = None, seed: int = 0, **options: Any) -> Splits:
        rng = np.random.default_rng(7)
        chain, bread = rng.random(480) < 0.4, rng.random(480)
        frame = pd.DataFrame(
            {
                "street": np.repeat(np.arange(60), 8),
                "bakery": np.arange(480),
                "owner": np.where(chain, "chain", "family"),
                "bread": bread,
                "cake": rng.random(480),
                "stars": np.round(3 * bread),
                "score": bread + 0.5 * chain,
            }
        )
        columns = {"query": "street", "item": "bakery", "group": "owner", "relevance": "stars", "score": "score"}
        data = read_dataset(frame, features=["bread", "cake"], **columns)
        return data.split(train=0.5, validation=0.2, seed=seed)


SAMPLES.register(Bakeries())
