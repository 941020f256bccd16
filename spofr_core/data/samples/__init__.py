"""What is bundled: one file a sample."""

from spofr_core.data.samples.sample import Recipe, Sample
from spofr_core.registry import Registry

__all__ = ["OPENING_SAMPLE", "SAMPLES", "Recipe", "Sample"]

SAMPLES: Registry[Sample] = Registry(
    "sample",
    {
        "german-credit": "spofr_core.data.samples.german_credit",
        "mslr": "spofr_core.data.samples.mslr",
        "hiring": "spofr_core.data.samples.hiring",
        "adult": "spofr_core.data.samples.adult",
    },
)
"""Every bundled dataset by its name."""

OPENING_SAMPLE = "hiring"
"""What a newcomer sees first: synthetic, small, and with a score of its own."""
