"""What is measured of rankings and policies: one object a measure, one value per query first."""

from spofr_core.measures.measured import Better, Measure, Measured
from spofr_core.registry import Registry

MEASURES: Registry[Measure] = Registry(
    "measure",
    {
        "dcg": "spofr_core.measures.dcg",
        "ndcg": "spofr_core.measures.ndcg",
        "pairwise": "spofr_core.measures.pairwise",
    },
)
"""Every measure: an audit computes those whose needs the data meets, and whoever shows an audit shows them all."""

__all__ = ["MEASURES", "Better", "Measure", "Measured"]
